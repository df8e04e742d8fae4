"""The texts with which expectations fail, and explanations: each cause once, and some whole."""

import asyncio
import re
from functools import partial

import pytest
import time_machine
from inline_snapshot import snapshot
from werkzeug.test import Client

from pytest_chatfake import ChatFake
from pytest_chatfake.domain.reasons import RULES
from pytest_chatfake.report.section import Section

from .api_clients import call_with_werkzeug
from .fakes import frozen_fake


def failure(expectation):
    """The text, with ids and line numbers put short."""
    with pytest.raises(AssertionError) as caught:
        expectation()
    return short(str(caught.value))


def short(text):
    text = re.sub(r"evt_[0-9a-f]{16}0*([0-9a-f]+)", r"evt_\1", text)
    text = re.sub(r"\b[0-9a-f]{24}0*([0-9a-f]+)\b", r"<conversation \1>", text)
    text = re.sub(r"\b[0-9a-f]{16}0*([0-9a-f]+)\b", r"<message \1>", text)
    return re.sub(r"\S+\.py:\d+(?: via \S+\.py:\d+)?", "LINE", text)


def causes(case, **config):
    """The sentences between the difference and the evidence."""
    with frozen_fake(api_key="secret-key-1234", **config) as fake:
        lines = failure(lambda: case(fake)).splitlines()[1:]
        list(fake.webhooks.attempts)  # they are seen
    return [line for line in lines if not line.startswith("  ")][:-1]


# -- causes ----------------------------------------------------------------------------------------


def shared(fake):
    fake.send_text().deliver()
    return fake.send_text().deliver()


def second_of_two(fake):
    first = fake.send_text(to="+1")
    fake.send_text(to="+1").deliver()
    return first.read()


def dropped(fake):
    message = fake.send_text()
    fake.clock.advance(days=30)
    return message


def scheduled(fake):
    message = fake.send_text()
    message.after(minutes=90).deliver().after(0.5).read()
    return message


def to_fail(fake):
    message = fake.send_text()
    message.after(days=2).fail()
    return message


def by_autopilot(fake, **person):
    fake.autopilot(deliver_after=30, read_after=0)
    return fake.send_text(to=fake.recipient("+1", **person))


def private(fake):
    return fake.send_text(to=fake.recipient("+1", read_receipts=False)).deliver().read()


def many(fake, count=7):
    for number in range(count):
        fake.send_text(to=f"+{number}")


def in_pairs(fake, count=7):
    for number in range(count):
        for _ in range(2):
            fake.send_text(to=f"+{number}").deliver()


def free_and_held(fake):
    shared(fake)
    fake.send_text()  # in the conversation that is charged
    fake.send_text(to="+2")


def expired(fake):
    message = shared(fake)
    fake.clock.advance(hours=24)
    return message


def asked(fake):
    call_with_werkzeug(fake, path="/v2/balance?x=1")


def refused(fake):
    receiver = fake.webhooks.receiver()
    receiver.respond(500)
    fake.send_text()
    fake.webhooks.lose_response()
    fake.send_text()


def lost(fake):
    fake.webhooks.receiver()
    fake.webhooks.drop()
    fake.send_text()


def charged(fake, message):
    fake.assert_charged("7", message=message)


def statuses(fake, message, *expected):
    fake.assert_statuses(message, "sent", *expected)


def balance(fake, method="GET", path="/v2/balance"):
    fake.assert_requested(method, path)


