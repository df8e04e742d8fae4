"""One listening socket: requests read strictly, answers written, connections kept alive."""
