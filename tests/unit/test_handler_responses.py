"""What a handler function's result means as a response."""

from http import HTTPStatus
from types import SimpleNamespace

import pytest

from pytest_chatfake.transport.client.responses import Response
from pytest_chatfake.transport.client.targets import response_of


@pytest.mark.parametrize(
    ("result", "response"),
    [
        (None, Response(200)),
        (204, Response(204)),
        (HTTPStatus.BAD_GATEWAY, Response(502)),
        ((500, b"broken"), Response(500, b"broken")),
        ((409, "zweimal: café"), Response(409, "zweimal: café".encode())),
        (SimpleNamespace(status_code=503), Response(503)),
        (SimpleNamespace(status_code=200, data=b"d"), Response(200, b"d")),
        (SimpleNamespace(status_code=200, content=b"c"), Response(200, b"c")),
        (SimpleNamespace(status_code=200, body=b"b"), Response(200, b"b")),
        (
            SimpleNamespace(status_code=200, data={"not": "bytes"}, content=b"c"),
            Response(200, b"c"),
        ),
    ],
)
def test_a_handler_s_result_is_a_response(result, response):
    assert response == response_of(result)


def test_the_status_is_a_plain_number():
    assert int is type(response_of(HTTPStatus.OK).status)


def test_a_handler_may_return_a_framework_s_response():
    from starlette.responses import JSONResponse, StreamingResponse
    from werkzeug import Response as WerkzeugResponse

    assert Response(201, b"made") == response_of(WerkzeugResponse("made", 201))
    assert Response(202, b'{"ok":true}') == response_of(JSONResponse({"ok": True}, 202))
    assert Response(200, b"") == response_of(StreamingResponse(iter(["never run"])))


@pytest.mark.parametrize(
    "result",
    [
        True,
        "ok",
        20.0,
        {"ok": True},
        (200,),
        (200, b"a", b"b"),
        ("ok", 200),
        (True, b""),
        (200, {"ok": True}),
        SimpleNamespace(status_code="200"),
        SimpleNamespace(status_code=True),
        SimpleNamespace,
    ],
)
def test_anything_else_is_refused_with_what_to_return(result):
    with pytest.raises(TypeError, match=r"handler: expected None \(for 200\), a status"):
        response_of(result)


@pytest.mark.parametrize("status", [0, 99, 600, -200, 2000])
def test_a_number_that_is_no_status_is_refused(status):
    with pytest.raises(ValueError, match=f"handler: expected an HTTP status, got {status}"):
        response_of(status)