#: What fails, and how: an expectation of something that has happened.
CASES = {
    "charged: sent": lambda f: charged(f, f.send_text()),
    "charged: shared": lambda f: charged(f, shared(f)),
    "charged: expired": lambda f: charged(f, expired(f)),
    "charged: second of two": lambda f: charged(f, second_of_two(f)),
    "charged: failed": lambda f: charged(f, f.send_text().fail()),
    "charged: rejected": lambda f: charged(f, f.submit_text().reject()),
    "charged: scheduled": lambda f: charged(f, scheduled(f)),
    "charged: phone off": lambda f: charged(f, by_autopilot(f, online=False)),
    "charged: to fail": lambda f: charged(f, to_fail(f)),
    "charged in all: sent": lambda f: [many(f), f.assert_charged(1)],
    "charged in all: shared": lambda f: [shared(f), f.assert_charged(1)],
    "charged in all: devices": lambda f: [f.send_text().deliver(2), f.assert_charged("0.10")],
    "charged in all: campaign": lambda f: [in_pairs(f), f.assert_charged(1)],
    "charged in all: phone off": lambda f: [by_autopilot(f, online=False), f.assert_charged(1)],
    "charged in all: scheduled": lambda f: [scheduled(f), f.assert_charged(1)],
    "charged in all: too much": lambda f: [shared(f), f.assert_charged(0)],
    "charged in all: nothing": lambda f: f.assert_charged(1),
    "held: sent": lambda f: f.assert_held(0, message=f.send_text()),
    "held: free": lambda f: f.assert_held(1, message=f.send_text(price=0)),
    "held: delivered": lambda f: f.assert_held(1, message=f.send_text().deliver()),
    "held: failed": lambda f: f.assert_held(1, message=f.send_text().fail()),
    "held in all: sent": lambda f: [many(f), f.assert_held(0)],
    "held in all: free": lambda f: [free_and_held(f), f.assert_held(0)],
    "held in all: to fail": lambda f: [to_fail(f), f.assert_held(0)],
    "available: held": lambda f: [free_and_held(f), f.assert_available(1)],
    "available: to fail": lambda f: [to_fail(f), f.assert_available(100)],
    "statuses: sent": lambda f: statuses(f, f.send_text(), "delivered"),
    "statuses: to fail": lambda f: statuses(f, to_fail(f), "failed"),
    "statuses: scheduled": lambda f: statuses(f, scheduled(f), "read"),
    "statuses: read at once": lambda f: statuses(f, f.send_text().read(), "delivered", "read"),
    "statuses: too dear": lambda f: f.assert_statuses(f.send_text(price="101"), "failed"),
    "statuses: unread": lambda f: statuses(f, f.send_text().deliver(), "delivered", "read"),
    "statuses: private": lambda f: statuses(f, private(f), "delivered", "read"),
    "statuses: dropped": lambda f: statuses(f, dropped(f), "delivered"),
    "statuses: phone off": lambda f: statuses(f, by_autopilot(f, online=False), "delivered"),
    "requests: none": balance,
    "requests: no endpoint": lambda f: [f.send_text(), balance(f)],
    "requests: no path": lambda f: [asked(f), balance(f, path="v2/balance")],
    "requests: query": lambda f: [asked(f), balance(f, path="/v2/balance?x=1")],
    "requests: others": lambda f: [asked(f), balance(f, "DELETE", "/somewhere/else")],
    "requests: refused": lambda f: [refused(f), balance(f)],
    "requests: lost": lambda f: [lost(f), balance(f)],
    "requests: pending": lambda f: [f.webhooks.receiver(), by_autopilot(f), balance(f)],
}


