"""Endpoints of the user's own, and the events that they cause; without a socket."""

import json
from decimal import Decimal

import pytest
from werkzeug import Response
from werkzeug.exceptions import abort

from .fakes import frozen_fake, received_statuses

# -- routes ----------------------------------------------------------------------------------------


def test_a_route_is_behind_the_key_check_and_gets_the_request(fake, call_api):
    @fake.route("/v2/messages")
    def send(request):
        message = fake.send_text(json.loads(request.get_data())["text"])
        return {"id": message.id, "price": message.total_price}, 202

    body = json.dumps({"text": "Sale"}).encode()
    assert call_api(fake, "POST", "/v2/messages", key="wrong", body=body).status == 401
    assert len(fake.messages) == 0
    answer = call_api(fake, "POST", "/v2/messages", body=body)

    assert answer.status == 202
    assert {"id": fake.messages[0].id, "price": Decimal("0.05")} == answer.json()
    assert b'"price":0.05' in answer.body  # exact, as everywhere
    assert fake.messages[0].body == "Sale"
    assert call_api(fake, "GET", "/v2/messages").status == 405
    assert call_api(fake, "GET", "/v2/messages").headers["allow"] == "POST"


def test_a_route_has_variables_and_methods(fake, call_api):
    @fake.route("/v2/messages/<id>/parts/<int:number>", methods=["get", "DELETE"])
    def part(request, id, number):
        return {"method": request.method, "id": id, "number": number}

    path = "/v2/messages/a-1/parts/7"
    assert call_api(fake, "GET", path).json() == {"method": "GET", "id": "a-1", "number": 7}
    assert call_api(fake, "DELETE", path).json() == {"method": "DELETE", "id": "a-1", "number": 7}
    assert call_api(fake, "GET", "/v2/messages/a-1/parts/x").status == 404
    assert call_api(fake, "POST", path).status == 405


def test_a_route_may_return_a_response_of_its_own(fake, call_api):
    fake.route("/plain", ["GET"])(
        lambda _: Response("né", 299, {"X-Own": "1"}, content_type="text/plain")
    )
    answer = call_api(fake, "GET", "/plain")

    assert (299, "né".encode(), "1") == (answer.status, answer.body, answer.headers["x-own"])


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
    answer = call_api(fake, "POST", "/x")

    assert (status, body) == (answer.status, answer.body)
    kind = None if status == 204 else "application/json"
    assert kind == answer.headers.get("content-type")


@pytest.mark.parametrize("status", [199, 600, 99, -1, 10**9])
@pytest.mark.parametrize("response", [lambda status: ({}, status), lambda s: Response(status=s)])
def test_a_status_that_is_none_is_a_500_and_an_error_in_the_test(fake, call_api, status, response):
    fake.route("/x")(lambda _: response(status))

    assert call_api(fake, "POST", "/x").status == 500
    with pytest.raises(ValueError, match=f"route /x: expected a status .* got {status}"):
        fake.settle()


@pytest.mark.parametrize("result", ["text", ({}, "200"), ({}, True), ([], 200), [1], 200])
def test_a_route_that_returns_nonsense_is_a_500_and_an_error_in_the_test(fake, call_api, result):
    fake.route("/x", ["GET"])(lambda _: result)

    answer = call_api(fake, "GET", "/x")

    assert (answer.status, answer.json()["error"]["code"]) == (500, "INTERNAL_SERVER_ERROR")
    with pytest.raises(TypeError, match="route /x: expected a Response"):
        fake.settle()


def test_a_route_may_abort_with_a_status(fake, call_api):
    fake.route("/x", ["GET"])(lambda _: abort(422))

    assert call_api(fake, "GET", "/x").status == 422
    fake.settle()  # and nothing comes back


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

    answer = call_api(fake, "GET", "/x")
    assert answer.status == 500
    assert answer.json()["error"]["message"] == "a handler raised LookupError"

    with pytest.raises(LookupError, match="no such campaign") as caught:
        use(fake)

    assert "broken" in [entry.name for entry in caught.traceback]
    # and the end of the block had nothing more to say


def test_webhooks_may_win_the_race_against_the_answer(call_api):
    order = []
    with frozen_fake() as fake:
        fake.webhooks.connect(handler=lambda request: order.append(request.event.status))

        @fake.route("/send", webhooks_first=True)
        def send(_):
            return {"id": fake.send_text().id}

        call_api(fake, "POST", "/send")
        order.append("answer")

    assert order == ["sent", "answer"]


def test_an_interrupt_in_a_route_without_a_socket_is_not_an_answer(fake, call_api):
    @fake.route("/v2/messages")
    def send(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_api(fake, "POST", "/v2/messages")


def test_what_a_receiver_raises_before_the_answer_comes_back_in_the_test(fake, call_api):
    def receiver(_):
        raise RuntimeError("the app is wrong")

    fake.webhooks.connect(handler=receiver)

    @fake.route("/send", webhooks_first=True)
    def send(_):
        return {"id": fake.send_text().id}

    answer = call_api(fake, "POST", "/send")

    assert answer.status == 200
    with pytest.raises(RuntimeError, match="the app is wrong"):
        fake.settle()


def test_what_a_route_sent_is_attempted_before_time_moves(fake, call_api):
    receiver = fake.webhooks.receiver()

    @fake.route("/send")
    def send(_):
        return {"id": fake.send_text().id}

    fake.clock.advance(1)
    sent_at = fake.clock.now
    call_api(fake, "POST", "/send")
    fake.clock.advance(hours=25)

    assert [sent_at] == [attempt.at for attempt in fake.webhooks.attempts]
    assert [event.status for event in receiver.events] == ["sent"]
