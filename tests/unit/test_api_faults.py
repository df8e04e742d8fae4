"""Calls to the API that go wrong, without a socket: which ones, and what becomes of them."""

import json
from contextlib import closing
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, RemoteDisconnected
from urllib.parse import urlsplit

import pytest
from werkzeug import Response
from werkzeug.exceptions import abort

from ..integration.listener_support import eventually
from .api_clients import call_with_werkzeug
from .fakes import NOON, at, fake_with_receiver, frozen_fake, stages, trail

ORDER = json.dumps({"to": "+4915", "type": "text", "text": {"body": "Sale"}}).encode()

#: What goes wrong, the status that the client gets, and whether the call is carried out.
KINDS = {
    "fail": (lambda api: api.fail(), 503, False),
    "disconnect": (lambda api: api.disconnect(), None, False),
    "rate_limit": (lambda api: api.rate_limit(60, times=1), 429, False),
    "delay": (lambda api: api.delay(60), 200, True),
    "truncate": (lambda api: api.truncate(), 200, True),
    "lose_response": (lambda api: api.lose_response(), None, True),
    "lose_response-503": (lambda api: api.lose_response(status=503), 503, True),
}


def post(fake, path="/v2/messages", method="POST", **more):
    """Call, and return the response; None if the connection was closed."""
    try:
        return call_with_werkzeug(fake, method, path, body=ORDER, **more)
    except ConnectionResetError:
        return None


def status(fake, *arguments, **more):
    response = post(fake, *arguments, **more)
    return response and response.status


@pytest.fixture
def fake():
    """A fake with a send endpoint, a route with a variable, and a handler."""
    with frozen_fake() as fake:
        fake.send_endpoint()
        fake.route("/v2/messages/<id>", ["GET"])(lambda _, id: {"id": id})
        fake.http.expect_request("/own").respond_with_json({"own": True})
        yield fake
        fake.http.clear()
        fake.reset()  # no word about faults that were not to fire


# -- what becomes of a call ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_fails_without_effect_or_its_response_suffers(fake, kind):
    set_up, expected, is_carried_out = KINDS[kind]
    fault = set_up(fake.api)

    assert (status(fake), len(fake.messages)) == (expected, is_carried_out)
    assert (status(fake), len(fake.messages), fault.fired) == (200, is_carried_out + 1, 1)


@pytest.mark.parametrize("kind", ["fail", "truncate", "lose_response"])
@pytest.mark.parametrize(
    ("path", "method", "usual"),
    [
        ("/v2/balance", "GET", 200),
        ("/v2/messages/7", "GET", 200),
        ("/own", "POST", 200),
        ("/nowhere", "POST", 404),
        ("/v2/balance", "PUT", 405),
        ("//v2/messages", "POST", 404),
    ],
)
def test_every_request_with_the_key_is_concerned(fake, kind, path, method, usual):
    set_up, expected, _ = KINDS[kind]
    place = f"http://test{path}"  # or werkzeug's client takes the first of two slashes for a host's
    fault = set_up(fake.api)

    assert status(fake, place, method) == (usual if expected == 200 else expected)
    assert [one.text for one in fake.api.requests[-1].marks] == [fault.description]
    assert status(fake, place, method) == usual


@pytest.mark.parametrize("key", ["wrong", None])
def test_a_401_is_no_request_of_this_fake(fake, key):
    fault = fake.api.fail(path="/v2/messages")

    assert (status(fake, key=key), fault.fired) == (401, 0)
    assert status(fake) == 503