def test_each_failure_names_its_cause_and_what_to_do():
    assert snapshot(
        {
            "charged: sent": [
                "m1 was not charged: no delivery yet (§1).",
                "Call deliver() or read() on it.",
            ],
            "charged: shared": [
                "m2 was not charged: c1 was already charged for m1 (§1).",
                "c1 expires at 2026-01-02T12:00:00.000Z. A message sent after chat_fake.clock.advance(days=1) starts a new, charged conversation.",
                "m1 and m2 went to the default recipient, +15550100. Send to others, as in to='+15550101'.",
            ],
            "charged: expired": [
                "m2 was not charged: c1 was already charged for m1 (§1).",
                "m1 and m2 went to the default recipient, +15550100. Send to others, as in to='+15550101'.",
            ],
            "charged: second of two": [
                "m1 was not charged: it was delivered and read at once, with no delivered event (§3).",
                "c1 was already charged for m2 (§1).",
                "it kept its hold until now, 0.05, which is released (assumed).",
                "c1 expires at 2026-01-02T12:00:00.000Z. A message sent after chat_fake.clock.advance(days=1) starts a new, charged conversation.",
            ],
            "charged: failed": [
                "m1 was not charged: it failed after it was sent: failed messages are not charged (§8).",
                "what was held for it comes back at once (assumed).",
            ],
            "charged: rejected": [
                "m1 was not charged: it failed before it was sent: nothing is held or charged (§3 rule 4)."
            ],
            "charged: scheduled": [
                "m1 was not charged: no delivery yet (§1).",
                "pending: deliver() of m1 at 2026-01-01T13:30:00.000Z (scheduled at LINE). Run it with chat_fake.clock.advance(hours=1, minutes=30).",
            ],
            "charged: phone off": [
                "m1 was not charged: no delivery yet (§1).",
                "Before that, the phone of +1 is off. Call recipient('+1').comes_online().",
            ],
            "charged: to fail": [
                "m1 was not charged: no delivery yet (§1).",
                "Call deliver() or read() on it.",
            ],
            "charged in all: sent": [
                "m1, m2, m3, m4, m5 and 2 more were not charged: no delivery yet (§1).",
                "Call deliver() or read() on them.",
            ],
            "charged in all: shared": [
                "m2 was not charged: c1 was already charged for m1 (§1).",
                "c1 expires at 2026-01-02T12:00:00.000Z. A message sent after chat_fake.clock.advance(days=1) starts a new, charged conversation.",
                "m1 and m2 went to the default recipient, +15550100. Send to others, as in to='+15550101'.",
            ],
            "charged in all: devices": [
                "m1 was charged 0.05: the first delivery in c1 starts its session and is charged, 0.05 (§1).",
                "another device got it: not charged again (§6 rule 2).",
            ],
            "charged in all: campaign": [
                "m2 was not charged: c1 was already charged for m1 (§1).",
                "m4 was not charged: c2 was already charged for m3 (§1).",
                "m6 was not charged: c3 was already charged for m5 (§1).",
                "m8 was not charged: c4 was already charged for m7 (§1).",
                "m10 was not charged: c5 was already charged for m9 (§1).",
                "... and 2 more messages, for reasons like these.",
                "c7 expires at 2026-01-02T12:00:00.000Z. A message sent after chat_fake.clock.advance(days=1) starts a new, charged conversation.",
            ],
            "charged in all: phone off": [
                "m1 was not charged: no delivery yet (§1).",
                "Before that, the phone of +1 is off. Call recipient('+1').comes_online().",
            ],
            "charged in all: scheduled": [
                "m1 was not charged: no delivery yet (§1).",
                "pending: deliver() of m1 at 2026-01-01T13:30:00.000Z (scheduled at LINE). Run it with chat_fake.clock.advance(hours=1, minutes=30).",
            ],
            "charged in all: too much": [
                "m1 was charged 0.05: the first delivery in c1 starts its session and is charged, 0.05 (§1)."
            ],
            "charged in all: nothing": ["No message was sent."],
            "held: sent": [
                "0.05 is held for m1 until it is delivered (§3 rule 5).",
                "To release it: deliver() m1, or chat_fake.clock.advance(days=30) to drop it at 2026-01-31T12:00:00.000Z.",
            ],
            "held: free": [
                "m1: it begins c1, which costs nothing until a delivery (§1).",
                "m1: its price is 0: nothing is held (§3 rule 5).",
            ],
            "held: delivered": ["m1 was delivered, so its hold was released."],
            "held: failed": ["m1 failed, so its hold was released."],
            "held in all: sent": [
                "0.35 is held for m1, m2, m3, m4, m5 and 2 more until they are delivered (§3 rule 5).",
                "To release it: deliver() m1, or chat_fake.clock.advance(days=30) to drop it at 2026-01-31T12:00:00.000Z.",
            ],
            "held in all: free": [
                "0.05 is held for m4 until it is delivered (§3 rule 5).",
                "To release it: deliver() m4, or chat_fake.clock.advance(days=30) to drop it at 2026-01-31T12:00:00.000Z.",
            ],
            "held in all: to fail": [
                "0.05 is held for m1 until it is delivered (§3 rule 5).",
                "pending: fail() of m1 at 2026-01-03T12:00:00.000Z (scheduled at LINE). Run it with chat_fake.clock.advance(days=2).",
            ],
            "available: held": ["0.05 of the balance is held for m4 (§3 rule 5)."],
            "available: to fail": [
                "0.05 of the balance is held for m1 (§3 rule 5).",
                "pending: fail() of m1 at 2026-01-03T12:00:00.000Z (scheduled at LINE). Run it with chat_fake.clock.advance(days=2).",
            ],
            "statuses: sent": ["m1 was not delivered: call deliver() on it."],
            "statuses: to fail": [
                "pending: fail() of m1 at 2026-01-03T12:00:00.000Z (scheduled at LINE). Run it with chat_fake.clock.advance(days=2)."
            ],
            "statuses: scheduled": [
                "pending: read() of m1 at 2026-01-01T13:30:00.500Z (scheduled at LINE). Run it with chat_fake.clock.advance(hours=1, minutes=30, seconds=0.5)."
            ],
            "statuses: read at once": [
                "m1 went from sent to read, so there is no delivered event (§3).",
                "Call deliver() before read() to get one.",
            ],
            "statuses: too dear": [
                "m1 was sent, though the balance can't cover it. To let it fail: on_insufficient_balance='fail'."
            ],
            "statuses: unread": ["m1 was not read: call read() on it."],
            "statuses: private": [
                "m1 went to a person without read receipts, so there is no read event (§3 rule 3)."
            ],
            "statuses: dropped": ["m1 was dropped, which has no event (§3 rule 6)."],
            "statuses: phone off": [
                "m1 was not delivered: the phone of +1 is off. Call recipient('+1').comes_online()."
            ],
            "requests: none": [
                "The API got no request at all.",
                "Point the app at chat_fake.base_url (or at chat_fake.wsgi_app), with chat_fake.api_key in the header X-API-Key.",
            ],
            "requests: no endpoint": [
                "The API got no request at all.",
                "Point the app at chat_fake.base_url (or at chat_fake.wsgi_app), with chat_fake.api_key in the header X-API-Key.",
                "If the app asks when it gets an event: no endpoint is connected.",
            ],
            "requests: no path": [
                "Write only the path: it starts with /, and has no host and no query."
            ],
            "requests: query": [
                "Write only the path: it starts with /, and has no host and no query."
            ],
            "requests: others": [],
            "requests: refused": [
                "The app may ask when it has taken an event, and this attempt failed:",
                "sent m1 -> Receiver(): 500 (did it raise? its log has the error).",
            ],
            "requests: lost": [
                "The API got no request at all.",
                "Point the app at chat_fake.base_url (or at chat_fake.wsgi_app), with chat_fake.api_key in the header X-API-Key.",
            ],
            "requests: pending": [
                "The app may ask when it gets the next event:",
                "pending: deliver() of m1 at 2026-01-01T12:00:30.000Z (by the autopilot of LINE). Run it with chat_fake.clock.advance(seconds=30).",
            ],
        }
    ) == {name: causes(case) for name, case in CASES.items()}


