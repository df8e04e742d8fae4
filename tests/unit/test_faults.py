"""What every fault promises, of webhooks and of the API: when it fires, how it ends, its words."""

import sys
from contextlib import suppress
from inspect import getmembers, isfunction
from operator import attrgetter

import pytest

from pytest_chatfake import ChatFakeError, Webhooks
from pytest_chatfake.http_api.account_api import AccountApi

from .api_clients import call_with_werkzeug, send_call
from .fakes import frozen_fake, own_lines, trail, unchanged, warnings_at_the_end


def unsigned(_):
    return {}


#: Every kind, with the arguments that it needs and how they are shown. crash() and error(), which
#: happen at a point inside an app, have tests of their own in `tests/exploring`.
KINDS = {
    "webhooks.duplicate": ({}, ""),
    "webhooks.lose": ({}, ""),
    "webhooks.delay": ({"duration": 30}, "30"),
    "webhooks.reorder": ({}, "by=1"),
    "webhooks.during_call": ({}, ""),
    "webhooks.lose_response": ({}, ""),
    "webhooks.refuse": ({}, ""),
    "webhooks.concurrently": ({"by": 1}, "by=1"),
    "webhooks.evolve": ({}, ""),
    "webhooks.tamper": ({}, ""),
    "webhooks.sign": ({"signer": unsigned}, "unsigned"),
    "api.fail": ({}, "503"),
    "api.delay": ({"duration": 1}, "1"),
    "api.disconnect": ({}, ""),
    "api.truncate": ({}, ""),
    "api.rate_limit": ({"retry_after": 60}, "60"),
    "api.lose_response": ({}, ""),
    "api.webhooks_first": ({}, ""),
}
OF_WEBHOOKS = [kind for kind in KINDS if kind.startswith("webhooks")]


def set_up(fake, kind, **more):
    return attrgetter(kind)(fake)(**KINDS[kind][0], **more)


def happen(fake, times):
    """Call the API so often, and let time pass; each call sends a message unless it fails."""
    for _ in range(times):
        with suppress(ConnectionResetError):
            send_call(fake)
    fake.settle()
    fake.clock.advance(60)


def concerned(fake, kind):
    """The numbers of the calls, or of the messages of which a fault changed a webhook."""
    if kind in OF_WEBHOOKS:
        changed = {one.event.message_id for one in fake.webhooks.attempts if one.fault}
        return [number for number, one in enumerate(fake.messages, 1) if one.id in changed]
    return [number for number, one in enumerate(fake.api.requests, 1) if one.marks]


async def accepting(_):
    """Accept every event; two at the same time, for concurrently()."""


@pytest.fixture
def fake():
    with frozen_fake() as fake:
        fake.webhooks.connect(handler=accepting)
        fake.send_endpoint()
        yield fake


def test_every_kind_has_its_row():
    verbs = {
        f"{home}.{name}"
        for home, owner in [("webhooks", Webhooks), ("api", AccountApi)]
        for name, verb in getmembers(owner, isfunction)
        if name[0] != "_" and verb.__annotations__.get("return", "").endswith("Fault")
    }
    assert verbs - {"webhooks.crash", "webhooks.error"} == KINDS.keys()


# -- when it fires ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_fires_once_unless_its_kind_goes_on(fake, kind):
    fault = set_up(fake, kind)
    happen(fake, 2)

    assert fault.fired == (2 if kind in ("webhooks.evolve", "api.rate_limit") else 1)


@pytest.mark.parametrize("kind", KINDS)
def test_times_and_start_count_what_matches(fake, kind):
    fault = set_up(fake, kind, times=2, start=2)
    happen(fake, 4)

    assert (concerned(fake, kind), fault.fired) == ([2, 3], 2)


@pytest.mark.parametrize("kind", OF_WEBHOOKS)
def test_a_fault_can_be_for_one_status_one_message_and_one_endpoint(fake, kind):
    endpoint = fake.webhooks.connect(handler=accepting)
    messages = fake.send_text(), fake.send_text()
    set_up(fake, kind, message=messages[1], status="read", endpoint=endpoint, times=None)
    for message in messages:
        message.deliver().read()
    happen(fake, 1)

    changed = [(one.event, one.endpoint) for one in fake.webhooks.attempts if one.fault]
    assert changed == [(messages[1].events[-1], endpoint)]


@pytest.mark.parametrize("kind", OF_WEBHOOKS)
def test_an_event_counts_once_for_each_endpoint(fake, kind):
    endpoints = [fake.webhooks.connect(handler=accepting) for _ in range(2)]
    faults = [set_up(fake, kind, start=start, times=1) for start in (2, 6)]
    fake.send_text().deliver()
    happen(fake, 1)

    changed = {(one.event.status, one.endpoint) for one in fake.webhooks.attempts if one.fault}
    assert changed == {("sent", endpoints[0]), ("delivered", endpoints[1])}
    assert [fault.fired for fault in faults] == [1, 1]


@pytest.mark.parametrize("kind", OF_WEBHOOKS)
def test_what_a_test_redelivers_is_not_concerned(fake, kind):
    fake.send_text()
    fault = set_up(fake, kind, times=1)
    fake.webhooks.redeliver(fake.events[0])
    fake.settle()

    assert (trail(fake), fault.fired) == ("sent, sent", 0)
    happen(fake, 1)
    assert (concerned(fake, kind), fault.fired) == ([2], 1)


