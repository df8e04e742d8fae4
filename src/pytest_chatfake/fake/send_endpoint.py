"""The send call, which the description lacks: its requests and responses (assumed)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

from werkzeug import Request

from ..base.arguments import check_list, check_mapping, check_names, check_plain, check_str, cited
from ..domain.messages import MessageState
from ..domain.verbs import Accept
from ..engine.engine import Engine
from ..http_api.routes import RouteResult
from ..transport.server.replies import error_body
from ..wire.exact_json import encode, read_number, refuse_constant
from ..wire.naming import Naming, check_fields, check_type
from .drafts import Drafts
from .handles import Message

#: Takes the request and returns the arguments of ``send()``.
Parse: TypeAlias = Callable[[Request], Mapping[str, Any]]

#: Takes the message that was sent and returns the response.
ReplyFunction: TypeAlias = Callable[[Message], RouteResult]

_ARGUMENTS: Final = ("type", "content", "to", "conversation", "origin_type", "price", "extra")


class SendEndpoint:
    """Responds to send calls; arguments and errors are as for :meth:`.ChatFake.send_endpoint`."""

    def __init__(
        self,
        engine: Engine,
        drafts: Drafts,
        naming: Naming,
        *,
        echo: Iterable[str],
        parse: Parse | None,
        status: str,
        reply: ReplyFunction | None,
    ) -> None:
        self._engine = engine
        self._drafts = drafts
        self._naming = naming
        self._echo = _echoed(echo, naming)
        self._parse = parse
        self._status = check_str(status, "status")
        self._reply = reply
        if parse is not None:
            check_plain(parse, "parse")
            if self._echo:
                raise TypeError("pass echo=, or a parse= that returns extra=, not both")
        if reply is not None:
            check_plain(reply, "reply")
            if status != "sent":
                raise TypeError("pass status=, or a reply= that sets it, not both")

    def respond(self, request: Request, **_: object) -> RouteResult:
        try:
            if self._parse is None:
                arguments, sender = self._read(request)
            else:
                arguments, sender = _returned(self._parse, request), None
        except ValueError as error:
            return error_body(400, "BAD_REQUEST", str(error)), 400
        state, draft = self._drafts.prepare(*map(arguments.get, _ARGUMENTS))
        state.sender = sender
        self._engine.perform(Accept(state, draft), "the send call")
        if self._reply is None:
            return self._resource(state)
        return self._reply(Message(self._engine, state))

    def _resource(self, message: MessageState) -> dict[str, Any]:
        # The resource of its first event, with another word for `sent`.
        event = self._engine.outbox.events_of(message)[0]
        resource: dict[str, Any] = event.json()[self._naming.message_key]
        return resource | {"status": self._status} if resource["status"] == "sent" else resource

    def _read(self, request: Request) -> tuple[Mapping[str, Any], str | None]:
        fields = _json_object(request)
        to = _text({"to": fields.get("recipient")} | fields, "to")
        if fields.get("recipient", to) != to:
            raise ValueError("'to' and 'recipient' differ: send only one of them")
        kind = check_type(_text(fields, "type"), self._naming._message_keys)
        content = fields.get(kind)
        if not isinstance(content, dict if kind == "text" else (dict, list)):
            expected = "an object" if kind == "text" else "an object or a list"
            raise ValueError(f"{cited(kind)} must be {expected}: the content of the message")  # noqa: TRY004
        if kind == "text" and not isinstance(cast("dict[str, Any]", content).get("body"), str):
            raise ValueError("text.body must be a string")
        sender = None
        if self._naming.from_key is not None and "from" in fields:
            sender = _text(fields, "from")
        extra = {name: fields[name] for name in self._echo if name in fields and name != kind}
        encode([content, extra])  # refuses values that JSON can't have
        return {"type": kind, "content": content, "to": to, "extra": extra or None}, sender


def _echoed(echo: Iterable[str], naming: Naming) -> list[str]:
    given = check_list(echo, "echo", 'names such as ["externalId"]')
    names = [check_str(name, "a name in echo") for name in given]
    check_fields(names, naming._message_keys, "echo")
    return names


def _json_object(request: Request) -> dict[str, Any]:
    try:
        body: Any = json.loads(
            request.get_data(), parse_float=read_number, parse_constant=refuse_constant
        )
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("the body is not JSON") from None
    if not isinstance(body, dict):
        raise ValueError("the body is not a JSON object")  # noqa: TRY004 - becomes a 400
    return cast("dict[str, Any]", body)


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{cited(name)} must be a string that is not empty")
    return value


def _returned(parse: Parse, request: Request) -> Mapping[str, Any]:
    arguments = check_mapping(parse(request), "what parse returned")
    check_names(arguments, _ARGUMENTS, "send()")
    return arguments
