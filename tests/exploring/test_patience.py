"""Bodies that wait for what never comes are ended, and the line where they wait is named."""

import re

import pytest

from .cards import cards

MODULE = """
    import asyncio
    from pytest_chatfake import WebhookTests
"""

STUCK = """
    class TestStuck(WebhookTests):
        async def connect(self, chat_fake):
            jobs = asyncio.Queue()

            async def receive(request):
                jobs.put_nowait(request)

            async def snapshot():
                if {condition}:
                    await jobs.join()
                return [jobs.qsize()]

            chat_fake.webhooks.connect(handler=receive)
            return snapshot

        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver()
"""


@pytest.fixture
def limit(monkeypatch):
    monkeypatch.setattr("pytest_chatfake.exploring.patience.LIMIT", 0.5)


@pytest.mark.usefixtures("limit")
def test_a_snapshot_that_never_returns_fails_the_test(run):
    shown = cards(run(STUCK.format(condition="jobs.qsize()"), "-k", "changes"))
    assert re.search(r"snapshot_changes: it waited at test_\w+.py:13, but nothing happened", shown)


@pytest.mark.usefixtures("limit")
def test_a_snapshot_that_hangs_in_one_world_is_a_finding(run):
    shown = cards(run(STUCK.format(condition="jobs.qsize() > 2"), "-k", "another_id"))
    assert re.search(r"sent m1 was redelivered with a new id; it waited at test_\w+.py:13, ", shown)