@pytest.mark.parametrize("kind", OF_WEBHOOKS)
def test_a_retry_is_not_concerned(kind):
    responses = iter([500])

    async def refusing_once(_):
        return next(responses, 200)

    with frozen_fake(retry_after=[60]) as fake:
        fake.webhooks.connect(handler=refusing_once)
        fake.send_text()
        fault = set_up(fake, kind)
        fake.clock.advance(60)

        assert (trail(fake), fault.fired) == ("sent 500, sent #2 +60", 0)
        fake.reset()  # the fault is unused


# -- how it ends -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_ends_with_its_block_and_can_be_removed_twice(fake, kind):
    with set_up(fake, kind, times=None) as fault:
        happen(fake, 2)
    fault.remove()
    happen(fake, 1)

    assert (concerned(fake, kind), fault.fired) == ([1, 2], 2)


def test_a_reset_forgets_faults_of_all_kinds_and_warns_of_none(fake):
    for kind in KINDS:
        set_up(fake, kind)
    fake.reset()
    happen(fake, 1)

    assert (trail(fake), concerned(fake, "api")) == ("sent", [])


# -- what is told ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_s_repr_is_the_call_that_sets_it_up(fake, kind):
    shown = ", ".join(filter(None, [KINDS[kind][1], "start=2", "times=3"]))
    call = f"{kind.removeprefix('webhooks.')}({shown})"

    assert repr(set_up(fake, kind, start=2, times=3)).endswith(f"Fault {call}, fired 0 times>")
    fake.reset()


def test_a_fault_of_webhooks_has_the_name_of_its_method_and_its_filters(fake):
    message = fake.send_text()
    fault = fake.webhooks.lose(message=message, status="read")
    message.read()

    assert fault.kind == "lose"
    assert fault.description == f"lose(message={message.id!r}, status='read')"


CALLS = ("GET /v2/balance", "POST /x", "GET /v2/balance")

#: What makes a fault that does not fire, the calls after that, and why it did not.
UNUSED = [
    (lambda f: f.webhooks.lose(message=f.send_text(), status="read"), CALLS, ""),
    (
        lambda f: f.webhooks.duplicate(status="played"),
        (),
        "unknown status 'played': the service has sent, delivered, read and failed",
    ),
    (lambda f: f.api.fail(), (), "no request with the fake's key after that"),
    (lambda f: f.api.delay(1, path="/v2/messages"), (), "no request to /v2/messages after that"),
    (lambda f: f.api.webhooks_first(), CALLS, "no request to a route of yours after that"),
    (
        lambda f: f.api.lose_response(path="/v2/messages"),
        CALLS[:1],
        "no request to /v2/messages after that; there was 1 to /v2/balance",
    ),
    (
        lambda f: f.api.lose_response(path="/v2/messages"),
        CALLS,
        "no request to /v2/messages after that; there were 2 to /v2/balance, 1 to /x",
    ),
    (
        lambda f: f.api.fail(path="/x", method="GET"),
        CALLS,
        "no request to /x by GET after that; there were 2 to /v2/balance by GET, 1 to /x by POST",
    ),
    (
        lambda f: f.api.fail(method="PUT"),
        CALLS,
        "no request by PUT after that; there were 2 to /v2/balance by GET, 1 to /x by POST",
    ),
    (
        lambda f: f.api.fail(path="/v2/balance", start=3),
        CALLS,
        "2 requests matched, but the fault starts with number 3",
    ),
    (
        lambda f: f.api.fail(path="/x", start=2),
        CALLS,
        "1 request matched, but the fault starts with number 2",
    ),
    (
        lambda f: f.api.fail(start=1_000),
        CALLS,
        "3 requests matched, but the fault starts with number 1,000",
    ),
    (
        lambda f: [f.api.fail(), f.api.fail()][1],
        CALLS[:1],
        "1 request matched, but got another response",
    ),
]


@pytest.mark.parametrize(("set_up", "calls", "why"), UNUSED)
def test_a_fault_that_never_fired_is_told_at_the_end_with_its_line(set_up, calls, why):
    told = []

    def scenario(fake):
        fake.webhooks.receiver()
        fault = set_up(fake)
        for call in calls:
            call_with_werkzeug(fake, *call.split())
        fault.remove()
        call_with_werkzeug(fake, "PUT", "/v2/messages")
        told.append(
            f"  {fault.description}, set up at {own_lines(str(fault.line))}"
            + f" ({why})" * bool(why)
        )

    head = "1 unused fault; set up a fault before the verb, or remove it:"
    assert warnings_at_the_end(scenario) == ["\n".join([head, *told])]


def test_several_faults_are_one_warning_and_one_that_fired_is_no_news():
    def scenario(fake):
        fake.webhooks.receiver()
        fake.webhooks.lose()
        fake.webhooks.lose(start=2)
        fake.api.fail()
        fake.send_text()

    (text,) = warnings_at_the_end(scenario)
    assert text.startswith("2 unused faults; ")


def test_crash_and_error_name_the_folder_that_they_need(fake, monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest_chatfake.exploring", None)
    monkeypatch.delitem(sys.modules, "pytest_chatfake.exploring.crashes", raising=False)
    for verb in (fake.webhooks.crash, fake.webhooks.error):
        needs = rf"{verb.__name__}\(\) needs pytest_chatfake.exploring, which is not installed"
        with unchanged(fake), pytest.raises(ChatFakeError, match=needs):
            verb(before=sorted)
