"""Endpoints of the user's own, such as a send endpoint, which the service does not describe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from werkzeug import Request, Response
from werkzeug.exceptions import MethodNotAllowed, NotFound
from werkzeug.routing import Map, RequestRedirect, Rule

from ..base.arguments import check_list, cited
from ..wire.exact_json import encode

#: Takes werkzeug's request (and the variables of the path), returns the response.
View: TypeAlias = "Callable[..., Response | dict[str, Any] | tuple[dict[str, Any], int]]"

BALANCE_PATH = "/v2/balance"


class Route(NamedTuple):
    """One endpoint of the user's own.

    Attributes:
        path: As it was written, ``/v2/messages/<id>`` for example.
        view: Takes the request and returns the response.
        webhooks_first: Whether its events are attempted before the response leaves.
    """

    path: str
    view: View
    webhooks_first: bool

    def answer(self, request: Request, variables: dict[str, Any]) -> Response:
        """Call the view and return its result as a response."""
        result: object = self.view(request, **variables)
        match result:
            case Response():
                return result
            case dict():
                return _json(result, 200)
            case (dict() as body, int() as status) if not isinstance(status, bool):
                return _json(body, status)
            case _:
                raise TypeError(
                    f"route {self.path}: expected a werkzeug Response, a dict, or a dict and a "
                    f"status, got {cited(result)}"
                )


def _json(body: object, status: int) -> Response:
    return Response(encode(body), status, content_type="application/json")


#: What most accounts have: a map costs more than all else of an account's API.
_NO_RULES = Map()


class Routes:
    """The routes of one account."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._map = _NO_RULES

    def add(self, path: str, methods: Iterable[str], route: Route) -> None:
        """Add a route; of two that match a request, the last one responds."""
        names = _methods(methods)
        if not isinstance(path, str):
            raise TypeError(f"path: expected a str, got {cited(path)}")
        if not path.startswith("/") or "?" in path:
            raise ValueError(f"path: expected a slash first and no query string, got {cited(path)}")
        if path == BALANCE_PATH and names & {"GET", "HEAD"}:
            raise ValueError(
                f"path: GET {BALANCE_PATH} is the service's own. To change its response, use "
                f"chat_fake.api."
            )
        # A rule belongs to one map for good, and the first that matches responds.
        rules = [Rule(path, methods=names, endpoint=route), *(one.empty() for one in self._rules)]
        self._map = Map(rules, strict_slashes=False, merge_slashes=False)
        self._rules = rules

    def find(self, path: str, method: str) -> tuple[Route, dict[str, Any]] | None:
        """Return the route of a request and the variables of its path, if there is one."""
        try:
            route, variables = self._map.bind("").match(path, method)
        except (NotFound, MethodNotAllowed, RequestRedirect):
            return None
        assert isinstance(route, Route)
        return route, dict(variables)

    def methods(self, path: str) -> list[str]:
        """Return the methods that a path takes; none if there is no such path."""
        methods = set(self._map.bind("").allowed_methods(path))
        if path == BALANCE_PATH:
            methods |= {"GET", "HEAD"}
        return sorted(methods)


def _methods(methods: Iterable[Any]) -> set[str]:
    names = check_list(methods, "methods", 'names such as ["POST"]')
    if not all(isinstance(name, str) and name.isalpha() for name in names):
        raise TypeError(f'methods: expected a list such as ["POST"], got {cited(methods)}')
    if not names:
        raise ValueError('methods: expected at least one, such as ["POST"]')
    return {str(name).upper() for name in names}
