"""Every call to the API can go wrong: which requests a fault concerns, and what becomes of them."""

import json

import pytest
from werkzeug import Response
from werkzeug.exceptions import abort

from pytest_chatfake.report.hints import unused_line

from .api_clients import call_with_werkzeug
from .fakes import fake_with_receiver, frozen_fake, warnings_at_the_end

ORDER = json.dumps({"to": "+4915", "type": "text", "text": {"body": "Sale"}}).encode()

#: The faults for which a request is not carried out, with the status that the client gets.
INSTEAD = {
    "fail": (lambda fake, **more: fake.api.fail(503, **more), 503),
    "disconnect": (lambda fake, **more: fake.api.disconnect(**more), None),
    "rate_limit": (lambda fake, **more: fake.api.rate_limit(60, times=1, **more), 429),
}
#: Those for which it is.
AFTERWARDS = {
    "delay": (lambda fake, **more: fake.api.delay(60, **more), 200),
    "truncate": (lambda fake, **more: fake.api.truncate(**more), 200),
    "lose_response": (lambda fake, **more: fake.api.lose_response(**more), None),
    "lose_response-503": (lambda fake, **more: fake.api.lose_response(status=503, **more), 503),
}
EVERY = {**INSTEAD, **AFTERWARDS}


def post(fake, path="/v2/messages", method="POST", **more):
    """Call, and return the response; None if the connection was closed."""
    try:
        return call_with_werkzeug(fake, method, path, body=ORDER, **more)
    except ConnectionResetError:
        return None


def status(fake, *arguments, **more):
    answer = post(fake, *arguments, **more)
    return answer and answer.status


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


# What becomes of a call


@pytest.mark.parametrize("kind", INSTEAD)
def test_a_call_that_fails_has_no_effect(fake, kind):
    set_up, expected = INSTEAD[kind]
    fault = set_up(fake)

    assert expected == status(fake)
    assert (len(fake.messages), fault.fired) == (0, 1)
    assert status(fake) == 200
    assert len(fake.messages) == 1


@pytest.mark.parametrize("kind", AFTERWARDS)
def test_a_call_whose_response_suffers_takes_effect(fake, kind):
    set_up, expected = AFTERWARDS[kind]
    fault = set_up(fake)

    assert expected == status(fake)
    assert (len(fake.messages), fault.fired) == (1, 1)
    fake.assert_held("0.05")


def test_a_response_in_place_of_the_lost_one_is_that_of_a_failure(fake):
    fake.api.fail(599)
    fake.api.lose_response(status=599)

    assert post(fake).json() == post(fake).json()
    assert len(fake.messages) == 1


def test_a_call_that_is_refused_has_no_webhooks_that_come_first(fake):
    fake.api.fail(path="/v2/messages")
    first = fake.api.webhooks_first(times=None)

    assert (status(fake, "/v2/balance", "GET"), first.fired) == (200, 0)
    assert (status(fake), first.fired) == (503, 0)
    assert (status(fake), first.fired) == (200, 1)


@pytest.mark.parametrize("kind", EVERY)
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
    set_up, expected = EVERY[kind]
    place = f"http://test{path}"  # or werkzeug's client takes the first of two slashes for a host's
    fault = set_up(fake)

    assert {200: usual}.get(expected, expected) == status(fake, place, method)
    assert [fault.description] == [one.text for one in fake.api.requests[-1].marks]
    assert usual == status(fake, place, method)
    assert fault.fired == 1


@pytest.mark.parametrize("key", ["wrong", None])
def test_a_401_is_no_request_of_this_fake(fake, key):
    fault = fake.api.fail(path="/v2/messages")

    assert status(fake, key=key) == 401
    assert (fault.fired, status(fake)) == (0, 503)


def test_what_an_endpoint_returns_is_cut_off_whatever_it_is(fake):
    def parts(_):
        return Response(
            iter(["whole ", "body"]), 299, {"X-Own": "é", "Connection": "close"}, content_type="a/b"
        )

    fake.route("/parts")(parts)
    fake.api.truncate(7)
    answer = post(fake, "/parts")

    assert (answer.status, answer.body) == (299, b"whole b")
    assert answer.headers == {"x-own": "é", "content-type": "a/b", "content-length": "10"}


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


# Which calls


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
    fault = fake.api.fail(**where, times=None)

    assert expected == [
        status(fake, "/v2/balance", "GET"),
        status(fake),
        status(fake, "/v2/messages/7", "GET"),
        status(fake, "/own"),
    ]
    assert expected.count(503) == fault.fired


def test_each_fault_counts_the_calls_that_match_it(fake):
    fake.api.fail(500, path="/v2/messages", start=2)
    fake.api.fail(501, start=4)
    asked = [("/v2/balance", "GET"), *[("/v2/messages", "POST")] * 2, ("/own", "GET")]

    assert [status(fake, *one) for one in asked] == [200, 200, 500, 501]


