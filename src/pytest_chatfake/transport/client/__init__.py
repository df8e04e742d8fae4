"""Posts to an endpoint: over a URL, into a WSGI or an ASGI app, or to a function of the test."""
