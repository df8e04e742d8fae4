"""From a loose step to a definite call, and what the model makes of it.

With its target and arguments settled, one call can be made on the model, the sync fake and the
async fake alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .model_life import WORDS
from .model_types import Conversation, Message, Refused
from .scripts import (
    BAD_CALLS,
    FAILURES,
    FOCUS,
    PEOPLE,
    REJECTIONS,
    RESET,
    Advance,
    Bad,
    Call,
    Cancel,
    Schedule,
    Send,
    ToDeadline,
    Verb,
    decimal,
)

if TYPE_CHECKING:
    from .model import Model

#: What the model calls otherwise.
NAMES = {"read_receipts": "receipts"}


@dataclass
class Resolver:
    """Settles what a step is about; remembers what the last deadline was about."""

    model: Model
    focus: Message | Conversation | None = None

    def resolve(self, step):
        """The call to make, or None where there is nothing to make it on."""
        match step:
            case Call():
                self.focus = None if step == RESET else self.focus
                return step
            case Send():
                return self._send(step)
            case Verb():
                return self._verb(step)
            case Advance():
                return Call("move", arguments={"at": self.model.now + step.micros}, how=step.how)
            case ToDeadline():
                return self._to_deadline(step)
            case Bad():
                return self._bad(step)
            case Schedule():
                return self._schedule(step)
            case Cancel():
                target = self._target(step.which, submissions=False)
                return None if target is None else Call("cancel", target.label.number)

    def _send(self, step):
        arguments = {} if step.content else {"body": step.body}
        if step.price is not None:
            arguments["price"] = step.price
        if step.origin is not None:
            arguments["origin_type"] = step.origin
        to, conversation = step.to, self._conversation(step.conversation)
        if to == FOCUS:
            if not isinstance(self.focus, Conversation):
                return None
            known = self.focus
            to = next(i for i, p in enumerate(PEOPLE) if p.address == known.address)
            arguments["origin_type"] = known.origin
        if step.submit and conversation is not None:
            # Whether a submission or its acceptance is refused is nobody's business: keep it fit.
            arguments.pop("origin_type", None)
        verb = "submit" if step.submit else "send"
        return Call(
            verb, arguments=arguments, conversation=conversation, to=to, content=step.content
        )

    def _conversation(self, asked):
        known = self.model.conversations
        if asked is None or isinstance(asked, str):
            return asked
        if asked == FOCUS:
            return self.focus.label if isinstance(self.focus, Conversation) else None
        return known[-1 - asked % len(known)].label if known else None

    def _target(self, which, *, submissions):
        if which == FOCUS:
            message = self.focus if isinstance(self.focus, Message) else None
            # Only a message that was submitted apart has a handle that can be accepted.
            return message if not submissions or message is None or message.apart else None
        fit = [
            m for m in self.model.messages if (m.apart if submissions else m.status != "submitted")
        ]
        return fit[-1 - which % len(fit)] if fit else None

    def _verb(self, step):
        target = self._target(step.which, submissions=step.name in {"accept", "reject"})
        if target is None:
            return None
        arguments, error = self._said(step)
        return Call(step.name, target.label.number, arguments=arguments, expected_error=error)

    def _said(self, step):
        """What a verb is told, and the error that its event should show."""
        if step.name in {"fail", "reject"}:
            choices = FAILURES if step.name == "fail" else REJECTIONS
            return choices[step.variant % len(choices)]
        arguments = {}
        if step.name == "deliver":
            arguments |= {} if step.devices is None else {"devices": step.devices}
            arguments |= {} if step.price is None else {"price": step.price}
        return arguments, None

    def _schedule(self, step):
        target = self._target(step.which, submissions=False)
        if target is None:
            return None
        script = tuple(
            (length, tuple((verb.name, *self._said(verb)) for verb in verbs))
            for length, verbs in step.script
        )
        return Call("schedule", target.label.number, script=script)

    def _to_deadline(self, step):
        model = self.model
        ahead = []
        if step.what == "drop":
            waiting = [m for m in model.messages if m.state == "sent"]
            ahead = [(model.due(m), n, m) for n, m in enumerate(waiting)]
        else:
            for n, conversation in enumerate(model.conversations):
                if conversation.expires is not None:
                    ahead.append((conversation.expires, n, conversation))
        ahead = [entry for entry in ahead if entry[0] + step.offset > model.now]
        self.focus = None
        if not ahead:
            return None
        due, _, self.focus = min(ahead, key=lambda entry: entry[:2])
        model.took(f"moved to {step.what} {step.offset:+d} us")
        return Call("move", arguments={"at": due + step.offset}, how=step.how)

    def _bad(self, step):
        verb, arguments = BAD_CALLS[step.number]
        target = None
        if verb in {"deliver", "fail"}:
            message = self._target(step.which, submissions=False)
            if message is None:
                return None
            target = message.label.number
        return Call(verb, target, arguments=arguments, bad=True)


def model_call(model, call):
    """What the model makes of a call: the name of the error that is due, or None."""
    message = None if call.message is None else model.messages[call.message]
    error = call.expected_error
    said = call.arguments
    try:
        match call.verb:
            case "send" | "submit":
                price = said.get("price")
                getattr(model, call.verb)(
                    call.address,
                    call.content or ("text", {"body": said.get("body")}),
                    price=None if price is None else decimal(price),
                    origin=said.get("origin_type"),
                    conversation=call.conversation,
                )
            case "accept":
                model.accept(message)
            case "reject":
                model.reject(message, *error)
            case "deliver" | "read" | "fail":
                model.do(message, call.verb, said, error)
            case "emit_event":
                model.emit_other(*call.other)
            case "writes":
                model.life.write(call.address)
            case "top_up" | "set_balance":
                getattr(model, call.verb)(decimal(said["amount"]))
            case "rate":
                model.going_rate = decimal(said["amount"])
            case "move":
                model.move_to(said["at"])
            case "word":
                model.life.change(call.address, "IllegalTransition", **WORDS[said["word"]])
            case "describe":
                fields = {NAMES.get(name, name): value for name, value in said.items()}
                model.life.change(call.address, "ValueError", **fields)
            case "schedule":
                model.life.schedule(message, call.script)
            case "cancel":
                model.life.cancel(message)
            case "reset":
                model.reset()
            case _:
                raise NotImplementedError(call.verb)
    except Refused as refused:
        return refused.kind
    return None
