"""The timeline: what happened, in order, causes before effects; as data, as text, as pictures."""

import re
from datetime import timedelta
from decimal import Context, Inexact, localcontext
from xml.etree import ElementTree as ET

import pytest
from inline_snapshot import snapshot

from pytest_chatfake import IllegalTransition

from .api_clients import call_with_werkzeug, send_call
from .fakes import NOON, frozen_fake, in_another_thread, own_lines, section


def told(fake):
    """The entries: number, kind, text and cause; a line of this file is here."""
    return [
        shortened(f"{one.number} {one.kind}: {one.text}")
        + ("" if one.cause is None else f" <- {one.cause}")
        for one in fake.timeline
    ]


def shortened(text):
    return re.sub(r"\w+\.py:\d+", "here", own_lines(text))


def move_time_as_others_do(fake, seconds):
    fake._engine.time.forward(fake._engine.time.read() + seconds * 10**9)


def test_everything_has_its_cause():
    with frozen_fake(api_key="secret-key-1234", retry_after=[60, 60]) as fake:

        def shop(request):
            if len(fake.messages) > 1:
                return 200
            if request.number < 3:
                return 503
            fake.send_text(to="+by the receiver")
            in_another_thread(lambda: fake.top_up(1))
            return 200

        fake.webhooks.connect(handler=shop, events="*")
        fake.webhooks.delay(10, status="delivered")
        fake.send_text().after(minutes=3).deliver()
        fake.clock.advance(120)
        move_time_as_others_do(fake, 90)
        fake.settle()
        fake.webhooks.redeliver(fake.events[0])
        fake.webhooks.emit_event("chat.other", {})
        fake.webhooks.disconnect()
        fake.webhooks.emit(fake.messages[0], "read")
        fake.route("/v2/messages")(lambda _: {"id": fake.send_text(to="+by a route").id})
        call_with_werkzeug(fake, "POST", "/v2/messages")
        person = fake.recipient("+1", chat_open=True).goes_offline()
        fake.autopilot(deliver_after=5, read_after=0)
        fake.send_text(to=person)
        person.comes_online()
        fake.clock.advance(days=29, hours=23, minutes=59)
        move_time_as_others_do(fake, 60)
        fake.settle()

        assert told(fake) == snapshot(
            [
                "1 fault: delay(10, status='delivered')",
                "2 verb: send_text() m1",
                "3 hold: 0.05 m1 <- 2",
                "4 event: sent m1 <- 2",
                "5 attempt: sent m1 -> shop(): 503 <- 4",
                "6 clock: advance() by 2 min",
                "7 attempt: sent m1 -> shop(): 503 [retry 1 of 2] <- 5",
                "8 attempt: sent m1 -> shop(): 200 [retry 2 of 2] <- 7",
                "9 verb: send_text() m2 <- 8",
                "10 hold: 0.05 m2 <- 9",
                "11 event: sent m2 <- 9",
                "12 verb: top_up() +1",
                "13 attempt: sent m2 -> shop(): 200 <- 11",
                "14 verb: deliver() m1",
                "15 release: 0.05 m1 <- 14",
                "16 charge: 0.05 m1 <- 14",
                "17 event: delivered m1 [delayed 10 s: here] <- 14",
                "18 verb: redeliver() sent m1",
                "19 attempt: sent m1 -> shop(): 200 [again: here] <- 18",
                "20 verb: emit_event()",
                "21 event: chat.other <- 20",
                "22 attempt: chat.other -> shop(): 200 <- 21",
                "23 verb: emit() m1",
                "24 event: read m1 [synthetic: here] <- 23",
                "25 request: POST /v2/messages with the API key ...1234: 200",
                "26 verb: send_text() m3 <- 25",
                "27 hold: 0.05 m3 <- 26",
                "28 event: sent m3 <- 26",
                "29 verb: recipient('+1', chat_open=True)",
                "30 verb: goes_offline() +1",
                "31 verb: send_text() m4",
                "32 hold: 0.05 m4 <- 31",
                "33 event: sent m4 <- 31",
                "34 verb: comes_online() +1",
                "35 release: 0.05 m4 <- 34",
                "36 charge: 0.05 m4 <- 34",
                "37 event: delivered m4 <- 34",
                "38 verb: read() m4",
                "39 event: read m4 <- 38",
                "40 clock: advance() by 29 days 23 h 59 min",
                "41 drop: m2 was not delivered in time; no event <- 40",
                "42 release: 0.05 m2 <- 41",
                "43 drop: m3 was not delivered in time; no event",
                "44 release: 0.05 m3 <- 43",
            ]
        )


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


def test_a_timeline_s_entries_have_indexes_and_slices(fake):
    fake.send_text().deliver()
    timeline = fake.timeline
    entries = list(timeline)

    assert [entry.number for entry in entries] == [*range(1, 8)]
    assert [timeline[0], timeline[-1], *timeline[2:-1:3]] == [entries[n] for n in (0, 6, 2, 5)]
    with pytest.raises(IndexError, match="there is no item 7: there are 7"):
        timeline[7]


