"""Errors inside an app, as its database or its broker raises them: ``webhooks.error()``."""

import logging
import sqlite3
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from fastapi import BackgroundTasks, FastAPI
from flask import Flask
from sqlalchemy.exc import OperationalError

from pytest_chatfake import ChatFakeError, InjectedError, explore

from ..unit.both_frameworks import MODES, hard_limit  # noqa: F401
from .test_crashes import attempted
from .test_exploration import notes

#: What the apps of this module have done, and how their errors read.
done = []


@pytest.fixture(autouse=True)
def nothing_done():
    done.clear()


def save(what="saved"):
    done.append(what)


async def send():
    done.append("sent")


class Block:
    """Commits at its end, or rolls back."""

    def __init__(self, *, swallows=False):
        self.swallows = swallows

    def __enter__(self):
        done.append("begin")

    def __exit__(self, kind, *_):
        done.append(f"rollback {kind.__name__}" if kind else "commit")
        return self.swallows


def failed(app, mode="sync", *, how="handler", **error):
    """Connect an app that gets an error at its first event; return how its attempts have ended."""
    made = attempted("error", app, mode, how=how, **{"before": save} | error)
    return [one.status_code for one in made]


def lets_it_out(request):
    save()


def takes_it_for_done(request):
    try:
        save()
    except Exception as error:
        done.append(str(error))


def refuses(request):
    try:
        save()
    except InjectedError:
        return 503


def tries_again(request):
    try:
        save()
    except InjectedError:
        save()


@pytest.mark.parametrize(
    ("app", "statuses"),
    [
        (lets_it_out, [500, 200]),
        (refuses, [503, 200]),
        (takes_it_for_done, [200]),
        (tries_again, [200]),
    ],
)
def test_what_an_app_refuses_comes_again_and_what_it_takes_does_not(app, statuses):
    assert statuses == failed(app)
    assert [what for what in done if what != "saved"][1:] == []


def test_the_error_names_the_line_of_the_app_and_the_call():
    failed(takes_it_for_done)

    line = takes_it_for_done.__code__.co_firstlineno + 2
    expected = (
        f"save failed at test_injected_errors.py:{line}, raised on purpose by webhooks.error()"
    )
    assert [expected] == done


@MODES
def test_an_async_app_gets_it_where_it_awaits(mode):
    async def app(request):
        await send()

    assert failed(app, mode, before=send) == [500, 200]
    assert done == ["sent"]


@pytest.mark.parametrize(
    ("verb", "arguments", "shown"),
    [
        ("error", {"before": save}, ""),
        ("error", {"before": save, "nth": 2}, ", nth=2"),
        ("error", {"before": save, "raises": KeyError}, ", raises='builtins.KeyError'"),
        ("crash", {"before": save}, ""),
        ("crash", {"before": save, "nth": 2}, ", nth=2"),
    ],
)
def test_the_fault_is_shown_as_the_call_that_sets_it_up(fake, verb, arguments, shown):
    fault = getattr(fake.webhooks, verb)(**arguments)

    expected = f"{verb}(before='tests.exploring.test_injected_errors.save'{shown})"
    assert repr(fault) == f"<Fault {expected}, fired 0 times>"
    fake.reset()  # it need not fire


@pytest.mark.parametrize(
    ("nth", "expected"),
    [(1, ["b", "a", "b"]), (2, ["a", "a", "b"])],
)
def test_only_the_nth_call_fails_in_one_attempt(nth, expected):
    def app(request):
        for what in "ab":
            save(what)

    assert failed(app, nth=nth) == [500, 200]
    assert expected[nth == 1 :] == done


@pytest.mark.parametrize("how", ["wsgi", "asgi"])
def test_what_a_framework_lets_through_is_a_500(how):
    flask, fastapi = Flask("shop"), FastAPI()

    @flask.post("/")
    @fastapi.post("/")
    def hook():
        save()
        return ""

    assert failed(flask if how == "wsgi" else fastapi, how=how) == [500, 200]


def test_an_error_after_the_response_changes_nothing_for_the_service():
    app = FastAPI()

    @app.post("/", status_code=204)
    def hook(background: BackgroundTasks):
        background.add_task(save)

    assert failed(app, how="asgi") == [204]
    assert done == []


class Strange(Exception):
    def __init__(self, order, *, code):
        super().__init__(order.number, code)


