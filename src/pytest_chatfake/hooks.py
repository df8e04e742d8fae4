"""The hooks that other plugins may implement, beside pytest's own.

They are called for the fakes of the test that runs: not outside pytest, and not between tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from .http_api.account_api import AccountApi
    from .transport.server.replies import Reply
    from .webhooks.attempts import Attempt


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
