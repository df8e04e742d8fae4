"""The exceptions of the fake.

As everywhere in Python, bad arguments raise ``TypeError`` or ``ValueError``, failed expectations
``AssertionError``. The other errors are about the state of things::

    ChatFakeError
    ├── IllegalTransition      the state of a message or a recipient rules a verb out
    ├── NotAwaited             async mode: a result was read before its steps were awaited
    ├── ClockError             time can't be moved like this
    ├── ClosedError            a fake was used after it was closed
    ├── NotRepeatable          an explored body does something else in each run
    ├── UndeliveredWebhooks    at the end of a test: it overlooked something; or an endless loop
    └── UnusedFault            at the end of a test: a fault never fired, all else is right

    InjectedError              what webhooks.error() raises in the app
    WebhookWarning             what a test overlooked, with strict=False
"""

from __future__ import annotations


class ChatFakeError(Exception):
    """Base of the fake's own errors."""


class IllegalTransition(ChatFakeError):  # noqa: N818 - the name is part of the public face
    """The state of the message or the recipient rules this verb out (§3); nothing has changed."""


class NotAwaited(ChatFakeError):  # noqa: N818 - reads as the fact it states
    """In async mode, a result was read while steps were pending, or steps were never awaited."""


class ClockError(ChatFakeError):
    """Time can't move backwards, past the end of the calendar, or while freezegun holds it."""


class ClosedError(ChatFakeError):
    """A fake was used after it was closed, or an object from before a reset was used."""


class NotRepeatable(ChatFakeError):  # noqa: N818 - reads as the fact it states
    """An explored body behaves differently from run to run, so its worlds can't be compared."""


class UndeliveredWebhooks(ChatFakeError):  # noqa: N818 - the name is part of the public face
    """A test overlooked something, such as a failed webhook.

    This error is raised at the end of the test function. Its message lists what the test
    overlooked, with lines of the test:

    - failed attempts, unless the test asked for them, as with a fault, or has read them
    - events that are still queued
    - events that aren't status events, if no endpoint listens for their type
    - unused faults (on their own, they raise :class:`UnusedFault`)
    - calls whose result was not used: a block that was not entered with ``with``, an ``after()``
      without a verb, a receiver's ``respond()`` without a webhook

    With ``strict=False``, each of these is a :class:`WebhookWarning` instead.

    In the middle of a test, this error means an endless loop: each attempt caused another event.
    """


class UnusedFault(ChatFakeError):  # noqa: N818 - reads as the fact it states
    """A fault never fired, so the test did not try what it set out to try.

    This error is raised at the end of the test function. Its message has the line that set the
    fault up and, if known, why the fault did not fire. If the test overlooked something else as
    well, :class:`UndeliveredWebhooks` lists the fault instead.
    """


class InjectedError(Exception):
    """The exception that ``webhooks.error()`` raises inside the app, unless you pass ``raises=``.

    It derives directly from ``Exception``, so an app that catches only specific errors doesn't
    catch it.
    """


class WebhookWarning(UserWarning):
    """A test with ``strict=False`` overlooked something; the warning's text names the line.

    :class:`UndeliveredWebhooks` says what can be overlooked. An unused fault that a fixture set up
    causes this warning even in a strict test, because the fault may be meant for other tests. So
    does a :class:`ChatFake` that a test made and nobody closed, because nothing checked it.
    """


def leaves_at_once(error: BaseException | None) -> bool:
    """Return whether a block ended with, say, an interrupt, which no later error may replace."""
    return not (error is None or isinstance(error, Exception))


def _show_public_module(*errors: type[Exception]) -> None:
    # So that a traceback shows the name that users import.
    for error in errors:
        error.__module__ = __name__.partition(".")[0]


_show_public_module(ChatFakeError, *ChatFakeError.__subclasses__(), InjectedError, WebhookWarning)
