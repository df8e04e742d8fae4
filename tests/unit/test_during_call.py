"""``webhooks.during_call()``: an event arrives before the response to the app's next API call."""

import pytest
from anyio import to_thread

from pytest_chatfake import ChatFake

from ..integration.api_support import SECONDS
from .api_clients import call_with_werkzeug, send_call
from .both_frameworks import BOTH, hard_limit  # noqa: F401
from .fakes import at, frozen_fake, stages, trail


@pytest.fixture
def order():
    """What happened to the app, in order."""
    return []


@pytest.fixture
def fake(order):
    with frozen_fake() as fake:
        fake.webhooks.connect(handler=lambda request: order.append(request.event.status))
        fake.send_endpoint()
        yield fake


def ask(fake, order, **call):
    order.append(f"asked {call_with_werkzeug(fake, **call).status}")


@pytest.mark.parametrize(
    ("call", "status"),
    [
        ({}, 200),
        ({"method": "HEAD"}, 200),
        ({"path": "/v2/messages/1"}, 200),
        ({"path": "/v2/messages/1", "method": "PATCH"}, 200),
        ({"path": "/unknown"}, 404),
    ],
    ids=["balance", "HEAD", "GET", "PATCH", "unknown"],
)
def test_an_event_arrives_before_the_response_to_any_call(fake, order, call, status):
    fake.route("/v2/messages/<id>", methods=["GET", "PATCH"])(lambda _, id: {"id": id})
    fake.webhooks.during_call(status="delivered")
    fake.send_text().deliver().read()
    order.append("before")
    ask(fake, order, **call)

    assert order == ["sent", "read", "before", "delivered", f"asked {status}"]


def test_the_response_is_what_it_was_without_the_event(fake):
    def earn(_):
        fake.top_up("5")

    fake.webhooks.connect(handler=earn)
    fake.webhooks.during_call(times=None)
    fake.send_text()
    available = [call_with_werkzeug(fake).json()["amount"] for _ in range(2)]

    assert [str(amount) for amount in available] == ["99.95", "104.95"]


def test_without_a_call_it_arrives_at_the_next_barrier(fake):
    fault = fake.webhooks.during_call(start=2)
    fake.send_text().deliver().read()

    assert stages(fake) == "sent, read | delivered during_call"
    assert fault.fired == 1


def test_a_call_that_an_app_makes_while_it_handles_an_event_does_not_count(fake, order):
    fake.webhooks.connect(handler=lambda _: ask(fake, order))
    fake.webhooks.during_call(status="sent", times=None)
    fake.send_text().deliver()
    assert order == ["delivered", "asked 200"]
    fake.settle()

    assert order[2:] == ["sent", "asked 200"]


def test_what_a_route_has_caused_arrives_during_the_next_call(fake, order):
    fake.webhooks.during_call()
    for number in range(3):
        send_call(fake)
        order.append(f"response {number}")
    fake.settle()

    assert order == ["response 0", "sent", "response 1", "response 2", "sent", "sent"]


def test_what_an_error_leaves_comes_before_what_the_call_has_caused(fake):
    errors = [LookupError("no such message")]

    def fail_once(_):
        if errors:
            raise errors.pop()

    fake.webhooks.disconnect()
    fake.webhooks.connect(handler=fail_once)
    with fake.webhooks.during_call(times=2):
        fake.send_text().deliver()
    send_call(fake)
    with pytest.raises(LookupError, match="no such message"):
        fake.settle()
    fake.settle()

    assert trail(fake) == "sent during_call LookupError, delivered during_call, sent"


def test_a_call_from_before_a_reset_ends_no_wait(fake, order):
    @fake.route("/reset")
    def start_again(_):
        fake.reset()
        fake.webhooks.during_call()
        fake.send_text()
        return {}

    ask(fake, order, path="/reset", method="POST")
    fake.settle()

    assert order == ["asked 200", "sent"]


def test_several_events_arrive_in_order_and_a_removed_fault_holds_none(fake, order):
    with fake.webhooks.during_call(times=None):
        fake.send_text().deliver()
        ask(fake, order)
    fake.send_text().read()

    assert order == ["sent", "delivered", "asked 200", "sent", "read"]


@pytest.mark.parametrize("path", ["/v2/balance", "/v2/messages"])
def test_a_call_that_a_fault_refuses_counts_and_its_event_may_be_duplicated(fake, path):
    fake.webhooks.duplicate(after=0)
    fake.webhooks.during_call()
    fake.api.fail(times=1)
    fake.send_text()
    assert call_with_werkzeug(fake, path=path).status == 503
    assert trail(fake) == "sent during_call, sent duplicate"


def test_the_app_s_own_error_is_raised_and_its_call_gets_a_response(fake):
    def fail(_):
        raise LookupError("no such message")

    fake.webhooks.connect(handler=fail)
    fake.webhooks.during_call(times=None)
    fake.send_text()

    assert call_with_werkzeug(fake).status == 200
    with pytest.raises(LookupError, match="no such message"):
        fake.settle()


def test_a_retry_waits_for_its_time_and_not_for_a_call(fake, order):
    responses = [503, 200]
    fake.webhooks.disconnect()
    fake.webhooks.connect(handler=lambda _: responses.pop(0), retry_after=[60])
    fake.webhooks.during_call()
    fake.send_text()
    ask(fake, order)
    fake.clock.advance(60)

    assert [attempt.at for attempt in fake.webhooks.attempts] == [at(), at(minutes=1)]


@BOTH
def test_in_a_loop_it_arrives_before_the_response_as_well(run):
    async def main():
        order = []
        with ChatFake(mode="async", timeout=SECONDS) as fake:

            async def app(request):
                order.append(request.event.status)

            fake.webhooks.connect(handler=app)
            fake.webhooks.during_call(status="sent")
            await fake.send_text().deliver()
            await to_thread.run_sync(ask, fake, order)
            assert order == ["delivered", "sent", "asked 200"]

    run(main)
