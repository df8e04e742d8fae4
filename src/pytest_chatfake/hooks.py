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

    The hook is called in the test's thread while ``chat_fake`` or ``chat_explore`` is set up,
    before the fake exists. It may change the dictionary, including other fields, but must not call
    verbs. A ``TypeError`` or ``ValueError`` fails the test with its message.

    Args:
        item: The test.
        fields: The keywords of the test's markers; the nearest marker wins. Whatever you leave in
            has to be a field of ``ChatFakeConfig``.
    """


def pytest_chatfake_attempt(attempt: Attempt) -> AbstractContextManager[object] | None:
    """Return a context manager to enter around an attempt, or None.

    The hook is called for each attempt, including retries and attempts in explorations, before the
    event is signed and posted. It runs in the thread or task that makes the attempt, so the blocks
    of concurrent attempts overlap.

    The block may read the attempt but not change it; after the ``yield``, the attempt says how it
    ended. The block must not wait for another attempt, or call verbs of the fake. If it raises, so
    does the test's call.

    Args:
        attempt: The attempt as in ``chat_fake.webhooks.attempts``.
    """


@pytest.hookspec(firstresult=True)
def pytest_chatfake_reply(
    api: AccountApi, reply: Callable[[], Reply], is_balance: bool
) -> Reply | None:
    """Return another response to one of the app's calls, or None to keep the fake's.

    The hook is called before the response to a balance request or to a successful POST leaves,
    unless a fault has shaped that response. It runs in the thread that serves the call: over a
    socket, one of the listener's threads. The first plugin that returns a response wins. The fake's
    records don't change. The hook must not raise or call verbs of the fake.

    Args:
        api: The fake's ``chat_fake.api``.
        reply: Returns the fake's response, a named tuple. To change it, return
            ``reply()._replace(status=503, body=b"")``.
        is_balance: Whether the call is a balance request.
    """


def pytest_chatfake_forget(story: Story) -> None:
    """Look at what happened in a fake before its records are discarded.

    The hook is called before a reset, at the end of each world of an exploration, when Hypothesis
    goes on to the next example, and for the oldest fake when a test makes more fakes than a report
    shows. It is not called for fakes that still exist when a test ends. It runs in the thread that
    discards the records; during a reset, that thread holds the fake's lock. The hook must not raise
    or call verbs of the fake.

    Args:
        story: ``story.trace`` has the fake's records.
    """


def pytest_chatfake_section(item: pytest.Item, report: pytest.TestReport, section: Section) -> None:
    """Look at what a failure report shows about a fake.

    The hook is called in the test's thread for each fake that has something to show, once the text
    is in the report. It may store data as an attribute of the report; pytest-xdist passes JSON data
    on from a worker to the main process. The hook must not raise or call verbs of the fake.

    Args:
        item: The test.
        report: The report on one of the test's phases.
        section: ``str()`` returns the text; the attributes are the data behind the text.
    """
