"""Bare servers: what a socket and a thread cost, and nothing else."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"


@contextmanager
def webhook_receiver() -> Generator[int, None, None]:
    """Take posts over connections that are kept, read each to its end; give the port."""
    answer = JSON % (2, b"{}")

    def talk(client: socket.socket) -> None:
        while (arrived := client.recv(65_536)) != b"":
            head, found, body = arrived.partition(b"\r\n\r\n")
            while not found:
                arrived += client.recv(65_536)
                head, found, body = arrived.partition(b"\r\n\r\n")
            _, _, rest = head.lower().partition(b"content-length:")
            missing = int(rest.partition(b"\r\n")[0]) - len(body)
            while missing > 0:
                missing -= len(client.recv(65_536))
            client.sendall(answer)

    with _listening(talk) as port:
        yield port


@contextmanager
def _listening(talk: Callable[[socket.socket], None]) -> Generator[int, None, None]:
    """Accept clients, each with a thread of its own, until the block is left."""
    clients: list[socket.socket] = []

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            talk(client)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                clients.append(client)
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            for one in (listener, *clients):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
