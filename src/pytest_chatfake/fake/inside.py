"""Everything that extras may know about a fake's internals."""

from __future__ import annotations

import inspect
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice, takewhile
from typing import Any, Final

from ..base.coroutines import run_at_once
from ..base.current_test import current
from ..base.errors import UndeliveredWebhooks
from ..base.history import Record
from ..base.scopes import Callback
from ..base.triggers import Trigger
from ..domain.instants import SECOND
from ..domain.messages import MessageState
from ..domain.verbs import Arrive, Deliver, Fail, Read
from ..engine.performer import Pending
from ..engine.records import VerbRecord
from ..engine.settings import Settings
from ..http_api.account_api import ApiRequest
from ..report import active_stories
from ..report.explanations import Explanations
from ..report.final_checks import overlooked, undelivered
from ..report.hints import logged_error, shown_error
from ..report.story import Story
from ..transport.client.loops import has_other_tasks
from ..webhooks.attempts import Attempt
from ..webhooks.attending import Attendant
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from ..webhooks.faults import Concurrently, Duplicate
from ..webhooks.observing import Observer
from .fake import ChatFake, opened, service
from .forgery_check import ForgeryCheck
from .snapshots import Snapshot, difference, expect_idempotent, named, taken
from .waits import pause

#: The verbs after which a message is no longer ``sent``; people cause them as well.
_OUTCOMES: Final = (Deliver, Arrive, Read, Fail)


