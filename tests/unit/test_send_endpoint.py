"""The ready-made send call, and the search for what an app has sent."""

import json
from decimal import Decimal

import pytest
from werkzeug import Response

from pytest_chatfake import Naming

from .api_clients import call_with_werkzeug
from .fakes import frozen_fake, received_statuses, unchanged

ORDER = {"to": "+4915", "type": "text", "text": {"body": "Sale"}}


def post(fake, body, path="/v2/messages", **options):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return call_with_werkzeug(fake, "POST", path, body=data, **options)


TOO_DEEP = "can't be written as JSON: nested more than 100 levels deep, or in itself"


def with_number(number):
    """An order whose text has one more member."""
    return b'{"to": "+1", "type": "text", "text": {"body": "x", "n": ' + number + b"}}"


# -- what it does ----------------------------------------------------------------------------------


def test_a_send_endpoint_returns_the_resource_that_the_event_has(fake, receiver):
    fake.send_endpoint()
    response = post(fake, ORDER)

    assert response.status == 200
    assert fake.events[0].json()["chatMessage"] == response.json()
    assert (fake.messages[0].to, fake.messages[0].body) == ("+4915", "Sale")
    assert received_statuses(receiver) == []
    fake.settle()
    assert received_statuses(receiver) == ["sent"]


def test_a_send_call_that_is_rejected_at_once_returns_the_failed_message():
    with frozen_fake(opening_balance="0", on_insufficient_balance="fail") as fake:
        fake.send_endpoint(status="accepted")
        response = post(fake, ORDER)
        assert response.status == 200
        shown = response.json()
        assert (shown["status"], shown["errorCode"]) == ("failed", "BALANCE_INSUFFICIENT")


def test_members_that_are_named_come_back_in_every_event_and_others_do_not(fake):
    fake.send_endpoint(echo=["externalId", "ratio"])
    post(fake, json.dumps(ORDER)[:-1].encode() + b',"externalId":"o-17","ratio":0.10,"x":1}')
    fake.messages[0].deliver()

    for event in fake.events:
        resource = event.json()["chatMessage"]
        assert (resource["externalId"], resource["ratio"]) == ("o-17", Decimal("0.10"))
        assert "x" not in resource
    assert b'"ratio":0.10' in fake.events[0].body


def test_the_content_is_named_by_echo_without_harm(fake):
    fake.send_endpoint(echo=["image", "externalId"])
    post(fake, {"to": "+1", "type": "image", "image": {"link": "x"}, "externalId": "o-1"})
    assert fake.events[0].body.count(b'"image":') == 1
    assert fake.events[0].json()["chatMessage"]["externalId"] == "o-1"


@pytest.mark.parametrize(("to", "content"), [("to", {"name": "sale"}), ("recipient", [{"n": 1}])])
def test_a_send_endpoint_takes_other_types_than_text(fake, to, content):
    fake.send_endpoint(status="accepted")
    shown = post(fake, {to: "+1", "type": "contacts", "contacts": content}).json()
    assert (shown["status"], shown["contacts"]) == ("accepted", content)
    message = fake.messages[0]
    assert (message.to, message.status, message.content) == ("+1", "sent", content)


@pytest.mark.parametrize(("from_key", "sender"), [("from", "+999"), (None, None)])
def test_the_sender_of_the_call_is_the_events_where_the_naming_has_a_key(from_key, sender):
    with frozen_fake(naming=Naming(from_key=from_key)) as fake:
        fake.send_endpoint()
        assert post(fake, ORDER | {"from": "+999"}).json().get("from") == sender
        assert post(fake, ORDER).json()["status"] == "sent"


def test_a_call_whose_key_is_in_use_is_a_409_and_a_reset_forgets_the_key(fake):
    def call():
        return post(fake, ORDER, **{"Idempotency-Key": "order-17"}).json()

    fake.send_endpoint(reply=lambda _: {"second": call()}, idempotency_header="Idempotency-Key")
    first = call()
    assert first["second"]["error"]["code"] == "IDEMPOTENCY_KEY_IN_USE"
    assert (first, 1) == (call(), len(fake.messages))
    fake.reset()
    assert (first, 1) == (call(), len(fake.messages))


def test_one_idempotency_key_with_two_methods_is_two_calls(fake):
    made = []
    route = fake.route("/x", ["PUT", "DELETE"], idempotency_header="Key")
    route(lambda request: made.append(request.method))
    for method in ("PUT", "DELETE", "PUT"):
        call_with_werkzeug(fake, method, "/x", Key="1")

    assert made == ["PUT", "DELETE"]