def test_the_webhooks_of_one_path_come_first_also_if_its_response_is_lost():
    with fake_with_receiver() as (fake, receiver):
        fake.send_endpoint()
        fake.send_endpoint("/v3/messages")
        first = fake.api.webhooks_first(path="/v3/messages", method="POST", start=2)
        lost = fake.api.lose_response(start=4)
        paths = ["/v2/messages", "/v3/messages"] * 2

        came = [(status(fake, path), len(receiver.events)) for path in paths]
        assert came == [(200, 0), (200, 0), (200, 0), (None, 4)]
        assert (first.fired, lost.fired) == (1, 1)


@pytest.mark.parametrize("path", ["/v2/messages/<", "/v2/<no:id>", "/<id>/<id>"])
def test_a_route_refuses_the_same_and_is_not_added(fake, path):
    with pytest.raises(ValueError, match=r"^path: expected a path, or a rule such as .*, got '/"):
        fake.route(path)(lambda _: {})

    assert status(fake) == 200


# A call that raises


@pytest.mark.parametrize("kind", AFTERWARDS)
def test_a_fault_of_a_route_that_raises_has_not_fired(fake, kind):
    set_up, expected = AFTERWARDS[kind]

    @fake.route("/v2/messages")
    def send(_):
        raise LookupError("no such campaign")

    fault = set_up(fake)
    assert (status(fake), fault.fired) == (500, 0)
    with pytest.raises(LookupError, match="no such campaign"):
        fake.settle()
    assert (fake.api.requests[0].status, fake.api.requests[0].marks) == (500, ())

    fake.send_endpoint()
    assert expected == status(fake)
    assert fault.fired == 1


def test_a_body_that_raises_while_it_is_read_is_a_route_that_raises(fake):
    def parts():
        yield "whole"
        raise LookupError("no more")

    fake.route("/parts")(lambda _: Response(parts()))
    fault = fake.api.truncate()

    assert (status(fake, "/parts"), fault.fired) == (500, 0)
    with pytest.raises(LookupError, match="no more"):
        fake.settle()


def test_a_fault_of_a_handler_that_raises_has_not_fired(fake):
    def broken(_):
        raise LookupError("no such page")

    fake.http.expect_request("/broken").respond_with_handler(broken)
    fault = fake.api.lose_response()

    assert (status(fake, "/broken"), fault.fired) == (500, 0)
    assert fake.api.requests[0].marks == ()
    with pytest.raises(LookupError, match="no such page"):
        fake.http.check()
    assert status(fake) is None


def test_a_route_that_aborts_has_responded(fake):
    fake.route("/v2/messages")(lambda _: abort(422))
    fault = fake.api.lose_response()

    assert (status(fake), status(fake), fault.fired) == (None, 422, 1)


# What is told


def test_requests_and_the_timeline_show_what_went_wrong(fake):
    lost = fake.api.lose_response(path="/v2/messages", method="POST")
    status(fake)
    fake.api.fail(404, code="GONE", start=2)
    status(fake, "/own")
    fake.api.fail(418, body="teapot", times=None)
    status(fake, "/own")
    status(fake, "/own")

    key = f"with the API key ...{fake.api_key[-4:]}"
    assert [
        f"POST /v2/messages {key}: no response",
        f"POST /own {key}: 200",
        f"POST /own {key}: 404",
        f"POST /own {key}: 418",
    ] == [str(one) for one in fake.api.requests]
    assert [mark.text for one in fake.api.requests for mark in one.marks] == [
        "api.lose_response(path='/v2/messages', method='POST')",
        "api.fail(404, code='GONE', start=2)",
        "api.fail(418, body=..., times=None)",
    ]
    assert lost.line == fake.api.requests[0].marks[0].line
    assert [(one.kind, one.cause) for one in fake.timeline][:5] == [
        ("fault", None),
        ("request", None),
        ("verb", 2),
        ("hold", 3),
        ("event", 3),
    ]


def test_a_request_is_shown_where_it_arrived(fake):
    def slow(_):
        fake.clock.advance(5)
        return Response("")

    fake.http.expect_request("/slow").respond_with_handler(slow)
    begin = fake.clock.now
    status(fake, "/slow")

    assert ((fake.api.requests[0].at - begin).seconds, fake.api.requests[0].status) == (5, 200)
    assert [(one.kind, (one.at - begin).seconds) for one in fake.timeline] == [
        ("request", 0),
        ("clock", 0),
    ]


def test_a_reset_forgets_a_request_that_is_being_answered(fake):
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


