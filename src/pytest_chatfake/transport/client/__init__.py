"""Posts to an endpoint: a URL, a WSGI or ASGI app, or a function of the test."""
