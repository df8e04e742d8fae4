"""Endpoints of the user's own, and the events that they cause; without a socket."""

import json
from unittest.mock import Mock

import pytest
from werkzeug import Response

from .fakes import received_statuses

# -- routes ----------------------------------------------------------------------------------------


def test_a_route_is_behind_the_key_check_and_gets_the_request(fake, call_api):
    @fake.route("/v2/messages")
    def send(request):
        message = fake.send_text(json.loads(request.get_data())["text"])
        return {"id": message.id, "price": message.total_price}, 202

    body = json.dumps({"text": "Sale"}).encode()
    assert call_api(fake, "POST", "/v2/messages", key="wrong", body=body).status == 401
    assert len(fake.messages) == 0
    response = call_api(fake, "POST", "/v2/messages", body=body)

    (message,) = fake.messages
    expected = b'{"id":"%b","price":0.05}' % message.id.encode()  # exact, as everywhere
    assert (response.status, response.body, message.body) == (202, expected, "Sale")
    refused = call_api(fake, "GET", "/v2/messages")
    assert (refused.status, refused.headers["allow"]) == (405, "POST")


def test_a_route_has_variables_and_methods(fake, call_api):
    @fake.route("/v2/messages/<id>/parts/<int:number>", methods=["get", "DELETE"])
    def part(request, id, number):
        return {"method": request.method, "id": id, "number": number}

    path = "/v2/messages/a-1/parts/7"
    for method in ("GET", "DELETE"):
        expected = {"method": method, "id": "a-1", "number": 7}
        assert call_api(fake, method, path).json() == expected
    assert call_api(fake, "GET", "/v2/messages/a-1/parts/x").status == 404
    assert call_api(fake, "POST", path).status == 405


def test_a_route_may_return_a_response_of_its_own(fake, call_api):
    fake.route("/plain", ["GET"])(
        lambda _: Response("né", 299, {"X-Own": "1"}, content_type="text/plain")
    )
    response = call_api(fake, "GET", "/plain")

    assert (299, "né".encode(), "1") == (response.status, response.body, response.headers["x-own"])


def test_a_list_is_no_response_with_a_status(fake, call_api):
    fake.route("/list")(lambda _: [{"id": 1}, 201])
    assert call_api(fake, "POST", "/list").status == 500

    with pytest.raises(TypeError, match="route /list: expected a Response, a dict"):
        fake.settle()


def test_the_last_route_added_responds_even_if_an_earlier_one_is_more_special(fake, call_api):
    fake.route("/orders/new", ["POST", "PUT"])(lambda _: {"by": "the first"})
    fake.route("/orders/<number>")(lambda _, number: {"by": "the last"})

    assert call_api(fake, "POST", "/orders/new").json() == {"by": "the last"}
    assert call_api(fake, "PUT", "/orders/new").json() == {"by": "the first"}


def test_a_request_is_handed_on_to_what_stood_before(fake, receiver, call_api):
    fake.route("/<id>")(lambda _, id: {id: fake.send_text().total_price})
    for path in ("/x", "/x", "/x/y"):
        fake.route(path, webhooks_first=True)(lambda _: NotImplemented)

    assert call_api(fake, "POST", "/x").body == b'{"x":0.05}'
    assert received_statuses(receiver) == []
    assert call_api(fake, "POST", "/x/y").status == 404
    fake.http.expect_request("/x/y").respond_with_data("by a handler")
    assert call_api(fake, "POST", "/x/y").body == b"by a handler"


def test_a_route_can_be_another_method_of_the_balance_path(fake, call_api):
    fake.route("/v2/balance", ["POST"])(lambda _: {"topped": "up"})

    assert call_api(fake, "POST").json() == {"topped": "up"}
    assert call_api(fake).status == 200
    assert {"GET", "HEAD", "POST"} == set(call_api(fake, "PUT").headers["allow"].split(", "))


@pytest.mark.parametrize(
    ("result", "status", "body"),
    [
        (None, 204, b""),
        ((None, 202), 202, b""),
        (b'{"a":0.10}', 200, b'{"a":0.10}'),
        ((b"{", 599), 599, b"{"),
        (b"", 200, b""),
    ],
)
def test_a_route_may_return_nothing_or_exact_bytes(fake, call_api, result, status, body):
    fake.route("/x")(lambda _: result)
    response = call_api(fake, "POST", "/x")

    assert (status, body) == (response.status, response.body)
    kind = None if status == 204 else "application/json"
    assert kind == response.headers.get("content-type")


NONSENSE = [
    *[(({}, status), f"a status .* got {status}") for status in (199, 600, 99, -1, 10**9)],
    *[(Response(status=status), f"a status .* got {status}") for status in (199, 600)],
    *[(one, "a Response") for one in ("text", ({}, "200"), ({}, True), ([], 200), [1], 200)],
]


@pytest.mark.parametrize(("result", "expected"), NONSENSE)
def test_nonsense_of_a_route_is_a_500_and_an_error_in_the_test(fake, call_api, result, expected):
    fake.route("/x")(lambda _: result)
    response = call_api(fake, "POST", "/x")

    assert (response.status, response.json()["error"]["code"]) == (500, "INTERNAL_SERVER_ERROR")
    with pytest.raises((TypeError, ValueError), match=f"route /x: expected {expected}"):
        fake.settle()


@pytest.mark.parametrize(
    "use",
    [
        lambda fake: fake.settle(),
        lambda fake: fake.send_text(),
        lambda fake: fake.assert_held("0"),
        lambda fake: fake.clock.advance(1),
        lambda fake: fake.close(),
    ],
    ids=["settle", "verb", "assertion", "clock", "close"],
)
def test_an_error_of_a_route_is_a_500_and_comes_back_once(fake, call_api, use):
    @fake.route("/x", ["GET"])
    def broken(_):
        raise LookupError("no such campaign")

    response = call_api(fake, "GET", "/x")
    assert response.status == 500
    assert response.json()["error"]["message"] == "a handler raised LookupError"

    with pytest.raises(LookupError, match="no such campaign") as caught:
        use(fake)

    assert "broken" in [entry.name for entry in caught.traceback]
    # and the end of the block had nothing more to say


def test_an_interrupt_in_a_route_without_a_socket_is_no_response(fake, call_api):
    fake.route("/v2/messages")(Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        call_api(fake, "POST", "/v2/messages")


def test_a_receiver_s_error_before_the_response_reaches_the_test(fake, call_api):
    fake.webhooks.connect(handler=lambda _: 1 / 0)
    fake.route("/send", webhooks_first=True)(lambda _: {"id": fake.send_text().id})

    assert call_api(fake, "POST", "/send").status == 200
    with pytest.raises(ZeroDivisionError):
        fake.settle()


def test_what_a_route_sent_is_attempted_before_time_moves(fake, receiver, call_api):
    fake.route("/send")(lambda _: {"id": fake.send_text().id})
    sent_at = fake.clock.now
    call_api(fake, "POST", "/send")
    assert received_statuses(receiver) == []
    fake.clock.advance(hours=25)

    assert [attempt.at for attempt in fake.webhooks.attempts] == [sent_at]
