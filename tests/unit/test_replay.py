"""Recorded events, read from files and attempted again."""

import asyncio
import bz2
import gzip
import json
import lzma
import tracemalloc
from collections import Counter
from decimal import Decimal

import pytest

from pytest_chatfake import ClosedError, Naming
from pytest_chatfake.wire import recordings
from pytest_chatfake.wire.recordings import read_recording

from .fakes import frozen_fake, section

TYPE = "chat.message.updated"


def event(number, at="2026-03-01T09:00:00.000Z", **more):
    time = {} if at is None else {"createTime": at}
    return json.dumps({"id": f"evt_{number}", "type": TYPE, **time, **more})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "incident.jsonl"


def written(path, *lines):
    path.write_text("\n".join(lines), "utf-8")
    return path


# -- reading ---------------------------------------------------------------------------------------


ODD = '{ "id":"evt_1",  "type" : "t", "price": 0.10 }'
#: Escapes, white space and a way to write numbers that JSON written by Python does not have.
WRITTEN_ODDLY = '{ "b":\t1E5, "a" : "\\u0041ü\\/", "c":[0.10, 1e400, 0e999999999], "d": -9.9E+400}'
#: The same as part of an object: the order of fields and the digits stay.
PART = '{"b": 12345678901234567890.10, "a" : "\\u0041ü\\/"}'
WRITTEN_ANEW = '{"b":12345678901234567890.10,"a":"A\\u00fc/"}'

NO_UTF_8 = (
    "expected text that UTF-8 can encode, got a lone surrogate at index 0. "
    "Was it decoded with errors='surrogateescape'?"
)
UTF_16 = "expected UTF-8 text, got UTF-16; convert it"