# -- what the client gets --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "code", "message"),
    [
        ({}, 503, "SERVICE_UNAVAILABLE", "SERVICE_UNAVAILABLE"),
        ({"status": 599}, 599, "STATUS_599", "STATUS_599"),
        ({"status": 400, "code": "OWN"}, 400, "OWN", "OWN"),
        ({"status": 400, "code": "OWN", "message": "Because."}, 400, "OWN", "Because."),
        ({"status": 402, "message": "Pay."}, 402, "PAYMENT_REQUIRED", "Pay."),
    ],
)
def test_a_failure_has_the_shape_of_the_apis_errors(fake, arguments, status, code, message):
    fake.api.fail(**arguments)
    response = call_with_werkzeug(fake)

    assert response.json() == {"error": {"status": status, "code": code, "message": message}}
    assert (response.status, response.headers["content-type"]) == (status, "application/json")


@pytest.mark.parametrize(
    ("status", "body", "expected", "label"),
    [
        (502, "<html>down", b"<html>down", "text/html; charset=utf-8"),
        (502, "{}", b"{}", "application/json"),
        (502, b"\xff{", b"\xff{", "application/json"),
        (200, "", b"", "application/json"),
        (204, "never seen", b"", None),
        (304, "never seen", b"", None),
    ],
)
def test_a_body_can_be_anything_where_the_status_has_one(fake, status, body, expected, label):
    fake.api.fail(status, body=body)
    response = call_with_werkzeug(fake)

    assert (response.status, response.body) == (status, expected)
    assert response.headers.get("content-type") == label
    assert ("content-length" in response.headers) == (label is not None)


@pytest.mark.parametrize(("length", "kept"), [(None, 15), (0, 0), (5, 5), (1_000, 31)])
def test_a_truncated_response_promises_all_of_it(fake, length, kept):
    whole = b'{"amount":100,"currency":"USD"}'
    fake.api.truncate(length)
    response = call_with_werkzeug(fake)

    assert (response.body, response.headers["content-length"]) == (whole[:kept], "31")


def test_what_an_endpoint_returns_is_cut_off_whatever_it_is(fake):
    headers = {"X-Own": "é", "Connection": "close"}
    parts = Response(iter(["whole ", "body"]), 299, headers, content_type="a/b")
    fake.route("/parts")(lambda _: parts)
    fake.api.truncate(7)
    response = post(fake, "/parts")

    assert (response.status, response.body) == (299, b"whole b")
    assert response.headers == {"x-own": "é", "content-type": "a/b", "content-length": "10"}


def test_a_rate_limit_holds_until_its_time_has_passed_on_the_fakes_clock(fake):
    fault = fake.api.rate_limit(timedelta(seconds=30))
    responses = []
    for microseconds in (100_000_000, 12_500_000, 17_499_999, 1, 0):
        fake.clock.advance(microseconds=microseconds)  # it begins with the first call that meets it
        responses.append(call_with_werkzeug(fake))

    assert [(one.status, one.headers.get("retry-after")) for one in responses] == [
        (429, "30"),
        (429, "18"),
        (429, "1"),
        (200, None),
        (200, None),
    ]
    assert responses[0].json()["error"] == {
        "status": 429,
        "code": "TOO_MANY_REQUESTS",
        "message": "RATE_LIMIT_EXCEEDED",
    }
    assert fault.fired == 3


def test_a_failure_has_further_headers(fake):
    headers = {"retry-after": "30", "content-type": "text/plain"}
    fake.api.fail(503, body="down", headers=headers)

    found = post(fake).headers
    assert {name: found[name] for name in headers} == headers


@pytest.mark.parametrize(("status", "expected"), [(None, 200), (504, 504)])
def test_a_lost_response_has_another_body(fake, status, expected):
    fake.api.lose_response(status=status, body="<html>")

    response = post(fake)
    assert (response.status, response.body, len(fake.messages)) == (expected, b"<html>", 1)


@pytest.mark.parametrize(
    ("arguments", "seconds"),
    [
        ({"retry_after": 90, "as_date": True}, 90),
        ({"retry_after": 0.5, "as_date": True}, 1),
        ({"retry_after": "Thu, 01 Jan 2026 12:01:00 GMT"}, 60),
    ],
)
def test_the_header_of_a_rate_limit_may_be_a_date(fake, arguments, seconds):
    fake.api.rate_limit(**arguments)

    shown = post(fake).headers["retry-after"]
    assert parsedate_to_datetime(shown) == NOON + timedelta(seconds=seconds)
    fake.clock.advance(seconds=seconds)
    assert status(fake) == 200


