"""The HTTP API of the fake, with and without a socket.

What is answered:

- `service`: what is answered to whom (§4.1, §5, §7.1), for all fakes that live.
- `api`: one account's side of it: its answers, its log, its bad days.
- `routes`: endpoints of the user's own.
- `faults`: what goes wrong because a test says so.
- `log`: what was asked.
- `replies`: answers as plain values.

How it travels:

- `requests`: reads one request off a connection, and refuses what is none.
- `connection`: one client's connection, kept alive from request to request.
- `listener`: the socket and its threads; a pytest-httpserver server whose API is ours.
"""
