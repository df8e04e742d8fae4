"""Make the calls of a script on a fake."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pytest_chatfake import ChatFake, PlatformError

from .records import EPOCH
from .scripts import PEOPLE, START, decimal

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from decimal import Decimal

    from .calls import Call
    from .scripts import Script


def moment(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


class Hands:
    """Makes the calls on the fake; in async mode the same calls lay steps."""

    def __init__(self, script: Script, fake: ChatFake, rate: list[Decimal]) -> None:
        self.fake = fake
        self.rate = rate
        self.by_traveller = script.by_traveller
        self.handles: dict[int, Any] = {}
        self.submissions: dict[int, Any] = {}
        self.people: list[Any] = [
            person.address
            if person.devices == 1 and person.receipts
            else fake.recipient(
                person.address, devices=person.devices, read_receipts=person.receipts
            )
            for person in PEOPLE
        ]

    def call(self, call: Call, number: int, conversation: Any, traveller: Any) -> Any:
        """Make `call`; `number` is the model's number for a message that it would create."""
        arguments = dict(call.arguments)
        if isinstance(arguments.get("platform_error"), dict):
            arguments["platform_error"] = PlatformError(**arguments["platform_error"])
        match call.verb:
            case "send" | "submit":
                made = getattr(self.fake, f"{call.verb}_text")(
                    arguments.pop("body", "Hello"),
                    to=self.people[call.to],
                    **({} if conversation is None else {"conversation": conversation}),
                    **arguments,
                )
                if not call.bad:
                    (self.handles if call.verb == "send" else self.submissions)[number] = made
                return made
            case "accept" | "reject":
                made = getattr(self.submissions[call.message], call.verb)(**arguments)
                self.handles.setdefault(call.message, made)
                return made
            case "deliver" | "read" | "fail":
                return getattr(self.handles[call.message], call.verb)(**arguments)
            case "top_up" | "set_balance":
                return getattr(self.fake, call.verb)(arguments["amount"])
            case "rate":
                self.rate[0] = decimal(arguments["amount"])
                return None
            case "advance":
                return self.fake.clock.advance(arguments["delta"])
            case "move":
                return self.move(arguments["at"], call.how, traveller)
            case _:
                raise NotImplementedError(call.verb)

    def move(self, at: int, how: int, traveller: Any) -> Any:
        """Move time to `at`, in one of the ways there are."""
        if self.by_traveller:
            # The user's own traveller, behind the fake's back.
            now = EPOCH + timedelta(microseconds=traveller.now)
            traveller.shift(moment(at) - now)
            traveller.now = at
            return None
        clock = self.fake.clock
        ways: list[Callable[[], Any]] = [
            lambda: clock.advance(moment(at) - clock.now),
            lambda: clock.advance(
                microseconds=(moment(at) - clock.now) // timedelta(microseconds=1)
            ),
            lambda: clock.move_to(moment(at)),
            lambda: clock.move_to(moment(at).isoformat().replace("+00:00", "Z")),
        ]
        return ways[how]()


class Traveller:
    """The user's traveller, with the moment it has reached."""

    def __init__(self, coordinates: Any) -> None:
        self.shift = coordinates.shift
        self.now = START * 1_000_000