def test_what_is_explained_again_has_what_happened_since(fake):
    message = fake.send_text()
    assert "delivered m1" not in fake.explain(message)
    message.deliver()

    assert "delivered m1" in fake.explain(message)


def test_a_fault_stands_at_the_moment_when_it_was_set_up():
    with frozen_fake(drop_after=60) as fake:
        fake.webhooks.receiver()
        fake.send_text()
        move_time_as_others_do(fake, 90)
        fake.webhooks.lose(status="failed")
        fake.api.fail(503)
        call_with_werkzeug(fake)
        fake.send_text().fail()

        assert [
            (entry.text, (entry.at - NOON).seconds)
            for entry in fake.timeline
            if entry.kind == "fault"
        ] == [("lose(status='failed')", 90), ("api.fail(503)", 90)]


def test_reading_the_timeline_performs_nothing():
    with frozen_fake(mode="async") as fake:
        fake.send_text()
        assert len(fake.timeline) == 0
        assert fake._engine.plan
        fake._engine.plan.drop()


# -- text ------------------------------------------------------------------------------------------


def test_a_timeline_without_entries_says_that_nothing_happened(fake):
    assert fake.timeline.text() == "nothing happened"


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

    def lines(self):
        """Of each row: its tone, from which lane its arrow goes to which x, or lane, and its text."""
        for row in self.rows:
            words = [row.get("class"), *self._arrows(row), *"".join(row.itertext()).split()]
            yield shortened(" ".join(filter(None, words)))

    def _arrows(self, row):
        for path in row.findall(f"{SVG}path[@class='go']"):
            begin, tip, step = re.match(r"M(\d+) 11H(\d+)m(-?\d+)-4l", path.get("d")).groups()
            end = tip if row.get("class") == "" else str(int(tip) - int(step))
            yield f"{self._lanes[begin]} -> {self._lanes.get(end, end)}:"

    def links(self):
        return {row.get("data-number"): row.get("data-cause") for row in self.rows}


def test_a_picture_shows_who_did_what_to_whom(fake):
    def shop(request):
        if request.event.status == "read":
            fake.top_up(1)
        return (422, "<b> & not attempted") if request.event.status == "delivered" else 200

    fake.send_endpoint("/v2/messages")
    fake.webhooks.connect(handler=shop, events="*")
    fake.webhooks.duplicate(status="delivered")
    fake.webhooks.lose(status="failed")
    send_call(fake)
    fake.messages[0].deliver().read()
    fake.send_text(to="+2").fail()
    fake.recipient("+1").blocks().unblocks().writes("Hi")
    fake.clock.advance(1)
    list(fake.webhooks.attempts)  # they are seen
    picture = Picture(fake.timeline.svg())
    head, *_, legend = [" ".join(line.split()) for line in str(fake.timeline).splitlines()]

    assert picture.root.get("aria-label") == snapshot("chat_fake timeline: 31 entries")
    assert picture.heads == snapshot(
        ["test", "chat_fake", "shop()", "phone", "available", "held", "charged"]
    )
    assert [*picture.lines()] == snapshot(
        [
            "test -> chat_fake: 1 +0:00.000 fault duplicate(status='delivered') at here",
            "test -> chat_fake: 2 fault lose(status='failed') at here",
            "shop() -> chat_fake: 3 request POST /v2/messages with the API key ...ac2f: 200",
            "shop() -> chat_fake: 4 verb the send call m1 at here",
            "5 hold 0.05 m1",
            "6 event sent m1",
            "phone -> chat_fake: 7 verb deliver() m1 at here",
            "8 release 0.05 m1",
            "9 charge 0.05 m1",
            "10 event delivered m1",
            "chat_fake -> shop(): 11 attempt sent m1 -> shop(): 200",
            "bad chat_fake -> shop(): 12 attempt delivered m1 -> shop(): 422 <b> & not attempted",
            "bad chat_fake -> shop(): 13 attempt delivered m1 -> shop(): 422 <b> & not attempted [duplicate: here]",
            "phone -> chat_fake: 14 verb read() m1 at here",
            "15 event read m1",
            "chat_fake -> shop(): 16 attempt read m1 -> shop(): 200",
            "shop() -> chat_fake: 17 verb top_up() +1 at here",
            "test -> chat_fake: 18 verb send_text() m2 at here",
            "19 hold 0.05 m2",
            "20 event sent m2",
            "chat_fake -> shop(): 21 attempt sent m2 -> shop(): 200",
            "test -> chat_fake: 22 verb fail() m2 at here",
            "23 release 0.05 m2",
            "24 event failed m2",
            "odd chat_fake -> 736: 25 attempt failed m2 -> shop(): not posted [lost: here]",
            "phone -> chat_fake: 26 verb blocks() +1 at here",
            "phone -> chat_fake: 27 verb unblocks() +1 at here",
            "phone -> chat_fake: 28 verb writes() +1 at here",
            "29 event chat.inbound_message.received",
            "chat_fake -> shop(): 30 attempt chat.inbound_message.received -> shop(): 200",
            "test -> chat_fake: 31 clock advance() by 1 s at here",
        ]
    )
    texts = [one.text.strip() for one in picture.root.findall(f"{SVG}text")]
    assert [texts[0], texts[-1]] == [head, legend]


