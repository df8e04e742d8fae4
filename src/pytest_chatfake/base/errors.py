"""The exceptions of the fake.

Bad arguments raise ``TypeError`` or ``ValueError``, failed expectations ``AssertionError``, as
everywhere in Python. What remains are states, and they form this tree::

    ChatFakeError
    ├── IllegalTransition      a verb that the message's status does not allow
    ├── NotAwaited             async mode: a result is read before its steps were awaited
    ├── ClockError             time can't be moved as asked
    ├── ClosedError            the fake is used after its test
    ├── NotRepeatable          a body that is explored does not do the same twice
    ├── UndeliveredWebhooks    at the end of a test: what it overlooked; or an endless loop
    └── UnusedFault            at the end of a test: a fault never fired, and no more than that

    InjectedError              what webhooks.error() raises in the app
    WebhookWarning             what a test overlooked, with strict=False
"""

from __future__ import annotations


class ChatFakeError(Exception):
    """Base of the fake's own errors."""


class IllegalTransition(ChatFakeError):  # noqa: N818 - the name is part of the public face
    """A verb was called that §3 does not allow in the message's status; nothing has changed."""


class NotAwaited(ChatFakeError):  # noqa: N818 - reads as the fact it states
    """In async mode, a result was read before its steps were awaited, or they were dropped."""


class ClockError(ChatFakeError):
    """Time can't be moved as asked: backwards, past the calendar, under another time traveller."""


class ClosedError(ChatFakeError):
    """The fake was used after it was closed, or a handle from before it was reset."""


class NotRepeatable(ChatFakeError):  # noqa: N818 - reads as the fact it states
    """A body that is explored does not do the same twice, so its worlds can't be compared."""


class UndeliveredWebhooks(ChatFakeError):  # noqa: N818 - the name is part of the public face
    """At the end of a test: attempts that failed, or were never made, or arranged for nothing.

    It names what the test overlooked, with the lines: a failed attempt that it neither caused nor
    looked at, an event that is queued or that no endpoint listens for, an unused fault, an
    ``after()`` without a verb. With ``strict=False`` each is a :class:`WebhookWarning` instead.

    In the middle of a test it is an endless loop of attempts: each one caused another event.
    """


class UnusedFault(ChatFakeError):  # noqa: N818 - reads as the fact it states
    """At the end of a test: a fault never fired, so the test did not try what it says.

    The text has the line that set it up, and why it did not fire, if that is known. Where the test
    overlooked more than that, it is one of the lines of :class:`UndeliveredWebhooks`.
    """


class InjectedError(Exception):
    """What ``webhooks.error()`` raises inside the app, unless it is told otherwise.

    It has no base but ``Exception``, so only a handler of all errors catches it.
    """


class WebhookWarning(UserWarning):
    """What a test overlooked, with the lines it is about, where ``strict=False``.

    An unused fault that a fixture set up is one in any case: it may be for other tests.
    """


def leaves_at_once(error: BaseException | None) -> bool:
    """Return whether a block's error must come out, whatever its end raises: an interrupt, say."""
    return not (error is None or isinstance(error, Exception))


def _show_public_module(*errors: type[Exception]) -> None:
    """Show errors under the module that users import them from."""
    for error in errors:
        error.__module__ = __name__.partition(".")[0]


_show_public_module(ChatFakeError, *ChatFakeError.__subclasses__(), InjectedError, WebhookWarning)
