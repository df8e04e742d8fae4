"""A webhook's URL, taken apart, or refused with what to write."""

from __future__ import annotations

import pytest

from pytest_chatfake.transport.client.url import parse_url


@pytest.mark.parametrize(
    ("url", "server", "authority", "target"),
    [
        ("http://127.0.0.1:8000/a", ("127.0.0.1", 8000, False), "127.0.0.1:8000", "/a"),
        ("http://example.com", ("example.com", 80, False), "example.com", "/"),
        ("http://example.com:80/", ("example.com", 80, False), "example.com", "/"),
        ("http://example.com:443", ("example.com", 443, False), "example.com:443", "/"),
        ("https://example.com", ("example.com", 443, True), "example.com", "/"),
        ("https://example.com:80", ("example.com", 80, True), "example.com:80", "/"),
        ("HTTP://Example.COM/A", ("example.com", 80, False), "example.com", "/A"),
        ("http://[::1]:8000/", ("::1", 8000, False), "[::1]:8000", "/"),
        ("http://[::1]/", ("::1", 80, False), "[::1]", "/"),
        ("http://h?a=/b%20c", ("h", 80, False), "h", "/?a=/b%20c"),
        ("http://h/a%2Fb;x=1?", ("h", 80, False), "h", "/a%2Fb;x=1"),
    ],
)
def test_a_url_says_where_to_connect_and_what_to_ask_for(url, server, authority, target):
    assert (server, authority, target) == parse_url(url)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "has to be such as 'http://127.0.0.1:8000/hooks/chat'"),
        ("127.0.0.1:8000", "has to be such as"),
        ("localhost:8000/hooks", "has to be such as"),
        ("/hooks/chat", "has to be such as"),
        ("ftp://127.0.0.1/", "has to be such as"),
        ("ws://127.0.0.1/", "has to be such as"),
        ("http:///hooks", "has to be such as"),
        ("http://:80/", "has to be such as"),
        ("http://h/a b", "quote it, as in %20"),
        (" http://h/", "quote it, as in %20"),
        ("http://h/a\n", "a space or a control character"),
        ("http://h/\x7f", "a space or a control character"),
        ("http://h/café?x=ü", "write 'http://h/caf%C3%A9\\?x=\\.\\.\\.'"),
        ("http://h:port/", "can't be read"),
        ("http://h:65536/", "can't be read"),
        ("http://h:0/", "port 0"),
        ("http://[::1/", "can't be read"),
        ("http://ada:secret@h/", r"write headers=\{'Authorization': ...\} instead"),
        ("http://ada@h/", "has a user in it"),
        ("http://h/a#b", "leave out '#...'"),
        ("http://h/a#", "leave out '#...'"),
        ("http://a..b/", "has a host that no server can have"),
        (f"http://{'a' * 64}/", "has a host that no server can have"),
    ],
)
def test_a_url_that_nothing_can_be_posted_to_is_refused(url, message):
    with pytest.raises(ValueError, match=message):
        parse_url(url)


@pytest.mark.parametrize("url", ["http://h/caf\udce9", "http://h\ud800/", "\udfff"])
def test_a_lone_surrogate_in_a_url_is_refused_in_a_sentence(url):
    with pytest.raises(ValueError, match="has a lone surrogate, which can't be sent") as caught:
        parse_url(url)

    assert ValueError is type(caught.value)
    assert repr(url) in str(caught.value)


@pytest.mark.parametrize("url", [b"http://h/", None, 8000])
def test_a_url_is_text(url):
    with pytest.raises(TypeError, match="a webhook's URL is a str such as"):
        parse_url(url)
