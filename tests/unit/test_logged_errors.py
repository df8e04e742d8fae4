"""What is noted of an app's log during an attempt, and what the log keeps to itself."""

import logging
import re
import threading

from pytest_chatfake.report.highlights import Highlights


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

    fake.webhooks.connect(handler=app)
    fake.send_text()
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

    fake.webhooks.connect(handler=app)
    fake.send_text()
    assert failed(fake) == [None]


def test_attempts_at_the_same_time_have_an_error_each(fake):
    both = threading.Barrier(2, timeout=30)

    def app(environ, start_response):
        both.wait()
        log_an_error(environ["HTTP_X_NUMBER"])
        both.wait()
        start_response("500 Internal Server Error", [])
        return []

    for number in "12":
        fake.webhooks.connect(wsgi=app, path="/", headers={"X-Number": number})
    with fake.webhooks.concurrently():
        fake.send_text()
    assert {("ValueError", "1"), ("ValueError", "2")} == {*failed(fake)}


def test_the_root_logger_has_no_other_handlers_and_levels_than_before(fake, monkeypatch):
    seen = []

    def app(request):
        seen.append([handler.level for handler in logging.root.handlers])

    fake.webhooks.connect(handler=app)
    nobody, strict = [], [logging.NullHandler(logging.ERROR)]
    for handlers in (nobody, strict):
        monkeypatch.setattr(logging.root, "handlers", handlers)
        fake.send_text()

    assert seen == [[], [logging.ERROR] * 2]
    assert [len(nobody), len(strict)] == [0, 1]
