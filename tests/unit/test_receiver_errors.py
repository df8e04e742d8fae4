"""Exceptions that leave a receiver: where they surface, and what becomes of the rest."""

import asyncio
import sys
from types import ModuleType

import pytest
from flask import Flask

from pytest_chatfake.report.hints import why_foreign

from .fakes import played, received_statuses, trail


def raising(error):
    def app(_):
        raise error

    return app


def test_an_exception_surfaces_with_its_traceback_and_a_note_of_its_origin(fake):
    app = Flask("shop")
    app.testing = True

    @app.post("/")
    def hook():
        raise LookupError("no such campaign")

    fake.webhooks.connect(wsgi=app)
    with pytest.raises(LookupError, match="no such campaign") as caught:
        fake.send_text()

    assert "hook" in [entry.name for entry in caught.traceback]
    (note,) = caught.value.__notes__
    assert note.startswith("raised by shop (WSGI) / on sent m1 (caused at test_receiver_errors.py:")
    (attempt,) = fake.webhooks.attempts
    assert caught.value is attempt.error
    assert attempt.outcome == "LookupError: no such campaign"


def test_an_error_of_a_signer_is_not_said_to_be_of_the_app(fake):
    fake.webhooks.connect(handler=print, signer=raising(LookupError("no such secret")))
    with pytest.raises(LookupError) as caught:
        fake.send_text()

    (note,) = caught.value.__notes__
    assert note.startswith("raised before print() got sent m1")


def test_an_error_of_another_endpoint_is_named_and_one_of_a_duplicate_is_not(fake):
    fake.webhooks.connect(handler=raising(LookupError("no such campaign")))
    fake.webhooks.connect(handler=raising(ValueError("no such audit")))
    fake.webhooks.duplicate(after=0)
    with pytest.raises(LookupError) as caught:
        fake.send_text()

    (note,) = (note for note in caught.value.__notes__ if note.startswith("as well"))
    assert note.startswith("as well: ValueError: no such audit, raised by ")


@pytest.mark.parametrize(("mode", "expected"), [("sync", StopIteration), ("async", RuntimeError)])
def test_a_stop_iteration_is_itself_where_no_coroutine_lies_between(mode, expected):
    async def scenario(fake, do):
        fake.webhooks.connect(handler=raising(StopIteration("no more campaigns")))
        with pytest.raises(expected) as caught:
            await do(fake.send_text())
        assert fake.webhooks.attempts[0].error in (caught.value, caught.value.__cause__)

    played(mode, scenario)


def test_the_rest_of_the_queue_stays_for_the_next_verb_or_settle(fake):
    receiver = fake.webhooks.receiver()
    errors = [KeyError("sent"), KeyError("first device")]

    def app(_):
        if errors:
            raise errors.pop(0)

    fake.webhooks.connect(handler=app)
    with pytest.raises(KeyError, match="sent"):
        fake.send_text()
    with pytest.raises(KeyError, match="first device"):
        fake.messages[0].deliver(devices=3)

    assert received_statuses(receiver) == ["sent", "delivered"]
    assert fake.messages[0].status == "delivered"
    fake.settle()
    assert received_statuses(receiver) == ["sent", "delivered", "delivered", "delivered"]


def test_an_exception_may_be_only_recorded(fake):
    fake.webhooks.connect(handler=raising(KeyError("a")), raise_exceptions=False)
    fake.send_text().deliver()

    assert trail(fake) == "sent KeyError, delivered KeyError"
    assert fake.webhooks.attempts[0].outcome == "KeyError: 'a'"


def test_an_error_that_can_not_say_itself_does_not_spoil_the_report(fake):
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no")

    fake.webhooks.connect(handler=raising(Mute()))
    with pytest.raises(Mute):
        fake.send_text()

    assert fake.webhooks.attempts[0].outcome == "Mute: (its text can't be shown)"
    assert "Mute: (its text can't be shown)" in fake.explain(fake.messages[0])


async def cancelled(chain, began):
    """Await a chain in a task, and cancel that when an attempt began."""

    async def perform():
        await chain

    task = asyncio.create_task(perform())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def endless(began):
    async def app(*_):
        began.set()
        await asyncio.Event().wait()

    return app


@pytest.mark.asyncio
async def test_a_cancelled_attempt_leaves_the_other_endpoints_theirs(fake):
    began = asyncio.Event()
    slow, receiver = fake.webhooks.connect(handler=endless(began)), fake.webhooks.receiver()
    await cancelled(fake.send_text(), began)
    slow.disconnect()
    await fake.settle()
    assert received_statuses(receiver) == ["sent"]


@pytest.mark.asyncio
async def test_an_app_s_error_survives_the_cancellation_of_the_next_endpoint(fake):
    began = asyncio.Event()
    fake.webhooks.connect(asgi=raising_asgi)
    slow = fake.webhooks.connect(asgi=endless(began))
    await cancelled(fake.send_text(), began)
    slow.disconnect()
    with pytest.raises(ValueError, match="not lost"):
        await fake.settle()


async def raising_asgi(scope, receive, send):
    raise ValueError("not lost")


@pytest.mark.parametrize(
    ("error", "begins"),
    [
        ("<Lock> is bound to a different event loop", ["TestClient", "The"]),
        ("objects created in a thread can only be used in that same thread", ["TestClient", ""]),
        ("Event loop is closed", ["The", "The"]),
        ("no such table: orders", ["", ""]),
    ],
)
def test_only_an_error_about_a_loop_or_thread_is_explained_by_one(monkeypatch, error, begins):
    monkeypatch.setitem(sys.modules, "starlette.testclient", ModuleType("testclient"))
    with_test_client = why_foreign(RuntimeError(error))
    monkeypatch.delitem(sys.modules, "starlette.testclient")
    without = why_foreign(RuntimeError(error))

    assert [why.partition(" ")[0] for why in (with_test_client, without)] == begins
