"""The service over HTTP: accounts by their keys, the balance, routes, faults, the request log."""
