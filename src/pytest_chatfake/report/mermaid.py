"""The timeline as a sequence diagram in Mermaid's language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..webhooks.attempts import Attempt
from .happenings import Happening, InFlight
from .labels import Labels


def mermaid(labels: Labels, found: Sequence[Happening]) -> str:
    """Draw a timeline: the test, the fake, each endpoint, and who asks the API for something.

    Args:
        labels: The short names.
        found: What happened.
    """
    return "\n".join(["sequenceDiagram", *(f"    {line}" for line in _Drawing(labels).draw(found))])


class _Drawing:
    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        self._apps: dict[str, str] = {}

    def draw(self, found: Sequence[Happening]) -> Iterator[str]:
        for one in found:
            if one.endpoint is not None:
                self._app(one)
        yield "participant test as Test"
        yield "participant fake as chat_fake"
        for label, name in self._apps.items():
            yield f"participant {name} as {_escaped(label)}"
        if any(one.kind == "request" for one in found):
            yield "participant client as Client of the API"
        last = _last_effects(found)
        open_answers: dict[int, list[Happening]] = {}
        for one in found:
            yield from self._lines(one, last)
            if one.kind == "attempt" and last[one.number] != one.number:
                open_answers.setdefault(last[one.number], []).append(one)
            for attempt in reversed(open_answers.pop(one.number, [])):
                yield self._answer(attempt)

    def _app(self, one: Happening) -> str:
        assert one.endpoint is not None
        label = self._labels.endpoint(one.endpoint)
        return self._apps.setdefault(label, f"app{len(self._apps) + 1}")

    def _lines(self, one: Happening, last: dict[int, int]) -> Iterator[str]:
        text = _escaped(" ".join([one.text, *one.marks]))
        if one.kind == "verb":
            yield f"test->>fake: {text}"
        elif one.kind == "attempt":
            assert isinstance(one.record, (Attempt, InFlight))
            what = _escaped(" ".join([self._labels.event(one.record.event), *one.marks]))
            arrow = "--x" if one.text.endswith("not attempted") else "->>"
            yield f"fake{arrow}{self._app(one)}: {what}"
            if arrow == "->>" and last[one.number] == one.number:
                yield self._answer(one)
        elif one.kind == "request":
            yield f"client->>fake: {text}"
        elif one.kind == "clock":
            yield f"Note over test,fake: {text}"
        else:
            yield f"Note over fake: {one.kind} {text}"

    def _answer(self, one: Happening) -> str:
        arrow = "--x" if one.failed else "-->>"
        app = self._app(one)
        label = next(label for label, name in self._apps.items() if name == app)
        return f"{app}{arrow}fake: {_escaped(one.text.partition(f'{label}: ')[2])}"


def _last_effects(found: Sequence[Happening]) -> dict[int, int]:
    """Give the number of the last happening that each one led to; its own, if it led to none."""
    last = {one.number: one.number for one in found}
    causes = {one.number: one.cause for one in found}
    for one in found:
        cause = one.cause
        while cause in last:
            last[cause] = max(last[cause], one.number)
            cause = causes[cause]
    return last


def _escaped(text: str) -> str:
    """Write what Mermaid would read as its own as entities."""
    for character in "#;<>{}":
        text = text.replace(character, f"\0{ord(character)}\1") if character in text else text
    return text.replace("\0", "#").replace("\1", ";").replace("\n", " ")