@pytest.mark.parametrize(
    ("where", "why"),
    [
        (
            {"path": "/v2/messages"},
            "no request to /v2/messages after that; there were 2 to /v2/balance, 1 to /own",
        ),
        (
            {"path": "/own", "method": "GET"},
            (
                "no request to /own by GET after that; there were 2 to /v2/balance by GET, 1 to "
                "/own by POST"
            ),
        ),
        (
            {"method": "PUT"},
            "no request by PUT after that; there were 2 to /v2/balance by GET, 1 to /own by POST",
        ),
        ({"path": "/v2/balance", "start": 3}, "2 requests matched, and it begins with number 3"),
        ({"path": "/own", "start": 2}, "1 request matched, and it begins with number 2"),
        ({"start": 1_000}, "3 requests matched, and it begins with number 1,000"),
    ],
)
def test_a_fault_that_never_fired_says_what_there_was_instead(fake, where, why):
    fault = fake.api.fail(**where)
    for request in (("/v2/balance", "GET"), ("/own",), ("/v2/balance", "GET")):
        status(fake, *request)
    fault.remove()
    status(fake)

    assert f"{fault.description}, set up at {fault.line} ({why})" == unused_line(
        fault, fake._engine
    )


@pytest.mark.parametrize(
    ("set_up", "why"),
    [
        (lambda api: api.fail(), "no request with the fake's key after that"),
        (lambda api: api.delay(1, path="/v2/messages"), "no request to /v2/messages after that"),
        (lambda api: api.webhooks_first(), "no request to an endpoint of your own after that"),
    ],
)
def test_without_a_request_it_says_that(fake, set_up, why):
    fault = set_up(fake.api)
    status(fake, key="wrong")

    assert f"{fault.description}, set up at {fault.line} ({why})" == unused_line(
        fault, fake._engine
    )


def test_a_fault_whose_calls_another_one_took_says_that(fake):
    fake.api.fail()
    second = fake.api.fail()
    status(fake)

    assert unused_line(second, fake._engine).endswith(
        " (1 request matched, and got another response)"
    )


def test_the_report_of_what_is_unused_has_the_request_that_there_was():
    def scenario(fake):
        fake.api.lose_response(path="/v2/messages")
        status(fake, "/v2/balance", "GET")

    (text,) = warnings_at_the_end(scenario)

    assert text.endswith("(no request to /v2/messages after that; there was 1 to /v2/balance)")


@pytest.mark.parametrize("kind", ["lose_response", "webhooks_first"])
def test_a_fault_that_is_refused_does_not_let_settle_move_the_clock(fake, kind):
    fake.webhooks.connect(handler=lambda request: 503, retry_after=[60])
    with pytest.raises(ValueError, match="times"):
        getattr(fake.api, kind)(times=0)
    fake.send_text()
    begin = fake.clock.now

    fake.settle()

    assert begin == fake.clock.now


# -- a message that is delivered before the response -----------------------------------------------


def statuses_at_the_response(fake, receiver):
    """Call, and return what the app had got when the response came."""
    assert status(fake) == 200
    return [request.event.status for request in receiver.requests]


@pytest.mark.parametrize("devices", [None, 1, 2])
def test_an_early_delivery_replaces_the_next_one_that_the_test_asks_for(devices):
    with fake_with_receiver() as (fake, receiver):
        fake.send_endpoint()
        fake.api.webhooks_first(delivered=True)
        assert statuses_at_the_response(fake, receiver) == ["sent", "delivered"]
        (message,) = fake.messages
        fake.assert_charged("0.05", message=message)

        message.deliver(devices)
        assert ["sent", *["delivered"] * (devices or 1)] == receiver.statuses(message)
        message.deliver()
        message.read()
        assert receiver.statuses(message)[-2:] == ["delivered", "read"]
        fake.assert_charged("0.05", message=message)


@pytest.mark.parametrize("devices", [1, 2])
def test_an_early_delivery_uses_up_no_tick(devices):
    with fake_with_receiver(tick=1) as (fake, receiver):
        fake.send_endpoint()
        fake.api.webhooks_first(delivered=True)
        statuses_at_the_response(fake, receiver)
        fake.messages[0].deliver(devices).read()
        first = fake.events[0].create_time
        times = [(event.create_time - first).total_seconds() for event in fake.events]
        assert [0, *[1] * devices, 2] == times


def test_an_early_delivery_an_autopilot_reads_is_no_illegal_transition():
    with fake_with_receiver() as (fake, receiver):
        fake.send_endpoint()
        fake.autopilot(deliver_after=60, read_after=0)
        fake.api.webhooks_first(delivered=True)
        assert status(fake) == 200
        fake.messages[0].deliver()
        assert receiver.statuses(fake.messages[0]) == ["sent", "delivered", "read"]


def test_a_phone_that_is_off_gets_no_early_delivery():
    with fake_with_receiver() as (fake, receiver):
        fake.send_endpoint()
        person = fake.recipient("+4915", online=False)
        fake.api.webhooks_first(delivered=True)
        assert statuses_at_the_response(fake, receiver) == ["sent"]
        person.comes_online()
        fake.messages[0].deliver()
        fake.assert_statuses(fake.messages[0], "sent", "delivered", "delivered")


def test_what_an_autopilot_delivers_at_once_comes_before_the_response_too():
    with fake_with_receiver() as (fake, receiver):
        fake.send_endpoint(webhooks_first=True)
        fake.autopilot(deliver_after=0)
        assert statuses_at_the_response(fake, receiver) == ["sent", "delivered"]
