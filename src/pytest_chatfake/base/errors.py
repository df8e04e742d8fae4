"""The exceptions of the fake.

As everywhere in Python, bad arguments raise ``TypeError`` or ``ValueError``, failed expectations
``AssertionError``. The other errors are about the state of things::

    ChatFakeError
    ├── IllegalTransition      the message's status does not allow this verb
    ├── NotAwaited             async mode: a result is read before its steps were awaited
    ├── ClockError             time can't be moved like this
    ├── ClosedError            the fake is used after its test
    ├── NotRepeatable          an explored body does not do the same thing twice
    ├── UndeliveredWebhooks    at the end of a test: what it overlooked; or an endless loop
    └── UnusedFault            at the end of a test: a fault never fired, all else is right

    InjectedError              what webhooks.error() raises in the app
    WebhookWarning             what a test overlooked, with strict=False
"""

from __future__ import annotations


class ChatFakeError(Exception):
    """Base of the fake's own errors."""


class IllegalTransition(ChatFakeError):  # noqa: N818 - the name is part of the public face
    """The message's status does not allow this verb (§3); nothing has changed."""


class NotAwaited(ChatFakeError):  # noqa: N818 - reads as the fact it states
    """Async mode: a result was read before its steps were awaited, or they were dropped."""


class ClockError(ChatFakeError):
    """Time can't be moved like this: backwards, past the calendar, or while freezegun holds it."""


class ClosedError(ChatFakeError):
    """The fake was used after it was closed, or an object from before a reset."""


class NotRepeatable(ChatFakeError):  # noqa: N818 - reads as the fact it states
    """An explored body does not do the same thing twice, so its worlds can't be compared."""


class UndeliveredWebhooks(ChatFakeError):  # noqa: N818 - the name is part of the public face
    """At the end of a test: it overlooked something, such as a webhook that failed.

    The text says what, with its line: a failed attempt that the test neither caused nor read, an
    event that is still queued or that no endpoint listens for, an unused fault, an ``after()``
    without a verb. With ``strict=False`` each is a :class:`WebhookWarning` instead.

    In the middle of a test it means an endless loop: each attempt caused another event.
    """


class UnusedFault(ChatFakeError):  # noqa: N818 - reads as the fact it states
    """At the end of a test: a fault never fired, so it did not try what it was meant to try.

    The text has the line that set the fault up, and why it did not fire, if known. If the test
    overlooked more, the fault is one line of :class:`UndeliveredWebhooks`.
    """


class InjectedError(Exception):
    """What ``webhooks.error()`` raises inside the app, unless it has ``raises=``.

    It is a plain ``Exception``, so only a handler for all errors catches it.
    """


class WebhookWarning(UserWarning):
    """With ``strict=False``: what a test overlooked, with its lines.

    An unused fault that a fixture set up always causes this warning, because the fault may be meant
    for other tests.
    """


def leaves_at_once(error: BaseException | None) -> bool:
    """Return whether an interrupt, say, has left a block: no error at its end may replace that."""
    return not (error is None or isinstance(error, Exception))


def _show_public_module(*errors: type[Exception]) -> None:
    # A traceback then shows the name that users import.
    for error in errors:
        error.__module__ = __name__.partition(".")[0]


_show_public_module(ChatFakeError, *ChatFakeError.__subclasses__(), InjectedError, WebhookWarning)