def test_a_reason_that_the_failure_has_is_not_in_the_section_again():
    with frozen_fake() as fake:
        receiver = fake.webhooks.receiver()
        free = shared(fake)
        sent = fake.send_text(to="+2")
        texts = [failure(partial(charged, fake, one)) for one in (free, sent)]
        to_look_at = str(Section(fake._story)).partition("\n\n")[0]

    reasons = [
        "m2 was not charged: c1 was already charged for m1",
        "m3 was not charged: no delivery",
    ]
    assert receiver.events
    assert [text.count(reason) for text, reason in zip(texts, reasons, strict=True)] == [1, 1]
    assert "not charged" not in to_look_at
    assert "m1 was charged 0.05 once (7)" in to_look_at


def test_attempts_that_are_pending_are_named_while_somebody_listens():
    with frozen_fake(retry_after=[30]) as fake:
        receiver = fake.webhooks.receiver()
        receiver.respond(500)
        fake.send_text()
        listening = failure(lambda: balance(fake))
        receiver.endpoint.disconnect()
        nobody = failure(lambda: balance(fake))
        list(fake.webhooks.attempts)  # they are seen

    assert "pending: attempt 2 at sent m1 at 2026-01-01T12:00:30.000Z (caused at LINE)" in listening
    assert "pending" not in nobody


