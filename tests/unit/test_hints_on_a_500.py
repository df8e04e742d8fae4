"""What is said of a 500 if no exception was seen: how to see it, or nothing."""

import functools

import pytest

from pytest_chatfake.report.hints import hint

from .wsgi_apps import App, served

PAGE = b"<h1>Internal Server Error</h1>"
UNSEEN = " (did it raise? no exception reached Python's logging)"


def app_of(module, name="App", base=object):
    """An app of a class in a framework's module; it responds with a page and raises nothing."""

    def respond(self, environ, start_response):
        start_response("500 Internal Server Error", [])
        return [PAGE]

    return type(name, (base,), {"__module__": module, "__call__": respond})()


def shop_of(module):
    """An app of a user's class that derives from the framework's."""
    return app_of("shop.web_app", "Shop", type(app_of(module)))


def function_of(module):
    def wsgi(environ, start_response):
        start_response("500 Internal Server Error", [])
        return [PAGE]

    wsgi.__module__ = module
    return wsgi


class Middleware:
    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        return self.app(environ, start_response)


def wrapped(app):
    @functools.wraps(app)
    def outer(environ, start_response):
        return app(environ, start_response)

    outer.__module__ = __name__
    return outer


def hint_on(fake, *url, **target):
    """What is said of the one attempt at a target."""
    fake.webhooks.connect(*url, **({"path": "/"} if "wsgi" in target else {}), **target)
    fake.send_text()
    (attempt,) = fake.webhooks.attempts
    return hint(attempt)


@pytest.mark.parametrize(
    ("app", "setting"),
    [
        (app_of("bottle"), "set app.catchall = False"),
        (
            app_of("django.core.handlers.wsgi", "WSGIHandler"),
            "set DEBUG_PROPAGATE_EXCEPTIONS = True",
        ),
        (
            app_of("falcon.app"),
            "raise it again in app.add_error_handler(Exception, handler)",
        ),
        (app_of("flask.app"), 'set app.config["TESTING"] = True'),
        (app_of("litestar.app"), "create Litestar(debug=True)"),
        (
            app_of("quart.app", "Quart", type(app_of("flask.sansio.app"))),
            "call app.config.update(PROPAGATE_EXCEPTIONS=True, TESTING=False)",
        ),
        (
            function_of("web.application"),
            "set app.internalerror to a function that raises sys.exc_info()[1]",
        ),
        (shop_of("bottle"), "set app.catchall = False"),
        (Middleware(wrapped(Middleware(app_of("bottle")))), "set app.catchall = False"),
        (app_of("bottle").__call__, "set app.catchall = False"),
    ],
)
def test_the_setting_that_shows_the_error_is_named(fake, app, setting):
    assert hint_on(fake, wsgi=app) == f" (did it raise? to see the error, {setting})"


def test_a_framework_without_such_a_setting_is_only_said_to_log_nothing(fake):
    assert hint_on(fake, wsgi=app_of("sanic.app")) == UNSEEN


def test_an_app_that_holds_itself_is_no_endless_loop(fake):
    app = app_of("shop.web_app")
    app.app = app
    assert hint_on(fake, wsgi=app) == UNSEEN


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (500, ""),
        ((500, PAGE), UNSEEN),
        ((500, '{"error": "no such campaign"}'), ""),
        ((500, '{"Message":"An internal server error occurred."}'), ""),
        (
            (500, '{"Code":"InternalServerError","Message":"An internal server error occurred."}'),
            " (did it raise? to see the error, create Chalice(..., debug=True))",
        ),
    ],
)
def test_a_function_that_returns_a_500_has_not_raised(fake, response, expected):
    assert hint_on(fake, handler=lambda request: response) == expected


def test_a_url_has_its_own_log(fake):
    with served(App("500 Internal Server Error", [])) as url:
        said = hint_on(fake, url)
    assert said == " (did it raise? see its server's log)"


def test_an_error_that_a_framework_wraps_is_named(fake):
    def app(environ, start_response):
        try:
            raise LookupError("no such campaign")
        except LookupError as error:
            raise RuntimeError("response started") from error

    said = hint_on(fake, wsgi=app, raise_exceptions=False)
    assert said[: said.rindex(":")] == (
        " (from LookupError: no such campaign at test_hints_on_a_500.py"
    )
