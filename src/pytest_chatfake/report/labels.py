"""Short names in reports: ``m1``, ``c1``, ``e1``, ``Flask /hooks/chat``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..base.escaping import one_line, printable
from ..base.redaction import is_secret_header, redacted
from ..base.views import listed
from ..domain.conversations import ConversationState
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..http_api.account_api import AccountApi
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event

#: An endpoint whose name has more columns than this is called ``e1``.
_LONG: Final = 30

#: The maximum number of messages that a sentence names.
_NAMED: Final = 5


class Labels:
    """The short names of one fake's things, and the secrets that no text may show."""

    def __init__(self, engine: Engine, api: AccountApi) -> None:
        self._engine = engine
        self._mentioned: set[ConversationState] = set()
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
        """Replace keys, the secrets in URLs, and control characters."""
        return printable(redacted(text, self._secrets))

    def clean_line(self, text: str) -> str:
        """Clean a text, and return it on one line."""
        return one_line(redacted(text, self._secrets))

    def message(self, message: MessageState) -> str:
        return f"m{message.number}"

    def messages(self, messages: Sequence[MessageState]) -> str:
        names = [*map(self.message, messages[:_NAMED])]
        more = len(messages) - _NAMED
        return listed([*names, f"{more:,} more"] if more > 0 else names)

    def status(self, message: MessageState) -> str:
        return "sent, then dropped" if message.state == "dropped" else message.state

    def conversation(self, conversation: ConversationState) -> str:
        self._mentioned.add(conversation)
        return f"c{self._engine.account.conversations.number(conversation)}"

    def endpoint(self, endpoint: Endpoint) -> str:
        return self._endpoints.get(endpoint, endpoint.label)

    # What they stand for

    def conversation_of(self, message: MessageState) -> ConversationState | None:
        # A conversation needs a label if a text has used the label, or if it has several messages.
        conversation, account = message.conversation, self._engine.account
        if conversation is None or conversation in self._mentioned:
            return conversation
        return conversation if len(account.messages_in(conversation)) > 1 else None

    def legend_of_message(self, message: MessageState) -> str:
        conversation, label = self.conversation_of(message), self.message(message)
        inside = "" if conversation is None else f", in {self.conversation(conversation)}"
        return (
            f"{label} = message {message.id} to {message.recipient}, {self.status(message)}{inside}"
        )

    def legend_of_conversation(self, conversation: ConversationState) -> str:
        return f"{self.conversation(conversation)} = conversation {conversation.id}"

    def legend_of_recorded(self, event: Event) -> str | None:
        id_ = event._recorded_id
        return f"r{-event._number} = recorded message {id_}" if id_ else None

    def legend_of_endpoint(self, endpoint: Endpoint) -> str | None:
        # No line if the label is the endpoint's name anyway.
        label, name = self.endpoint(endpoint), self.clean(endpoint._shown)
        gone = "" if endpoint.connected else " (disconnected)"
        return None if name.endswith(label) and not gone else f"{label} = {name}{gone}"