def test_a_delivery_by_the_autopilot_that_can_never_be_is_not_named():
    with frozen_fake() as fake:
        fake.autopilot(deliver_after=30, read_after=30)
        fake.recipient("+1").blocks()
        fake.send_text(to="+1")
        fake.recipient("+1").unblocks()
        text = failure(lambda: fake.assert_charged("0.05")) + str(Section(fake._story))

    assert "pending" not in text


def test_a_cause_that_cannot_be_told_hides_no_failure():
    with frozen_fake() as fake:
        message = fake.send_text().fail()
        fake._engine.core.history.records[1] = 94
        text = failure(lambda: fake.assert_charged("0.05", message=message))

    assert text.splitlines()[0] == "charged: expected 0.05 USD, got 0 USD"
    assert "The cause can't be shown: AttributeError: 'int' object" in text


def test_in_async_mode_and_where_time_runs_the_move_is_one_to_paste():
    async def scenario(traveller):
        fake = ChatFake(mode="async")
        message = await fake.send_text()
        await message.after(hours=1, seconds=30).deliver()
        traveller.shift(0.0001)
        text = failure(lambda: fake.assert_charged("0.05"))
        fake.close()
        return text

    with time_machine.travel(1_767_268_800, tick=False) as traveller:
        text = asyncio.run(scenario(traveller))
    assert "Run it with await chat_fake.clock.advance(hours=1, seconds=30)." in text


# -- whole texts -----------------------------------------------------------------------------------


def test_amounts_have_the_ledger_as_evidence():
    with frozen_fake(currency="EUR") as fake:
        message = fake.send_text().deliver(devices=2)
        fake.clock.advance(60)
        fake.send_text(to="+2").fail()

        def block():
            with fake.expect_charge("0.05"):
                fake.send_text(to="+3")

        assert snapshot(
            {
                "all": """\
charged: expected 0.10 EUR, got 0.05 EUR
m1 was charged 0.05: the first delivery in c1 starts its session and is charged, 0.05 (§1).
another device got it: not charged again (§6 rule 2).
Charged to the account, by the ledger:
  2026-01-01T12:00:00.000Z  opening  100
  2026-01-01T12:00:00.000Z  hold     0.05  m1
  2026-01-01T12:00:00.000Z  release  0.05  m1
  2026-01-01T12:00:00.000Z  charge   0.05  m1
  2026-01-01T12:01:00.000Z  hold     0.05  m2
  2026-01-01T12:01:00.000Z  release  0.05  m2\
""",
                "message": """\
held: expected 0.05 EUR, got 0 EUR
m1 was delivered, so its hold was released.
Held for m1, message <message 1>, by the ledger:
  2026-01-01T12:00:00.000Z  hold     0.05  m1
  2026-01-01T12:00:00.000Z  release  0.05  m1
  2026-01-01T12:00:00.000Z  charge   0.05  m1\
""",
                "block": """\
charged in the block: expected 0.05 EUR, got 0.00 EUR
m3 was not charged: no delivery yet (§1).
Call deliver() or read() on it.
m1 was charged 0.05: the first delivery in c1 starts its session and is charged, 0.05 (§1).
another device got it: not charged again (§6 rule 2).
Posted in the block:
  2026-01-01T12:01:00.000Z  hold  0.05  m3\
""",
                "nothing": """\
held: expected 1 EUR, got 0 EUR
m4: it joins c1, which is pending or open with +15550100 and has its origin type (assumed; change it with conversation=).
m4: c1 is open since m1 was delivered: it costs nothing (assumed; change it with charge_per=).
Held for m4, message <message 4>, by the ledger:
  (none)\
""",
            }
        ) == {
            "all": failure(lambda: fake.assert_charged("0.10")),
            "message": failure(lambda: fake.assert_held("0.05", message=message)),
            "block": failure(block),
            "nothing": failure(lambda: fake.assert_held(1, message=fake.send_text(price=0))),
        }
        with fake.expect_charge("0.05"):
            fake.messages[-2].deliver()
        with fake.expect_charge(0):
            pass


