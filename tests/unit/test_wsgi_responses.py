"""What a WSGI app may respond with, what is refused, and what is closed."""

import sys
from wsgiref.validate import validator

import pytest

from pytest_chatfake.transport.client.responses import Response

from .wsgi_apps import App, post


class Parts:
    """A body that says whether it was closed."""

    def __init__(self, *parts, failing=None):
        self.parts, self.failing = parts, failing
        self.closed = 0

    def __iter__(self):
        yield from self.parts
        if self.failing is not None:
            raise self.failing

    def close(self):
        self.closed += 1


# What the app may respond with


@pytest.mark.parametrize(
    ("said", "status"), [("200 OK", 200), ("204", 204), ("418 ", 418), ("599 Any Thing", 599)]
)
def test_a_status_may_come_without_a_reason(said, status):
    assert Response(status, b"") == post(App(said, []))


def test_a_generator_may_start_the_response_when_it_is_first_asked():
    def app(environ, start_response):
        start_response("202 Accepted", [])
        yield b"later, "
        yield b"but not too late"

    assert Response(202, b"later, but not too late") == post(app)


def test_written_parts_come_before_returned_ones():
    def app(environ, start_response):
        write = start_response("200 OK", [("Content-Type", "text/plain")])
        write(b"one ")
        write(b"two ")
        return [b"three"]

    assert Response(200, b"one two three") == post(validator(app))


def test_an_error_page_replaces_a_response_that_is_not_sent_yet():
    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        try:
            raise LookupError
        except LookupError:
            start_response("500 Oh", [("Content-Type", "text/plain")], sys.exc_info())
        return [b"sorry"]

    assert Response(500, b"sorry") == post(validator(app))


def in_the_middle_of_a_body(environ, start_response):
    start_response("200 OK", [])
    yield b"half of "
    fails_too_late(start_response)


def after_a_write(environ, start_response):
    start_response("200 OK", [])(b"half of ")
    fails_too_late(start_response)
    return []


def fails_too_late(start_response):
    try:
        raise LookupError("too late")
    except LookupError:
        start_response("500 Oh", [], sys.exc_info())


@pytest.mark.parametrize("app", [in_the_middle_of_a_body, after_a_write])
def test_an_error_after_the_headers_were_sent_leaves_the_app_as_it_is(app):
    with pytest.raises(LookupError, match="too late"):
        post(app)


# What is closed


def test_a_body_that_fails_half_way_is_closed_and_its_error_surfaces():
    error = OSError("disk full")
    parts = Parts(b"a", failing=error)

    def app(environ, start_response):
        start_response("200 OK", [])
        return parts

    with pytest.raises(OSError, match="disk full") as raised:
        post(app)
    assert error is raised.value
    assert parts.closed == 1


def test_a_body_without_a_response_is_closed_too():
    parts = Parts()
    with pytest.raises(RuntimeError, match="without calling start_response"):
        post(lambda environ, start_response: parts)
    assert parts.closed == 1
