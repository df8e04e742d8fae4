"""The timeline: what happened, in order, causes before effects; as data, as text, as pictures."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest
from inline_snapshot import snapshot
from werkzeug.test import Client

from pytest_chatfake import HmacSigner

from .api_clients import call_with_werkzeug, send_call
from .fakes import NOON, frozen_fake, own_lines


def told(fake):
    """The entries: number, kind, text and cause; a line of this file is here."""
    return [
        shortened(f"{one.number} {one.kind}: {one.text}")
        + ("" if one.cause is None else f" <- {one.cause}")
        for one in fake.timeline
    ]


def shortened(text):
    return re.sub(r"test_timeline\.py:\d+", "here", own_lines(text))


def test_a_chain_is_told_in_order_with_its_causes(fake):
    fake.webhooks.receiver()
    fake.send_text().deliver().read()

    assert snapshot(
        [
            "1 verb: send_text() m1",
            "2 hold: 0.05 m1 <- 1",
            "3 event: sent m1 <- 1",
            "4 attempt: sent m1 -> Receiver(): 200 <- 3",
            "5 verb: deliver() m1",
            "6 release: 0.05 m1 <- 5",
            "7 charge: 0.05 m1 <- 5",
            "8 event: delivered m1 <- 5",
            "9 attempt: delivered m1 -> Receiver(): 200 <- 8",
            "10 verb: read() m1",
            "11 event: read m1 <- 10",
            "12 attempt: read m1 -> Receiver(): 200 <- 11",
        ]
    ) == told(fake)


def test_entries_have_a_moment_and_the_message_that_they_tell_of(fake):
    message = fake.send_text()
    fake.clock.advance(60)
    fake.top_up(1)

    first, *_, last = fake.timeline
    assert (message, None) == (first.message, last.message)
    assert timedelta(minutes=1) == last.at - first.at


def test_the_timeline_is_a_sequence_that_goes_on_growing(fake):
    timeline = fake.timeline
    assert len(timeline) == 0
    fake.send_text()

    assert len(timeline) == 3
    assert repr(timeline) == "<Timeline of 3 entries>"
    assert str(timeline) == timeline.text()


def test_its_entries_have_indexes_and_slices_and_come_in_reverse(fake):
    fake.send_text().deliver()
    fake.send_text()
    timeline = fake.timeline
    entries = list(timeline)

    assert [*range(1, 10)] == [entry.number for entry in entries]
    assert entries == [timeline[index] for index in range(9)]
    assert entries == [timeline[index - 9] for index in range(9)]
    assert tuple(entries[2:-1:3]) == timeline[2:-1:3]
    assert entries[::-1] == list(reversed(timeline))
    for index in (9, -10):
        with pytest.raises(IndexError, match=f"there is no number {index}: there are 9"):
            timeline[index]


def test_the_whole_account_has_verbs_too(fake):
    fake.top_up("2.50")
    fake.set_balance("100")
    fake.set_balance("100")
    fake.rotate_key()

    assert snapshot(
        [
            "1 verb: top_up() +2.50",
            "2 verb: set_balance() -2.50",
            "3 verb: set_balance()",
            "4 verb: rotate_key()",
        ]
    ) == told(fake)


def test_what_falls_due_while_others_move_time_has_no_cause():
    with frozen_fake(drop_after=1) as fake:
        fake.send_text()
        fake.clock.advance(0.5)
        fake._engine.time.forward(fake._engine.time.read() + 2_000_000_000)

        fake.settle()
        assert (
            snapshot(["5 drop: m1 was not delivered in time; no event", "6 release: 0.05 m1 <- 5"])
            == told(fake)[-2:]
        )


def post(fake):
    call_with_werkzeug(fake, "POST", "/v2/messages")


def sends_in_a_route(fake):
    fake.route("/v2/messages")(lambda _: {"id": fake.send_text().id})
    post(fake)
    fake.settle()


def sends_in_a_receiver(fake):
    def handler(_):
        if len(fake.messages) == 1:
            fake.send_text(to="+2")

    fake.webhooks.connect(handler=handler)
    fake.send_text(to="+1")


def fails_and_is_retried(fake):
    fake.webhooks.receiver().respond(503, times=2)
    fake.send_text()
    fake.clock.advance(120)


def is_redelivered(fake):
    fake.webhooks.receiver()
    fake.send_text()
    fake.webhooks.redeliver(fake.events[0])


def comes_back(fake):
    person = fake.recipient("+1").goes_offline()
    fake.send_text(to=person)
    person.comes_online()


def arrives_late(fake):
    fake.webhooks.receiver()
    fake.webhooks.delay(10)
    fake.send_text()
    fake.clock.advance(10)


#: What happens; an entry of the timeline, by kind and text; its cause, by kind and text.
CAUSES = {
    "a made-up event": (
        lambda fake: fake.webhooks.emit(fake.send_text(), "read"),
        "event read m1 [synthetic: here]",
        "verb emit() m1",
    ),
    "another event": (
        lambda fake: (
            fake.webhooks.receiver(events="*"),
            fake.webhooks.emit_event("chat.other", {}),
        ),
        "event chat.other",
        "verb emit_event()",
    ),
    "a first attempt": (
        is_redelivered,
        "attempt sent m1 -> Receiver(): 200",
        "event sent m1",
    ),
    "a redelivery": (
        is_redelivered,
        "attempt sent m1 -> Receiver(): 200 [again: here]",
        "verb redeliver() sent m1",
    ),
    "a retry": (
        fails_and_is_retried,
        "attempt sent m1 -> Receiver(): 503 [retry 1 of 2]",
        "attempt sent m1 -> Receiver(): 503",
    ),
    "a second retry": (
        fails_and_is_retried,
        "attempt sent m1 -> Receiver(): 200 [retry 2 of 2]",
        "attempt sent m1 -> Receiver(): 503 [retry 1 of 2]",
    ),
    "an attempt that is late": (
        arrives_late,
        "attempt sent m1 -> Receiver(): 200 [delayed 10 s: here]",
        "event sent m1 [delayed 10 s: here]",
    ),
    "a request": (
        sends_in_a_route,
        "request POST /v2/messages with the API key ...1234: 200",
        None,
    ),
    "a verb in a route": (
        sends_in_a_route,
        "verb send_text() m1",
        "request POST /v2/messages with the API key ...1234: 200",
    ),
    "a verb in a receiver": (
        sends_in_a_receiver,
        "verb send_text() m2",
        "attempt sent m1 -> handler(): 200",
    ),
    "a move of time": (lambda fake: fake.clock.advance(60), "clock advance() by 1 min", None),
    "a drop": (
        lambda fake: (fake.send_text(), fake.clock.advance(days=30)),
        "drop m1 was not delivered in time; no event",
        "clock advance() by 30 days",
    ),
    "money of a drop": (
        lambda fake: (fake.send_text(), fake.clock.advance(days=30)),
        "release 0.05 m1",
        "drop m1 was not delivered in time; no event",
    ),
    "a verb of a script": (
        lambda fake: (fake.send_text().after(minutes=1).deliver(), fake.clock.advance(60)),
        "verb deliver() m1",
        None,
    ),
    "a verb of an autopilot": (
        lambda fake: (
            fake.autopilot(deliver_after=60),
            fake.send_text(),
            fake.clock.advance(60),
        ),
        "verb deliver() m1",
        None,
    ),
    "what a phone does that is on again": (
        comes_back,
        "event delivered m1",
        "verb comes_online() +1",
    ),
    "what an open chat does": (
        lambda fake: fake.send_text(to=fake.recipient("+1", chat_open=True)),
        "event read m1",
        "verb send_text() m1",
    ),
    "a fault": (
        lambda fake: (fake.webhooks.receiver(), fake.webhooks.drop(), fake.send_text()),
        "fault drop()",
        None,
    ),
}


@pytest.mark.parametrize("kind", CAUSES)
def test_each_kind_of_entry_has_its_cause(kind):
    happens, effect, cause = CAUSES[kind]
    with frozen_fake(api_key="secret-key-1234", retry_after=[60, 60]) as fake:
        happens(fake)
        texts = {entry.number: f"{entry.kind} {shortened(entry.text)}" for entry in fake.timeline}
        found = next(entry for entry in fake.timeline if effect == texts[entry.number])

        assert cause == texts.get(found.cause)


def test_a_fault_stands_at_the_moment_when_it_was_set_up():
    with frozen_fake(drop_after=60) as fake:
        fake.webhooks.receiver()
        fake.send_text()
        fake._engine.time.forward(fake._engine.time.read() + 90 * 10**9)  # as others move time
        fake.webhooks.drop(status="failed")
        fake.api.fail(503)
        post(fake)
        fake.send_text().fail()

        assert [
            (entry.text, (entry.at - NOON).seconds)
            for entry in fake.timeline
            if entry.kind == "fault"
        ] == [("drop(status='failed')", 90), ("api.fail(503)", 90)]


def test_each_fault_marks_what_it_did_with_its_line(fake):
    fake.webhooks.connect(handler=lambda request: None, signer=HmacSigner("secret"))
    fake.webhooks.duplicate(status="sent")
    fake.webhooks.tamper(status="delivered")
    fake.webhooks.sign(HmacSigner("other"), status="delivered")
    fake.webhooks.delay(30, status="read")
    fake.webhooks.drop(status="failed")
    fake.send_text().deliver().read()
    fake.send_text().fail()
    fake.clock.advance(30)

    assert snapshot(
        [
            "10 attempt: sent m1 -> <lambda>(): 200 [duplicate: here] <- 8",
            "15 attempt: delivered m1 -> <lambda>(): 200 [tampered: here] [wrong signature: here] <- 14",
            "17 event: read m1 [delayed 30 s: here] <- 16",
            "23 attempt: failed m2 -> <lambda>(): not attempted [dropped: here] <- 22",
            "25 attempt: read m1 -> <lambda>(): 200 [delayed 30 s: here] <- 17",
        ]
    ) == [line for line in told(fake) if "[" in line]


def test_what_was_emitted_or_attempted_by_hand_is_marked(fake):
    fake.webhooks.receiver()
    message = fake.send_text()
    fake.webhooks.emit(message, "read")
    with fake.webhooks.paused() as queue:
        fake.webhooks.redeliver(fake.events[0])
        message.deliver()
        queue.release()

    assert (
        snapshot(
            [
                "5 verb: emit() m1",
                "6 event: read m1 [synthetic: here] <- 5",
                "7 attempt: read m1 -> Receiver(): 200 <- 6",
                "8 verb: paused()",
                "9 verb: redeliver() sent m1",
                "10 verb: deliver() m1",
                "11 release: 0.05 m1 <- 10",
                "12 charge: 0.05 m1 <- 10",
                "13 event: delivered m1 <- 10",
                "14 verb: release()",
                "15 attempt: sent m1 -> Receiver(): 200 [again: here] [held back: here] <- 9",
                "16 attempt: delivered m1 -> Receiver(): 200 [held back: here] <- 13",
            ]
        )
        == told(fake)[4:]
    )


def test_an_event_of_another_type_is_told_by_its_type_and_number(fake):
    fake.webhooks.receiver(events="*")
    for _ in range(2):
        fake.webhooks.emit_event("chat.inbound_message.received", {"text": "Hi"})

    assert snapshot(
        [
            "1 verb: emit_event()",
            "2 event: chat.inbound_message.received <- 1",
            "3 attempt: chat.inbound_message.received -> Receiver(): 200 <- 2",
            "4 verb: emit_event()",
            "5 event: chat.inbound_message.received #2 <- 4",
            "6 attempt: chat.inbound_message.received #2 -> Receiver(): 200 <- 5",
        ]
    ) == told(fake)


def test_a_fault_that_did_not_fire_says_so(fake):
    fake.webhooks.receiver()
    with fake.webhooks.drop(status="read"):
        fake.send_text()

    assert told(fake)[0] == "1 fault: drop(status='read') [unused]"
    fake.reset()


def test_requests_stand_where_they_were_asked_with_what_faults_did():
    with frozen_fake(api_key="secret-key-1234") as fake:
        client = Client(fake.wsgi_app)
        with fake.api.fail(503):
            client.get("/v2/balance", headers={"X-API-Key": "secret-key-1234"})
        client.get("/v2/balance", headers={"X-API-Key": "wrong-key-5678"})
        client.get("/nowhere", headers={"X-API-Key": "secret-key-1234"})

        assert snapshot(
            [
                "1 fault: api.fail(503)",
                "2 request: GET /v2/balance with the API key ...1234: 503 [api.fail(503): here]",
                "3 request: GET /v2/balance with the API key ...5678 (not this fake's): 401",
                "4 request: GET /nowhere with the API key ...1234: 404 (add it: chat_fake.send_endpoint() or route())",
            ]
        ) == told(fake)


def test_a_request_stands_before_what_its_route_did():
    with frozen_fake(api_key="secret-key-1234") as fake:
        fake.webhooks.receiver()

        @fake.route("/v2/messages")
        def send(_):
            assert fake.timeline[-1].kind == "request"
            with ThreadPoolExecutor(1) as pool:
                pool.submit(fake.send_text, to="+2")
            return {"id": fake.send_text().id}

        call_with_werkzeug(fake, "POST", "/v2/messages")
        fake.settle()

        assert snapshot(
            [
                "1 request: POST /v2/messages with the API key ...1234: 200",
                "2 verb: send_text() m1",
                "3 hold: 0.05 m1 <- 2",
                "4 event: sent m1 <- 2",
                "5 attempt: sent m1 -> Receiver(): 200 <- 4",
                "6 verb: send_text() m2 <- 1",
                "7 hold: 0.05 m2 <- 6",
                "8 event: sent m2 <- 6",
                "9 attempt: sent m2 -> Receiver(): 200 <- 8",
            ]
        ) == told(fake)


def test_another_threads_verb_has_no_cause_though_an_attempt_is_in_flight(fake):
    def handler(_):
        if len(fake.messages) == 1:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(fake.send_text, to="+2")

    fake.webhooks.connect(handler=handler)
    fake.send_text()
    fake.settle()

    assert [one.cause for one in fake.timeline if one.kind == "verb"] == [None, None]


def test_reading_it_performs_nothing():
    with frozen_fake(mode="async") as fake:
        fake.send_text()
        assert len(fake.timeline) == 0
        assert fake._engine.plan
        fake._engine.plan.drop()


# -- text ------------------------------------------------------------------------------------------


def text_of(fake):
    return re.sub(r"(message|conversation) \w{24,}", r"\1 ...", shortened(fake.timeline.text()))


def test_the_text_is_aligned_and_explains_its_labels_once(fake):
    fake.webhooks.receiver().respond(500)
    fake.send_text(price="10.00")
    fake.send_text(to="+2").deliver()
    fake.clock.advance(90)
    fake.send_text(to="+3")

    assert snapshot("""\
