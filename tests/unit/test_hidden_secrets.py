"""Texts show a key's last four characters, and nothing that a URL carries in secret."""

import pytest

from pytest_chatfake import ChatFakeConfig, Naming, UndeliveredWebhooks
from pytest_chatfake.base.redaction import redacted

from .fakes import frozen_fake

KEY = "live_0123456789abcdef"
URL = "http://127.0.0.1:1/hooks?token=hush-hush"
SHOWN = "http://127.0.0.1:1/hooks?..."


def test_a_configuration_shows_the_end_of_its_key_and_no_value_of_its_url():
    config = ChatFakeConfig(api_key=KEY, webhook_url=URL)

    assert f"ChatFakeConfig(api_key='...cdef', webhook_url={SHOWN!r})" == repr(config)
    assert (config.api_key, config.webhook_url) == (KEY, URL)


def test_a_configuration_shows_what_is_not_as_it_is_by_default():
    assert repr(ChatFakeConfig()) == "ChatFakeConfig()"
    text = repr(ChatFakeConfig(price="0.10", currency="USD", naming=Naming(biz_type="brand")))
    assert text.startswith("ChatFakeConfig(price='0.10', naming=Naming(")
    assert "currency" not in text


def test_a_bad_key_is_not_cited_whole():
    with pytest.raises(ValueError, match=r"without spaces, got '\.\.\.cdef'$"):
        ChatFakeConfig(api_key="live 0123456789abcdef")


def test_a_key_that_is_no_text_is_not_cited_at_all():
    with pytest.raises(TypeError, match=r"api_key: expected a str, got bytes$"):
        ChatFakeConfig(api_key=KEY.encode())  # as a user may write it


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http:ada:hush@h/", "http:...@h/"),
        ("http://ada:hush@h:1/p", "http://...@h:1/p"),
        ("http://h/p?a=x;hush", "http://h/p?..."),
        ("http://h/p;token=hush", "http://h/p;..."),
        ("http://h/p#hush", "http://h/p#..."),
        ("amqp://ada:hush@h/p", "amqp://...@h/p"),
        ("at http://h/p; then", "at http://h/p; then"),
    ],
)
def test_of_a_url_a_text_shows_no_more_than_host_and_path(url, shown):
    assert shown == redacted(url)


def test_a_short_key_is_no_reason_to_hide_letters_of_words():
    with frozen_fake(api_key="e") as fake:
        fake.webhooks.connect(handler=lambda _: (500, "the shed"))
        message = fake.send_text()
        assert fake.timeline[-1].text == "sent m1 -> <lambda>(): 500 the shed"
        assert not fake.webhooks.attempts[0].ok
        assert message.status == "sent"


def test_an_error_about_a_failed_attempt_hides_the_token():
    with pytest.raises(UndeliveredWebhooks) as refused, frozen_fake(webhook_url=URL) as fake:
        fake.send_text()

    assert SHOWN in str(refused.value)
    assert "hush" not in str(refused.value)


def test_the_query_of_an_apps_path_is_hidden_as_that_of_a_url(fake):
    def app(environ, start_response):
        raise KeyError("mistake")

    endpoint = fake.webhooks.connect(wsgi=app, path="/hooks?token=hush-hush&page")
    with pytest.raises(KeyError) as caught:
        fake.send_text()
    texts = [repr(endpoint), str(fake.timeline), str(caught.value.__notes__)]

    assert [text for text in texts if "hush" in text or "/hooks?..." not in text] == []
    assert "hush-hush" in endpoint.name


def test_everything_that_is_told_of_an_endpoint_hides_the_token(fake):
    endpoint = fake.webhooks.connect(URL)
    fault = fake.webhooks.duplicate(endpoint=endpoint)
    message = fake.send_text()
    texts = [
        repr(endpoint),
        repr(fault),
        repr(fake.webhooks.attempts),
        fake.explain(message),
        repr(fake.timeline),
        str(fake.timeline),
        fake.timeline.svg(),
    ]
    assert [text for text in texts if "hush" in text] == []
    assert endpoint.name == URL
