"""How bytes travel: the client's side to endpoints, the server's side of the HTTP API."""
