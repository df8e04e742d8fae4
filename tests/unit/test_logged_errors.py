"""What is noted of an app's log during an attempt, and afterwards; and that all is put back."""

import asyncio
import logging
import logging.config
import queue
import re
import threading
import traceback
from functools import partial

import pytest

from pytest_chatfake.report.highlights import Highlights
from pytest_chatfake.webhooks.logged_errors import printed_error

from .fakes import frozen_fake, send_to
from .wsgi_apps import served


def log_an_error(text, level=logging.ERROR):
    try:
        raise ValueError(text)
    except ValueError:
        logging.getLogger("shop").log(level, "failed", exc_info=True)


def failed(fake):
    """What is said of the attempts; they are seen then."""
    logged = [attempt._logged for attempt in fake.webhooks.attempts]
    return [error and error[:2] for error in logged]


def test_the_last_error_that_is_logged_before_a_500_counts(fake):
    def app(request):
        log_an_error("one")
        logging.getLogger("shop").error("no exception")
        log_an_error("two")
        return 500

    send_to(fake, app)
    assert failed(fake) == [("ValueError", "two")]


def test_any_level_counts_before_a_500_and_only_errors_before_a_2xx(fake):
    def app(request):
        log_an_error("one")
        log_an_error("two", logging.WARNING)
        return responses.pop()

    responses = [500, 422, 299]
    fake.webhooks.connect(handler=app, retry_after=[1])
    fake.send_text().deliver()
    fake.clock.advance(5)
    assert failed(fake) == [("ValueError", "one"), None, ("ValueError", "two")]


def log_an_error_as(way):
    error = ValueError("one")
    trace = f"Traceback (most recent call last):\n  File x\nValueError: {error}\n"
    text, *args = {
        "its traceback as the message": [trace],
        "its traceback in the message": ["no: %s", trace],
        "its traceback by name": ["no: %(trace)s", {"trace": trace}],
        "itself": [error],
        "itself in the message": ["%s: %s", "no", error],
        "with its traceback": ["no"],
        "its text": ["no: %(text)s", {"text": str(error)}],
    }[way]
    exc_info = error if way == "with its traceback" else None
    logging.getLogger("shop").error(text, *args, exc_info=exc_info)


@pytest.mark.parametrize(
    ("way", "counts"),
    [
        ("with its traceback", [500, 204]),
        ("its traceback as the message", [500, 204]),
        ("its traceback in the message", [500, 204]),
        ("its traceback by name", [500, 204]),
        ("itself", [500]),
        ("itself in the message", [500]),
        ("its text", []),
    ],
)
def test_an_exception_without_its_traceback_only_counts_before_a_500(fake, way, counts):
    def app(request):
        log_an_error_as(way)
        return responses.pop()

    responses = [204, 500]
    fake.webhooks.connect(handler=app)
    fake.send_text().deliver()
    expected = [("ValueError", "one") if status in counts else None for status in (500, 204)]
    assert failed(fake) == expected


def test_a_report_names_what_an_app_logged_that_accepted_everything(fake):
    fake.webhooks.connect(handler=lambda request: log_an_error("one"))
    fake.send_text().deliver()

    (line,) = Highlights(fake._story, 0, AssertionError("no row")).lines
    expected = r"<lambda>\(\) responded with 2xx to all 2 events, but logged ValueError: one at "
    assert re.fullmatch(expected + r"test_logged_errors\.py:\d+ \(#4\)", line)


def test_what_another_thread_logs_in_that_time_is_not_the_app_s(fake):
    def app(request):
        thread = threading.Thread(target=log_an_error, args=["another"])
        thread.start()
        thread.join()
        return 500

    send_to(fake, app)
    assert failed(fake) == [None]


def app_that_logs_while_two_are_there():
    both = threading.Barrier(2, timeout=30)

    def app(environ, start_response):
        both.wait()
        log_an_error(environ["HTTP_X_NUMBER"])
        both.wait()
        start_response("500 Internal Server Error", [])
        return []

    return app


def test_attempts_at_the_same_time_have_an_error_each(fake):
    app = app_that_logs_while_two_are_there()
    for number in "12":
        fake.webhooks.connect(wsgi=app, path="/", headers={"X-Number": number})
    with fake.webhooks.concurrently():
        fake.send_text()
    assert {("ValueError", "1"), ("ValueError", "2")} == {*failed(fake)}


@pytest.mark.parametrize("handlers", [[], [logging.NullHandler()]])
def test_a_logger_that_does_not_propagate_is_seen(fake, handlers, capsys):
    logger = logging.getLogger("shop")

    def app(request):
        logger.propagate, logger.handlers = False, handlers
        log_an_error("one")
        return 500

    fake.webhooks.connect(handler=app)
    try:
        fake.send_text()
    finally:
        logger.propagate, logger.handlers = True, []
    assert failed(fake) == [("ValueError", "one")]


