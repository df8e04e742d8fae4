"""What a WSGI app gets: the environ and the body, as a server gives them."""

from wsgiref.validate import validator

import pytest

from pytest_chatfake.transport.client.responses import Response
from pytest_chatfake.transport.client.wsgi import WsgiTarget

from .wsgi_apps import JSON, NOTHING, App, post

# What the app gets


def test_an_app_under_the_validator_finds_nothing_to_complain_about():
    app = App()

    assert Response(200, b"fine") == post(
        validator(app), b"x" * 10, {**JSON, "X-Signature": "v1=abc"}, "/a%20b/?q=1"
    )
    assert app.bodies == [b"x" * 10]


def test_the_environ_is_that_of_a_post_as_a_server_says_it():
    app = App()
    post(app, b"12345", {**JSON, "X-Signature": "v1=abc"}, "/hooks/caf%C3%A9%2Fx?a=1&b=%20")

    environ = app.environs[0]
    assert {
        key: value for key, value in environ.items() if key not in ("wsgi.input", "wsgi.errors")
    } == {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/hooks/cafÃ©/x",
        "QUERY_STRING": "a=1&b=%20",
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "REMOTE_PORT": "50000",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": "5",
        "HTTP_HOST": "testserver",
        "HTTP_X_SIGNATURE": "v1=abc",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }


def test_errors_of_the_app_go_where_the_test_looks_at_them(capsys):
    def app(environ, start_response):
        environ["wsgi.errors"].write("out of paper\n")
        start_response("200 OK", [])
        return []

    post(app)

    assert capsys.readouterr().err == "out of paper\n"


@pytest.mark.parametrize("name", ["content-type", "Content-Type", "CONTENT-TYPE"])
def test_the_content_type_has_its_own_key_whatever_its_case(name):
    app = App()
    post(app, headers={name: "text/json"})

    assert app.environs[0]["CONTENT_TYPE"] == "text/json"
    assert "HTTP_CONTENT_TYPE" not in app.environs[0]


def test_a_header_that_is_there_twice_is_one_with_a_comma():
    app = App()
    post(app, headers={"X-Tag": "a", "x-tag": "b"})

    assert app.environs[0]["HTTP_X_TAG"] == "a,b"


def test_an_app_writes_into_its_environ_unseen_by_the_next_request():
    seen = []

    def app(environ, start_response):
        seen.append("myframework.user" in environ)
        environ["myframework.user"] = "ada"
        environ["PATH_INFO"] = "/elsewhere"
        start_response("200 OK", [])
        return []

    target = WsgiTarget(app, path="/")
    target.attempt(NOTHING)
    target.attempt(NOTHING)

    assert seen == [False, False]
