"""Mistakes that a newcomer makes, and what the fake says to them."""

import gc
import weakref
from contextlib import ExitStack

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake, WebhookWarning


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "block",
    [lambda webhooks: webhooks.lifespan(Client), lambda webhooks: webhooks.paused()],
    ids=["lifespan", "paused"],
)
async def test_a_block_is_refused_in_the_other_mode_s_words(block):
    with ChatFake() as fake, pytest.raises(TypeError, match="in sync mode: write `with`, not"):
        await block(fake.webhooks).__aenter__()
    with (
        ChatFake(mode="async") as fake,
        pytest.raises(TypeError, match="in async mode: write `async with`, not"),
    ):
        block(fake.webhooks).__enter__()


def test_fakes_that_nobody_has_closed_go_with_the_last_reference():
    def leave_one():
        fake = ChatFake(strict=False)
        fake.webhooks.connect(handler=lambda request: fake.events and None)
        fake.send_text()
        return weakref.ref(fake)

    def leave_many():
        left = [leave_one() for _ in range(20)]
        gc.collect()
        return [fake() for fake in left]

    with pytest.warns(WebhookWarning, match="was never closed"):
        left = leave_many()
    # A failure would show the last ten, and the watchdog may have seen one in its attempt.
    assert left[:10].count(None) >= 9
    for fake in filter(None, left):
        fake.close()


def test_keys_of_open_fakes_differ_when_a_test_is_run_again(monkeypatch):
    with ExitStack() as stack:
        keys = []
        for name in ("test_a", "test_b", "test_a"):
            monkeypatch.setenv("PYTEST_CURRENT_TEST", f"{name} (call)")
            keys.append(stack.enter_context(ChatFake(seed="the same")).api_key)

    assert len({*keys}) == 3