def test_an_app_may_configure_logging_while_it_handles_an_event(fake, monkeypatch):
    def app(request):
        config = {"version": 1, "disable_existing_loggers": False, "root": {"level": "INFO"}}
        logging.config.dictConfig(config)
        log_an_error("one")
        return 500

    monkeypatch.setattr(logging.root, "handlers", [logging.NullHandler()])
    monkeypatch.setattr(logging.root, "level", logging.root.level)
    send_to(fake, app)
    assert (failed(fake), logging.root.handlers) == ([("ValueError", "one")], [])


def test_logging_and_threads_are_as_before_once_the_fake_is_closed():
    def hooks():
        return logging.getLogRecordFactory(), threading.excepthook, [*logging.root.handlers]

    before, during = hooks(), []
    with frozen_fake() as fake, frozen_fake(seed="other") as other:
        fake.webhooks.connect(handler=lambda request: during.append(hooks()))
        other.webhooks.connect(handler=lambda request: None)
        fake.send_text()
        other.send_text()
        other.close()
        fake.send_text()

    assert [hooks(), *(handlers for *_, handlers in during)] == [before, *[before[2]] * 2]


def test_a_factory_that_the_app_installs_stays_and_is_used(monkeypatch):
    made = []

    def app(request):
        if not made:
            before = logging.getLogRecordFactory()

            def factory(*args, **kwargs):
                made.append(args[0])
                return before(*args, **kwargs)

            logging.setLogRecordFactory(factory)
            installed.append(factory)
        log_an_error("one")
        return 500

    installed, before = [], logging.getLogRecordFactory()
    try:
        with frozen_fake(strict=False) as fake:
            send_to(fake, app)
            fake.send_text()
            seen = failed(fake)
        assert logging.getLogRecordFactory() is installed[0]
    finally:
        logging.setLogRecordFactory(before)
    assert (seen, made) == ([("ValueError", "one")] * 2, ["shop"] * 2)


# What a WSGI app prints


def printing(print_it, status="500 Internal Server Error"):
    """A WSGI app that prints something to wsgi.errors, with the exception that it has caught."""

    def app(environ, start_response):
        try:
            raise LookupError("no such campaign")
        except LookupError as error:
            caught = error
        print_it(caught, environ["wsgi.errors"])
        start_response(status, [])
        return []

    return app


def print_with_a_date(error, stream):  # as Falcon does
    stream.write(f"2026-01-01 [FALCON] POST => {''.join(traceback.format_exception(error))}\n")


def print_line_by_line(error, stream):
    traceback.print_exception(error, file=stream)


def print_a_list(error, stream):
    stream.writelines(traceback.format_exception(error))


def print_a_second_one(error, stream):
    other = RuntimeError("rolled back")
    other.__cause__ = ValueError("a full disk")
    traceback.print_exception(other, file=stream)
    print("then:", file=stream)
    print_line_by_line(error, stream)


def print_as_a_cause(error, stream):
    try:
        raise LookupError("no such campaign") from error
    except LookupError as later:
        traceback.print_exception(later, file=stream)


@pytest.mark.parametrize(
    "print_it",
    [
        print_with_a_date,
        print_line_by_line,
        print_a_list,
        print_a_second_one,
        print_as_a_cause,
    ],
)
@pytest.mark.parametrize("status", ["500 Internal Server Error", "204 No Content"])
def test_a_traceback_in_wsgi_errors_is_an_error_that_was_logged(fake, capsys, print_it, status):
    fake.webhooks.connect(wsgi=printing(print_it, status), path="/")
    fake.send_text()

    (attempt,) = fake.webhooks.attempts
    *error, place = attempt._logged
    assert (error, place[:22]) == (["LookupError", "no such campaign"], "test_logged_errors.py:")
    assert capsys.readouterr().err.rstrip().endswith("\nLookupError: no such campaign")


def test_the_last_exception_of_a_printed_group_is_named(fake):
    def print_a_group(error, stream):
        traceback.print_exception(ExceptionGroup("two", [ValueError("a"), error]), file=stream)

    fake.webhooks.connect(wsgi=printing(print_a_group), path="/")
    fake.send_text()
    assert failed(fake) == [("LookupError", "no such campaign")]


def test_a_printed_error_may_have_a_dotted_name_and_no_text():
    assert [
        printed_error(f"Traceback (most recent call last):\n  File {here}\n    f()\n{name}\n")
        for here, name in [
            (f'"{__file__}", line 3, in f', "shop.errors.Gone.<locals>.Inner: a: b"),
            (f'"{traceback.__file__}", line 3, in f', "shop.Gone"),
        ]
    ] == [("Inner", "a: b", "test_logged_errors.py:3"), ("Gone", "", "")]


def test_a_long_line_of_spaces_costs_no_time():
    text = f"{' ' * 100_000}\nTraceback (most recent call last):\nGone\n"
    assert printed_error(text) == ("Gone", "", "")


