"""The HTTP API of the fake, with and without a socket.

- `replies`: what is answered, as plain values.
- `requests`: reads one request off a connection, and refuses what is none.
- `connection`: one client's connection, kept alive from request to request.
- `listener`: the socket and its threads; a pytest-httpserver server whose API is ours.
- `api`: what the service answers (§4.1, §5, §7.1), without any socket.
"""