@pytest.mark.parametrize(
    ("kind", "arrives"),
    [("lose", False), ("refuse", False), ("disable_after", False), ("lose_response", True)],
)
def test_an_arrow_ends_halfway_if_the_app_did_not_get_the_event(fake, kind, arrives):
    def shop(request):
        return 500 if kind == "disable_after" else 200

    fake.webhooks.connect(handler=shop, disable_after=1)
    if kind != "disable_after":
        getattr(fake.webhooks, kind)(start=2)
    fake.send_text().deliver()

    assert fake.webhooks.attempts[-1].fault == kind
    *_, last = Picture(fake.timeline.svg()).lines()
    assert ("chat_fake -> shop():" in last) == arrives


@pytest.mark.parametrize(("apps", "lane"), [(0, "app"), (1, "<lambda>()"), (2, "app")])
def test_a_request_begins_in_the_lane_of_the_one_app_or_in_one_of_its_own(fake, apps, lane):
    fake.webhooks.receiver()
    for _ in range(apps):
        fake.webhooks.connect(handler=lambda request: 204)
    call_with_werkzeug(fake)
    fake.send_text()

    first, *_ = Picture(fake.timeline.svg()).lines()
    assert first.startswith(f"{lane} -> chat_fake: ")


def test_a_row_has_its_number_and_that_of_the_nearest_cause_that_is_shown(fake):
    for _ in range(2):
        fake.top_up(1)
    fake.webhooks.lose(status="sent", start=3)
    fake.webhooks.receiver()
    for number in range(200):
        fake.send_text(to=f"+{number}")
    links = Picture(fake.timeline.svg()).links()

    assert "14" not in links  # the event between the send call 12 and the loss
    assert (links["12"], links["15"]) == (None, "12")


def test_a_long_picture_has_the_rows_of_the_folded_text(fake):
    for number in range(100):
        fake.send_text(to=f"+{number}")

    assert "... the same 99 times more: #4 to #300 ..." in fake.timeline.svg()


@pytest.mark.parametrize(
    "expect",
    [
        lambda fake, message: fake.assert_statuses(message, "read"),
        lambda fake, message: fake.assert_charged(1, message=message),
    ],
    ids=["statuses", "charged"],
)
def test_the_message_that_a_failed_assertion_is_about_is_not_folded(fake, expect):
    for number in range(100):
        fake.send_text(to=f"+{number}")
    with pytest.raises(AssertionError):
        expect(fake, fake.messages[50])

    assert "send_text() m51 " in section(fake)


def test_to_fail_again_about_a_message_shows_no_less_of_it(fake):
    message = fake.send_text(to="+0")
    for number in range(100):
        fake.send_text(to=f"+{number}")
    message.deliver(devices=20)

    def shown():
        with pytest.raises(AssertionError):
            fake.assert_charged(1, message=message)
        return fake.timeline.svg().count("m1 ")

    assert shown() == shown() == shown()


def test_top_ups_of_different_amounts_are_not_the_same(fake):
    for number in range(1, 100):
        fake.top_up(number)

    assert "the same" not in section(fake)


def test_amounts_are_exact_in_any_decimal_context_of_the_test(fake):
    for price in ("1.111111", "2.2222222"):
        fake.send_text(price=price)
    with localcontext(Context(prec=3, traps=[Inexact])):
        with pytest.raises(AssertionError, match=r"3\.3333332 is held for m1 and m2"):
            fake.assert_held(0)
        assert "3.3333332" in fake.timeline.svg()


def test_an_error_that_is_not_raised_yet_is_named_with_the_test_s_line(fake):
    message = fake.send_text().read()
    fake.route("/x")(lambda _: message.fail())
    call_with_werkzeug(fake, "POST", "/x")

    (line,) = [line for line in section(fake).splitlines() if "not raised in the test yet" in line]
    assert line.startswith("  not raised in the test yet: IllegalTransition: can't fail message ")
    assert " at test_timeline.py:" in line
    with pytest.raises(IllegalTransition):
        fake.settle()


def test_a_clock_move_names_the_duplicate_that_it_is_for_even_if_lost(fake):
    fake.webhooks.connect(handler=lambda _: None)
    fake.webhooks.lose()
    fake.webhooks.duplicate(pause=60)
    fake.send_text()
    fake.settle()

    assert "clock    duplicate(pause=60) by 1 min" in str(fake.timeline)


def test_a_retry_that_a_fault_has_caused_is_none_of_the_endpoint_s(fake):
    fake.webhooks.connect(handler=lambda _: 503, retry_after=[10, 60])
    fake.webhooks.refuse()
    fake.send_text()
    fake.clock.advance(10)

    assert re.findall(r"\[retry .*?\]", str(fake.timeline)) == ["[retry 1]", "[retry 2]"]