def test_a_long_ledger_is_cut_in_the_middle(fake):
    many(fake, 100)
    ledger = failure(lambda: fake.assert_held(0)).partition("ledger:\n")[2].splitlines()

    assert len(ledger) == 13
    assert ledger[6] == "  ... 89 more ..."
    assert ledger[0].endswith("opening  100")
    assert ledger[-1].endswith("m100")


def test_statuses_are_compared_with_what_came(fake):
    message = fake.send_text().deliver(devices=2)

    assert snapshot("""\
statuses of m1, message <message 1>: number 2: expected read, got delivered
  expected  sent, read
  got       sent, delivered, delivered
m1 was not read: call read() on it.
Its events:
  2026-01-01T12:00:00.000Z  sent       evt_1  at LINE
  2026-01-01T12:00:00.000Z  delivered  evt_2  at LINE
  2026-01-01T12:00:00.000Z  delivered  evt_3  at LINE\
""") == failure(lambda: statuses(fake, message, "read"))
    assert snapshot(
        [
            "statuses of m1, message <message 1>: number 3: expected nothing, got delivered",
            "statuses of m1, message <message 1>: number 4: expected read, got nothing",
        ]
    ) == [
        failure(partial(fake.assert_statuses, message, *expected)).splitlines()[0]
        for expected in (["sent", "delivered"], ["sent", "delivered", "delivered", "read"])
    ]


def test_requests_are_counted():
    with frozen_fake(api_key="secret-key-1234") as fake:
        for key in ("secret-key-1234", "another-key-9876"):
            Client(fake.wsgi_app).get("/v2/balance?x=1", headers={"X-API-Key": key})
        Client(fake.wsgi_app).get("/v2/balance")

        assert snapshot("""\
requests of GET /v2/balance: expected 1, got 3
The requests were:
  GET /v2/balance with the API key ...1234: 200
  GET /v2/balance with the API key ...9876 (not this fake's): 401
  GET /v2/balance with no X-API-Key: 401\
""") == failure(lambda: fake.assert_requested("GET", "/v2/balance", times=1))


# -- explanations ----------------------------------------------------------------------------------


def test_explanations_tell_why_and_what_happened():
    with frozen_fake(retry_after=[30]) as fake:
        fake.webhooks.receiver().respond(500)
        fake.webhooks.drop(status="read")
        message = fake.send_text()
        fake.clock.advance(60)
        message.deliver().read()
        lost, rejected = fake.send_text(to="+1"), fake.submit_text("x", to="+2").reject()
        fake.clock.advance(days=30)

        assert snapshot("""\
m1, message <message 1> to +15550100: read
  price 0.05, held 0, charged 0.05 USD
  c1, conversation <conversation 1>: session until 2026-01-02T12:01:00.000Z
Why:
    4  sent       it begins c1, which costs nothing until a delivery (§1)
    4             its price, 0.05, is the default (assumed; change it with price=)
    4             its price, 0.05, is held until it is delivered (§3 rule 5)
   11  delivered  the first delivery in c1 starts its session and is charged, 0.05 (§1)
   14  read       reading costs nothing (§3)
What happened, times from 2026-01-01T12:00:00.000Z:
   2  +0:00.000  verb     send_text() m1  at LINE
   3             hold     0.05 m1
   4             event    sent m1
   5             attempt  sent m1 -> Receiver(): 500
   7  +0:30.000  attempt  sent m1 -> Receiver(): 200 [retry 1 of 1]
   8  +1:00.000  verb     deliver() m1  at LINE
   9             release  0.05 m1
  10             charge   0.05 m1
  11             event    delivered m1
  12             attempt  delivered m1 -> Receiver(): 200
  13             verb     read() m1  at LINE
  14             event    read m1
  15             attempt  read m1 -> Receiver(): not attempted [dropped: LINE]\
""") == short(fake.explain(message))
        assert snapshot("""\
m2, message <message 2> to +1: sent, then dropped
  price 0.05, held 0, charged 0 USD
  c2, conversation <conversation 2>: pending
Why:
   18  sent       it begins c2, which costs nothing until a delivery (§1)
   18             its price, 0.05, is the default (assumed; change it with price=)
   18             its price, 0.05, is held until it is delivered (§3 rule 5)
   24  dropped    it was not delivered in time and dropped: what was held comes back (§3 rule 5)
   24             a drop has no event (§3 rule 6)
What happened, times from 2026-01-01T12:00:00.000Z:
  16  2026-01-01 12:01:00.000  verb     send_text() m2  at LINE
  17                           hold     0.05 m2
  18                           event    sent m2
  19                           attempt  sent m2 -> Receiver(): 200
  24  2026-01-31 12:01:00.000  drop     m2 was not delivered in time; no event
  25                           release  0.05 m2\
""") == short(fake.explain(lost))
        assert snapshot("""\
m3, message <message 3> to +2: failed
  price 0, held 0, charged 0 USD
  no conversation: it failed before it was sent
Why:
   21  failed     it failed before it was sent: nothing is held or charged (§3 rule 4)
What happened, times from 2026-01-01T12:00:00.000Z:
  20  +1:00.000  verb     reject() m3  at LINE
  21             event    failed m3
  22             attempt  failed m3 -> Receiver(): 200\
""") == short(fake.explain(rejected))


