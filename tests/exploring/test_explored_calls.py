"""Explorations in which the app's own calls go wrong."""

import threading
from contextlib import suppress
from itertools import combinations

import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry
from werkzeug.test import Client

from pytest_chatfake import ChatFakeError, explore
from pytest_chatfake.exploring.world_observer import observer_of
from pytest_chatfake.fake.inside import Inside

from ..integration.api_support import SECONDS, balance
from .test_exploration import notes

ORDER = {"to": "+1", "type": "text", "text": {"body": "Sale"}}

#: The last ones can't be named by a method and a path.
CALLS = [
    *("POST /v2/messages", "GET /v2/balance", "POST /v2/messages/", "POST /", "PUT /a", "GET /a"),
    *("GET /50%25", "GET /v2/balance"),
    *("GET /a%3Cb", "GET /<b>", "GET /a%3Fb", "GET //a", "GET /a//b", "M-SEARCH /a"),
]
NAMED = 8


def calling(calls, seen):
    """A body that makes calls in process, and notes their statuses."""

    def world(fake):
        fake.send_endpoint()
        client = Client(fake.wsgi_app)
        client.get("/v2/balance")  # with no key: none of the calls
        statuses = []
        for call in calls:
            method, path = call.split()
            headers = {"X-API-Key": fake.api_key}
            response = client.open(f"http://test{path}", method=method, json=ORDER, headers=headers)
            statuses.append(response.status_code)
        seen.append(tuple(statuses))

    return world


def test_each_call_is_refused_and_each_two_are():
    """Calls are told apart by their paths and methods, and worlds by the calls that were hit."""
    seen = []
    exploration = explore(calling(CALLS, seen), deviations=["api.fail"])

    refused = [{place for place, status in enumerate(one) if status == 503} for one in seen[1:]]
    expected = [{*some} for n in range(3) for some in combinations(range(NAMED), n)]
    assert expected == sorted(refused, key=lambda one: (len(one), *sorted(one)))
    assert len(expected) == exploration.worlds


def test_a_response_is_lost_or_an_error_whether_or_not_webhooks_come_first():
    seen = set()

    def world(fake):
        receiver = fake.webhooks.receiver()
        fake.send_endpoint()
        url, headers = f"{fake.base_url}/v2/messages", {"X-API-Key": fake.api_key}
        status = None
        with suppress(requests.ConnectionError):
            status = requests.post(url, json=ORDER, headers=headers, timeout=SECONDS).status_code
        seen.add((status, len(receiver.requests), len(fake.messages)))

    exploration = explore(world, deviations=["webhooks_first", "api.lose_response"])

    assert {(status, early, 1) for status in (200, 502, None) for early in (0, 1)} == seen
    assert exploration.worlds == 8  # a lost response is a closed connection, or a reset one


def test_a_finding_says_that_a_client_may_have_repeated_a_query():
    def world(fake):
        with requests.Session() as session:
            session.mount("http://", HTTPAdapter(max_retries=Retry(1)))
            session.headers["X-API-Key"] = fake.api_key
            session.get(f"{fake.base_url}/v2/balance", timeout=SECONDS)
        assert len(fake.api.requests) == 1

    lost = "was lost, and the next call was identical: some clients retry GET by themselves"
    found = notes(world, deviations=["api.lose_response"])
    assert f"world 2: the response to the 1st GET /v2/balance {lost}" in found


def test_a_query_has_no_effect_to_hide_behind_an_error():
    def world(fake):
        with suppress(requests.ConnectionError):
            balance(fake)

    assert explore(world, deviations=["api.lose_response"]).worlds == 2
    with pytest.raises(ChatFakeError, match="connected no app"):
        explore(world)


def test_what_the_app_refuses_until_it_is_ready_comes_as_the_retries_say():
    def world(fake):
        fake.send_endpoint(idempotency_header="Idempotency-Key")
        stored = set()
        fake.webhooks.connect(
            handler=lambda request: 200 if request.event.message_id in stored else 503,
            retry_after=[10, 60],
        )
        url, headers = f"{fake.base_url}/v2/messages", {**fake.headers, "Idempotency-Key": "1"}
        for _ in range(3):  # the app's own retries, with the same key
            with suppress(requests.ConnectionError, KeyError):
                response = requests.post(url, json=ORDER, headers=headers, timeout=SECONDS)
                stored.add(response.json()["id"])
                break
            fake.clock.sleep(5)
        fake.settle()
        assert fake.webhooks.attempts[-1].ok

    kinds = ["webhooks_first", "api.fail", "api.lose_response"]
    assert explore(world, deviations=kinds).worlds > 3


