"""Routes that users add, such as a send call, which the description lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from types import NotImplementedType
from typing import Any, Final, NamedTuple, TypeAlias

from werkzeug import Request, Response
from werkzeug.exceptions import MethodNotAllowed, NotFound
from werkzeug.routing import Map, MapAdapter, RequestRedirect, Rule

from ..base.arguments import check_list, check_str, cited, unexpected
from ..wire.exact_json import encode

_Body: TypeAlias = dict[str, Any] | bytes | None

#: What a route may return: None is a 204, bytes are sent unchanged.
RouteResult: TypeAlias = Response | _Body | tuple[_Body, int]

#: Takes werkzeug's request and the path's variables, and returns the response, or NotImplemented to
#: pass the request on.
RouteFunction: TypeAlias = Callable[..., RouteResult | NotImplementedType]

BALANCE_PATH = "/v2/balance"

_NO_RULES = Map()


#: The maximum number of routes in a hint.
_MOST_SHOWN: Final = 3


class Route(NamedTuple):
    """A route that the user added.

    Attributes:
        path: The path as written, such as ``/v2/messages/<id>``.
        view: Takes the request and returns the response.
        webhooks_first: Whether a call's events are attempted before the response leaves.
        idempotency_header: The header with a call's idempotency key, if any.
    """

    path: str
    view: RouteFunction
    webhooks_first: bool
    idempotency_header: str | None = None

    def respond(self, request: Request, variables: dict[str, Any]) -> Response | None:
        """Call the view and return its response; None: it passes the request on."""
        result: object = self.view(request, **variables)
        if result is NotImplemented:
            return None
        match result:
            case Response():
                response = result
            case tuple((body, int() as status)) if not isinstance(status, bool):
                response = self._response(body, status)
            case _:
                response = self._response(result, 204 if result is None else 200)
        if not 200 <= response.status_code <= 599:
            raise ValueError(
                f"route {self.path}: expected a status from 200 to 599, got {response.status_code}"
            )
        return response

    def _response(self, body: object, status: int) -> Response:
        content: str | bytes | None
        match body:
            case dict():
                content = encode(body)
            case bytes() | None:
                content = body
            case _:
                expected = "a Response, a dict, bytes or None, or one of these and a status"
                raise TypeError(unexpected(f"route {self.path}", expected, body))
        return Response(content, status, content_type="application/json")


class Routes:
    """The routes of one account, each with a map of its own, as werkzeug would sort several."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []  # the last one added comes first

    def add(self, path: str, methods: Iterable[str], route: Route) -> None:
        names = _methods(methods)
        if check_path(path) == BALANCE_PATH and names & {"GET", "HEAD"}:
            raise ValueError(
                f"path: GET {BALANCE_PATH} is the service's own. To change its response, use "
                f"chat_fake.api."
            )
        rule = Rule(path, methods=names, endpoint=route)
        map_of(rule)
        self._rules = [rule, *self._rules]  # another thread may be reading the old list

    def matching(self, path: str, method: str) -> list[tuple[Route, dict[str, Any]]]:
        """Return the routes that match a request, each with its variables in the path."""
        found: list[tuple[Route, dict[str, Any]]] = []
        for rule in self._rules:
            with suppress(NotFound, MethodNotAllowed, RequestRedirect):
                route, variables = bound(rule.map, path).match(path, method)
                found.append((route, dict(variables)))
        return found

    def shown(self) -> list[str]:
        """Return the routes that were added last, such as ``POST /v2/messages``."""
        return [
            f"{'/'.join(sorted(rule.methods or ()))} {rule.rule}"
            for rule in self._rules[:_MOST_SHOWN]
        ]

    @property
    def has_queries(self) -> bool:
        """Whether a route can be used to look something up."""
        return any("GET" in (rule.methods or ()) for rule in self._rules)

    def methods(self, path: str) -> list[str]:
        maps = [bound(rule.map, path) for rule in self._rules]
        methods = {method for found in maps for method in found.allowed_methods(path)}
        if path == BALANCE_PATH:
            methods |= {"GET", "HEAD"}
        return sorted(methods)


def check_path(path: object) -> str:
    given = check_str(path, "path")
    if not given.startswith("/") or "?" in given:
        raise ValueError(
            unexpected("path", "a path that starts with / and has no query string", given)
        )
    return given


def map_of(rule: Rule) -> Map:
    """Return a map of one rule; raise a ValueError if the rule is malformed."""
    try:
        return Map([rule], strict_slashes=False, merge_slashes=False)
    except (LookupError, SyntaxError, ValueError):
        pass
    expected = "a path, or a rule such as /v2/messages/<id>"
    raise ValueError(unexpected("path", expected, rule.rule))


def bound(rules: Map, path: str) -> MapAdapter:
    # werkzeug would merge several slashes at the beginning of a path.
    return (_NO_RULES if path.startswith("//") else rules).bind("")


def _methods(methods: Iterable[Any]) -> set[str]:
    names = check_list(methods, "methods", 'names such as ["POST"]')
    if not all(isinstance(name, str) and name.isalpha() for name in names):
        raise TypeError(f'methods: expected a list such as ["POST"], got {cited(methods)}')
    if not names:
        raise ValueError('methods: expected at least one, such as ["POST"]')
    return {str(name).upper() for name in names}