#: Files, and what is read from where in them: a body, or a problem.
READ = [
    # whole bodies, byte for byte: on lines, in one object, in a list, as a text
    (f"\n  {ODD}\r\n\n{WRITTEN_ODDLY}", [f":2 {ODD}", f":4 {WRITTEN_ODDLY}"]),
    ("\ufeff" + ODD, [f":1 {ODD}"]),
    ('{\n "a": 0.10\n}\n', [':1 {\n "a": 0.10\n}']),
    (f"[{WRITTEN_ODDLY},\n\n {ODD} ]", [f", number 1 {WRITTEN_ODDLY}", f", number 2 {ODD}"]),
    ('\n[\n{"a": "👋"},\n{"a": 2}\n]\n ', [', number 1 {"a": "👋"}', ', number 2 {"a": 2}']),
    (f'{{"body" :{json.dumps(WRITTEN_ODDLY)}}}', [f":1 {WRITTEN_ODDLY}"]),
    (f'[{{"body" :{json.dumps(WRITTEN_ODDLY)}\n}}]', [f", number 1 {WRITTEN_ODDLY}"]),
    # parts, written anew
    (f'{{"body" :{PART} , "at": "2026-03-01T09:00:00Z"\n}}', [f":1 {WRITTEN_ANEW}"]),
    (f'[{{"body" :{PART}}}]', [f", number 1 {WRITTEN_ANEW}"]),
    # no events
    ("", [" no events"]),
    ("\n \n", [" no events"]),
    ("[ ]", [" no events"]),
    # no JSON: it hides no other line, but ends a list
    ("nothing of JSON", [":1 not JSON (Expecting value at column 1)"]),
    ('nothing\n{"a": 1', [":1 not JSON (Expecting value at column 1)"]),
    ('{\n "a": x\n}', [":2 not JSON (Expecting value at column 7)"]),
    ('{"a": 1}\n{"a": ', [':1 {"a": 1}', ":2 not JSON (Expecting value at column 7)"]),
    ('{"a": "b', [":1 not JSON (Unterminated string starting at column 7)"]),
    ('{"a": 1}\n{"a": NaN}\n{}', [':1 {"a": 1}', ":2 not JSON (it has no NaN)", ":3 {}"]),
    ('{"a": 1,\n "b": NaN}', [":1 not JSON (it has no NaN)"]),
    ('{"a": 1e401}', [":1 the number 1e401 is out of range"]),
    ('{"a": -1.5e-401}', [":1 the number -1.5e-401 is out of range"]),
    ('{"a": 1} {"a": 2}', [":1 not JSON (Extra data at column 10)"]),
    (
        '{"a": 1,\n{"a": 2}\n{"a"',
        [
            ":2 not JSON (Expecting property name enclosed in double quotes at column 1)",
            ':2 {"a": 2}',
            ":3 not JSON (Expecting ':' delimiter at column 5)",
        ],
    ),
    (
        '{"a": "cut off\n{"a": 2}',
        [":1 not JSON (Invalid control character at column 15)", ':2 {"a": 2}'],
    ),
    (
        '[{"a": 1},\n {"a": 2}\n {"a": 3}]',
        [
            ', number 1 {"a": 1}',
            ', number 2 {"a": 2}',
            ":3 not JSON (Expecting ',' delimiter at column 2)",
        ],
    ),
    (
        '[{"a": 1}]\n[{"a": 2}]',
        [', number 1 {"a": 1}', ":2 not JSON (Extra data at column 1)"],
    ),
    ('[{"a": 1},]', [', number 1 {"a": 1}', ":1 not JSON (Expecting value at column 11)"]),
    (
        '[{"a": 1},\n tru]',
        [', number 1 {"a": 1}', ":2 not JSON (Expecting value at column 2)"],
    ),
    ('[{"a": 1}] x', [', number 1 {"a": 1}', ":1 not JSON (Extra data at column 12)"]),
    ("[" * 100_000, [":1 nested too deeply"]),
    # no objects
    ('{"a": 1}\n[1]', [':1 {"a": 1}', ":2 expected an object, got [1]"]),
    (
        '[{"a": 1},\n[1],171717]',
        [
            ', number 1 {"a": 1}',
            ", number 2 expected an object, got [1]",
            ", number 3 expected an object, got 171717",
        ],
    ),
    ('{"body": [1]}', [":1 body: expected an object, got [1]"]),
    (
        '{"body": "{\\"a"}',
        [":1 body: not JSON (Unterminated string starting at column 2)"],
    ),
    ('{"body": "\\ud800"}', [f":1 body: {NO_UTF_8}"]),
    ('{"at": 7, "body": {}}', [":1 at: expected an aware datetime or an ISO 8601 string, got 7"]),
    # no text
    (b"\x89PNG", [":1 not UTF-8 at column 1"]),
    (b"\xc3", [":1 not UTF-8 at column 1"]),
    (b'{}\n{"a": "\xff"}\n{}', [":1 {}", ":2 not UTF-8 at byte 7", ":3 {}"]),
    (b'{\n "a": "\xff"}', [":1 not UTF-8 at byte 9"]),
    (
        b'[{"a": "\xc3\xa9"}, {"a": "\xff"}]',
        [', number 1 {"a": "é"}', ", number 2 not UTF-8 at byte 7"],
    ),
    (b'{"body": "{\xff}"}', [":1 not UTF-8 at byte 11"]),
    (gzip.compress(b"{}", mtime=0), [" expected UTF-8 text, got gzip; decompress it"]),
    (bz2.compress(b"{}"), [" expected UTF-8 text, got bzip2; decompress it"]),
    (lzma.compress(b"{}"), [" expected UTF-8 text, got xz; decompress it"]),
    ("{}".encode("utf-16"), [f" {UTF_16}"]),
    ("{}".encode("utf-16-le"), [f" {UTF_16}"]),
    ("[{}]".encode("utf-16-le"), [f" {UTF_16}"]),
    ("{}".encode("utf-16-be"), [f" {UTF_16}"]),
]