def test_in_process_there_is_no_connection_to_lose():
    seen = []
    body = calling(["POST /v2/messages"], seen)

    with pytest.raises(ChatFakeError, match=r"a socket, got POST /v2/messages .*base_url"):
        explore(body, deviations=["api.lose_response"])
    exploration = explore(body, deviations="all")
    assert {(200,), (503,)} == {*seen}
    assert not exploration.complete
    assert (
        "; api.lose_response was not tried: expected calls over a socket, got POST /v2/messages "
        "through chat_fake.wsgi_app. Call chat_fake.base_url; crash was not tried: expected an "
        "in-process app, got none. Connect it as wsgi= or asgi="
    ) in str(exploration)
    listed = "api.lose_response(status=502, path='/v2/messages', method='POST')"
    explore(body, only=[listed])
    assert seen[-1] == (502,)


def test_a_body_that_fails_if_an_event_is_only_late_is_left_out_and_says_so():
    def world(fake):
        seen = []
        fake.webhooks.connect(handler=lambda request: seen.append(request.event.status))
        fake.send_text()
        seen_before = [*seen]
        balance(fake)
        assert seen_before == ["sent"]

    alone = "the body fails if the event is late, even if it arrives during no call"
    found = str(explore(world, deviations=["during_call"]))
    assert found == f"1 world; during_call was not tried: {alone}"
    only = ["webhooks.during_call(start=1)"]
    found = str(explore(world, only=only))
    assert found == f"1 world, only {only}; it proves nothing, as {alone}"


def owners(body):
    """The calls of a body's world as written, each with the attempt during which it was made."""
    found = []

    def world(fake):
        body(fake)
        inside = Inside(fake)
        fake.settle()
        callers, numbers = observer_of(inside).callers, {None: None}
        numbers |= {attempt: number for number, attempt in enumerate(inside.attempts)}
        found.extend(numbers[callers.get(call)] for call in inside.calls)

    explore(world, depth=0)
    return found


def ask(fake, path):
    requests.get(f"{fake.base_url}/{path}", headers=fake.headers, timeout=SECONDS)


def accept(environ, start_response):
    start_response("200 OK", [])
    return []


def test_a_call_belongs_to_the_attempt_that_was_running():
    def body(fake):
        fake.webhooks.connect(handler=lambda _: ask(fake, "inside"))
        ask(fake, "before")
        fake.send_text()
        ask(fake, "between")
        fake.send_text()
        ask(fake, "after")

    assert owners(body) == [None, 0, None, 1, None]


def test_a_call_whose_response_is_lost_belongs_to_its_attempt_as_well():
    def take(fake):
        with suppress(requests.ConnectionError):
            ask(fake, "inside")

    def body(fake):
        fake.api.disconnect()
        fake.webhooks.connect(handler=lambda _: take(fake))
        fake.send_text()

    assert owners(body) == [0]


def test_a_call_of_a_thread_that_is_still_running_belongs_to_no_attempt():
    def body(fake):
        ends, arrived, threads = threading.Event(), threading.Event(), []

        @fake.route("/slow", methods=["GET"])
        def slow(request):
            arrived.set()
            assert ends.wait(SECONDS)
            return {}

        def take(request):
            threads.append(threading.Thread(target=ask, args=(fake, "slow")))
            threads[0].start()
            assert arrived.wait(SECONDS)

        fake.webhooks.connect(handler=take)
        fake.send_text()
        ends.set()
        threads[0].join(SECONDS)

    assert owners(body) == [None]


def test_an_attempt_at_a_disabled_endpoint_has_made_no_call():
    def body(fake):
        fake.webhooks.connect(handler=lambda _: 500, disable_after=1)
        fake.send_text()
        ask(fake, "before")
        fake.send_text()
        assert [attempt.ok for attempt in fake.webhooks.attempts] == [False, False]

    assert owners(body) == [None]


def test_a_duplicate_at_the_same_time_has_made_no_earlier_call():
    def body(fake):
        fake.webhooks.concurrently(by=0)
        fake.webhooks.connect(wsgi=accept)
        ask(fake, "before")
        fake.send_text()

    assert owners(body) == [None]
