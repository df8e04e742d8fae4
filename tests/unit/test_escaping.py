"""Characters that a terminal would obey, and no page may contain, are written out."""

import xml.etree.ElementTree as ET

import pytest

from pytest_chatfake.base import terminal
from pytest_chatfake.base.escaping import escape, one_line, printable

from .api_clients import call_with_werkzeug


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Grüße, \U0001f600\tand\nmore", "Grüße, \U0001f600\tand\nmore"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x00\x07\x0b\x0c\r\x7f\x85", r"\x00\x07\x0b\x0c\r\x7f\x85"),
        ("\u202epay\u2066\u200f\u061c", r"\u202epay\u2066\u200f\u061c"),
        ("\ud800 \ufdd0 \uffff", r"\ud800 \ufdd0 \uffff"),
        ("\U0001ffff\U0010fffe", r"\U0001ffff\U0010fffe"),
    ],
)
def test_what_is_no_character_for_people_is_written_out(text, shown):
    assert shown == printable(text)


def test_what_is_said_past_pytest_s_capture_is_written_out(monkeypatch, tmp_path):
    with (tmp_path / "terminal").open("w+b", buffering=0) as file:
        monkeypatch.setattr(terminal, "_descriptor", file.fileno())
        terminal.say("\x1b[31m\ud800")
        file.seek(0)

        assert file.read() == b"\nchat_fake: \\x1b[31m\\ud800\n"


def test_what_a_test_holds_tells_the_essentials_in_one_line(fake):
    address = "+1\n\x1b2"
    fake.webhooks.receiver(events="*")
    message = fake.send_text(to=address)
    message.after(60).deliver()
    fake.webhooks.emit_event("odd\ntype")
    shown = [
        message,
        message.conversation,
        fake.submit_text(to=address),
        fake.recipient(address),
        fake.autopilot(to=address),
        *fake.events,
        *fake.webhooks.attempts,
        *fake.clock.agenda,
        *fake.timeline,
    ]

    assert len(shown) > 15
    assert [repr(one) for one in shown if repr(one) != one_line(repr(one))] == []
    assert r"+1\n\x1b2: sent" in repr(message)


def test_a_line_stays_one_and_markup_is_none():
    assert one_line("a\nb") == r"a\nb"
    assert escape("<b>\x00&") == r"&lt;b&gt;\x00&amp;"


def test_the_timeline_has_one_line_for_each_happening_whatever_its_text(fake):
    fake.webhooks.receiver(events="*")
    fake.send_text("\x1b[31m", to="+1\n\x1b[2J")
    call_with_werkzeug(fake, path="/a%0Ab%1B%00")
    fake.webhooks.emit_event("odd\x01\n")
    text, picture = str(fake.timeline), fake.timeline.svg()

    assert text == printable(text)
    # A line for each, after the head, and before what m1 stands for.
    assert 1 + len(fake.timeline) + 1 == len(text.splitlines())
    assert r"to +1\n\x1b[2J, sent" in text
    assert r"GET /a\nb\x1b\x00 with the API key" in text
    ET.fromstring(picture)
