"""The send call, ready-made: a method of the fake, written as a function of it (assumed)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

from werkzeug import Request

from ..base.arguments import check_plain, check_str, cited
from ..domain.facts import Verb
from ..engine.engine import Engine
from ..wire.exact_json import encode
from ..wire.naming import Naming, check_fields, check_type
from .config import ChatFakeConfig
from .drafting import Drafting
from .messages import Message

#: Takes the request, returns the arguments of ``send()``.
Parse: TypeAlias = Callable[[Request], Mapping[str, Any]]

#: Takes the message that was sent, returns what is answered.
Reply: TypeAlias = Callable[[Message], "dict[str, Any] | tuple[dict[str, Any], int]"]

_Answer: TypeAlias = "dict[str, Any] | tuple[dict[str, Any], int]"
_Arguments: TypeAlias = "tuple[Mapping[str, Any], str | None]"
_V = TypeVar("_V", bound=Callable[..., Any])

_ARGUMENTS: Final = ("type", "content", "to", "conversation", "origin_type", "price", "extra")


class Served(Protocol):
    """The fake that answers the send call."""

    config: ChatFakeConfig
    _engine: Engine
    _drafting: Drafting

    def route(
        self, path: str, methods: Iterable[str] = ..., *, webhooks_first: bool = ...
    ) -> Callable[[_V], _V]:
        """Decorate a function that answers an endpoint."""
        ...


def send_endpoint(
    fake: Served,
    path: str = "/v2/messages",
    *,
    echo: Iterable[str] = (),
    parse: Parse | None = None,
    reply: Reply | None = None,
    webhooks_first: bool = False,
) -> None:
    """Answer a send call: a key-checked POST that sends what its JSON body says (assumed).

    The body is ``{"to": "+1...", "type": "text", "text": {"body": "Hello"}}``, or another type with
    its object under a key of the same name. If the naming has a ``from_key``, the member ``from``
    is the sender. The answer is the message resource of the event that tells of the message, with
    status 200; a message that is rejected at once is answered with its ``failed`` resource. A body
    that does not say what to send to whom is answered with 400, in the shape of §7.1, and sends
    nothing. Of two endpoints on one path, the last one answers.

    Args:
        path: Where it answers; what stands in it for a variable is left to ``parse``.
        echo: Members of the body that come back in every event of the message; others are ignored.
        parse: Takes werkzeug's ``Request`` and returns the arguments of :meth:`send`, instead. A
            ``ValueError`` of it is a 400.
        reply: Takes the message and returns what is answered, instead: a dict, or a dict and a
            status.
        webhooks_first: Whether the events are attempted before the answer leaves.

    Raises:
        TypeError: An argument is of the wrong kind.
        ValueError: The path is invalid, or ``echo`` names a field of the description.
    """
    names = _echoed(echo, fake.config.naming)
    for what, function in (("parse", parse), ("reply", reply)):
        if function is not None and not callable(function):
            raise TypeError(f"{what} must be a function, not {cited(function)}")
        check_plain(function, what)
    if parse is not None and names:
        raise TypeError("give echo=, or a parse= that returns extra=, not both")
    read = partial(_parsed, names, fake.config.naming) if parse is None else partial(_given, parse)
    answer = reply or partial(_resource, fake)

    def view(request: Request, **_: object) -> _Answer:
        try:
            arguments, sender = read(request)
        except ValueError as error:
            return _refused(error)
        values: list[Any] = [arguments.get(name) for name in _ARGUMENTS]
        message, draft = fake._drafting.prepare(*values)
        message.sender = sender
        fake._engine.perform(Verb("accept", message, (draft,)), "the send call")
        return answer(Message(fake._engine, message))

    fake.route(path, ["POST"], webhooks_first=webhooks_first)(view)


def _parsed(echo: list[str], naming: Naming, request: Request) -> _Arguments:
    """Return what a send call's body says: the arguments of ``send()``, and the sender.

    Raises:
        ValueError: It does not say what to send to whom.
    """
    try:
        body: Any = json.loads(
            request.get_data(), parse_float=Decimal, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError):
        raise ValueError("the body is not JSON") from None
    if not isinstance(body, dict):
        raise ValueError("the body is not a JSON object")  # noqa: TRY004 - an answer, no error
    fields = cast("dict[str, Any]", body)
    to = _text(fields, "to")
    kind = check_type(_text(fields, "type"), naming._message_keys)
    content = fields.get(kind)
    if not isinstance(content, dict):
        raise ValueError(f"{cited(kind)} must be an object: the content of the message")  # noqa: TRY004
    if kind == "text" and not isinstance(cast("dict[str, Any]", content).get("body"), str):
        raise ValueError("text.body must be a string")
    sender = None
    if naming.from_key is not None and "from" in fields:
        sender = _text(fields, "from")
    extra = {name: fields[name] for name in echo if name in fields and name != kind}
    encode([content, extra])  # refuses now what could not be written later
    return {"type": kind, "content": content, "to": to, "extra": extra or None}, sender


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{cited(name)} must be a string that is not empty")
    return value


def _given(parse: Parse, request: Request) -> _Arguments:
    """Return what the test's own function makes of a send call."""
    arguments = parse(request)
    if not isinstance(arguments, Mapping):
        raise TypeError(f"parse() must return the arguments of send(), not {cited(arguments)}")
    for name in arguments:
        if name not in _ARGUMENTS:
            raise TypeError(
                f"parse() returned {cited(name)}, and send() takes {', '.join(_ARGUMENTS)}"
            )
    return arguments, None


def _echoed(echo: Iterable[str], naming: Naming) -> list[str]:
    if isinstance(echo, (str, bytes)) or not hasattr(echo, "__iter__"):
        raise TypeError(f'echo must be a list of names such as ["externalId"], not {cited(echo)}')
    names = [check_str(name, "a name in echo") for name in echo]
    check_fields(names, naming._message_keys, "echo")
    return names


def _refused(error: ValueError) -> _Answer:
    return {"error": {"status": 400, "code": "BAD_REQUEST", "message": str(error)}}, 400


def _resource(fake: Served, message: Message) -> dict[str, Any]:
    """Return the message resource of the event that told of the message first."""
    event = fake._engine.outbox.events_of(message._state.number)[0]
    resource: dict[str, Any] = event.json()[fake.config.naming.message_key]
    return resource
