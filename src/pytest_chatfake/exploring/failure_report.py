"""Says why a world fails: with a sentence, a timeline, and a test to paste."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..base.findings import Finding
from ..base.redaction import redacted
from ..report.timeline_text import timeline_text
from .baseline import Comparison
from .description import describe
from .deviations import Deviation
from .outlines import outline
from .printed_test import NoTestError, Written, body_as_written, print_test
from .search import WorldLog
from .trials import RUNS, Trials
from .world import Body, World


class ReadyMadeTest(NamedTuple):
    """A ready-made test, whose body is ours: its equivalent code is printed instead.

    Attributes:
        name: The test's name.
        as_written: Returns the test's code, given what a world was compared with.
        wants: Whether it tries a deviation, given the log of the world as written.
        why_in_order: Why it isn't to blame an app that can't handle another order of two events;
            empty: it is.
    """

    name: str
    as_written: Callable[[Comparison], Written]
    wants: Callable[[Deviation, WorldLog], bool]
    why_in_order: str = ""


class FailureReport:
    """Writes about a failing world, into a finding and the notes of an error.

    Args:
        found: The exploration's finding.
        trials: Runs the test to paste.
        body: The body.
        ready_made: The ready-made test; None: the body is the user's own.
        item: pytest's item; None: without pytest.
    """

    def __init__(
        self,
        found: Finding,
        trials: Trials,
        body: Body,
        ready_made: ReadyMadeTest | None,
        item: Any,
    ) -> None:
        self._found = found
        self._trials = trials
        self._body = body
        self._ready_made = ready_made
        self._item = item

    def show_timeline(self, world: World, error: BaseException) -> None:
        found, memories = self._found, self._trials.memories
        found.error = error
        if hint := memories.hint:
            found.note(hint)
        if hint := world.inside.key_hint:
            found.note(f"Hint: {hint}.")
        story = world.inside.story
        found.stories.append(story)
        timeline = timeline_text(story, mentioned=story.mentioned)
        found.note(f"What happened in this world:\n{timeline}")

    def blame(self, world: World, error: BaseException) -> list[str]:
        """Name the deviations as the cause; return a sentence about each."""
        sentences = ["nothing had deviated yet"]
        if world.has_deviated:
            log = world.log()
            sentences = [describe(deviation, log) for deviation in world.deviations]
        self._found.sentence = "; ".join(sentences)
        world.comparison.blame(error, self._found.sentence)
        return sentences

    async def explain(
        self, world: World, error: BaseException, head: str, sentences: list[str]
    ) -> None:
        """Write what is known about a failing world, given its sentences and their heading."""
        found = self._found
        separator = "\n  " if len(sentences) > 1 else " "
        note = separator.join([f"chat_explore: {head}:", *sentences])
        if world.failed_before_barrier:
            note += "\nHint: call settle() before asserting."
        if world.keeps_memory:
            note += (
                "\nHint: the app kept its memory, which a real crash would wipe. To recreate it: "
                "connect(..., restart=lambda: create_app())."
            )
        if any(each.kind == "crash" for each in world.deviations) and any(
            isinstance(each.error, TimeoutError) for each in world.inside.attempts
        ):
            note += (
                "\nHint: after the crash, an attempt got no response in time. A lock that outlives "
                "a crash, as in redis, expires by the test's clock, which stands still while your "
                "app waits: limit the wait, as with blocking_timeout=, and respond with 503."
            )
        found.error = error
        found.note(note)
        self.show_timeline(world, error)
        more = list[str]()
        if world.inside.had_threads and not world.log().held:
            more.append(
                f"Attempts ran in threads: this world failed {RUNS} times in a row, but may pass "
                f"next time."
            )
        try:
            test = await self._printed_test(world)
        except NoTestError as reason:
            more.append(f"There is no test to paste: {reason}.")
        else:
            found.test = redacted(test)
            found.note(f"As a test to paste (it was run, and fails the same way):\n\n{test}\n")
        only = f"{[*map(str, world.deviations)]}"
        if self._ready_made is None:
            more.append(f"This world alone: chat_explore(only={only})")
        else:
            more.append(f"This world alone: only = {{{self._ready_made.name!r}: {only}}}")
        found.note("\n".join(more))
        found.text = redacted("\n".join([note, *more]))

    def add_others(self, lines: list[str]) -> None:
        """Name other worlds that fail as well."""
        if lines:
            self._found.note("\n".join(lines))
            self._found.text += redacted("\n" + "\n".join(lines))

    async def _printed_test(self, world: World) -> str:
        # A test is only printed if it was run, and failed in the same way.
        baseline, ready_made = world.baseline, self._ready_made
        if ready_made is None:
            body = body_as_written(self._body, world.deviations, settles=world.body_ended)
        else:
            body = ready_made.as_written(world.comparison)
        seed = world.seed_of_ids_in(repr([baseline.values, world.deviations]))
        test = print_test(body, world.deviations, seed=seed, item=self._item)
        alone = await self._trials.run(world.deviations, baseline, "by hand")
        if type(alone.error) is not type(world.error) or outline(alone.seen) != outline(world.seen):
            raise NoTestError("on its own, the body does not fail the same way")
        return test