def given(fake, **options):
    return fake.send_text(conversation=fake.send_text(to="+2").conversation, **options)


def into_a_session(fake, **options):
    return fake.send_text(conversation=fake.send_text().deliver().conversation, **options)


def late(fake):
    fake.send_text().deliver()
    message = fake.send_text()
    fake.clock.advance(hours=24)
    return message


def after(fake, **options):
    fake.send_text()
    return fake.send_text(**options)


def pending(fake, to=None):
    other, message = fake.send_text(to=to), fake.send_text(to=to)
    other.deliver()
    return message


def person(fake):
    return fake.recipient("+1", read_receipts=False).address


def reading(fake, way):
    return way(fake).read()


#: A message for each rule.
RULED = {
    "new": lambda f: f.send_text(price="0.07"),
    "new, its name given": lambda f: f.send_text(conversation="c0ffee", price="0.07"),
    "new, default": lambda f: f.send_text(),
    "new, free": lambda f: f.send_text(price=0),
    "joined": lambda f: after(f, price="0.07"),
    "joined, default": after,
    "joined, free": lambda f: after(f, price=0),
    "joined, open": lambda f: into_a_session(f, price="0.07"),
    "given": lambda f: given(f, price="0.07"),
    "given, default": given,
    "given, free": lambda f: given(f, price=0),
    "delivered": lambda f: f.send_text(price=1).deliver(devices=2),
    "delivered, final": lambda f: f.send_text(price=1).deliver(price="0.07").read(),
    "delivered, free": lambda f: f.send_text(price=0).deliver(),
    "delivered, later": shared,
    "delivered, held": lambda f: pending(f).deliver(),
    "delivered, late": lambda f: late(f).deliver(),
    "read at once": lambda f: f.send_text(price=1).read(),
    "read at once, free": lambda f: f.send_text(price=0).read(),
    "read at once, later": lambda f: into_a_session(f).read(),
    "read at once, held": lambda f: pending(f).read(),
    "read at once, late": lambda f: late(f).read(),
    "read in private": lambda f: f.send_text(to=person(f)).read(),
    "read in private, free": lambda f: f.send_text(to=person(f), price=0).read(),
    "read in private, held": lambda f: pending(f, person(f)).read(),
    "failed": lambda f: f.send_text().fail(),
    "failed, free": lambda f: f.send_text(price=0).fail(),
    "rejected": lambda f: f.submit_text().reject(),
    "dropped": dropped,
}


