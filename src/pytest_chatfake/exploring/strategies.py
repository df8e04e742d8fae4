"""Strategies of Hypothesis: people, messages, whole scripts, and days when webhooks go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from ..base.arguments import check_int, check_list, check_str
from ..fake.config import ChatFakeConfig
from .kit import st
from .playing import Script, Step, rehearsal

#: Few, so that messages meet in conversations.
_ADDRESSES: Final = ("+4915550001", "+4915550002", "+4915550003")

#: A few that apps stumble over, and no random text, which takes long to shrink.
_BODIES: Final = ("Hello", "", "Grüße, Ζωή 🎉", "<b>&amp;\"'\\", "two\nlines", "x" * 1_000)

_PRICES: Final = ("0.05", "0.10", "0", "1.25")

#: Real lengths of the service's rules among them, in seconds (§8).
_LENGTHS: Final = (1, 60, 3_600, 86_400, 30 * 86_400)

_FLAGS: Final = ("read_receipts", "online", "blocked", "chat_open", "registered", "withheld")

#: Of verbs, deviations or attempts; Hypothesis itself stops long before.
_MOST: Final = 1_000_000

#: What is done on a stage: the name of one of its methods, and the arguments.
Act: TypeAlias = tuple[Any, ...]


def recipients(*, addresses: Sequence[str] = _ADDRESSES) -> st.SearchStrategy[dict[str, Any]]:
    """Make up people: the arguments of ``chat_fake.recipient(**recipient)``.

    Args:
        addresses: Theirs.

    Raises:
        TypeError: ``addresses`` is no list of texts.
        ValueError: It is empty, or one of them is.
    """
    flags = st.sampled_from(_FLAGS).flatmap(lambda name: st.tuples(st.just(name), st.booleans()))
    some = st.lists(flags, max_size=2, unique_by=lambda flag: flag[0])
    devices = st.none() | st.integers(1, 3)
    return st.builds(_person, _addresses(addresses), devices, some).filter(_is_possible)


def _person(address: str, devices: int | None, flags: list[tuple[str, bool]]) -> dict[str, Any]:
    return {"address": address, **({} if devices is None else {"devices": devices}), **dict(flags)}


def _is_possible(person: dict[str, Any]) -> bool:
    """Whether the chat is open only on a phone that is on, of somebody who is registered."""
    impeded = False in (person.get("online"), person.get("registered"))
    return not (person.get("chat_open") and impeded)


def messages(*, addresses: Sequence[str] = _ADDRESSES) -> st.SearchStrategy[dict[str, Any]]:
    """Make up messages: the arguments of ``chat_fake.send_text(**message)``.

    Args:
        addresses: To whom.

    Raises:
        TypeError: ``addresses`` is no list of texts.
        ValueError: It is empty, or one of them is.
    """
    required = {"body": st.sampled_from(_BODIES), "to": _addresses(addresses)}
    return st.fixed_dictionaries(required, optional={"price": st.sampled_from(_PRICES)})


def scripts(
    *,
    most: int = 12,
    addresses: Sequence[str] = _ADDRESSES,
    config: ChatFakeConfig | None = None,
) -> st.SearchStrategy[Script]:
    """Make up what happens: messages, deliveries, reading, failures, people, time.

    Every verb is possible where it stands.

    Args:
        most: How many verbs at most.
        addresses: The addresses of those to whom messages go.
        config: The configuration of the fake that is to play it; None: the defaults.

    Raises:
        TypeError: An argument is of the wrong kind.
        ValueError: ``most`` is below 1, there are no addresses, or one of them is empty.
    """
    acts = st.lists(_acts(addresses), min_size=1, max_size=check_int(most, "most", 1, _MOST))

    @st.composite
    def script(draw: st.DrawFn) -> Script:
        chosen = draw(acts)
        with rehearsal(config) as stage:
            for verb, *arguments in chosen:
                getattr(stage, verb)(*arguments)
        return Script(tuple(stage.steps))

    return script()


def bad_days(*, most: int = 3, attempts: int = 12) -> st.SearchStrategy[Script]:
    """Make up what goes wrong with attempts: late, twice, an answer lost, refused (assumed).

    It is a script, to be played before another one: ``play(chat_fake, day + script)``. Nothing is
    lost for good.

    Args:
        most: How many things go wrong at most.
        attempts: Among how many first attempts.

    Raises:
        TypeError: An argument is no whole number.
        ValueError: It is below 1.
    """
    check_int(attempts, "attempts", 1, _MOST)
    days = st.lists(deviations(attempts), max_size=check_int(most, "most", 1, _MOST), unique=True)

    @st.composite  # what comes of map() would be printed as a call
    def day(draw: st.DrawFn) -> Script:
        return Script(tuple(draw(days)))

    return day()


def deviations(attempts: int) -> st.SearchStrategy[Step]:
    """Make up one thing that goes wrong with one of so many attempts."""
    verbs = st.sampled_from(["duplicate", "reorder", "lose_response", "refuse"])
    return st.tuples(verbs, st.integers(1, 3), st.integers(1, attempts)).map(_deviation)


def _deviation(drawn: tuple[str, int, int]) -> Step:
    verb, steps, start = drawn
    own = {"duplicate": (("after", steps - 1),), "reorder": (("by", steps),)}.get(verb, ())
    return Step(f"chat_fake.webhooks.{verb}", (*own, ("start", start)))


def _addresses(addresses: Sequence[str]) -> st.SearchStrategy[str]:
    given = check_list(addresses, "addresses", "texts such as ['+4915550001']")
    known = [check_str(one, "an address") for one in given]
    if not known:
        raise ValueError("addresses must not be empty: nobody would get a message")
    return st.sampled_from(known)


def lengths() -> st.SearchStrategy[int]:
    """Make up a length of time, in seconds."""
    return st.sampled_from(_LENGTHS)


def _acts(addresses: Sequence[str]) -> st.SearchStrategy[Act]:
    draft, which = messages(addresses=addresses), st.integers(0, 9)
    # The more often it happens in life, the more often it is here.
    deliver = st.tuples(st.just("deliver"), which, st.integers(1, 3))
    return st.one_of(
        st.tuples(st.just("send"), draft),
        *(deliver, deliver),
        st.tuples(st.just("read"), which),
        st.tuples(st.just("fail"), which),
        st.tuples(st.just("wait"), lengths()),
        st.tuples(st.just("describe"), recipients(addresses=addresses)),
        st.tuples(st.just("reject"), draft),
        st.tuples(st.just("settle")),
    )
