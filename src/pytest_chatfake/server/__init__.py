"""The HTTP API of the fake, with and without a socket.

What is answered:

- `api`: what the service answers (§4.1, §5, §7.1), for all fakes that live.
- `routes`: endpoints of the user's own.
- `faults`: bad days of the API, declared by a test.
- `log`: what was asked.
- `replies`: answers as plain values.

How it travels:

- `requests`: reads one request off a connection, and refuses what is none.
- `connection`: one client's connection, kept alive from request to request.
- `listener`: the socket and its threads; a pytest-httpserver server whose API is ours.
"""
