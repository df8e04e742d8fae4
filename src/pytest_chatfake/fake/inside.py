"""A fake as extras see it, beyond what tests see."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

from ..base.coroutines import run_at_once
from ..base.history import Record
from ..base.scopes import Callback
from ..base.tracebacks import LoggedError
from ..domain.account import Account
from ..domain.instants import SECOND
from ..domain.messages import MessageState
from ..domain.verbs import Arrive, Deliver, Fail, Read
from ..engine.performer import Pending
from ..engine.settings import Settings
from ..http_api.account_api import ApiRequest
from ..http_api.routes import Routes
from ..report import active_stories
from ..report.entries import is_overtaken
from ..report.final_checks import FinalChecks
from ..report.story import Story
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from ..webhooks.observing import Observer
from ..webhooks.queue import is_late_duplicate
from .fake import ChatFake
from .forgery_check import ForgeryCheck
from .snapshots import Snapshot, difference, expect_idempotent, named, runs_elsewhere, taken
from .waits import pause

#: The verbs after which a message is no longer ``sent``; people cause them as well.
_OUTCOMES: Final = (Deliver, Arrive, Read, Fail)


class Inside:
    """A fake as an extra sees it: how its body runs, and what happened.

    Reading through this class doesn't count as reading by the test, so the final checks stay the
    same. :mod:`.details` has what extras need to know about single records.

    Attributes:
        story: What happened, for the texts of reports.
        settings: How the fake was configured.
        checks: The checks at the end of a test.
    """

    def __init__(self, fake: ChatFake) -> None:
        self._fake, self._engine = fake, fake._engine
        self.story: Story = fake._story
        self.settings: Settings = fake._engine.settings
        self.checks: FinalChecks = fake._checks

    # The run of a test body

    def observe(self, observer: Observer, seed: str) -> None:
        """Add an observer, and keep the fake out of the running test's report.

        Args:
            observer: Sees every attempt.
            seed: The seed of random draws, such as the order of simultaneous attempts.
        """
        active_stories.unwatch(self.story)
        self._engine.seed = seed
        self._engine.drain.observer = observer

    @property
    def observer(self) -> Observer | None:
        return self._engine.drain.observer

    def leave_out_late_duplicates(self) -> None:
        """Let time move to duplicates that wait for it, without making them."""
        handlers = self._engine.executor.due_handlers
        make = handlers["attempt"]

        def make_others(due: int, attempt: Attempt) -> None:
            if not is_late_duplicate(attempt):
                make(due, attempt)

        handlers["attempt"] = make_others

    def never_deliver(self) -> None:
        """From now on, let nothing become of messages: ``deliver()`` and others do nothing."""
        self._engine.executor.ignored = _OUTCOMES

    def end_body(self) -> None:
        """Let no attempt wait for others past the next barrier, as no more will come.

        Raises:
            NotAwaited: Steps were never awaited.
        """
        self._engine.plan.end()
        self._engine.outbox.queue.end_waits()

    def shut(self) -> None:
        """Close the fake without checks."""
        self._fake._shut()

    # Steps, in both modes

    @property
    def is_async(self) -> bool:
        return self._engine.mode == "async"

    async def performed(self, step: object) -> None:
        """Await a verb's result, if it has to be awaited."""
        await self._engine.performed(step)

    async def settle(self) -> None:
        await self.performed(self._engine.settle())

    async def pause(self, seconds: float) -> None:
        """Let real time pass, even if the clocks stand still."""
        await pause(self._engine, self._fake._portal, seconds)

    def let_a_second_pass(self) -> None:
        """Move time in the middle of an attempt, without the steps that are due by then."""
        with self._engine.core.lock:
            self._engine.time.forward(self._engine.time.read() + SECOND)

    # Snapshots

    async def taken(self, snapshot: Snapshot) -> Any:
        """Return a copy of a snapshot's result."""
        return await taken(snapshot, self._engine)

    def taken_between(self, snapshot: Snapshot) -> Any:
        """Take a snapshot in the middle of a verb.

        Raises:
            ChatFakeError: The snapshot called a verb itself.
            TypeError: The snapshot would have to be awaited.
        """
        scopes, callback = self._engine.core.scopes, Callback("the snapshot", "the app's state")
        try:
            scopes.begin(callback)
            value = snapshot()
            if inspect.isawaitable(value):
                if inspect.iscoroutine(value):
                    value.close()  # or Python warns that it was never awaited
                raise TypeError("the snapshot would have to be awaited")
            return run_at_once(self.taken(lambda: value))
        finally:
            scopes.end(callback)

    def expect_idempotent(
        self, snapshot: Snapshot, once_more: Callable[[], Awaitable[None]]
    ) -> Pending[None]:
        """Assert what assert_idempotent() does, and call ``once_more`` before its second try."""
        check = partial(expect_idempotent, self._engine, snapshot, once_more)
        return self._engine.check("assert_idempotent()", check)

    def difference(self, before: object, after: object, then: str) -> list[str]:
        """Return what :func:`.difference` does, with m1 for a message's id.

        Timelines and pictures keep the rows of these messages.
        """
        text = "\n".join(difference(before, after, then, self._engine))
        messages = self.account.messages
        self.story.mention(*(each for each in messages if each.id in text))
        return named(text, messages).split("\n")

    # Endpoints

    @property
    def endpoints(self) -> Sequence[Endpoint]:
        """All endpoints so far, including disconnected ones."""
        return self._engine.outbox.endpoints.ever

    @property
    def connected(self) -> Sequence[Endpoint]:
        return [*self._engine.outbox.endpoints]

    def reserve(self, endpoint: Endpoint, event_type: str) -> None:
        """Let an endpoint get events of this type, unsigned; nothing else, and no other does."""
        self._engine.outbox.endpoints.reserve(event_type, endpoint)

    @property
    def forgery_check(self) -> ForgeryCheck | None:
        """The last ``assert_rejects_forgeries()``."""
        return self._fake.webhooks._forgery_check

    # What happened since the fake was made or reset

    @property
    def account(self) -> Account:
        """The messages, the conversations and the ledger; not to be changed."""
        return self._engine.account

    @property
    def events(self) -> Sequence[Event]:
        return self._engine.outbox.events

    @property
    def attempts(self) -> Sequence[Attempt]:
        return self._engine.outbox.attempts

    @property
    def attempt(self) -> Attempt:
        """The attempt whose code is running."""
        *_, attempt = self._engine.core.scopes.current()
        assert isinstance(attempt, Attempt)
        return attempt

    @property
    def records(self) -> Sequence[Record]:
        """Everything, in order."""
        return self._engine.state.history

    def has(self, record: Record) -> bool:
        """Return whether a record is one of :attr:`records`."""
        return self._engine.state.history.has(record)

    @property
    def errors(self) -> Sequence[BaseException]:
        """The errors that the next verb would raise."""
        return self._engine.state.errors

    @property
    def background_errors(self) -> Sequence[LoggedError]:
        """The exceptions that were raised in the background."""
        return self._engine.state.background

    @property
    def is_blocked(self) -> bool:
        """Whether webhooks stayed queued because the test's loop was blocked by their cause."""
        return self._engine.state.blocked

    @property
    def had_threads(self) -> bool:
        """Whether attempts were made in several threads at the same time."""
        return self._engine.drain.had_threads

    @property
    def has_delivered_early(self) -> bool:
        """Whether a message was delivered before its step."""
        return bool(self._engine.state.early)

    @property
    def runs_elsewhere(self) -> bool:
        """Whether an app may run beside the test: in another process, or in a thread."""
        return runs_elsewhere(self._engine)

    # Calls of the API

    @property
    def calls(self) -> Sequence[ApiRequest]:
        return self._fake.api._log

    @property
    def routes(self) -> Routes:
        """The user's routes, ``send_endpoint()`` included."""
        return self._fake.api._routes

    @property
    def key_reads(self) -> int:
        """How often the account's key was asked for."""
        return self._fake._key_reads

    @property
    def key_hint(self) -> str:
        """Which setting takes the key, if a call had it in another header; else an empty text."""
        return next((call._hint for call in self.calls if call._hint), "").strip(" ()")

    def send_call_of(self, message: MessageState) -> ApiRequest | None:
        """Return the API call that sent a message; None if the test sent it."""
        cause = self._engine.outbox.events_of(message)[0]._cause
        call = cause and cause._cause
        return call if isinstance(call, ApiRequest) else None

    def attempts_of(self, call: ApiRequest) -> Sequence[Attempt]:
        """Return the attempts that a call has caused, including those that have not ended."""
        effects = self._engine.state.history.effects_of(call)
        return [effect for effect in effects if isinstance(effect, Attempt)]

    def has_webhooks_before(self, call: ApiRequest) -> bool:
        """Return whether a call's webhooks were posted before its response."""
        return is_overtaken(call) or (call._awaits_webhooks and bool(self.attempts_of(call)))
