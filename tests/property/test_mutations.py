"""Faults put into the code on purpose: the comparison with the model catches each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings

from pytest_chatfake.domain.account import Account
from pytest_chatfake.domain.conversations import ConversationRecord
from pytest_chatfake.domain.ledger import LedgerEntry
from pytest_chatfake.domain.people import PersonRecord
from pytest_chatfake.people.scripts import Scripts

from .model_comparison import Divergence, ModelComparison
from .required_paths import profile
from .scripts import Script, scripts

if TYPE_CHECKING:
    from collections.abc import Callable

MILLISECOND = 1_000_000  # in nanoseconds


def charge_every_device(patch: pytest.MonkeyPatch) -> None:
    arrival = Account._arrival

    def charging_again(self: Any, what: Any, message: Any, now: int, *more: Any) -> Any:
        fact = arrival(self, what, message, now, *more)
        if message.state == "delivered" and message.charged:
            again = LedgerEntry("charge", message.charged, now, message.id, fact.conversation.id)
            fact = replace(fact, entries=(*fact.entries, again))
        return fact

    patch.setattr(Account, "_arrival", charging_again)


def forget_the_release_at_the_drop(patch: pytest.MonkeyPatch) -> None:
    drop = Account._drop

    def keeping_the_hold(self: Any, message: Any, now: int) -> Any:
        return [replace(fact, entries=()) for fact in drop(self, message, now)]

    patch.setattr(Account, "_drop", keeping_the_hold)


def expire_too(offset: int) -> Callable[[pytest.MonkeyPatch], None]:
    """Sessions end a little off, while `expireTime` tells the truth."""

    def mutate(patch: pytest.MonkeyPatch) -> None:
        state = ConversationRecord.state
        patch.setattr(ConversationRecord, "state", lambda self, now: state(self, now - offset))

    return mutate


def write_the_expiry_too_late(patch: pytest.MonkeyPatch) -> None:
    arrival = Account._arrival

    def expiring_later(self: Any, what: Any, message: Any, now: int, *more: Any) -> Any:
        fact = arrival(self, what, message, now, *more)
        if message.conversation.expires_at is None:
            fact = replace(fact, expires_at=fact.expires_at + MILLISECOND)
        return fact

    patch.setattr(Account, "_arrival", expiring_later)


def deliver_what_was_kept_back(patch: pytest.MonkeyPatch) -> None:
    begin = Account._begin

    def forgetting(self: Any, fact: Any, message: Any) -> None:
        begin(self, fact, message)
        message.undeliverable = False

    patch.setattr(Account, "_begin", forgetting)


def lay_too_late(patch: pytest.MonkeyPatch) -> None:
    plan = Scripts._plan
    patch.setattr(Scripts, "_plan", lambda self, step, at: plan(self, step, at + MILLISECOND))


MUTATIONS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "a second device is charged again": (charge_every_device, "kinds of ledger entries"),
    "the release is forgotten at the drop": (
        forget_the_release_at_the_drop,
        "kinds of ledger entries",
    ),
    "a session ends a millisecond late": (expire_too(MILLISECOND), "outcome of send|conversation"),
    "a session ends a millisecond early": (
        expire_too(-MILLISECOND),
        "outcome of send|conversation",
    ),
    "what was sent while blocked arrives later": (
        deliver_what_was_kept_back,
        "number of events|outcome of",
    ),
    "an open chat reads nothing": (
        lambda patch: patch.setattr(PersonRecord, "acts_at_once", False),
        "number of events",
    ),
    "a step of a script happens a millisecond late": (lay_too_late, "next due"),
    "a session is said to end a millisecond late": (write_the_expiry_too_late, "expireTime"),
}


@pytest.mark.parametrize(("mutate", "where"), MUTATIONS.values(), ids=MUTATIONS)
def test_a_fault_put_into_the_code_is_caught(
    mutate: Callable[[pytest.MonkeyPatch], None], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[Script] = []

    @settings(profile(400), phases=[Phase.generate], report_multiple_bugs=False)
    @given(scripts())
    def play(script: Script) -> None:
        played.append(script)
        ModelComparison(script).run()

    with monkeypatch.context() as patch:
        mutate(patch)
        with pytest.raises(Divergence, match=where):
            play()

    ModelComparison(played[-1]).run()  # without the fault the same script finds nothing