def test_each_fact_rests_on_its_rule():
    found = {}
    for name, make in RULED.items():
        with frozen_fake() as fake:
            facts = fake._story.trace.of(make(fake)._state)
            found[name] = " ".join(fact._rule.key for fact in facts if fact._rule)

    assert (
        snapshot(
            {
                "new": "new",
                "new, its name given": "new",
                "new, default": "new-default",
                "new, free": "new-free",
                "joined": "joined",
                "joined, default": "joined-default",
                "joined, free": "joined-free",
                "joined, open": "given-open",
                "given": "given",
                "given, default": "given-default",
                "given, free": "given-free",
                "delivered": "new delivered-first another-device",
                "delivered, final": "new delivered-final read",
                "delivered, free": "new-free delivered-free",
                "delivered, later": "joined-open delivered-later",
                "delivered, held": "joined-default delivered-held",
                "delivered, late": "joined-open delivered-late",
                "read at once": "new read-at-once-first",
                "read at once, free": "new-free read-at-once-free",
                "read at once, later": "given-open read-at-once-later",
                "read at once, held": "joined-default read-at-once-held",
                "read at once, late": "joined-open read-at-once-late",
                "read in private": "new-default read-in-private-first",
                "read in private, free": "new-free read-in-private-free",
                "read in private, held": "joined-default read-in-private-held",
                "failed": "new-default failed",
                "failed, free": "new-free failed-free",
                "rejected": "rejected",
                "dropped": "new-default dropped",
            }
        )
        == found
    )


def test_where_messages_are_charged_no_text_speaks_of_a_sessions_savings():
    texts = ""
    for make in (*RULED.values(), shared, second_of_two):
        with frozen_fake(charge_per="message") as fake:
            texts += fake.explain(make(fake)) + str(Section(fake._story))
    assert (texts.count("(§1"), texts.count("None")) == (0, 0)
    assert (texts.count("is the default"), texts.count("gave the final price")) == (15, 1)
    cases = [
        *CASES.values(),
        lambda f: [shared(f), f.send_text(price=0).deliver(), f.assert_charged(1)],
    ]
    told = [" ".join(causes(case, charge_per="message")) for case in cases]
    assert [text for text in told if "(§1" in text or "shares conversation" in text] == []


@pytest.mark.parametrize("price", [None, "0.07"])
def test_a_balance_that_is_too_low_is_a_reason(price):
    with frozen_fake(opening_balance="0.01", on_insufficient_balance="fail") as fake:
        text = fake.explain(fake.send_text(price=price))

    assert (price is None) == ("is the default" in text)
    assert "the balance can't hold its price" in text


def test_each_reason_has_its_sentence_and_what_it_rests_on():
    reasons = {reason for rule in RULES for reason in rule.reasons}

    assert snapshot(
        [
            "a drop has no event (§3 rule 6) ",
            "another device got it: not charged again (§6 rule 2) ",
            "each message is charged when it first arrives: this one, {amount} (assumed: charge_per='message') ",
            "each message is charged: its price, {amount}, is held until it is delivered (assumed: charge_per='message') ",
            "each message is charged: the price of this one is 0 (assumed: charge_per='message') ",
            "it begins {conversation} (§2.4) ",
            "it begins {conversation}, which costs nothing until a delivery (§1) ",
            "it failed after it was sent: failed messages are not charged (§8) ",
            "it failed before it was sent: nothing is held or charged (§3 rule 4) ",
            "it joins {conversation}, which is pending or open with {recipient} and has its origin type (assumed) conversation=",
            "it kept its hold until now, {held}, which is released (assumed) ",
            "it was delivered and read at once, with no delivered event (§3) ",
            "it was not delivered in time and dropped: what was held comes back (§3 rule 5) ",
            "it was read without read receipts: the service sees a delivery (assumed) ",
            "its price is 0: nothing is held (§3 rule 5) ",
            "its price, {amount}, is held until it is delivered (§3 rule 5) ",
            "its price, {amount}, is the default (assumed) price=",
            "reading costs nothing (§3) ",
            "the balance can't hold its price, {amount}: it failed before it was sent (assumed) on_insufficient_balance=",
            "the delivery gave the final price, {amount} (§2.3) ",
            "the first delivery in {conversation} starts its session and is charged, {amount} (§1) ",
            "the first delivery in {conversation} starts its session; the price is 0 (§1) ",
            "the session of {conversation} is over: it costs nothing (assumed) charge_per=",
            "the test made it with emit(): no money moves (§6) ",
            "the test put it into {conversation} (§2.4) ",
            "what was held for it comes back at once (assumed) ",
            "{conversation} is open since {starter} was delivered: it costs nothing (assumed) charge_per=",
            "{conversation} was already charged for {starter} (§1) ",
        ]
    ) == sorted(f"{one.text} ({one.basis}) {one.setting}" for one in reasons)
