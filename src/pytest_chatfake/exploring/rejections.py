"""Judges what an app does after the service has rejected all of its messages.

Right apps differ here: one deletes its row, another keeps it as failed, a third only tells its
caller. But none goes on for ever, and none has amounts as if the messages had been accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from ..base.views import counted
from ..fake.details import key_of
from ..http_api.account_api import ApiRequest
from .amounts import amounts_in, is_about
from .baseline import Difference

#: In so many rounds at the end, a send that was rejected must not be tried any more.
_LAST_ROUNDS: Final = 5


def still_tried(
    posts: Sequence[ApiRequest], now: datetime, *, unit: str, code: Sequence[str]
) -> Difference:
    """Say that an app still tried in the last rounds, unless it has given up.

    Args:
        posts: Its calls that may have an effect.
        now: The end.
        unit: How far the rounds are apart: ``"hours"``, or ``"days"``. After days, a call only
            counts if an earlier one had its idempotency key, because another message may be due
            each day.
        code: The lines of a test up to the end.
    """
    end = now - timedelta(**{unit: _LAST_ROUNDS})
    late = [call for call in posts if call.at > end]
    if unit == "days":
        earlier = {key_of(call) for call in posts if call.at <= end}
        late = [call for call in late if key_of(call) and key_of(call) in earlier]
    if not late:
        return Difference([])
    times = counted(len(posts), "time")
    last = f"the last {_LAST_ROUNDS} {unit}"
    found = f"it still tried in {last}, {times} in all: a 400 never ends by itself"
    lines = [
        f"end = chat_fake.clock.now - timedelta({unit}={_LAST_ROUNDS})",
        "late = [each for each in chat_fake.api.requests if each.at > end]",
        "assert [each for each in late if each.method != 'GET'] == []",
    ]
    return Difference([found], code=[*code, *lines])


def taken_for_accepted(
    before: Any, accepted: Any, rejected: Any, cost: Decimal, *, taken: str, code: Sequence[str]
) -> Difference:
    """Say that an amount is as if messages had been accepted, although none was.

    It is an amount that the accepted messages have changed by exactly their cost, if all amounts
    are the same after a rejection. A right app gives the amount back, or keeps a refund somewhere.

    Args:
        before: The snapshot before the send.
        accepted: The one after an accepted send.
        rejected: The one after a rejection.
        cost: The total price of the messages.
        taken: The code that takes the snapshot.
        code: The lines of a test before that.
    """
    old, new = amounts_in(before), amounts_in(accepted)
    if amounts_in(rejected) == new:
        for name in old:
            if name in new and is_about(abs(new[name] - old[name]), cost):
                found = f"{name or 'snapshot'}: {new[name]}, as after an accepted send"
                line = f"assert float({taken}{name}) == {float(old[name])}  # as before send()"
                return Difference([f"{found}; before: {old[name]}"], code=[*code, line])
    return Difference([])