class Inside:
    """A fake's internals, for an extra that runs a test body without being a test itself.

    Reading through this class doesn't count as reading by the test, so the final checks stay the
    same.

    Attributes:
        story: What happened, for the texts of reports.
        settings: How the fake was configured.
    """

    def __init__(self, fake: ChatFake) -> None:
        self._fake, self._engine = fake, fake._engine
        self.story: Story = fake._story
        self.settings: Settings = fake._engine.settings

    # The run

    def observe(self, observer: Observer, draws: str, *, only_waits: bool) -> None:
        """Add an observer, and keep the fake out of the running test's report.

        Args:
            observer: Sees every attempt.
            draws: The seed of random draws.
            only_waits: Whether time moves to duplicates that wait for it, without making them.
        """
        active_stories.unwatch(self.story)
        self._engine.seed = draws
        self._engine.drain.observer = observer
        self._engine.outbox.queue.only_waits = only_waits

    def end_waits(self) -> None:
        """Let no attempt wait for others past the next barrier."""
        self._engine.outbox.queue.end_waits()

    @property
    def observer(self) -> Observer | None:
        return self._engine.drain.observer

    def never_deliver(self) -> None:
        """From now on, let nothing become of messages: ``deliver()`` and others do nothing."""
        self._engine.executor.ignored = _OUTCOMES

    def end_body(self) -> None:
        """Raise NotAwaited for steps that were never awaited."""
        self._engine.plan.end()

    def require_accepted(self) -> None:
        """Raise UndeliveredWebhooks for failed attempts, even for those that the body has read."""
        self._fake._checks.require_accepted()

    def check(self) -> None:
        """Check what the body left behind, as at the end of a test."""
        self._fake._checks.run()

    def check_attempts(self) -> None:
        """Check only for errors and for failed attempts."""
        self._engine.core.raise_errors()
        failed = list(overlooked(self._engine))
        if failed and self._fake._checks.strict:
            raise UndeliveredWebhooks(undelivered(failed, self._engine))

    def shut(self) -> None:
        """Close the fake without checks; plugins may look at it once more."""
        current().before_forget(self.story)
        self._fake._shut()

    # Steps, in both modes

    @property
    def is_async(self) -> bool:
        return self._engine.mode == "async"

    async def performed(self, step: object) -> None:
        """Await a verb's result, if it has to be awaited."""
        await self._engine.performed(step)

    async def taken(self, snapshot: Snapshot) -> Any:
        """Return a copy of a snapshot's result."""
        return await taken(snapshot, self._engine)

    async def pause(self, seconds: float) -> None:
        """Let real time pass, even if the clocks stand still."""
        await pause(self._engine, self._fake._portal, seconds)

    def let_a_second_pass(self) -> None:
        """Move time in the middle of an attempt, without the steps that are due by then."""
        with self._engine.core.lock:
            self._engine.time.forward(self._engine.time.read() + SECOND)

    @property
    def has_background(self) -> bool:
        """Whether the app's code may run by itself: in a thread, a task, or another process."""
        here = threading.current_thread(), threading.main_thread()
        return (
            has_other_tasks()
            or not all(map(self.runs_here, self.connected))
            or any(
                thread not in here and not thread.name.startswith("chatfake")
                for thread in threading.enumerate()
            )
        )

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

    async def settle(self) -> None:
        await self._engine.performed(self._engine.settle())

    def named(self, text: str) -> str:
        """Write m1 for a message's id."""
        return named(text, self._engine)

    def difference(self, before: object, after: object, then: str) -> list[str]:
        """Return what :func:`.difference` does, with m1 for a message's id.

        Timelines and pictures keep the rows of these messages.
        """
        text = "\n".join(difference(before, after, then, self._engine))
        self.story.mentioned += [each for each in self.messages if each.id in text]
        return named(text, self._engine).split("\n")

    def charges(self) -> Iterator[str]:
        """Return which messages were charged, and why, as failed assertions about money do."""
        explanations = Explanations(self.story, self.story.labels)
        self.story.explained.update(self.messages)
        return explanations.charges(*self.messages)

    @property
    def forgery_check(self) -> ForgeryCheck | None:
        """The last ``assert_rejects_forgeries()``."""
        return self._fake.webhooks._forgery_check

    # Endpoints

    @property
    def endpoints(self) -> Sequence[Endpoint]:
        """All endpoints so far, including disconnected ones."""
        return self._engine.outbox.endpoints.ever

    @property
    def connected(self) -> Sequence[Endpoint]:
        return [*self._engine.outbox.endpoints]

    def is_heard(self, event_type: str) -> bool:
        return bool(self._engine.outbox.endpoints.listening(event_type))

    @staticmethod
    def never_disable(endpoint: Endpoint) -> None:
        endpoint._disable_after = None

    @staticmethod
    def let_retry(endpoint: Endpoint) -> None:
        """Let the service retry failed attempts after a minute, if it would not."""
        endpoint._retries = endpoint._retries or (60 * SECOND,)

    @staticmethod
    def place_of(endpoint: Endpoint) -> str:
        """Return the name of an endpoint in texts."""
        return endpoint._shown

    @staticmethod
    def overlaps(endpoint: Endpoint) -> bool:
        """Return whether an endpoint can handle two attempts at the same time."""
        return endpoint._target.overlaps

    @staticmethod
    def runs_here(endpoint: Endpoint) -> bool:
        """Return whether an endpoint's app runs in this process."""
        return endpoint._target.in_process

    @staticmethod
    def is_made_anew(endpoint: Endpoint) -> bool:
        """Return whether the endpoint recreates its app after a crash."""
        return endpoint._restart is not None

    def reserve(self, endpoint: Endpoint, event_type: str) -> None:
        """Let an endpoint get events of this type, unsigned; nothing else, and no other does."""
        endpoint.events, endpoint._signers = frozenset([event_type]), [None]
        self._engine.outbox.endpoints.reserved[event_type] = endpoint

    # What happened

    @property
    def seed(self) -> str:
        """The seed of random draws."""
        return self._engine.seed

    @property
    def errors(self) -> Sequence[BaseException]:
        """The errors that the next verb would raise."""
        return self._engine.core.errors

    @property
    def is_blocked(self) -> bool:
        """Whether a verb was called while the app's event loop was blocked."""
        return bool(self._engine.blocked)

    @property
    def had_threads(self) -> bool:
        """Whether attempts were made in several threads at the same time."""
        return self._engine.drain.had_threads

    @property
    def records(self) -> Sequence[Record]:
        """What happened, in order."""
        return self._engine.core.history.records

    @property
    def ids(self) -> Iterator[str]:
        """The ids of messages, events and conversations."""
        yield from (message.id for message in self._engine.account.messages)
        yield from (event.id for event in self._engine.outbox.events)
        yield from (conversation.id for conversation in self._fake.conversations)

    @property
    def has_delivered_early(self) -> bool:
        """Whether a message was delivered before its step."""
        return bool(self._engine.executor.early)

    # Attempts and their events

    @property
    def attempts(self) -> Sequence[Attempt]:
        return self._engine.outbox.attempts

    @property
    def has_attempted(self) -> bool:
        return any(map(self.was_made, self.attempts))

    @staticmethod
    def was_made(attempt: Attempt) -> bool:
        """Return whether an attempt was made: neither lost, nor at a disabled endpoint."""
        return attempt._was_made

    @staticmethod
    def kept_back(attempt: Attempt) -> str:
        """Return how a fault kept an attempt from the app, in a word or two; empty if none did."""
        return attempt._decisions[-1].mark.text if attempt._meaning.unseen else ""

    @staticmethod
    def has_failed_itself(attempt: Attempt) -> bool:
        """Return whether an attempt ended with an error that no fault caused."""
        return attempt.error is not None and not attempt._meaning.wanted

    @staticmethod
    def logged_error(attempt: Attempt) -> str:
        """Return the exception that the app logged, and where it was raised; empty if none."""
        return logged_error(attempt)

    @property
    def background_errors(self) -> Sequence[str]:
        """The exceptions that were raised in the background, and where they were raised."""
        return [shown_error(error) for error in self._engine.core.background]

    @staticmethod
    def is_new(attempt: Attempt) -> bool:
        """Return whether an attempt is an event's first one at an endpoint, or its duplicate."""
        return attempt._is_new

    @staticmethod
    def attendant_of(attempt: Attempt) -> Attendant | None:
        return None if attempt._post is None else attempt._post.attendant

    @staticmethod
    def let_wait(fault: Trigger) -> None:
        """Let a duplicate wait for other attempts past barriers, until the end of the body."""
        if isinstance(fault, Duplicate):
            fault._outlasts_barriers = True

    @staticmethod
    def place_of_meetings(fault: Trigger) -> object:
        """Return what makes the attendants of a fault's attempts at the same time, if anything."""
        return fault._meet if isinstance(fault, Concurrently) else None

    @staticmethod
    def is_short(fault: Trigger) -> bool:
        """Return whether a barrier cut short a fault's waiting for other attempts."""
        return fault._is_short

    @staticmethod
    def round_of(attempt: Attempt) -> int:
        """Return the number of the batch that an attempt belonged to; 0: none."""
        return attempt._post.round if attempt._post else 0

    @staticmethod
    def is_posted(attempt: Attempt) -> bool:
        """Return whether a request was there to post."""
        return attempt._post is not None and attempt._post.is_posted

    @staticmethod
    def shaped_body(attempt: Attempt) -> bytes | None:
        """Return the body that ``outbound=`` wrote, without a signature; None if it wrote none."""
        post = attempt._post
        if post is None or attempt.event._outbound is None:
            return None
        unsigned = post.request._unsigned
        return post.request.body if unsigned is None else unsigned

    @staticmethod
    def is_to_post(event: Event) -> bool:
        """Return whether an event has a body to post: ``outbound=`` may return None."""
        return event._is_posted

    @staticmethod
    def is_changed(attempt: Attempt) -> bool:
        return attempt._is_changed

    @staticmethod
    def shows_change(attempt: Attempt) -> bool:
        """Return whether the app can see that the event was changed."""
        if attempt._post is None:
            return False
        event, request = attempt.event, attempt._post.request
        is_named = request.id in f"{request.headers} {request.body!r}"
        body = request.body if request._unsigned is None else request._unsigned
        return body != event._posted(event.body) or (is_named and request.id != event.id)

    @staticmethod
    def number_of(event: Event) -> int:
        """Return the number of an event's message; negative for a recorded message, 0 for none."""
        return event._number

    @staticmethod
    def is_about_a_message(event: Event) -> bool:
        return event._message is not None

    @property
    def names(self) -> Mapping[Event, str]:
        """The names of events since the last reset; a repeated name gets a number."""
        names: dict[Event, str] = {}
        counts: Counter[str] = Counter()
        for event in self._engine.outbox.events:
            counts[event._name] = nth = counts[event._name] + 1
            names[event] = event._name if nth == 1 else f"{event._name} #{nth}"
        return names

    @staticmethod
    def name_of(event: Event) -> str:
        """Return the name of an event, even if other events have the same."""
        return event._name

    # Calls of the API

    @property
    def calls(self) -> Sequence[ApiRequest]:
        return self._fake.api._log

    @property
    def key_hint(self) -> str:
        """Which setting takes the key, if a call had it in another header; else an empty text."""
        return next((call._hint for call in self.calls if call._hint), "").strip(" ()")

    @property
    def key_reads(self) -> int:
        """How often the account's key was asked for."""
        return self._fake._key_reads

    @property
    def has_queries(self) -> bool:
        """Whether the API has a route of the user's by which to look something up."""
        return self._fake.api._routes.has_queries

    @staticmethod
    def takes_key(call: ApiRequest) -> bool:
        """Return whether a call's route takes idempotency keys."""
        return call._takes_key

    @property
    def messages(self) -> Sequence[MessageState]:
        return self._engine.account.messages

    def send_call_of(self, message: MessageState) -> ApiRequest | None:
        """Return the API call that sent a message; None if the test sent it."""
        cause = self._engine.outbox.events_of(message)[0]._cause
        call = cause and cause._cause
        return call if isinstance(call, ApiRequest) else None

    @property
    def has_faults(self) -> bool:
        """Whether a fault was set up."""
        return bool([*self._engine.outbox.faults.ever, *self._fake.api._faults.ever])

    @staticmethod
    def key_of(call: ApiRequest) -> str:
        """Return the idempotency key that a call had; empty if it had none."""
        return call._key_sent

    @staticmethod
    def is_replayed(call: ApiRequest) -> bool:
        """Return whether a call had an earlier call's idempotency key."""
        return call._repeat is not None

    def has_webhooks_before(self, call: ApiRequest) -> bool:
        """Return whether a call's webhooks were posted before its response."""
        is_under_way = call._awaits_webhooks and bool(self.attempts_of(call))
        return call._last_attempt is not None or is_under_way

    @staticmethod
    def call_of(attempt: Attempt) -> ApiRequest | None:
        """Return the API call before whose response ``during_call()`` made an attempt."""
        return attempt._call if isinstance(attempt._call, ApiRequest) else None

    @staticmethod
    def path_of(attempt: Attempt) -> str:
        """Return the path that a function chose for an attempt; empty if none did."""
        return attempt._place.strip()

    @staticmethod
    def is_given_up(call: ApiRequest) -> bool:
        """Return whether a call's response still waits for its webhooks, or its client gave up."""
        return call._awaits_webhooks or call._is_given_up

    def attempts_of(self, call: ApiRequest) -> Sequence[Attempt]:
        """Return the attempts that a call has caused, including those that have not ended."""
        effects = self._engine.core.history.effects_of(call)
        return [effect for effect in effects if isinstance(effect, Attempt)]

    @property
    def made_during(self) -> Sequence[Attempt]:
        """The attempts that ``during_call()`` has made during a call, likewise."""
        return [each for each in self.records if isinstance(each, Attempt) and each._call]

    @property
    def has_routes(self) -> bool:
        return bool(self._fake.api._routes.shown())

    @property
    def is_sent_by_app(self) -> bool:
        """Whether an API call has sent a message."""
        return any(isinstance(verb._cause, ApiRequest) for verb in self.records if verb._message)

    def with_late_webhooks(self) -> Iterator[ApiRequest]:
        """Return the calls whose webhooks were posted after their response."""
        late = (call for call in self.calls if not call._has_webhooks_first)
        return (call for call in late if self.attempts_of(call))

    def delivered_later(self) -> Iterator[tuple[Record | None, tuple[int, ...]]]:
        """Yield what sent each message, and the deliveries that could have happened at once.

        Each is a number of devices. The conversation's next events are these deliveries, by verbs
        about the message, at the same moment, and for the estimated price.
        """
        events = self._engine.outbox.events
        for index, sent in enumerate(events):
            message, verb = sent._message, sent._cause
            if sent.status != "sent" or message is None or verb is None:
                continue
            alike = (
                event
                for event in islice(events, index + 1, None)
                if event._message and event._message.conversation is message.conversation
                if event._is_posted
            )
            at_once = takewhile(partial(self._could_be_at_once, sent), alike)
            yield verb._cause, (*Counter(id(event._cause) for event in at_once).values(),)

    def _could_be_at_once(self, sent: Event, later: Event) -> bool:
        # Whether an event is the delivery of the message that was sent, as delivered_later() says.
        message = sent._message
        return (
            (later._message, later.status, later.moment) == (message, "delivered", sent.moment)
            and isinstance(later._cause, VerbRecord)
            and later._cause.subject is message
            and self._price_in(later) == self._price_in(sent)
        )

    def _price_in(self, event: Event) -> object:
        return event.json()[self.settings.naming.message_key].get("totalPrice")


def check_service() -> None:
    """Raise the errors of the HTTP API's handlers."""
    service.check()


def open_fakes() -> set[ChatFake]:
    return {*opened}


def shut_all_but(fakes: Collection[ChatFake]) -> None:
    """Close fakes that an interrupt has left open, without checks."""
    with ExitStack() as stack:  # closes each one, whatever the others raise
        for fake in {*opened} - {*fakes}:
            stack.callback(fake._shut)
