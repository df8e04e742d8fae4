"""A receiver records webhooks, for tests without an app."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from operator import attrgetter

from ..base.arguments import check_int
from ..base.calling_line import is_in_fixture
from ..base.growing_index import GrowingIndex
from ..base.views import counted
from ..engine.engine import Engine
from ..webhooks.endpoints import Endpoint, WebhookRequest
from ..webhooks.events import Event
from .handles import Message, state_of

#: How many responses one call may set up, because each needs a little memory.
_MOST_RESPONSES = 1_000_000


class Receiver:
    """Records webhooks, and responds with 200 unless :meth:`respond` says otherwise.

    Use a receiver while you don't have an app yet, or to see what the fake sends::

        receiver = chat_fake.webhooks.receiver()
        message = chat_fake.send_text("Hello").deliver(devices=2)
        assert receiver.statuses(message) == ["sent", "delivered", "delivered"]

    In async mode, reading a receiver raises ``NotAwaited`` while steps are pending.

    Attributes:
        endpoint: The receiver's endpoint.
    """

    endpoint: Endpoint

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __repr__(self) -> str:
        return f"<Receiver of {counted(len(self._part.requests), 'webhook')}>"

    def __call__(self, request: WebhookRequest) -> int:
        """Record a webhook, and return the status of the response."""
        state = self._engine.state  # read once, because a reset replaces it
        if not state.history.has(request.event):
            return 200  # a reset has overtaken it
        part = state.part(self, _Part)
        part.requests.append(request)
        state.unused.pop(self, None)
        try:
            return part.responses.popleft()
        except IndexError:  # another thread may have taken the last one
            return 200

    @property
    def _part(self) -> _Part:
        return self._engine.state.part(self, _Part)

    @property
    def requests(self) -> Sequence[WebhookRequest]:
        """The webhooks that arrived, one for each attempt, in order."""
        self._engine.ensure_readable()
        return tuple(self._part.requests)

    @property
    def events(self) -> Sequence[Event]:
        """The events of :attr:`requests`, including redelivered ones."""
        return tuple(map(attrgetter("event"), self.requests))

    def statuses(self, message: Message) -> list[str]:
        """Return a message's statuses, in the order in which its events arrived."""
        state = state_of(message, self._engine)
        self._engine.ensure_readable()
        events = (request.event for request in self._part.by_message.all(state))
        return [event.status for event in events if event.status is not None]

    def respond(self, status: int, times: int = 1) -> None:
        """Respond to the next webhooks with this status, then with 200 again.

        If no webhook arrives after a call, the test fails when its function ends. Several calls
        queue up::

            receiver.respond(503, times=2)
            receiver.respond(404)

        Args:
            status: From 200 to 599.
            times: The number of webhooks, from 1 to a million.

        Raises:
            ValueError: An argument is out of range.
        """
        self._engine.refuse_closed()
        check_int(status, "status", 200, 599)
        check_int(times, "times", 1, _MOST_RESPONSES)
        self._part.responses.extend([status] * times)
        if not is_in_fixture():  # a fixture's may be meant for other tests
            self._engine.expect_use(self, f"`respond({status})` before the verb, or remove it")


class _Part:
    # What a receiver got since the last reset, and the next responses.

    def __init__(self) -> None:
        self.requests: list[WebhookRequest] = []
        self.by_message = GrowingIndex(self.requests, attrgetter("event._message"))
        self.responses: deque[int] = deque()