@pytest.mark.parametrize(("content", "expected"), READ, ids=range(len(READ)))
def test_a_recording_is_read_in_any_pieces_with_its_problems(path, content, expected, monkeypatch):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for length in (4, 5, 7, 11, 29, recordings._PIECE)[-6 if len(content) < 1_000 else -1 :]:
        monkeypatch.setattr(recordings, "_PIECE", length)
        found = [f"{one.where} {one.problem or one.body.decode()}" for one in read_recording(path)]
        assert found == [f"{path}{text}" for text in expected]


def test_fractions_are_decimals(path):
    (only,) = read_recording(written(path, ODD))

    assert only.json == {"id": "evt_1", "type": "t", "price": Decimal("0.10")}
    assert str(only.json["price"]) == "0.10"


START = 1_772_355_600 * 10**9


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"at": "2026-03-01T09:00:00Z", "body": event(1, "2026-03-01T08:00:00Z")}, START),
        ({"at": "2026-03-01T10:00:01+01:00", "body": json.loads(event(2))}, START + 10**9),
        ({"body": event(3, "2026-03-01T09:00:02.500Z")}, START + 2_500_000_000),
        (json.loads(event(4)), START),
        *(({"createTime": at}, None) for at in ("soon", "2026-03-01T09:00:00", 7, None, [])),
    ],
)
def test_an_entry_or_its_body_may_say_when_it_came(path, entry, expected):
    (only,) = read_recording(written(path, json.dumps(entry)))

    assert (only.problem, only.at) == ("", expected)


PRETTY = json.dumps(json.loads(event(2)), indent=2)


@pytest.mark.parametrize(
    ("text", "usable", "problems"),
    [
        ("\n".join([event(1), "no JSON", *[event(2)] * 2_000]), 2_001, 1),
        ("\n".join([event(1), *[PRETTY] * 2_000]), 2_001, 0),
        (f"[{', '.join([event(2)] * 2_001)}]", 2_001, 0),
        (f"[\n{(',' + chr(10)).join([PRETTY] * 2_001)}\n]\n", 2_001, 0),
        ("{'a': 1}\n" * 100_000, 0, 1),
    ],
    ids=["lines", "objects", "a list on one line", "a list", "no event, so only one problem"],
)
def test_entries_are_read_one_at_a_time(path, text, usable, problems):
    written(path, text)

    tracemalloc.start()
    found = Counter(entry.problem == "" for entry in read_recording(path))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found[True], found[False]) == (usable, problems)
    assert most < 300_000


# -- attempting ------------------------------------------------------------------------------------


DAY = ["2026-03-01T09:00:00.000Z", "2026-03-01T09:00:07.500Z", "2026-03-02T09:00:00.000Z"]
#: The third was overtaken.
OVERTAKEN = [None, "2026-03-01T09:00:10Z", "2026-03-01T09:00:04Z", None, "2026-03-01T09:00:15Z"]


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(
    ("moments", "options", "seconds"),
    [
        (DAY, {}, [0, 7.5, 86_400]),
        (DAY, {"timing": "at once"}, [0, 0, 0]),
        (OVERTAKEN, {}, [0, 0, 0, 0, 5]),
    ],
    ids=["at their distances", "at once", "overtaken, or without a moment"],
)
def test_recorded_events_come_byte_for_byte_in_time(path, mode, moments, options, seconds):
    async def replay():
        await fake.webhooks.replay(path, **options)

    written(path, *(event(number, at) for number, at in enumerate(moments)))
    with frozen_fake(mode=mode) as fake:
        receiver = fake.webhooks.receiver()
        start = fake.clock.now
        if mode == "async":
            asyncio.run(replay())
        else:
            fake.webhooks.replay(str(path), **options)

        assert [one.body for one in receiver.requests] == path.read_bytes().splitlines()
        assert [one.id for one in receiver.events] == [f"evt_{n}" for n in range(len(moments))]
        found = [(one.at - start).total_seconds() for one in fake.webhooks.attempts]
        assert found == seconds
        assert (fake.clock.now - start).total_seconds() == seconds[-1]


