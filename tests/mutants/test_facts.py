"""Mutants: each tells the app one false fact, and the fake knows the truth all the same."""

import re
from functools import partial

import pytest
from werkzeug.test import EnvironBuilder

from pytest_chatfake import HmacSigner, Naming
from pytest_chatfake.fake.fake import service
from pytest_chatfake.mutants.facts import MUTANTS

from ..unit.api_clients import call_with_werkzeug, send_call
from ..unit.fakes import START, fake_with_receiver, frozen_fake, own_lines, played, received_bodies
from .mutations import mutated

#: The field in which the app sees a difference, and what it sees there first.
TOLD = """
price-times-ten: totalPrice 0.50
price-last-digit: totalPrice 0.06
first-delivery-free: totalPrice 0
open-session-priced: totalPrice 0.05
other-currency: currency "EUR"
other-error-code: errorCode "100"
deliver-time-off: deliverTime "2026-01-01T13:00:10.000Z"
other-conversation: id "c9b559aaae91b89ca9fde0b899999998"
unknown-message: id "614daced99bd679699999998"
other-text: body "One"
no-sent: lost "sent"
no-delivered: lost "delivered"
no-read: lost "read"
no-failed: lost "failed"
balance-zero: balance "200 {'amount':0,'currency':'USD'}"
balance-cent-more: balance "200 {'amount':103.46,'currency':'USD'}"
balance-with-held: balance "200 {'amount':104.95,'currency':'USD'}"
second-device-charged: balance "200 {'amount':103.40,'currency':'USD'}"
hold-kept: balance "200 {'amount':103.40,'currency':'USD'}"
top-up-lost: balance "200 {'amount':98.45,'currency':'USD'}"
balance-503: balance "503 {'error':{'status':503,'code':'SER"
balance-401: balance "401 {'error':{'status':401,'code':'UNA"
balance-truncated: balance "200 {'amount':103.45,"
signature-missing: signature "missing"
signature-wrong: signature "wrong"
signature-stale: signature "stale"
no-inbound: lost inbound
inbound-other-text: body "another text"
inbound-other-sender: from "+8"
inbound-other-id: id "99bd67968300539299999998"
send-other-id: id "614daced99bd679699999994"
send-other-status: status "failed"
"""

FIELD = re.compile(r'"(\w+)":("[^"]*"|[\d.]+)')
SIGNERS = HmacSigner("secret"), HmacSigner("secret", offset=-86_400)


def seen_in(request):
    """All that an app can know from a request, as JSON but for the end."""
    valid, stale = (signer(request)["X-Signature"] for signer in SIGNERS)
    named = {None: "missing", valid: "valid", stale: "stale"}
    signature = named.get(request.headers.get("X-Signature"), "wrong")
    return f'{request.body.decode()},"signature":"{signature}"'


async def story(fake, do):
    """What the app sees of a story in which all mutants have a place, and what the fake says."""
    seen = []

    def app(request):
        seen.append(seen_in(request))
        return 500 if request.timestamp == START else 204

    fake.webhooks.connect(handler=app, retry_after=[10], events="*")
    fake.send_endpoint()
    await do(fake.top_up("5"))
    one = await do(fake.send_text("One"))
    await do(fake.clock.advance(10))
    await do(one.deliver(devices=2).read())
    await do(fake.send_text("Two").deliver())
    await do(fake.send_text("Three", to="+2").fail())
    await do(fake.send_text("Four", to="+3", price="1.50"))
    response = call_with_werkzeug(fake)
    shown = f"{response.status} {response.body.decode()}".replace('"', "'")
    seen.append(f'"balance":"{shown:.38}"')
    await do(fake.recipient("+1").writes("Hi"))
    sent = send_call(fake, to="+4", body="Five")
    await do(fake.settle())
    seen.append(sent.body.decode())
    bodies = [request.body for request in fake.api.requests]
    return seen, [bodies, own_lines(str(fake.timeline)), *[event.body for event in fake.events]]


def difference(truth, told):
    """The one field that differs, and its first false value."""
    if len(told) < len(truth):
        gone = [dict(FIELD.findall(one)) for one in {*truth} - {*told}]
        (lost,) = {fields.get("status", "inbound") for fields in gone}
        return f"lost {lost}"
    fields = zip(FIELD.findall("".join(truth)), FIELD.findall("".join(told)), strict=True)
    found = [false for true, false in fields if true != false]
    (_,) = {key for key, _ in found}
    return " ".join(found[0])


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_each_mutant_changes_one_fact_for_the_app_and_none_for_the_fake(mode):
    config = {"naming": Naming(message_key="my.message"), "signer": SIGNERS[0], "api_key": "key"}
    play = partial(played, mode, story, **config)
    truth, face = play()
    with mutated(None) as plain:
        assert play() == (truth, face)
    assert plain.exercised == {*MUTANTS}

    differences = []
    for name in MUTANTS:
        with mutated(name, plain) as mutation:
            told, same = play()
        assert (name, mutation.exercised, same) == (name, {name}, face)
        assert len({one[:42] for one in told}) == len({*told})  # what is told again is as false
        differences.append(f"{name}: {difference(truth, told)}\n")
    assert "".join(differences) == TOLD.lstrip()