def test_a_connection_that_is_reset_gets_another_error(fake):
    fake.api.lose_response(reset=True)
    fake.api.lose_response()
    host = urlsplit(fake.base_url).netloc

    def ask():
        with closing(HTTPConnection(host, timeout=60)) as connection:
            connection.request("POST", "/v2/messages", ORDER, fake.headers)
            connection.getresponse()

    with pytest.raises(ConnectionResetError) as reset:
        ask()
    with pytest.raises(RemoteDisconnected):
        ask()
    assert (type(reset.value), len(fake.messages)) == (ConnectionResetError, 2)


def test_a_response_that_its_client_gave_up_on_is_none(fake):
    fake.api.delay(1)
    host = urlsplit(fake.base_url).netloc
    with closing(HTTPConnection(host, timeout=0.05)) as connection:
        connection.request("POST", "/v2/messages", ORDER, fake.headers)
        with pytest.raises(TimeoutError):
            connection.getresponse()

    eventually(lambda: fake.api.requests[0].status is None)
    assert "no response" in str(fake.api.requests[0])


# -- several faults --------------------------------------------------------------------------------


def test_a_response_in_place_of_the_lost_one_is_that_of_a_failure(fake):
    fake.api.fail(599)
    fake.api.lose_response(status=599)

    assert post(fake).json() == post(fake).json()
    assert len(fake.messages) == 1


def test_a_call_that_is_refused_has_no_webhooks_that_come_first(fake):
    fake.api.fail(path="/v2/messages")
    first = fake.api.webhooks_first(times=None)
    calls = [("/v2/balance", "GET"), ("/v2/messages", "POST"), ("/v2/messages", "POST")]

    assert [(status(fake, *one), first.fired) for one in calls] == [(200, 0), (503, 0), (200, 1)]


def test_delays_add_up_and_the_first_other_fault_decides(fake):
    faults = [
        fake.api.delay(1, times=None),
        fake.api.lose_response(),
        fake.api.fail(500),
        fake.api.delay(2),
    ]

    assert [status(fake) for _ in range(3)] == [None, 500, 200]
    assert [one.fired for one in faults] == [3, 1, 1, 1]
    assert [one.text for one in fake.api.requests[0].marks] == [
        "api.delay(1, times=None)",
        "api.lose_response()",
    ]


# -- which calls -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"path": "/v2/messages"}, [200, 503, 200, 200]),
        ({"path": "/v2/messages/<id>"}, [200, 200, 503, 200]),
        ({"path": "/v2/<path:rest>"}, [503, 503, 503, 200]),
        ({"path": "/v2/messages/<int:id>"}, [200, 200, 503, 200]),
        ({"path": "/v2/messages/<any(a, b):id>"}, [200, 200, 200, 200]),
        ({"method": "get"}, [503, 200, 503, 200]),
        ({"method": "POST"}, [200, 503, 200, 503]),
        ({"path": "/v2/messages", "method": "GET"}, [200, 200, 200, 200]),
        ({"path": "/v2/balance"}, [503, 200, 200, 200]),
        ({"path": "/v2/Balance"}, [200, 200, 200, 200]),
        ({}, [503, 503, 503, 503]),
    ],
)
def test_a_path_or_a_rule_and_a_method_limit_a_fault(fake, where, expected):
    fake.api.fail(**where, times=None)

    called = [
        status(fake, "/v2/balance", "GET"),
        status(fake),
        status(fake, "/v2/messages/7", "GET"),
        status(fake, "/own"),
    ]
    assert called == expected


# -- a call that raises ----------------------------------------------------------------------------


def raising(_):
    raise LookupError("no such campaign")