def test_what_is_due_on_the_way_happens_at_its_own_moment(fake, receiver, path):
    written(path, event(1), event(2, "2026-03-01T09:01:00Z"))
    fake.send_text().after(seconds=30).deliver()

    fake.webhooks.replay(path)

    assert [one.status for one in receiver.events] == ["sent", None, "delivered", None]


def told(number, status, message="0123456789abcdef"):
    return event(number, chatMessage={"id": message, "status": status})


def test_replayed_events_show_the_status_that_was_recorded(fake, receiver, path):
    written(
        path,
        told(1, "sent"),
        told(2, "delivered"),
        told(3, "sent", "another"),
        told(4, "failed", 7),
    )
    fake.webhooks.replay(path)
    text = str(fake.timeline)
    shown = section(fake)

    assert [one.status for one in fake.events] == ["sent", "delivered", "sent", "failed"]
    assert [one.message_id for one in receiver.events] == [None] * 4
    assert repr(fake.events[1]) == "<Event evt_2 delivered r1 (message 0123456789abcdef)>"
    assert "sent r2 (message another), at Receiver()" in repr(fake.webhooks.attempts[2])
    told_of = [line.split("event    ")[1] for line in text.splitlines() if "  event  " in line]
    assert told_of == ["sent r1", "delivered r1", "sent r2", "failed (recorded)"]
    assert "attempt  delivered r1 -> Receiver(): 200" in text
    assert [line.strip() for line in text.splitlines() if " = " in line] == [
        "r1 = recorded message 0123456789abcdef",
        "r2 = recorded message another",
    ]
    assert "Receiver() responded with 2xx to all 4 events\n" in shown


READ_BY_USER = {"id": "1", "status": "read"}
OF_A_BRAND = Naming(event_type="brand.message.updated", message_key="brandMessage")


@pytest.mark.parametrize(
    ("naming", "recording", "expected"),
    [
        (Naming(), {"chatMessage": READ_BY_USER}, "read"),
        (OF_A_BRAND, {"type": OF_A_BRAND.event_type, "brandMessage": READ_BY_USER}, "read"),
        (Naming(), {"type": "chat.other.event", "chatMessage": READ_BY_USER}, None),
        (Naming(), {"chatMessage": "read"}, None),
        (Naming(), {"chatMessage": READ_BY_USER | {"status": 3}}, None),
        (Naming(), {"message": READ_BY_USER}, None),
    ],
)
def test_the_names_of_the_channel_say_where_a_status_is(path, naming, recording, expected):
    with frozen_fake(naming=naming) as fake:
        fake.webhooks.receiver(events="*")
        fake.webhooks.replay(written(path, event(1, **recording)))

        assert [one.status for one in fake.events] == [expected]


def test_an_event_without_an_id_gets_one(fake, receiver, path):
    fake.webhooks.replay(written(path, json.dumps({"type": TYPE, "id": 3})))

    assert receiver.events[0].id.startswith("evt_")


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("{", r"incident\.jsonl:2: not JSON \(Expecting property"),
        ('{"id": "evt_2"}', ":2: no type, so no endpoint"),
        ('{"type": ""}', ":2: no type, so no endpoint"),
        ('{"type": 5}', ":2: no type, so no endpoint"),
        (event(2, "9950-01-01T00:00:00.000Z"), "the calendar ends"),
        ('{"id": "evt_2", "type": "chat.\\ud800"}', ":2: type: expected text that UTF-8"),
        ('{"id": "\\ud800", "type": "chat.x"}', ":2: id: expected text that UTF-8"),
    ],
)
def test_of_a_file_that_is_refused_nothing_is_attempted(fake, receiver, path, second, words):
    written(path, event(1), second)
    with pytest.raises(ValueError, match=words):
        fake.webhooks.replay(path)
    assert receiver.events == ()


def test_a_file_that_is_not_there_and_a_closed_fake_are_refused(path):
    with frozen_fake() as fake:
        with pytest.raises(FileNotFoundError):
            fake.webhooks.replay(path)
    with pytest.raises(ClosedError):
        fake.webhooks.replay(written(path, event(1)))
