"""What is noted of an app that logs with loguru or structlog; and that all is put back."""

import sys
from itertools import count
from types import SimpleNamespace

import pytest

from .fakes import send_to


class Loguru:
    """Stands for loguru's logger: it tells each sink of an exception, and says which there are."""

    def __init__(self):
        self.sinks, self._ids = {}, count()
        self.add(lambda message: None)

    def __repr__(self):
        return (
            f"<loguru.logger handlers={[f'(id={each}, level=30, sink=_)' for each in self.sinks]}>"
        )

    def add(self, sink, **options):
        number = next(self._ids)
        self.sinks[number] = sink
        return number

    def remove(self, number):
        if number not in self.sinks:
            raise ValueError(f"There is no existing handler with id {number}")
        del self.sinks[number]

    def log(self, level, error):
        record = {"exception": error and SimpleNamespace(value=error)}
        record["level"] = SimpleNamespace(no=level)
        for sink in self.sinks.values():
            sink(SimpleNamespace(record=record))


class Structlog:
    """Stands for structlog: each logger passes its events through one list of processors."""

    def __init__(self):
        self.processors = [lambda logger, method, event: event]

    def get_config(self):
        return {"processors": self.processors}

    def log(self, method, **event):
        for each in self.processors:
            event = each(None, method, event)


@pytest.fixture
def loguru(monkeypatch):
    logger = Loguru()
    monkeypatch.setitem(sys.modules, "loguru", SimpleNamespace(logger=logger))
    return logger


@pytest.fixture
def structlog(monkeypatch):
    module = Structlog()
    monkeypatch.setitem(sys.modules, "structlog", module)
    return module


def failing(log, status=204):
    """A handler that logs what it has caught."""

    def app(request):
        try:
            raise ValueError("one")
        except ValueError as error:
            log(error)
        return status

    return app


def noted(fake, app):
    send_to(fake, app)
    (attempt,) = fake.webhooks.attempts
    return attempt._logged and attempt._logged[:2]


@pytest.mark.parametrize(
    ("level", "status", "expected"),
    [(40, 204, ("ValueError", "one")), (30, 204, None), (30, 500, ("ValueError", "one"))],
)
def test_an_exception_that_loguru_logs_counts_by_its_level(fake, loguru, level, status, expected):
    assert noted(fake, failing(lambda error: loguru.log(level, error), status)) == expected


def test_a_text_that_loguru_logs_is_no_exception(fake, loguru):
    assert noted(fake, failing(lambda error: loguru.log(40, None))) is None


@pytest.mark.parametrize("first", [0, 1])
def test_sinks_that_an_app_has_removed_are_not_missed(fake, loguru, first):
    def remove():
        for number in [*loguru.sinks][first:]:
            loguru.remove(number)

    assert noted_after(fake, remove, lambda error: loguru.log(40, error)) == ("ValueError", "one")


def noted_after(fake, change, log):
    """What is noted of the second of two events, if the app changes something in the first one."""
    apps = iter([lambda request: change(), failing(log)])

    def receive(request):
        return next(apps)(request)

    send_to(fake, receive)
    fake.send_text()
    return fake.webhooks.attempts[-1]._logged[:2]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_closed_fake_leaves_loguru_as_it_was(fake, loguru, monkeypatch, is_there):
    noted(fake, failing(lambda error: loguru.log(40, error)))
    if not is_there:  # a test has taken the module away
        monkeypatch.delitem(sys.modules, "loguru")
    fake.close()
    assert [*loguru.sinks] == [0]


@pytest.mark.parametrize(
    ("method", "given", "status", "expected"),
    [
        ("exception", {}, 204, ("ValueError", "one")),
        ("error", {"exc_info": True}, 204, ("ValueError", "one")),
        ("error", {"exc_info": ValueError("two")}, 204, ("ValueError", "two")),
        ("error", {"exc_info": (ValueError, ValueError("two"), None)}, 204, ("ValueError", "two")),
        ("error", {}, 204, None),
        ("warning", {"exc_info": True}, 204, None),
        ("warning", {"exc_info": True}, 500, ("ValueError", "one")),
    ],
)
def test_an_exception_that_structlog_logs_counts_by_its_method(
    fake, structlog, method, given, status, expected
):
    assert noted(fake, failing(lambda _: structlog.log(method, **given), status)) == expected


def test_structlog_may_be_configured_between_two_events(fake, structlog):
    def configure():
        structlog.processors = []

    noted = noted_after(fake, configure, lambda error: structlog.log("exception"))
    assert noted == ("ValueError", "one")


def test_structlog_may_be_configured_with_a_tuple(fake, structlog):
    structlog.processors = ()
    assert noted(fake, failing(lambda error: structlog.log("exception"))) is None


def test_a_closed_fake_leaves_structlog_as_it_was(fake, structlog):
    before = [*structlog.processors]
    noted(fake, failing(lambda error: structlog.log("exception")))
    fake.close()
    assert structlog.processors == before