def test_a_response_that_is_kept_for_its_key_is_closed_once(fake):
    closed = []

    @fake.route("/x", idempotency_header="Key")
    def respond(_):
        response = Response("done")
        response.call_on_close(lambda: closed.append(True))
        return response

    for _ in range(2):
        assert call_with_werkzeug(fake, "POST", "/x", Key="1").body == b"done"
    assert closed == [True]


# -- what it turns down ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        (with_number(b"NaN"), "not JSON (it has no NaN)"),
        (with_number(b"[" * 800 + b"]" * 800), TOO_DEEP),
        (
            with_number(b"1e999999999"),
            "the number 1e999999999 is out of range",
        ),
        (
            with_number(b"1e99999999999999999999"),
            "the number 1e99999999999999999999 is out of range",
        ),
        ([ORDER], "the body is not a JSON object"),
        ({"type": "text", "text": {"body": "x"}}, "'to' must be a string that is not empty"),
        (ORDER | {"to": 49}, "'to' must be a string that is not empty"),
        (ORDER | {"to": ""}, "'to' must be a string that is not empty"),
        (ORDER | {"recipient": "+1"}, "'to' and 'recipient' differ: send only one of them"),
        ({"to": "+1", "text": {"body": "x"}}, "'type' must be a string that is not empty"),
        (
            ORDER | {"type": "image"},
            "'image' must be an object or a list: the content of the message",
        ),
        (ORDER | {"text": "x"}, "'text' must be an object: the content of the message"),
        (ORDER | {"text": []}, "'text' must be an object: the content of the message"),
        (ORDER | {"text": {}}, "text.body must be a string"),
        (
            {"to": "+1", "type": "currency", "currency": {}},
            "'currency' can't be a message's type: the message has a field of that name",
        ),
    ],
)
def test_a_body_that_does_not_say_what_to_send_is_a_400_and_sends_nothing(fake, body, message):
    fake.send_endpoint()
    response = post(fake, body)
    error = {"status": 400, "code": "BAD_REQUEST", "message": message}
    assert (400, {"error": error}) == (response.status, response.json())
    assert len(fake.messages) == 0


def test_a_parse_of_ones_own_says_what_to_send(fake):
    def parse(request):
        order = json.loads(request.get_data())
        if "msg" not in order:
            raise ValueError("msg is missing")
        return {"type": "text", "content": {"body": order["msg"]}, "to": "+7", "price": "0.30"}

    fake.send_endpoint("/send", parse=parse)
    assert post(fake, {"msg": "Hi"}, "/send").status == 200
    assert Decimal("0.30") == fake.messages[0].held
    response = post(fake, {}, "/send")
    assert (response.status, response.json()["error"]["message"]) == (400, "msg is missing")
    assert len(fake.messages) == 1


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (KeyError("to"), KeyError),
        ([], TypeError),
        ({"type": "text", "content": {"body": "x"}, "body": "x"}, TypeError),
    ],
)
def test_any_other_error_of_a_parse_is_a_500_and_comes_back_in_the_test(fake, result, error):
    def parse(_):
        if isinstance(result, Exception):
            raise result
        return result

    fake.send_endpoint(parse=parse)
    assert post(fake, ORDER).status == 500
    with pytest.raises(error):
        fake.settle()
    assert len(fake.messages) == 0


# -- the search ------------------------------------------------------------------------------------


def test_a_message_is_found_by_what_it_is_to_by_its_text_and_by_its_fields(fake):
    one = fake.send_text("Hello", to="+1", extra={"externalId": "o-1"})
    two = fake.send_text("Hello", to="+2", extra={"externalId": "o-2"}).deliver()

    assert fake.find_message(to="+1") == fake.find_message(externalId="o-1") == one
    assert fake.find_message(to=fake.recipient("+2"), body="Hello") == two
    assert fake.find_message(status="delivered") == two


def test_where_none_matches_the_closest_are_listed(fake):
    for number in range(7):
        fake.send_text(f"text {number}", to="+1" if number == 6 else "+2")
    with unchanged(fake), pytest.raises(LookupError) as caught:
        fake.find_message(to="+1", body="text", externalId="o-1")

    lines = str(caught.value).splitlines()
    assert lines[0] == "no message matches (to='+1', body='text', externalId='o-1'). The closest:"
    assert f"  {fake.messages[6]!r} has body='text 6', no externalId" == lines[1]
    assert len(lines) == 6


def test_messages_that_fit_a_search_are_listed_if_there_are_several(fake):
    fake.send_text()
    fake.send_text()
    with pytest.raises(LookupError, match=r"^expected one message \(body='Hello'\), got 2:"):
        fake.find_message(body="Hello")


def test_where_nothing_was_sent_that_is_said(fake):
    with pytest.raises(LookupError, match=r"^no message matches \(to='\+1'\): none was sent$"):
        fake.find_message(to="+1")