#: What raises at /raises, and what the error comes out of.
RAISING = {
    "route": (lambda fake: fake.route("/raises")(raising), lambda fake: fake.settle()),
    "body": (
        lambda fake: fake.route("/raises")(lambda _: Response(map(raising, "x"))),
        lambda fake: fake.settle(),
    ),
    "handler": (
        lambda fake: fake.http.expect_request("/raises").respond_with_handler(raising),
        lambda fake: fake.http.check(),
    ),
}


@pytest.mark.parametrize("what", RAISING)
@pytest.mark.parametrize("kind", ["delay", "truncate", "lose_response"])
def test_a_fault_of_a_call_that_raises_has_not_fired(fake, what, kind):
    connect, comes_out = RAISING[what]
    set_up, expected, _ = KINDS[kind]
    connect(fake)
    fault = set_up(fake.api)

    assert (status(fake, "/raises"), fault.fired) == (500, 0)
    with pytest.raises(LookupError, match="no such campaign"):
        comes_out(fake)
    assert (fake.api.requests[0].status, fake.api.requests[0].marks) == (500, ())
    assert (status(fake), fault.fired) == (expected, 1)


def test_a_route_that_aborts_has_responded(fake):
    fake.route("/v2/messages")(lambda _: abort(422))
    fake.api.lose_response()

    assert [status(fake), status(fake)] == [None, 422]
    fake.settle()  # and nothing comes back


@pytest.mark.parametrize("kind", ["lose_response", "webhooks_first"])
def test_a_fault_of_an_early_event_lets_settle_move_the_clock_to_retries(fake, kind):
    fake.webhooks.connect(handler=lambda _: 503, retry_after=[60])
    getattr(fake.api, kind)()
    fake.send_text()

    assert stages(fake) == "sent 503 | sent #2 503 +60"


@pytest.mark.parametrize("kind", ["lose_response", "webhooks_first"])
def test_a_fault_that_is_refused_does_not_let_settle_move_the_clock(fake, kind):
    fake.webhooks.connect(handler=lambda _: 503, retry_after=[60])
    with pytest.raises(ValueError, match="times"):
        getattr(fake.api, kind)(times=0)
    fake.send_text()

    assert stages(fake) == "sent 503 |  | sent #2 503 +60"


# -- what is told ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("set_up", "expected"),
    [
        (
            lambda api: api.lose_response(status=599, path="/v2/messages", method="post"),
            "api.lose_response(status=599, path='/v2/messages', method='POST')",
        ),
        (
            lambda api: api.fail(404, code="GONE", message="X"),
            "api.fail(404, code='GONE', message='X')",
        ),
        (lambda api: api.fail(418, body="teapot"), "api.fail(418, body='teapot')"),
        (lambda api: api.truncate(5), "api.truncate(5)"),
        (lambda api: api.rate_limit(0.5, times=2), "api.rate_limit(0.5, times=2)"),
        (lambda api: api.webhooks_first(delivered=True), "api.webhooks_first(delivered=True)"),
        (lambda api: api.webhooks_first(delivered=(1, 2)), "api.webhooks_first(delivered=(1, 2))"),
    ],
)
def test_a_fault_is_shown_as_the_test_wrote_it(fake, set_up, expected):
    assert set_up(fake.api).description == expected


def test_a_request_whose_response_was_lost_says_so(fake):
    fake.api.lose_response()
    status(fake)

    key = f"with the API key ...{fake.api_key[-4:]}"
    assert str(fake.api.requests[0]) == f"POST /v2/messages {key}: no response"


def test_a_request_is_shown_where_it_arrived(fake):
    def slow(_):
        fake.clock.advance(5)
        return Response("")

    fake.http.expect_request("/slow").respond_with_handler(slow)
    status(fake, "/slow")

    assert (fake.api.requests[0].at, fake.api.requests[0].status) == (at(seconds=5), 200)
    assert [(one.kind, one.at) for one in fake.timeline] == [("request", NOON), ("clock", NOON)]


