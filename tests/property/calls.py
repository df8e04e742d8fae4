"""One call, with all that it is told, and what the model makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .model_life import WORDS
from .model_types import Person, Refused

if TYPE_CHECKING:
    from .model import Model

START = 1_767_268_800  # 2026-01-01T12:00:00Z, in seconds

PEOPLE = [
    Person(),
    Person("+4915100001"),
    Person("+4915100002", devices=3),
    Person("+4915100003", receipts=False),
    Person("+4915100004", devices=2, receipts=False),
]

#: What the model calls otherwise.
NAMES = {"read_receipts": "receipts"}


@dataclass(frozen=True)
class Call:
    """A call that can be made on the model, the sync fake and the async fake alike.

    Attributes:
        message: Which message it is about, of all; of any other call, the one that it may make.
        expected_error: What the event of a failure should show: code, text, platform error.
        conversation: A hex id, or a message that was sent in the conversation.
        to: Which person it is about.
        how: Which of several ways to say the same.
        bad: Whether an argument is one that nobody may get away with.
        content: Of a non-text message.
        other: An event about no message: its type, its resource, and what else is given.
        script: Lengths of time, each with verbs, their arguments and expected errors.
    """

    verb: str
    message: int
    arguments: dict[str, Any] = field(default_factory=dict)
    expected_error: tuple[str, Any, Any] | None = None
    conversation: str | int | None = None
    to: int = 0
    how: int = 0
    bad: bool = False
    content: tuple[str, dict[str, Any]] | None = None
    other: Any = None
    script: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        told = {name: value for name, value in vars(self).items() if value or name == "message"}
        return f"Call({', '.join(f'{name}={value!r}' for name, value in told.items())})"


def decimal(value: Any) -> Decimal:
    return Decimal(str(value))


def model_call(model: Model, call: Call) -> str | None:
    """Make a call on the model; return the name of the error that is due, if one is."""
    said, address = call.arguments, PEOPLE[call.to].address
    try:
        match call.verb:
            case "send" | "submit":
                price, known = said.get("price"), call.conversation
                getattr(model, call.verb)(
                    address,
                    call.content or ("text", {"body": said["body"]}),
                    price=None if price is None else decimal(price),
                    origin=said.get("origin_type"),
                    conversation=(
                        model.messages[known].conversation.label
                        if isinstance(known, int)
                        else known
                    ),
                )
            case "emit_event":
                model.emit_other(*call.other)
            case "writes":
                model.life.write(address)
            case "top_up" | "set_balance":
                getattr(model, call.verb)(decimal(said["amount"]))
            case "rate":
                model.going_rate = decimal(said["amount"])
            case "move":
                model.move_to(said["at"])
            case "word":
                model.life.change(address, "IllegalTransition", is_done=True, **WORDS[said["word"]])
            case "describe":
                fields = {NAMES.get(name, name): value for name, value in said.items()}
                model.life.change(address, "ValueError", is_done=False, **fields)
            case "reset":
                model.reset()
            case verb:
                message = model.messages[call.message]
                if verb == "schedule":
                    model.life.schedule(message, call.script)
                elif verb == "cancel":
                    model.life.cancel(message)
                else:
                    model.do(message, verb, said, call.expected_error)
    except Refused as refused:
        return refused.kind
    return None
