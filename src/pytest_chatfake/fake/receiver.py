"""A receiver for tests that have no app of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from operator import attrgetter

from ..base.arguments import check_int
from ..base.growing_index import GrowingIndex
from ..base.views import counted
from ..engine.engine import Engine
from ..webhooks.endpoints import Endpoint, WebhookRequest
from ..webhooks.events import Event
from .handles import Message, state_of

#: How many responses one call may set up: each is kept until it is given.
_MOST_RESPONSES = 1_000_000


class Receiver:
    """Records webhooks, and responds with 200 unless :meth:`respond` says otherwise.

    Attributes:
        endpoint: Its endpoint at the fake.
    """

    endpoint: Endpoint

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._responses: deque[int] = deque()
        self._forget()

    def __repr__(self) -> str:
        return f"<Receiver of {counted(len(self._requests), 'webhook')}>"

    def __call__(self, request: WebhookRequest) -> int:
        """Record a webhook, and return the status of the response."""
        self._requests.append(request)
        try:
            return self._responses.popleft()
        except IndexError:  # no check before: another thread may take the last one
            return 200

    def _forget(self) -> None:
        """Forget its webhooks and the responses that were set up."""
        self._requests: list[WebhookRequest] = []
        self._by_message = GrowingIndex(self._requests, attrgetter("event._message"))
        self._responses.clear()

    @property
    def requests(self) -> Sequence[WebhookRequest]:
        """Its webhooks, attempt by attempt, in order.

        Raises:
            NotAwaited: Async mode: steps are pending.
        """
        self._engine.ensure_readable()
        return tuple(self._requests)

    @property
    def events(self) -> Sequence[Event]:
        """The events of :attr:`requests`; an event that came twice is there twice."""
        return tuple(map(attrgetter("event"), self.requests))

    def statuses(self, message: Message) -> list[str]:
        """Return the statuses of a message, in the order in which their events came.

        Args:
            message: A message of the same fake.
        """
        state = state_of(message, self._engine)
        self._engine.ensure_readable()
        events = (request.event for request in self._by_message.all(state))
        return [event.status for event in events if event.status is not None]

    def respond(self, status: int, times: int = 1) -> None:
        """Respond to the next webhooks with this status, then with 200 again.

        Called more than once, the responses follow each other.

        Args:
            status: From 200 to 599.
            times: How many webhooks; at least 1, and a million at most.

        Raises:
            ValueError: An argument is out of range.
        """
        check_int(status, "status", 200, 599)
        check_int(times, "times", 1, _MOST_RESPONSES)
        self._responses.extend([status] * times)
