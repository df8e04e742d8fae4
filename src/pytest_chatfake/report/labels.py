"""Short names for what has a long one: ``m1``, ``c1``, ``e1``, ``Flask /hooks/chat``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..base.escaping import one_line, printable
from ..base.redaction import is_secret_header, redacted
from ..base.views import listed
from ..domain.conversations import ConversationRecord
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..http_api.account_api import AccountApi
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event

#: How many columns an endpoint's own name may take; a longer one is ``e1``.
_LONG: Final = 30

#: How many messages a sentence names.
_NAMED: Final = 5


class Labels:
    """The short names of one fake's things, and what its texts must not show.

    Args:
        engine: The fake's engine.
        api: The fake's side of the HTTP API.
    """

    def __init__(self, engine: Engine, api: AccountApi) -> None:
        self._engine = engine
        self._mentioned: set[ConversationRecord] = set()
        self._endpoints: dict[Endpoint, str] = {}
        used: dict[str, int] = {}
        secrets = set(api._keys)
        for number, endpoint in enumerate(engine.outbox.endpoints.ever, 1):
            count = used[endpoint.label] = used.get(endpoint.label, 0) + 1
            label = endpoint.label if count == 1 else f"{endpoint.label} #{count}"
            self._endpoints[endpoint] = label if len(label) <= _LONG else f"e{number}"
            secrets |= {v for name, v in endpoint.headers.items() if is_secret_header(name)}
        self._secrets = sorted(secrets, key=len, reverse=True)

    def clean(self, text: str) -> str:
        """Return a text without keys, without what URLs have in secret, and without controls."""
        return printable(redacted(text, self._secrets))

    def clean_line(self, text: str) -> str:
        """Return the same on one line."""
        return one_line(redacted(text, self._secrets))

    def message(self, message: MessageState) -> str:
        """Return ``m1`` for the first message that was accepted or rejected."""
        return f"m{message.number}"

    def messages(self, messages: Sequence[MessageState]) -> str:
        """Name messages; of many, the first ones, and count the rest."""
        names = [*map(self.message, messages[:_NAMED])]
        more = len(messages) - _NAMED
        return listed([*names, f"{more:,} more"] if more > 0 else names)

    def status(self, message: MessageState) -> str:
        """Return its status; what was dropped stays sent."""
        return "sent, then dropped" if message.state == "dropped" else message.state

    def conversation(self, conversation: ConversationRecord) -> str:
        """Return ``c1`` for the first conversation that was begun."""
        self._mentioned.add(conversation)
        return f"c{self._engine.account.conversations.number(conversation)}"

    def endpoint(self, endpoint: Endpoint) -> str:
        """Return what the endpoint is called: short, and unlike any other one."""
        return self._endpoints.get(endpoint, endpoint.label)

    # What they stand for

    def conversation_of(self, message: MessageState) -> ConversationRecord | None:
        """Return a message's conversation, if it was mentioned, or others are in it, too."""
        conversation, account = message.conversation, self._engine.account
        if conversation is None or conversation in self._mentioned:
            return conversation
        return conversation if len(account.messages_in(conversation)) > 1 else None

    def legend_of_message(self, message: MessageState) -> str:
        """Say what a message's label stands for."""
        conversation, label = self.conversation_of(message), self.message(message)
        inside = "" if conversation is None else f", in {self.conversation(conversation)}"
        return (
            f"{label} = message {message.id} to {message.recipient}, {self.status(message)}{inside}"
        )

    def legend_of_conversation(self, conversation: ConversationRecord) -> str:
        """Say what a conversation's label stands for."""
        return f"{self.conversation(conversation)} = conversation {conversation.id}"

    def legend_of_recorded(self, event: Event) -> str | None:
        """Say what the label of a recorded message stands for; None if the event has none."""
        number, id_ = event._recorded_number, event._recorded_id
        return f"r{number} = recorded message {id_}" if number else None

    def legend_of_endpoint(self, endpoint: Endpoint) -> str | None:
        """Say what an endpoint's label stands for; None if that would say the same twice."""
        label, name = self.endpoint(endpoint), self.clean(endpoint._shown)
        gone = "" if endpoint.connected else " (disconnected)"
        return None if name.endswith(label) and not gone else f"{label} = {name}{gone}"
