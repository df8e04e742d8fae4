"""One listening socket: requests read strictly, responses written, connections kept alive."""
