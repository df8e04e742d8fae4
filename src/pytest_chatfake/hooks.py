"""The hooks that other plugins may implement, besides pytest's own.

They are called for the fakes of the running test, never outside pytest or between tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

    from .http_api.account_api import AccountApi
    from .report.section import Section
    from .report.story import Story
    from .transport.server.replies import Reply
    from .webhooks.attempts import Attempt


def pytest_chatfake_fields(item: pytest.Item, fields: dict[str, Any]) -> None:
    """Take a plugin's own keywords out of the marker ``@pytest.mark.chat_fake``.

    It is called when ``chat_fake`` or ``chat_explore`` is set up, before there is a fake, in the
    test's thread. It may change the dictionary, other fields included, but must not call verbs. A
    ``TypeError`` or ``ValueError`` fails the test with its text.

    Args:
        item: The test.
        fields: The keywords of the test's markers; the nearest marker wins. All that you leave in
            have to be fields of ``ChatFakeConfig``.
    """


def pytest_chatfake_attempt(attempt: Attempt) -> AbstractContextManager[object] | None:
    """Return a context manager that is entered around an attempt; None: there is none.

    It is called for each attempt before the event is signed and posted, including retries and
    explorations, from the thread or task that makes the attempt. Attempts at the same time enter
    their blocks side by side.

    The block may read the attempt but not change it; after the ``yield``, the attempt says how it
    ended. The block must not raise, wait for another attempt, or call verbs of the fake.

    Args:
        attempt: The attempt as in ``chat_fake.webhooks.attempts``.
    """


@pytest.hookspec(firstresult=True)
def pytest_chatfake_reply(
    api: AccountApi, reply: Callable[[], Reply], is_balance: bool
) -> Reply | None:
    """Return another response to a call of the app; None: the fake's own stays.

    It is called before the response to a balance request or to a successful POST leaves, unless a
    fault has shaped it, from the thread that serves the call: over a socket, one of the listener's
    threads. The first plugin that returns a response decides. The fake's records don't change. The
    hook must not raise, or call verbs of the fake.

    Args:
        api: The fake's ``chat_fake.api``.
        reply: Returns the fake's response. It is a named tuple, so
            ``reply()._replace(status=503, body=b"")`` is another one.
        is_balance: Whether it is the response to a balance request.
    """


def pytest_chatfake_forget(story: Story) -> None:
    """Look at what happened in a fake before the test forgets it.

    It is called before a reset, at the end of each world of an exploration, when Hypothesis goes on
    to another example, and for the oldest fake when a test makes more than a report shows. It is
    called from the thread that does so; in a reset, that thread holds the fake's lock. The hook
    must not raise, or call verbs of the fake. It is not called for fakes that still exist when a
    test ends.

    Args:
        story: Has the records of the fake as ``story.trace``.
    """


def pytest_chatfake_section(item: pytest.Item, report: pytest.TestReport, section: Section) -> None:
    """Look at what a failure report shows of a fake.

    It is called for each fake with something to show, once the text is in the report, from the
    test's thread. It may store data as an attribute of the report: JSON data is passed on from a
    pytest-xdist worker to the main process. The hook must not raise, or call verbs of the fake.

    Args:
        item: The test.
        report: The report of one of its phases.
        section: ``str()`` returns its text; its attributes are the data behind the text.
    """