@pytest.mark.parametrize(
    ("raises", "caught"),
    [
        (OperationalError, sa.exc.SQLAlchemyError),
        ("sqlalchemy.exc.OperationalError", OperationalError),
        (sqlite3.OperationalError, sqlite3.Error),
        (UnicodeDecodeError, ValueError),
        (BrokenExecutor, RuntimeError),
        (Strange, Strange),
    ],
)
def test_an_injected_error_has_the_given_class_whatever_its_init_takes(raises, caught):
    def app(request):
        try:
            save()
        except caught as error:
            done.append(error)
            return 503

    assert failed(app, raises=raises) == [503, 200]
    assert "save failed at " in str(done[0])
    assert getattr(raises, "__name__", "OperationalError") == type(done[0]).__name__
    logging.getLogger().info("%r", done[0])  # can be shown


def test_the_default_is_caught_by_handlers_of_all_errors_only():
    assert (Exception,) == InjectedError.__bases__


@pytest.mark.parametrize("swallows", [False, True])
def test_an_error_at_the_end_of_a_block_is_one_of_the_block(swallows):
    def app(request):
        with Block(swallows=swallows):
            save()

    assert ([200] if swallows else [500, 200]) == failed(app, before=Block.__exit__)
    expected = ["begin", "saved", "rollback InjectedError"]
    assert expected + ["begin", "saved", "commit"] * (not swallows) == done


# Worlds


def body_of(app):
    def body(chat_fake):
        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text()
        chat_fake.settle()
        assert "saved" in done
        done.clear()

    return body


def test_the_finding_says_that_the_app_has_responded_all_the_same():
    found = notes(body_of(takes_it_for_done), deviations=["error"], crash_points=[save])

    line = f"test_injected_errors.py:{takes_it_for_done.__code__.co_firstlineno + 2}"
    how = f"responded with 200 although it got InjectedError from save ({line})"
    assert f"the app {how} while it handled sent m1\n" in found
    assert f"    chat_fake.webhooks.error(before='{__name__}.save', start=1)\n" in found


@contextmanager
def known_errors_are_logged():
    try:
        yield
    except OperationalError:
        logging.getLogger().error("database")


def knows_its_errors(request):
    with known_errors_are_logged():
        save()


@pytest.mark.parametrize("error", [OperationalError, "sqlalchemy.exc.OperationalError"])
def test_a_mapping_says_which_class_is_raised(error):
    explored = explore(body_of(knows_its_errors), deviations=["error"], crash_points={save: None})
    found = notes(body_of(knows_its_errors), deviations=["error"], crash_points={save: error})

    assert explored.worlds == 2
    (only,) = [line for line in found.splitlines() if line.startswith("This world alone")]
    assert "raises='sqlalchemy.exc.OperationalError'" in only
    assert "got OperationalError from save" in found
    with pytest.raises(AssertionError):
        explore(body_of(knows_its_errors), only=eval(only.partition("only=")[2][:-1]))


class InAFunction:
    @staticmethod
    def error():
        class Local(Exception):
            pass

        return Local


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"crash_points": ()}, r"^error: .*: crash_points = \[Session"),
        ({"crash_points": {save: KeyboardInterrupt}}, "crash_points: .* sub"),
        ({"crash_points": {save: 1}}, "crash_points: .* subclass .* got 1"),
        ({"crash_points": {save: "no.Such"}}, "crash_points: .* class"),
        ({"crash_points": {1: OSError}}, "crash_points: expected a func"),
        (
            {"crash_points": {save: InAFunction.error()}},
            "crash_points: expected functions and exceptions that can be imported, .* Move it out",
        ),
        (
            {"crash_points": {save: type("Unnamed", (OSError,), {})}},
            "crash_points: expected an exception class, or its name .* got .*Unnamed",
        ),
        ({"only": ["webhooks.error(nth=2)"]}, "unknown deviation"),
        ({"only": ["webhooks.error(before='no.such')"]}, "unknown dev"),
        (
            {"only": ["webhooks.error(before='json.loads', raises='no.Such')"]},
            "unknown deviation",
        ),
    ],
)
def test_what_can_t_be_explored_is_refused(options, problem):
    with pytest.raises((ChatFakeError, TypeError, ValueError), match=problem):
        explore(body_of(lets_it_out), **{"deviations": ["error"], "crash_points": [save]} | options)


def test_all_without_crash_points_leaves_errors_out_and_says_what_to_write():
    exploration = explore(body_of(lets_it_out), deviations="all")

    assert "error was not tried: no call that can fail; name your database" in str(exploration)