def test_words_in_wsgi_errors_that_are_no_traceback_are_no_error(fake, capsys):
    def print_words(error, stream):
        stream.write(f"slow: {error}\n")
        stream.flush()

    fake.webhooks.connect(wsgi=printing(print_words), path="/")
    fake.send_text()
    assert (failed(fake), capsys.readouterr().err) == ([None], "slow: no such campaign\n")


# A server in this process


def logging_app(status, after=None):
    """A WSGI app that logs an error; given an event, it waits for it after its response."""

    def app(environ, start_response):
        start_response(status, [("Content-Length", "0")])
        if after is None:
            log_an_error("one")
            return []
        return late(after)

    def late(after):
        yield b""
        assert after.wait(30)
        log_an_error("one")

    return app


@pytest.mark.parametrize("status", ["500 Internal Server Error", "204 No Content"])
def test_what_a_server_in_this_process_logs_is_its_attempt_s(fake, status):
    with served(logging_app(status)) as url:
        fake.webhooks.connect(url)
        fake.send_text()
    assert failed(fake) == [("ValueError", "one")]


def test_a_server_s_log_is_nobody_s_while_two_attempts_are_made(fake):
    app = app_that_logs_while_two_are_there()
    with served(app) as one, served(app) as other:
        for url in (one, other):
            fake.webhooks.connect(url, headers={"X-Number": url})
        with fake.webhooks.concurrently():
            fake.send_text()
    assert failed(fake) == [None, None]


@pytest.mark.parametrize(
    ("status", "explains"), [("500 Internal Server Error", True), ("204 No Content", False)]
)
def test_an_error_after_a_response_explains_a_500_or_is_in_the_background(fake, status, explains):
    responded = threading.Event()
    with served(logging_app(status, responded)) as url:
        fake.webhooks.connect(url)
        fake.send_text()
        log_an_error("the test's own")
        before = failed(fake)
        responded.set()

    error = ("ValueError", "one")
    assert [before, failed(fake)] == [[None], [error if explains else None]]
    assert background_errors(fake) == ([] if explains else [error])


# In the background


async def respond(send):
    await send({"type": "http.response.start", "status": 204})
    await send({"type": "http.response.body"})


async def app_with_a_task(scope, receive, send):
    async def work():
        await asyncio.sleep(0)
        raise ValueError("in a task")

    asyncio.create_task(work())  # noqa: RUF006 - nothing keeps it, nothing awaits it
    await respond(send)


async def app_that_logs_later(scope, receive, send):
    async def work():
        await asyncio.sleep(0)
        log_an_error("in a task")
        log_an_error("only a warning", logging.WARNING)

    tasks.append(asyncio.create_task(work()))
    await respond(send)


tasks = []


def app_with_a_thread(request):
    def work():
        raise ValueError("in a thread")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def background_errors(fake):
    return [error[:2] for error in fake._engine.state.background]


@pytest.mark.parametrize("app", [app_with_a_task, app_that_logs_later])
def test_an_error_in_a_task_after_the_response_is_noted(play, app):
    async def scenario(fake, do):
        fake.webhooks.connect(asgi=app, path="/")
        await do(fake.send_text())
        await do(fake.wait_until(partial(background_errors, fake)))
        return failed(fake), background_errors(fake)

    assert play(scenario) == ([None], [("ValueError", "in a task")])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_that_ends_a_thread_is_noted(fake):
    send_to(fake, app_with_a_thread)
    assert (failed(fake), background_errors(fake)) == ([None], [("ValueError", "in a thread")])


def test_an_error_that_a_worker_logs_is_in_the_background(fake):
    jobs = queue.Queue()

    def work():
        jobs.get(timeout=30)
        log_an_error("only a warning", logging.WARNING)
        log_an_error("of a job")

    worker = threading.Thread(target=work)  # as of a scheduler, it was there before the event
    worker.start()
    send_to(fake, lambda request: jobs.put("job"))
    worker.join(30)

    assert (failed(fake), background_errors(fake)) == ([None], [("ValueError", "of a job")])


def test_a_report_names_an_error_in_the_background_first(fake):
    send_to(fake, lambda request: None)
    fake._engine.state.background += [("ValueError", "one", "app.py:4")] * 2

    assert Highlights(fake._story, 0, AssertionError("no row")).lines == [
        "ValueError: one at app.py:4 was raised in the background"
    ]


def test_what_the_test_itself_logs_between_two_attempts_is_not_noted(play):
    async def scenario(fake, do):
        fake.webhooks.connect(handler=lambda request: None)
        await do(fake.send_text())
        log_an_error("the test's own")
        await do(fake.send_text())
        return failed(fake), background_errors(fake)

    assert play(scenario) == ([None, None], [])


def test_a_reset_forgets_errors_in_the_background(fake):
    fake._engine.state.background.append(("ValueError", "one", ""))
    fake.reset()
    assert background_errors(fake) == []
