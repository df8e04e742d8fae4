import sys

import pytest

from pytest_chatfake.base.calling_line import Line


def test_a_refusal(chat_fake):
    chat_fake.send_text().fail().read()


def test_an_expected_charge(chat_fake):
    with chat_fake.expect_charge("0.05"):
        chat_fake.send_text()


def test_a_bad_argument(chat_fake):
    chat_fake.send_text(price=0.05)


@pytest.mark.asyncio
async def test_an_awaited_refusal(chat_fake):
    await chat_fake.send_text().fail().read()


def test_an_app(chat_fake):
    def app(environ, start_response):
        return {}["campaign"]

    chat_fake.webhooks.connect(wsgi=app)
    chat_fake.send_text()


def test_a_blocked_import(chat_fake, monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest_chatfake.wire.models", None)
    chat_fake.send_text().fail().read()


def test_a_bug_in_the_library_s_arms(chat_fake):
    str(Line(3, 3))


def test_a_bug(chat_fake):
    chat_fake._engine.account._schedule = None
    chat_fake.send_text()


def test_a_misspelt_argument_of_connect(chat_fake):
    chat_fake.webhooks.connect(handler=print, event="*")


def test_members(chat_fake):
    try:
        chat_fake.send_text().fail().read()
    except Exception as error:
        group = ExceptionGroup("several", [error, ExceptionGroup("more", [error])])
        raise group  # noqa: B904 - the error is shown as its context
