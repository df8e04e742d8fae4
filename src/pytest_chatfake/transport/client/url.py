"""Checks webhook URLs, apps' paths, and the address of their client."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from ...base.arguments import check_int, check_str, cited, shortened, unexpected


class Origin(NamedTuple):
    """A server to connect to: a host name or IP address, a port, and whether to use TLS."""

    host: str
    port: int
    tls: bool


class Address(NamedTuple):
    """The parts of a URL.

    Attributes:
        origin: The server to connect to.
        authority: The value of ``Host``.
        target: Path and query, for the request line.
    """

    origin: Origin
    authority: str
    target: str


def parse_url(url: str) -> Address:
    """Split a webhook's URL into its parts.

    Raises:
        TypeError: The URL is not a string.
        ValueError: Nothing can be posted to the URL; the message says what to write.
    """
    if re.search(r"[\x00-\x20\x7f]", check_str(url, "url")):
        raise ValueError(
            f"url: {cited(url)} has a space or a control character. Percent-encode it, as in %20."
        )
    if not url.isascii():
        plain = quote(url, "/:?#[]@!$&'()*+,;=%", errors="surrogatepass")
        raise ValueError(f"url: {cited(url)} has letters outside ASCII. Write {cited(plain)}.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")
    except ValueError as error:
        raise ValueError(f"url: can't parse {cited(url)} ({shortened(str(error))})") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError(unexpected("url", "one such as 'http://127.0.0.1:8000/hooks/chat'", url))
    for is_wrong, problem in (
        ("@" in parts.netloc, "a user name in it. Use headers={'Authorization': ...} instead."),
        ("#" in url, "a fragment, which is never sent. Omit '#...'."),
        (port == 0, "port 0. Use the port that the server listens on."),
    ):
        if is_wrong:
            raise ValueError(f"url: {cited(url)} has {problem}")
    tls = parts.scheme == "https"
    standard = 443 if tls else 80
    authority = f"[{host}]" if ":" in host else host
    if port not in (None, standard):
        authority = f"{authority}:{port}"
    query = f"?{parts.query}" if parts.query else ""
    origin = Origin(host, port or standard, tls)
    return Address(origin, authority, (parts.path or "/") + query)


def checked_path(path: str) -> str:
    """Return an app's path, quoted as in a URL, with an optional query string.

    Raises:
        TypeError: The path is not a string.
        ValueError: The path is invalid; the message says what to write.
    """
    if not check_str(path, "path").startswith("/"):
        raise ValueError(unexpected("path", "a slash first, as in '/hooks/chat'", path))
    if "#" in path:
        raise ValueError(f"path: {cited(path)} has a fragment, which is never sent. Omit '#...'.")
    if not re.fullmatch(r"[\x21-\x7e]+", path):
        quoted = quote(path, "/?:@!$&'()*+,;=%", errors="surrogatepass")
        raise ValueError(f"path: {cited(path)} must be percent-encoded, as in {cited(quoted)}")
    return path


def checked_client(client: tuple[str, int] | None) -> tuple[str, int]:
    """Return the client that an in-process app sees, by default ``("127.0.0.1", 50000)``.

    Raises:
        TypeError: The client is not a pair of a string and an ``int``.
        ValueError: The address is not an IP address, or the port is out of range.
    """
    if client is None:
        return "127.0.0.1", 50000
    try:
        address, port = client
    except (TypeError, ValueError):
        expected = 'an address and a port such as ("203.0.113.9", 443)'
        raise TypeError(unexpected("client", expected, client)) from None
    host = check_str(address, "the address in client")
    try:
        ip_address(host)
    except ValueError:
        expected = 'an IP address such as "203.0.113.9"'
        raise ValueError(unexpected("client", expected, host)) from None
    return host, check_int(port, "the port in client", 1, 65535)
