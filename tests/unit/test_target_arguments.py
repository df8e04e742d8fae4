"""A target is checked when it is made, and a refusal says what to write."""

from __future__ import annotations

import pytest

from pytest_chatfake.transport.client.asgi import AsgiTarget
from pytest_chatfake.transport.client.portal import Portal
from pytest_chatfake.transport.client.targets import UrlTarget
from pytest_chatfake.transport.client.wsgi import WsgiTarget


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "has to begin with a slash"),
        ("hooks/chat", "has to begin with a slash"),
        ("http://testserver/hooks", "has to begin with a slash"),
        ("/hooks#top", "leave out '#...'"),
        ("/hooks chat", "is written as in a URL: '/hooks%20chat'"),
        ("/café?x=ü", "is written as in a URL: '/caf%C3%A9\\?x=%C3%BC'"),
        ("/hooks\n", "is written as in a URL: '/hooks%0A'"),
    ],
)
def test_a_path_that_is_none_is_refused_with_what_to_write(path, message):
    with pytest.raises(ValueError, match=message):
        WsgiTarget(lambda environ, start_response: [], path=path)
    with pytest.raises(ValueError, match=message):
        AsgiTarget(print, path=path, portal=Portal())


@pytest.mark.parametrize("path", ["/caf\udce9", "/?a=\ud800"])
def test_a_lone_surrogate_in_a_path_is_refused_in_a_sentence(path):
    with pytest.raises(ValueError, match="has a lone surrogate, which can't be sent") as caught:
        WsgiTarget(lambda environ, start_response: [], path=path)

    assert ValueError is type(caught.value)
    assert repr(path) in str(caught.value)


def test_what_is_no_text_is_no_path():
    with pytest.raises(TypeError, match="path= is a str such as '/hooks/chat'"):
        WsgiTarget(lambda environ, start_response: [], path=b"/hooks")


def test_a_url_is_checked_when_the_target_is_made():
    with pytest.raises(ValueError, match="leave out"):
        UrlTarget("http://127.0.0.1/#top", timeout=5)
