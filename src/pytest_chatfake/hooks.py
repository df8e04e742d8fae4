"""The hooks that other plugins may implement, beside pytest's own.

They are called for the fakes of the test that runs: not outside pytest, and not between tests.
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
    """Take a plugin's own keywords out of what ``@pytest.mark.chat_fake`` says of a test.

    Called when ``chat_fake`` or ``chat_explore`` is set up, before a fake is made, in the thread of
    the test. It may change the dictionary, other fields included, and calls no verb. A
    ``TypeError`` or ``ValueError`` fails the test with the text of the error.

    Args:
        item: The test.
        fields: The keywords of its markers; of the same keyword, that of the nearest marker. What
            is left has to be fields of ``ChatFakeConfig``.
    """


def pytest_chatfake_attempt(attempt: Attempt) -> AbstractContextManager[object] | None:
    """Return a block around an attempt to post a webhook; None: nothing is added.

    Called for each attempt before it is signed and posted, retries and the attempts of
    explorations included, from the thread or the task that makes it: attempts that are made at the
    same time enter their blocks side by side.

    The block may look at the attempt and change nothing of it: how it ended is there after the
    block. It must not raise, must not wait for another attempt, and calls no verb of the fake.

    Args:
        attempt: The attempt as in ``chat_fake.webhooks.attempts``.
    """


@pytest.hookspec(firstresult=True)
def pytest_chatfake_reply(
    api: AccountApi, reply: Callable[[], Reply], is_balance: bool
) -> Reply | None:
    """Return another response than the fake's to a call of the app; None: it stays as it is.

    Called before the response to a balance query, and to a POST that succeeded, leaves: not if a
    fault has shaped it. It comes from the thread that serves the call: over a socket that is one of
    the listener's. The first plugin that returns a response decides. The fake records what it would
    have recorded anyway. It must not raise, and calls no verb of the fake.

    Args:
        api: The fake's ``chat_fake.api``.
        reply: Returns the fake's response. It is a named tuple, so
            ``reply()._replace(status=503, body=b"")`` is another one.
        is_balance: Whether it is the response to a balance query.
    """


def pytest_chatfake_forget(story: Story) -> None:
    """Look at what happened in a fake, before it is gone from the test.

    Called before a reset, at the end of each world of an exploration, when Hypothesis goes on to
    another example, and when a test makes more fakes than a report shows: then for the oldest. It
    comes from the thread that does so, with the fake's lock taken in a reset. It must not raise,
    and calls no verb of the fake. What has not gone when a test ends is not shown to it.

    Args:
        story: Has the records of the fake as ``story.trace``.
    """


def pytest_chatfake_section(item: pytest.Item, report: pytest.TestReport, section: Section) -> None:
    """Look at what the report of a failure shows of a fake.

    Called for each fake that has something to show, once the text is in the report, from the
    thread that runs the test. It may keep something for later as an attribute of the report: what
    JSON knows gets from a worker of pytest-xdist to the terminal's process. It must not raise, and
    calls no verb of the fake.

    Args:
        item: The test.
        report: The report of one of its phases.
        section: Its ``str()`` is the text, and its attributes are what that is made of.
    """
