"""How long a verb's way through the package is: ``python -m benchmarks.way [--show NAME]``.

Whoever reads the package follows its calls. So the calls of a verb are counted, and how often two
calls in a row are in different rooms. A room is the first folder below the package; a file that
lies in no folder is a room of its own. The exit status is 1 if a way is longer than its limits.

The limits are those of Python 3.11: since 3.12, a comprehension is not a call.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from time_machine import travel
from werkzeug.test import Client

import pytest_chatfake
from pytest_chatfake import ChatFake

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

PACKAGE = Path(pytest_chatfake.__file__).parent

#: The rooms from the roof down: a way that goes down goes to the right when it is shown.
HOUSE = (
    "fake",
    "report",
    "people",
    "engine",
    "webhooks",
    "http_api",
    "wire",
    "transport",
    "domain",
    "base",
)

Work = Callable[[], object]


def walk(work: Work) -> list[CodeType]:
    """Do some work, and return what it calls in the package, call by call, in this thread.

    A generator counts as called each time that it is resumed.
    """
    inside = f"{PACKAGE}{os.sep}"
    calls: list[CodeType] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(inside):
            calls.append(frame.f_code)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def file_of(code: CodeType) -> Path:
    """Return a function's file, relative to the package."""
    return Path(code.co_filename).relative_to(PACKAGE)


def room_of(code: CodeType) -> str:
    """Return the room that a function is in."""
    return file_of(code).parts[0]


def changes_of_room(calls: list[CodeType]) -> int:
    """Count the calls that are in another room than the call before."""
    return sum(room_of(one) != room_of(other) for one, other in itertools.pairwise(calls))


# What is walked. Each function gets a fake with a handler connected, and returns the work.

addresses = (f"+1555{number:08}" for number in itertools.count())


def send_text(fake: ChatFake, _: asyncio.Runner) -> Work:
    address = next(addresses)  # each person has a conversation to pay for
    return lambda: fake.send_text("Hello", to=address)


def deliver(fake: ChatFake, _: asyncio.Runner) -> Work:
    return fake.send_text("Hello", to=next(addresses)).deliver


def advance(fake: ChatFake, _: asyncio.Runner) -> Work:
    fake.send_text("Hello", to=next(addresses))
    return lambda: fake.clock.advance(days=30)


def balance(fake: ChatFake, _: asyncio.Runner) -> Work:
    client = Client(fake.wsgi_app)
    return lambda: client.get("/v2/balance", headers={"X-API-Key": fake.api_key})


def chain(fake: ChatFake, runner: asyncio.Runner) -> Work:
    address = next(addresses)

    async def awaited() -> None:
        await fake.send_text("Hello", to=address).deliver()

    return lambda: runner.run(awaited())


@dataclass(frozen=True)
class Way:
    """A way through the package.

    Attributes:
        title: What the test writes.
        prepare: Returns the work to walk with.
        limits: How many calls and how many changes of room it may have; None: any number.
        mode: The mode of the fake.
    """

    title: str
    prepare: Callable[[ChatFake, asyncio.Runner], Work]
    limits: tuple[int, int] | None
    mode: Literal["sync", "async"] = "sync"

    def walk(self) -> list[CodeType]:
        """Go the way twice, and return the calls of the second time: no module is loaded then.

        Time stands still, so that what is kept for one moment is not counted by chance.
        """
        with (
            travel(1_767_268_800, tick=False) as traveller,
            asyncio.Runner() as runner,
            ChatFake(mode=self.mode) as fake,
        ):
            fake.webhooks.connect(handler=lambda request: None)
            self.prepare(fake, runner)()
            traveller.shift(1)
            return walk(self.prepare(fake, runner))


WAYS = {
    "send_text": Way("send_text()", send_text, (56, 16)),
    "deliver": Way("deliver()", deliver, (44, 14)),
    "advance": Way("advance() over one drop", advance, (36, 14)),
    "balance": Way("balance query without a socket", balance, (16, 8)),
    "await": Way("await send_text().deliver()", chain, None, mode="async"),
}


def main() -> int:
    """Print the table, or one way; return 1 if a way is longer than its limits."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.way")
    parser.add_argument("--show", choices=WAYS, help="print this way, a line for each call")
    shown = parser.parse_args().show
    if shown is not None:
        print("\n".join(lines(WAYS[shown].walk())))
        return 0
    if sys.version_info[:2] != (3, 11):
        print("The limits are those of Python 3.11; later versions count fewer calls.\n")
    print(f"{'way':30}  {'calls':>16}  {'changes of room':>16}")
    too_long = False
    for way in WAYS.values():
        calls = way.walk()
        found = (len(calls), changes_of_room(calls))
        if way.limits is None:
            cells, verdict = [str(figure) for figure in found], "no limits"
        else:
            pairs = list(zip(found, way.limits, strict=True))
            cells = [f"{figure} (at most {limit})" for figure, limit in pairs]
            verdict = "met" if all(figure <= limit for figure, limit in pairs) else "MISSED"
        print(f"{way.title:30}  {cells[0]:>16}  {cells[1]:>16}  {verdict}")
        too_long = too_long or verdict == "MISSED"
    return int(too_long)


def lines(calls: list[CodeType]) -> Iterator[str]:
    """Give a line for each call; the lower its room, the further to the right."""
    for code in calls:
        room = room_of(code)
        depth = HOUSE.index(room) if room in HOUSE else len(HOUSE)
        yield f"{'    ' * depth}{file_of(code)}:{code.co_firstlineno} {code.co_qualname}"


if __name__ == "__main__":
    sys.exit(main())