available 89.90, held 10.05, charged 0.05 USD; times are from 2026-01-01T12:00:00.000Z
   1  +0:00.000  verb     send_text() m1  at here
   2             hold     10.00 m1
   3             event    sent m1
   4             attempt  sent m1 -> Receiver(): 500
   5             verb     send_text() m2  at here
   6             hold      0.05 m2
   7             event    sent m2
   8             attempt  sent m2 -> Receiver(): 200
   9             verb     deliver() m2  at here
  10             release   0.05 m2
  11             charge    0.05 m2
  12             event    delivered m2
  13             attempt  delivered m2 -> Receiver(): 200
  14             clock    advance() by 1 min 30 s  at here
  15  +1:30.000  verb     send_text() m3  at here
  16             hold      0.05 m3
  17             event    sent m3
  18             attempt  sent m3 -> Receiver(): 200
  m1 = message ... to +15550100, sent
  m2 = message ... to +2, delivered
  m3 = message ... to +3, sent\
""") == text_of(fake)


def test_nothing_happened(fake):
    assert fake.timeline.text() == "nothing happened"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b'{"detail":\n [{"loc": ["totalPrice"]}]}', '422 {"detail": [{"loc": ["totalPrice"]}]}'),
        ("ü".encode() * 200, "422 " + "ü" * 200),
        ("你".encode() * 201, "422 " + "你" * 197 + "..."),
        (b"\x1b[31mred\xff", "422 [31mred\N{REPLACEMENT CHARACTER}"),
        (b"", "422"),
    ],
)
def test_an_attempt_that_failed_shows_the_beginning_of_the_answer(fake, body, shown):
    fake.webhooks.connect(handler=lambda request: (422, body))
    fake.send_text()

    assert f"sent m1 -> <lambda>(): {shown}" == fake.timeline[-1].text
    assert fake.webhooks.attempts[0].status_code == 422


def test_texts_hide_keys_secrets_and_parts_of_urls_and_attributes_do_not():
    key = "key_0123456789abcdef"
    with frozen_fake(api_key=key) as fake:
        fake.webhooks.connect(
            "http://127.0.0.1:1/hook?token=top-secret&x=1", headers={"X-Token": "hush-hush-hush"}
        )
        body = f"{key} hush-hush-hush postgres://bob:pw@db/x?password=pw&a=b"
        fake.webhooks.connect(handler=lambda request: (422, body))
        fake.send_text()
        text = fake.timeline.text() + fake.timeline.svg()

        for secret in (key, "top-secret", "hush-hush-hush", "bob", "=pw", "=b"):
            assert secret not in text
        for shown in ("...cdef", "...hush", "postgres://...@db/x?...", "/hook?..."):
            assert shown in text
        first, second = fake.webhooks.attempts
        assert first.endpoint.name == "http://127.0.0.1:1/hook?token=top-secret&x=1"
        assert "top-secret" not in repr(first.endpoint)
        assert key.encode() in second.body


# -- pictures --------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


class Picture:
    """A picture, read: its rows, and the lanes between which each of them goes."""

    def __init__(self, svg):
        self.root = ET.fromstring(svg)
        self.rows = self.root.findall(f"{SVG}g")
        heads = [one for one in self.root.findall(f"{SVG}text") if "head" in one.get("class", "")]
        self.heads = [one.text for one in heads]
        self._lanes = {one.get("x"): one.text for one in heads if "lane" in one.get("class", "")}

    def texts(self):
        return [" ".join("".join(row.itertext()).split()) for row in self.rows]

    def tones(self):
        return {at: tone for at, row in enumerate(self.rows, 1) if (tone := row.get("class"))}

    def arrows(self):
        """By the number of a row: from which lane its arrow goes, and to which x, or lane."""
        found = {}
        for at, row in enumerate(self.rows, 1):
            for path in row.findall(f"{SVG}path[@class='go']"):
                begin, tip, step = re.match(r"M(\d+) 11H(\d+)m(-?\d+)-4l", path.get("d")).groups()
                end = tip if row.get("class") == "" else str(int(tip) - int(step))
                found[at] = f"{self._lanes[begin]} -> {self._lanes.get(end, end)}"
        return found

    def links(self):
        return {row.get("data-number"): row.get("data-cause") for row in self.rows}


def test_the_picture_has_the_lines_of_the_folded_text_and_says_what_it_is(fake):
    fake.webhooks.connect(handler=lambda request: (422, "<b> & co " * 9))
    fake.webhooks.duplicate(status="delivered")
    fake.send_text("<script>").deliver()
    assert not any(attempt.ok for attempt in fake.webhooks.attempts)
    picture = Picture(fake.timeline.svg())
    head, *lines, legend = [" ".join(line.split()) for line in str(fake.timeline).splitlines()]

    assert picture.root.get("aria-label") == "chat_fake timeline: 11 entries"
    texts = [one.text for one in picture.root.findall(f"{SVG}text")]
    assert [head, legend] == [texts[0], texts[-1].strip()]
    assert lines == picture.texts()
    assert (picture.heads) == [
        "test",
        "chat_fake",
        "<lambda>()",
        "phone",
        "available",
        "held",
        "charged",
    ]
    assert picture.tones() == {5: "bad", 10: "bad", 11: "bad"}
    assert [len(row.findall(f"{SVG}text")) for row in picture.rows[8:10]] == [1, 2]


def test_a_picture_shows_if_an_event_reached_the_app_whatever_it_responds(fake):
    fake.webhooks.connect(handler=lambda request: (500, "payment not attempted"))
    fake.webhooks.drop(status="delivered")
    fake.send_text().deliver()
    assert not any(attempt.ok for attempt in fake.webhooks.attempts)
    arrows = Picture(fake.timeline.svg()).arrows()

    assert arrows[5] == "chat_fake -> <lambda>()"
    assert re.fullmatch(r"chat_fake -> \d+", arrows[10])


def test_an_apps_call_begins_in_its_lane_and_a_persons_deed_in_the_phones(fake):
    def shop(request):
        if request.event.status == "read":
            fake.top_up(1)

    fake.send_endpoint("/v2/messages")
    fake.webhooks.connect(handler=shop, events="*")
    send_call(fake)
    fake.messages[0].deliver().read()
    fake.send_text(to="+2").fail()
    fake.recipient("+1").blocks().unblocks().writes("Hi")
    fake.clock.advance(1)
    picture = Picture(fake.timeline.svg())
    texts, arrows = picture.texts(), picture.arrows()

    begins = {
        "shop()": ["POST /v2/messages", "the send call m1", "top_up() +1"],
        "phone": ["deliver() m1", "read() m1", "verb blocks()", "unblocks()", "writes()"],
        "test": ["send_text() m2", "fail() m2", "advance()"],
    }
    assert begins == {
        lane: [
            what
            for what in verbs
            for at, arrow in arrows.items()
            if what in texts[at - 1] and arrow == f"{lane} -> chat_fake"
        ]
        for lane, verbs in begins.items()
    }


@pytest.mark.parametrize(("apps", "lane"), [(0, "app"), (1, "<lambda>()"), (2, "app")])
def test_a_request_begins_in_the_lane_of_the_one_app_or_in_one_of_its_own(fake, apps, lane):
    fake.webhooks.receiver()
    for _ in range(apps):
        fake.webhooks.connect(handler=lambda request: 204)
    call_with_werkzeug(fake)
    fake.send_text()

    assert f"{lane} -> chat_fake" == Picture(fake.timeline.svg()).arrows()[1]


def test_a_row_has_its_number_and_that_of_the_nearest_cause_that_is_shown(fake):
    for _ in range(2):
        fake.top_up(1)
    fake.webhooks.drop(status="sent", start=3)
    fake.webhooks.receiver()
    for number in range(200):
        fake.send_text(to=f"+{number}")
    links = Picture(fake.timeline.svg()).links()

    assert (links["6"], links["7"], links["4"]) == ("4", "6", None)
    assert "14" not in links  # the event between the send call 12 and the drop
    assert links["15"] == "12"
    rows = {int(number) for number in links if number}
    nearest = {
        entry.number: next((cause for cause in causes(fake, entry) if cause in rows), None)
        for entry in fake.timeline
        if entry.number in rows
    }
    assert {str(number): cause and str(cause) for number, cause in nearest.items()} == {
        number: cause for number, cause in links.items() if number
    }


def causes(fake, entry):
    while entry.cause is not None:
        yield entry.cause
        entry = fake.timeline[entry.cause - 1]


def test_a_long_picture_has_the_rows_of_the_folded_text(fake):
    for number in range(100):
        fake.send_text(to=f"+{number}")

    assert "... the same 99 times more: 4 to 300 ..." in fake.timeline.svg()
