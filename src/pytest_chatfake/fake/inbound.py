"""What people write to the sender, and the shape of the events for it (assumed)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from ..base.arguments import check_mapping, check_names, check_str
from ..base.calling_line import Line
from ..domain.account import Account
from ..domain.instants import instant, shown, stamp
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..engine.executor import Executor, OtherVerb
from ..webhooks.fake_state import FakeState
from ..webhooks.synthetic import custom_event
from ..wire.exact_json import encode
from ..wire.naming import check_type

#: The arguments of ``emit_event()``.
_ARGUMENTS: Final = ("type", "resource", "key", "id", "body")


class InboundMessage(NamedTuple):
    """What a person writes to you: the argument of your function ``ChatFakeConfig(inbound=)``.

    Attributes:
        id: The id; inbound messages have their own sequence of ids.
        from_: The person's address.
        to: Your own address, ``ChatFakeConfig(sender=)``.
        type: ``"text"`` or another type.
        content: The object under the resource's key that is named after the type, such as
            ``resource["text"]``.
        at: When the person wrote: aware, UTC.
        fields: The extra fields that were passed to ``writes()`` or ``sends()``.
        resource: The message resource as the fake would write it; you may change this dict.
    """

    id: str
    from_: str
    to: str
    type: str
    content: Any
    at: datetime
    fields: dict[str, Any]
    resource: dict[str, Any]


#: Takes what a person wrote, and returns the arguments of ``emit_event()``.
Shape: TypeAlias = Callable[[InboundMessage], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Write(OtherVerb):
    """A person writes.

    Attributes:
        message: The message that the person answers, if the verb is a message's.
        engine: The engine of the fake.
        account: The account whose people the test knows.
        address: The person's address.
        kind: The type of what is written.
        text: The content and the extra fields, as JSON.
    """

    message: MessageState | None
    engine: Engine
    account: Account
    address: str
    kind: str
    text: str

    def execute(
        self, executor: Executor, state: FakeState, what: str, line: Line, now: int, /
    ) -> None:
        while True:
            state.account.check_person(self.address, self.account)
            fact = state.account.people.decide(what, self.address, {}, now, is_done=True)
            fact.after.check_writing(what)
            id_ = state.outbox.next_inbound_id()
            shape = self._shape(id_, shown(now))
            if id_ == state.outbox.next_inbound_id():
                break  # otherwise, another thread has used the id while inbound= ran
        channel = self.engine.settings.naming.event_type.partition(".")[0]
        arguments: Any = {"type": f"{channel}.inbound_message.received", **shape}
        custom = custom_event(*map(arguments.get, _ARGUMENTS))
        executor.emit_custom(state, custom, fact, what, line, now)

    def _shape(self, id_: str, now: int) -> Mapping[str, object]:
        content, fields = json.loads(self.text, parse_float=Decimal)
        settings, kind, address = self.engine.settings, self.kind, self.address
        to = settings.sender
        resource = {
            "id": id_,
            "from": address,
            "to": to,
            "sendTime": stamp(now),
            "type": kind,
            kind: content,
            **fields,
        }
        if settings.inbound is None:
            return {"resource": resource}
        inbound = InboundMessage(id_, address, to, kind, content, instant(now), fields, resource)
        ask = partial(settings.inbound, inbound)
        found = self.engine.core.call_back("the inbound= function", "a mapping", ask)
        shape = check_mapping(found, "inbound")
        check_names(shape, _ARGUMENTS, "emit_event()")
        return shape


def writing(
    engine: Engine,
    account: Account,
    address: str,
    message: MessageState | None,
    type_: object,
    content: object,
    fields: object,
) -> Write:
    """Check what a person is going to write, and return the verb."""
    kind = check_type(type_, {"id", "from", "to", "sendTime", "type"})
    given = dict(check_mapping(content, "content"))
    if kind == "text":
        check_str(given.get("body"), "body")
    return Write(message, engine, account, address, kind, encode([given, fields]))
