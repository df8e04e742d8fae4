"""A certificate authority for the run, for clients that insist on https; ``trustme`` makes it."""

from __future__ import annotations

import atexit
import os
import ssl
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from ...base.errors import ChatFakeError


class Authority:
    """A certificate authority, and the certificate of our server, made anew in each run.

    Both are valid from the year 2000 to 3000, because OpenSSL compares them with the real time.

    Args:
        host: The address that the server listens on.

    Attributes:
        path: The file with the authority's certificate, which clients have to trust.
        context: Lets the server speak TLS.

    Raises:
        ChatFakeError: ``trustme`` is not installed.
    """

    def __init__(self, host: str) -> None:
        try:
            trustme: Any = import_module("trustme")
        except ModuleNotFoundError:
            raise ChatFakeError(
                "https needs trustme, which is not installed: pip install 'pytest-chatfake[tls]'"
            ) from None
        authority = trustme.CA()
        names = dict.fromkeys(["127.0.0.1", "localhost", "::1", "host.docker.internal", host])
        self.context: ssl.SSLContext = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*names).configure_cert(self.context)
        self.path: str
        descriptor, self.path = mkstemp(prefix="chatfake-ca-", suffix=".pem")
        os.write(descriptor, authority.cert_pem.bytes())
        os.close(descriptor)
        atexit.register(_remove, self.path, os.getpid())


def _remove(path: str, process: int) -> None:
    if os.getpid() == process:  # not in a forked child
        with suppress(OSError):
            Path(path).unlink()
