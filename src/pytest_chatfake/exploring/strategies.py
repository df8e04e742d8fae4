"""Random scripts, as a strategy of Hypothesis."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from ..base.arguments import check_int, check_list, check_str
from ..base.errors import IllegalTransition
from ..engine.process_time import Travel
from ..fake.config import ChatFakeConfig, given_or_default
from ..fake.fake import ChatFake
from ..report import active_stories
from .script import Call, Script

try:
    from hypothesis import strategies as st
except ImportError as _missing:
    raise ImportError(
        "scripts() needs Hypothesis: pip install 'pytest-chatfake[hypothesis]'"
    ) from _missing

#: Few, so that messages meet in conversations.
_ADDRESSES: Final = ("+4915550001", "+4915550002", "+4915550003")

#: A few difficult texts, and no random ones, which take long to shrink.
_BODIES: Final = ("Hello", "", "Grüße, Ζωή 🎉", "<b>&amp;\"'\\", "two\nlines", "x" * 1_000)

_PRICES: Final = ("0.05", "0.10", "0", "1.25")

#: Real lengths of the service's rules among them, in seconds (§8).
_LENGTHS: Final = (1, 60, 3_600, 86_400, 30 * 86_400)

_FLAGS: Final = ("read_receipts", "online", "blocked", "chat_open", "registered", "withheld")

#: When scripts are tried out.
_START: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)

#: Of calls or deviations; Hypothesis itself stops long before.
_MOST: Final = 1_000_000

_NOTHING: Final[Mapping[str, object]] = {}

#: What is tried out: the name of a method of :class:`_Recorder`, and its arguments.
_Act: TypeAlias = tuple[Any, ...]


def scripts(
    *,
    most: int = 12,
    deviations: int = 0,
    addresses: Sequence[str] = _ADDRESSES,
    config: ChatFakeConfig | None = None,
) -> st.SearchStrategy[Script]:
    """Make up what happens: messages, deliveries, reading, failures, people, time.

    Every call is possible where it stands.

    Args:
        most: How many things happen at most.
        deviations: How many things go wrong at most: a webhook comes twice or late, is refused, or
            its response is lost. Nothing is lost for good (assumed). Each comes before a call
            that causes events, and hits the first of them.
        addresses: The addresses of those to whom messages go.
        config: The configuration of the fake that is to play it; None: the defaults.

    Raises:
        ValueError: ``most`` is below 1, ``deviations`` below 0, there are no addresses, or one of
            them is empty.
    """
    first, later = _acts(addresses)
    rest = st.lists(later, max_size=check_int(most, "most", 1, _MOST) - 1)
    wrong = st.lists(
        st.tuples(st.integers(0, most - 1), _deviations()),
        max_size=check_int(deviations, "deviations", 0, _MOST),
    )

    @st.composite
    def script(draw: st.DrawFn) -> Script:
        chosen: list[_Act] = [draw(first), *draw(rest)]
        with _recorder(config) as recorder:
            for method, *arguments in chosen:
                getattr(recorder, method)(*arguments)
        recorder.deviate(draw(wrong))
        return Script(tuple(recorder.calls))

    return script()


def _acts(
    addresses: Sequence[str],
) -> tuple[st.SearchStrategy[_Act], st.SearchStrategy[_Act]]:
    """Make up the first thing that happens, without which nothing can, and any other one."""
    given = check_list(addresses, "addresses", "texts such as ['+4915550001']")
    known = [check_str(one, "an address") for one in given]
    if not known:
        raise ValueError("addresses: expected at least one, got none")
    to, which = st.sampled_from(known), st.integers(0, 9)
    message = st.fixed_dictionaries(
        {"body": st.sampled_from(_BODIES), "to": to}, optional={"price": st.sampled_from(_PRICES)}
    )
    devices = st.fixed_dictionaries({"devices": st.integers(1, 3)})
    length = st.fixed_dictionaries({"seconds": st.sampled_from(_LENGTHS)})
    flags = {flag: st.booleans() for flag in _FLAGS}
    person = st.fixed_dictionaries(
        {"address": to}, optional={"devices": st.integers(1, 3), **flags}
    )
    send = _act("send", message)
    deliver, read = _act("change", which, "deliver", devices), _act("change", which, "read")
    others = [
        send,
        _act("call", "clock.advance", length),
        _act("call", "recipient", person),
        _act("change", which, "fail"),
        _act("reject", message),
        _act("call", "settle"),
    ]
    # Without deliveries little can happen. one_of() would drop the repeats.
    weighted = [*[deliver] * 7, *[read] * 2, *others]
    return send, st.sampled_from(weighted).flatmap(lambda act: act)


def _act(*parts: str | st.SearchStrategy[Any]) -> st.SearchStrategy[_Act]:
    return st.tuples(*(st.just(one) if isinstance(one, str) else one for one in parts))


def _deviations() -> st.SearchStrategy[Call]:
    """Make up one thing that goes wrong with the next attempt."""
    verbs = [
        _deviation("duplicate", after=st.integers(0, 2)),
        _deviation("reorder", by=st.integers(1, 3)),
        _deviation("lose_response"),
        _deviation("refuse"),
    ]
    return st.one_of(verbs)


def _deviation(verb: str, **arguments: st.SearchStrategy[int]) -> st.SearchStrategy[Call]:
    drawn = st.fixed_dictionaries(arguments)
    return drawn.map(lambda given: Call(f"chat_fake.webhooks.{verb}", tuple(given.items())))


@contextmanager
def _recorder(config: ChatFakeConfig | None) -> Generator[_Recorder]:
    """Give a recorder for a fake where nobody listens, at a moment of its own."""
    fields: dict[str, Any] = {"webhook_url": None, "api_key": None, "mode": "sync"}
    travel = Travel()
    travel.begin_on_top(_START)
    try:
        fake = ChatFake(given_or_default(config).replace(seed="hypothesis", **fields))
        active_stories.dismiss(fake._story)  # nobody asks what happened here
        try:
            yield _Recorder(fake)
        finally:
            fake._shut()
    finally:
        travel.end()


class _Recorder:
    """Tries calls out, and writes down those that are possible."""

    def __init__(self, fake: ChatFake) -> None:
        self.calls: list[Call] = []
        self._eventful: list[int] = []  # the places of calls that caused events
        self._fake = fake
        self._names: dict[str, Any] = {"chat_fake": fake}

    def send(self, message: Mapping[str, object]) -> None:
        """Send a message."""
        self.try_out(Call("chat_fake.send_text", tuple(message.items()), self._next_name()))

    def reject(self, message: Mapping[str, object]) -> None:
        """Submit a message, and let it be rejected."""
        name = self._next_name()
        self.try_out(Call("chat_fake.submit_text", tuple(message.items()), name))
        self.try_out(Call(f"{name}.reject", (), name))

    def change(self, which: int, verb: str, arguments: Mapping[str, object] = _NOTHING) -> None:
        """Let something happen to one of the messages, if there is one and it can."""
        names = [
            name
            for name, message in self._names.items()
            if name != "chat_fake"
            and message.status in {"sent", "delivered"}
            and not message.dropped
        ]
        if names:
            self.try_out(Call(f"{names[which % len(names)]}.{verb}", tuple(arguments.items())))

    def call(self, path: str, arguments: Mapping[str, object] = _NOTHING) -> None:
        """Call something of the fake."""
        self.try_out(Call(f"chat_fake.{path}", tuple(arguments.items())))

    def deviate(self, wrong: Sequence[tuple[int, Call]]) -> None:
        """Write deviations down before calls that cause events, so that they come to something."""
        places = self._eventful
        chosen = {places[which % len(places)]: one for which, one in wrong if places}
        for place in sorted(chosen, reverse=True):
            self.calls.insert(place, chosen[place])

    def try_out(self, call: Call) -> None:
        """Make a call, and write it down if it was possible."""
        before = len(self._fake.events)
        try:
            call.make(self._names)
        except (IllegalTransition, ValueError):
            return
        if len(self._fake.events) > before:
            self._eventful.append(len(self.calls))
        self.calls.append(call)

    def _next_name(self) -> str:
        return f"m{len(self._fake.messages) + 1}"