def test_only_a_byte_that_would_reach_the_app_exercises_a_mutant():
    with frozen_fake(balance_amount="total") as fake, mutated(None) as plain:
        nobody = fake.webhooks.connect("http://127.0.0.1:1/")
        fake.send_text().fail()
        assert fake.webhooks.attempts[0].error is not None
        nobody.disconnect()
        fake.webhooks.connect(handler=lambda _: 200, events="*")
        fake.webhooks.emit_event("chat.order.placed", {"id": "7", "currency": "USD"})
        fake.webhooks.lose()
        fake.send_text()
        fake.api.fail(500)
        call_with_werkzeug(fake)
        call_with_werkzeug(fake, "HEAD")
        assert not plain.exercised

        fake.send_text(price=0, to="+1")
        call_with_werkzeug(fake)
    expected = "no-sent other-conversation other-currency unknown-message "
    expected += "balance-401 balance-503 balance-cent-more balance-truncated balance-zero"
    assert {*expected.split()} == plain.exercised


@pytest.mark.parametrize(
    ("status", "is_tampered", "count"),
    [(401, False, 0), (403, False, 0), (400, True, 0), (400, False, 6), (204, True, 6)],
)
def test_what_an_app_refuses_for_its_signature_exercises_nothing(status, is_tampered, count):
    with frozen_fake() as fake, mutated(None) as plain:
        fake.webhooks.connect(handler=lambda _: status)
        if is_tampered:
            fake.webhooks.tamper(lambda body: body + b" ")
        fake.send_text()
        fake.webhooks.attempts  # noqa: B018 - it has looked at them
    assert count == len(plain.exercised)


@pytest.mark.parametrize("name", ["no-inbound", "no-sent"])
def test_no_mutant_gets_a_forgery_through(name):
    def play():
        with frozen_fake(signer=SIGNERS[0]) as fake:

            def bot(request):
                if '"signature":"valid"' not in seen_in(request):
                    return 401
                if not fake.messages:
                    fake.send_text(to="+1")
                return 204

            fake.webhooks.connect(handler=bot, events="*")
            fake.recipient("+1").writes("Hi")
            fake.webhooks.assert_rejects_forgeries()

    with mutated(None) as plain:
        play()
    with mutated(name, plain) as mutation:
        play()
    assert ({name}, True) == (mutation.exercised, name in plain.exercised)


def test_a_signature_inside_the_body_is_false_there():
    def play():
        def signer(request):
            return {}, {**request.json(), "signature": "0" * 64}

        with fake_with_receiver(signer=signer) as (fake, receiver):
            fake.send_text()
            return receiver.requests[0].json()["signature"]

    with mutated(None) as plain:
        genuine = play()
    with mutated("signature-wrong", plain):
        assert (genuine, play()) == ("0" * 64, "9" * 64)


def test_where_each_message_is_charged_a_session_has_no_price():
    with frozen_fake(charge_per="message") as fake, mutated(None) as plain:
        fake.webhooks.connect(handler=lambda _: 200)
        fake.send_text().deliver()
        fake.send_text(price=0).deliver()
    assert "open-session-priced" not in plain.exercised


def test_a_crash_and_a_delay_of_the_test_stay_as_they_are(fake, receiver):
    fake.webhooks.crash(before=type(receiver).__call__)
    with mutated("no-sent"):
        fake.send_text()
        fake.settle()
    assert [one.fault for one in fake.webhooks.attempts] == ["crash", None]
    assert not receiver.requests
    fake.api.delay(2)
    request = EnvironBuilder("/v2/balance", headers=fake.headers).get_request()
    with mutated("balance-503"):
        assert service.respond(request, lambda _: None).delay == 2


def test_an_unknown_mutant_is_refused_and_none_is_left_after_an_error(fake, receiver):
    with pytest.raises(KeyError), mutated("no-sent"):
        raise KeyError
    with pytest.raises(ValueError, match="mutant 'no-end'"), mutated("no-end"):
        pass
    fake.send_text()
    assert len(receiver.requests) == 1


def test_a_mutant_tells_nothing_that_the_form_of_the_event_leaves_out():
    def outbound(event):
        return {name: event["chatMessage"][name] for name in ("id", "totalPrice")}

    with mutated(None) as plain, fake_with_receiver(outbound=outbound) as (fake, _):
        fake.send_text().deliver()
    assert {"unknown-message", "price-last-digit"} <= plain.exercised
    assert set() == {"other-currency", "other-conversation", "other-text"} & plain.exercised

    with mutated("price-times-ten"), fake_with_receiver(outbound=outbound) as (fake, receiver):
        fake.send_text(price="0.10").deliver()
    assert [body.partition(b'totalPrice":')[2][:4] for body in received_bodies(receiver)] == [
        b"1.00",
        b"1.00",
    ]
