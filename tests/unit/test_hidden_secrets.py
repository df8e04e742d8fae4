"""Texts show a key's last four characters, and nothing that a URL carries in secret."""

from __future__ import annotations

import pytest

from pytest_chatfake import ChatFake, ChatFakeConfig, Naming

from .fakes import frozen_fake, warnings_at_the_end

KEY = "live_0123456789abcdef"
URL = "http://127.0.0.1:1/hooks?token=hush-hush"
SHOWN = "http://127.0.0.1:1/hooks?token=..."


def test_a_configuration_shows_the_end_of_its_key_and_no_value_of_its_url() -> None:
    config = ChatFakeConfig(api_key=KEY, webhook_url=URL)

    assert f"ChatFakeConfig(api_key='...cdef', webhook_url={SHOWN!r})" == repr(config)
    assert (KEY, URL) == (config.api_key, config.webhook_url)


def test_a_configuration_shows_what_is_not_as_it_is_by_default() -> None:
    assert "ChatFakeConfig()" == repr(ChatFakeConfig())
    text = repr(ChatFakeConfig(price="0.10", currency="USD", naming=Naming(biz_type="brand")))
    assert text.startswith("ChatFakeConfig(price='0.10', naming=Naming(")
    assert "currency" not in text


def test_a_bad_key_is_not_cited_whole() -> None:
    with pytest.raises(ValueError, match=r"without spaces, got '\.\.\.cdef'$"):
        ChatFakeConfig(api_key="live 0123456789abcdef")


def test_two_fakes_with_one_key_are_refused_without_the_key() -> None:
    with (
        ChatFake(api_key=KEY),
        pytest.raises(ValueError, match=r"another running fake has the key \.\.\.cdef"),
    ):
        ChatFake(api_key=KEY)


def test_a_warning_about_a_failed_attempt_hides_the_token() -> None:
    (text,) = warnings_at_the_end(lambda fake: fake.send_text(), webhook_url=URL)

    assert SHOWN in text
    assert "hush" not in text


def test_the_query_of_an_apps_path_is_hidden_as_that_of_a_url() -> None:
    def app(environ: object, start_response: object) -> list[bytes]:
        raise KeyError("mistake")

    with frozen_fake() as fake:
        endpoint = fake.webhooks.connect(wsgi=app, path="/hooks?token=hush-hush&page")
        with pytest.raises(KeyError) as caught:
            fake.send_text()
        texts = [repr(endpoint), str(fake.timeline), str(caught.value.__notes__)]

    assert [] == [text for text in texts if "hush" in text or "/hooks?token=...&page" not in text]
    assert "hush-hush" in endpoint.name


def test_everything_that_is_told_of_an_endpoint_hides_the_token() -> None:
    with frozen_fake() as fake:
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
        assert [] == [text for text in texts if "hush" in text]
        assert URL == endpoint.name