def test_a_reset_forgets_a_request_that_is_being_handled(fake):
    @fake.route("/reset")
    def reset(_):
        fake.reset()

    fake.api.delay(1)

    assert status(fake, "/reset") == 204
    assert (fake.api.requests, list(fake.timeline)) == ((), [])


def test_a_long_method_is_cut(fake):
    status(fake, "/own", "M" * 1_000)

    assert str(fake.api.requests[0]).startswith("M" * 20 + " /own with")
    assert fake.api.requests[0].method == "M" * 1_000


# -- webhooks before the response ------------------------------------------------------------------


def early(fake, delivered=True):
    """Call, and return what the app had got when the response came."""
    fake.send_endpoint()
    fake.api.webhooks_first(delivered=delivered)
    assert status(fake) == 200
    return trail(fake)


def test_the_webhooks_of_one_path_come_first_also_if_its_response_is_lost(fake, receiver):
    fake.send_endpoint("/v3/messages")
    first = fake.api.webhooks_first(path="/v3/messages", method="POST", start=2)
    lost = fake.api.lose_response(start=4)
    paths = ["/v2/messages", "/v3/messages"] * 2

    came = [(status(fake, path), len(receiver.events)) for path in paths]
    assert came == [(200, 0), (200, 0), (200, 0), (None, 4)]
    assert (first.fired, lost.fired) == (1, 1)


@pytest.mark.parametrize("devices", [None, 1, 2])
def test_an_early_delivery_replaces_the_next_one_and_uses_up_no_tick(devices):
    with fake_with_receiver(tick=1) as (fake, receiver):
        assert early(fake) == "sent, delivered"
        (message,) = fake.messages
        fake.assert_charged("0.05", message=message)
        message.deliver(devices).deliver().read()

        came = [(event.status, (event.create_time - NOON).seconds) for event in receiver.events]
        first = [("delivered", 1)] * (devices or 1)
        assert came == [("sent", 0), *first, ("delivered", 2), ("read", 3)]
        fake.assert_charged("0.05", message=message)


@pytest.mark.parametrize("delivered", [2, (1, 1)])
def test_early_deliveries_replace_as_many_devices_of_later_ones(delivered, fake, receiver):
    assert early(fake, delivered) == "sent, delivered, delivered"
    (message,) = fake.messages
    counts = [len(message.deliver().events) for _ in range(4)]
    assert counts == [3, 3, 4, 5]


@pytest.mark.parametrize(
    ("delivered", "calls"),
    [
        (2, [2]),
        (2, [None]),
        (2, [3]),
        ((1, 1), [1, 1]),
        ((1, 2), [1, 2]),
        ((1,), [2]),
    ],
)
def test_early_deliveries_leave_all_events_as_they_would_be(delivered, calls):
    def posted(delivered):
        with fake_with_receiver(tick=1) as (fake, receiver):
            fake.recipient("+4915", devices=2)
            early(fake, delivered)
            for devices in calls:
                fake.messages[0].deliver(devices)
            fake.messages[0].read()
            return [event.body for event in receiver.events]

    assert posted(delivered) == posted(False)


def test_an_early_delivery_an_autopilot_reads_is_no_illegal_transition(fake, receiver):
    fake.autopilot(deliver_after=60, read_after=0)
    early(fake)
    fake.messages[0].deliver()
    assert trail(fake) == "sent, delivered, read"


def test_a_phone_that_is_off_gets_no_early_delivery(fake, receiver):
    person = fake.recipient("+4915", online=False)
    assert early(fake) == "sent"
    person.comes_online()
    fake.messages[0].deliver()
    assert trail(fake) == "sent, delivered, delivered"


def test_what_an_autopilot_delivers_at_once_comes_before_the_response_too(fake, receiver):
    fake.send_endpoint(webhooks_first=True)
    fake.autopilot(deliver_after=0)
    assert status(fake) == 200
    assert trail(fake) == "sent, delivered"
