"""What shows the exception behind a 500, if a framework neither raises nor logs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ..transport.client.targets import HandlerTarget, Target

#: By the module of an app's class.
_SETTINGS: Final = {
    "bottle": "set app.catchall = False",
    "django": "set DEBUG_PROPAGATE_EXCEPTIONS = True",
    "falcon": "raise it again in app.add_error_handler(Exception, handler)",
    "flask": 'set app.config["TESTING"] = True',
    "litestar": "create Litestar(debug=True)",
    "quart": "call app.config.update(PROPAGATE_EXCEPTIONS=True, TESTING=False)",
    "web": "set app.internalerror to a function that raises sys.exc_info()[1]",
}

#: By the response, for an app that a handler function calls.
_RESPONSES: Final = (
    (re.compile(rb'"Code": ?"InternalServerError"'), "create Chalice(..., debug=True)"),
)

#: The attributes in which middleware and methods keep the app. Other objects that they hold, as of
#: `apps_inside`, may be other apps, about which a hint would mislead.
_WRAPPED: Final = ("app", "application", "wsgi_app", "wsgi_application", "asgi_app", "__wrapped__")

#: The maximum number of middlewares around an app.
_MAX_DEPTH: Final = 10


def how_to_see(target: Target, body: bytes) -> str:
    """Return how to see the exception behind a 500; empty if a function returned just a 500."""
    if not target.in_process:
        return "see its server's log"
    found = [setting for pattern, setting in _RESPONSES if pattern.search(body)]
    found += [_SETTINGS[module] for module in _modules(target._app) if module in _SETTINGS]
    if found:
        return f"to see the error, {found[0]}"
    is_own = isinstance(target, HandlerTarget) and not body
    return "" if is_own else "no exception reached Python's logging"


def _modules(app: Any) -> Iterator[str]:
    # The top-level modules of a function or of an app's classes, then those of the app inside it.
    for _ in range(_MAX_DEPTH):
        names = [getattr(one, "__module__", None) for one in (app, *type(app).__mro__)]
        yield from (str(name).partition(".")[0] for name in names)
        held = {**getattr(app, "__dict__", {})}
        inner = [held[name] for name in _WRAPPED if callable(held.get(name))]
        app = getattr(app, "__self__", None) or next(iter(inner), None)
