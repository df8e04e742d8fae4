"""What a handler function's result means as an answer."""

from __future__ import annotations

from http import HTTPStatus
from types import SimpleNamespace

import pytest

from pytest_chatfake.transport.client.answers import Answer
from pytest_chatfake.transport.client.targets import answer_of


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (None, Answer(200)),
        (204, Answer(204)),
        (HTTPStatus.BAD_GATEWAY, Answer(502)),
        ((500, b"broken"), Answer(500, b"broken")),
        ((409, "zweimal: café"), Answer(409, "zweimal: café".encode())),
        (SimpleNamespace(status_code=503), Answer(503)),
        (SimpleNamespace(status_code=200, data=b"d"), Answer(200, b"d")),
        (SimpleNamespace(status_code=200, content=b"c"), Answer(200, b"c")),
        (SimpleNamespace(status_code=200, body=b"b"), Answer(200, b"b")),
        (SimpleNamespace(status_code=200, data={"not": "bytes"}, content=b"c"), Answer(200, b"c")),
    ],
)
def test_a_result_is_an_answer(result, answer):
    assert answer == answer_of(result)


def test_the_status_is_a_plain_number():
    assert int is type(answer_of(HTTPStatus.OK).status)


def test_responses_of_the_frameworks_are_answers():
    from starlette.responses import JSONResponse, StreamingResponse
    from werkzeug import Response

    assert Answer(201, b"made") == answer_of(Response("made", 201))
    assert Answer(202, b'{"ok":true}') == answer_of(JSONResponse({"ok": True}, 202))
    assert Answer(200, b"") == answer_of(StreamingResponse(iter(["never run"])))


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
        answer_of(result)


@pytest.mark.parametrize("status", [0, 99, 600, -200, 2000])
def test_a_number_that_is_no_status_is_refused(status):
    with pytest.raises(ValueError, match=f"handler: expected an HTTP status, got {status}"):
        answer_of(status)
