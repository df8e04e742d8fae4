"""Recorded events, read from files and attempted again."""

import asyncio
import bz2
import gzip
import json
import lzma
import tracemalloc
from datetime import timedelta
from decimal import Decimal
from itertools import islice

import pytest

from pytest_chatfake import ClosedError, Naming
from pytest_chatfake.report.section import Section
from pytest_chatfake.wire.recordings import RecordedEvent, read_recording

from .fakes import frozen_fake

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
WRITTEN_ODDLY = '{ "b":\t1E5, "a" : "\\u0041ü\\/", "c":[0.10] }'
#: The same, written anew.
WRITTEN_ANEW = '{"b":100000,"a":"A\\u00fc/","c":[0.10]}'


def entry_of(body):
    """An entry with a body and its moment."""
    return '{"body" :' + body + ' , "at": "2026-03-01T09:00:00Z"\n}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"\n  {ODD}\r\n\n{WRITTEN_ODDLY}", {":2": ODD, ":4": WRITTEN_ODDLY}),
        ('{\n "a": 0.10\n}\n', {":1": '{\n "a": 0.10\n}'}),
        ("\ufeff" + ODD, {":1": ODD}),
        (entry_of(json.dumps(WRITTEN_ODDLY)), {":1": WRITTEN_ODDLY}),
        (f"[{entry_of(json.dumps(WRITTEN_ODDLY))}]", {", number 1": WRITTEN_ODDLY}),
        (
            f"[{WRITTEN_ODDLY},\n\n {ODD} ]",
            {", number 1": WRITTEN_ODDLY, ", number 2": ODD},
        ),
        (f"[{entry_of(WRITTEN_ODDLY)}]", {", number 1": WRITTEN_ANEW}),
        (entry_of(WRITTEN_ODDLY), {":1": WRITTEN_ANEW}),
        (entry_of('{"a": 12345678901234567890.10}'), {":1": '{"a":12345678901234567890.10}'}),
    ],
    ids=[
        *["lines", "a whole file", "a mark of the byte order", "a text", "a text in a list"],
        *["a list", "an object in a list", "an object", "many digits"],
    ],
)
def test_a_whole_text_is_kept_byte_for_byte_and_a_part_in_order_and_digits(path, text, found):
    entries = read_recording(written(path, text))

    assert {f"{path}{where}": body.encode() for where, body in found.items()} == {
        one.where: one.body for one in entries
    }


def test_fractions_are_decimals(path):
    (only,) = read_recording(written(path, ODD))

    assert {"id": "evt_1", "type": "t", "price": Decimal("0.10")} == only.json
    assert str(only.json["price"]) == "0.10"


def test_an_entry_may_say_when_its_body_came(path):
    inner = ' {"id": "evt_1"}'
    one, two, three = read_recording(
        written(
            path,
            json.dumps({"at": "2026-03-01T09:00:00Z", "body": inner}),
            json.dumps({"at": "2026-03-01T10:00:01+01:00", "body": json.loads(event(2))}),
            json.dumps({"body": event(3, "2026-03-01T09:00:02.500Z")}),
        )
    )

    assert inner.encode() == one.body
    assert json.loads(event(2)) == json.loads(two.body)
    start = 1_772_355_600 * 10**9
    assert [start, start + 10**9, start + 2_500_000_000] == [one.at, two.at, three.at]


@pytest.mark.parametrize("at", ["soon", "2026-03-01T09:00:00", 7, None, []])
def test_an_event_whose_own_moment_is_none_is_an_event_without_one(path, at):
    (only,) = read_recording(written(path, json.dumps({"createTime": at, "type": "t"})))

    assert (only.problem, only.at) == ("", None)


@pytest.mark.parametrize(
    ("text", "where", "problem"),
    [
        ("", "", "no events"),
        ("\n \n", "", "no events"),
        ("[ ]", "", "no events"),
        ("nothing of JSON", ":1", "not JSON: Expecting value at column 1"),
        ('{\n "a": x\n}', ":2", "not JSON: Expecting value at column 7"),
        ('{"a": 1}\n{"a": ', ":2", "not JSON: Expecting value at column 7"),
        ('{"a": "b', ":1", "not JSON: Unterminated string starting at column 7"),
        ('{"body": "{\\"a"}', ":1", "body: not JSON: Unterminated string starting at column 2"),
        ('{"a": NaN}', ":1", "not JSON: it has no NaN"),
        ('{"a": 1e401}', ":1", "the number 1e401 is out of range"),
        ('{"a": -1.5e-401}', ":1", "the number -1.5e-401 is out of range"),
        ('{"a": 1,\n{"a": 2}\n{"a"', ":3", "not JSON: Expecting ':' delimiter at column 5"),
        (
            '[{"a": 1},\n {"a": 2}\n {"a": 3}]',
            ":3",
            "not JSON: Expecting ',' delimiter at column 2",
        ),
        ('[{"a": 1}]\n[{"a": 2}]', ":2", "not JSON: Extra data at column 1"),
        ('[{"a": 1},]', ":1", "not JSON: Expecting value at column 11"),
        ('[{"a": 1}] x', ":1", "not JSON: Extra data at column 12"),
        ('{"a": 1} {"a": 2}', ":1", "not JSON: Extra data at column 10"),
        ("[" * 100_000, ":1", "nested too deeply"),
        ('{"a": 1,\n "b": NaN}', ":1", "not JSON: it has no NaN"),
        ('nothing\n{"a": 1', ":1", "not JSON: Expecting value at column 1"),
        ('{"a": 1}\n[1]', ":2", "expected an object, got [1]"),
        ("[[1]]", ", number 1", "expected an object, got [1]"),
        ('{"body": "{"}', ":1", "body: not JSON: Expecting property name"),
        ('{"body": "\\ud800"}', ":1", "body: expected text"),
        ('{"body": [1]}', ":1", "body: expected an object, got [1]"),
        ('{"at": 7, "body": {}}', ":1", "at: expected an"),
        (
            '{"at": "2026-03-01T09:00:00", "body": {}}',
            ":1",
            "at: expected a",
        ),
    ],
)
def test_what_is_no_event_is_told_with_its_line(path, text, where, problem):
    *_, entry = read_recording(written(path, text))

    assert f"{path}{where}" == entry.where
    assert entry.problem.startswith(problem), entry.problem


def test_a_line_that_is_no_json_hides_no_other(path):
    entries = read_recording(written(path, event(1), '{"a": NaN}', event(2)))

    assert [entry.problem for entry in islice(entries, 9)] == ["", "not JSON: it has no NaN", ""]


def test_numbers_that_languages_read_are_numbers(path):
    (only,) = read_recording(written(path, '{"a": [1e400, -9.9E+400, 1e-400, 0e999999999]}'))

    assert only.problem == ""


def test_what_is_no_text_is_told(path):
    path.write_bytes(b'{"a": 1}\n{"a": "\xff"}\n{"a": 2}')

    one, two, three = read_recording(path)
    assert [one.problem, two.problem, three.problem] == ["", "not UTF-8 at byte 7", ""]
    assert f"{path}:2" == two.where


@pytest.mark.parametrize(
    ("content", "where", "problem"),
    [
        (b"\x89PNG", ":1", "not UTF-8 at column 1"),
        (b"\xc3", ":1", "not UTF-8 at column 1"),
        (b'{\n "a": "\xff"}', ":1", "not UTF-8 at byte 9"),
        (b'[{"a": "\xc3\xa9"}, {"a": "\xff"}]', ", number 2", "not UTF-8 at byte 7"),
        (b'{"body": "{\xff}"}', ":1", "not UTF-8 at byte 11"),
    ],
)
def test_where_a_file_is_no_text_is_told(path, content, where, problem):
    path.write_bytes(content)

    *_, entry = read_recording(path)
    assert (f"{path}{where}", problem) == (entry.where, entry.problem)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (gzip.compress(b'{"a": 1}', mtime=0), "expected UTF-8 text, got gzip: decompress it"),
        (bz2.compress(b'{"a": 1}'), "expected UTF-8 text, got bzip2: decompress it"),
        (lzma.compress(b'{"a": 1}'), "expected UTF-8 text, got xz: decompress it"),
        ('{"a": 1}'.encode("utf-16"), "expected UTF-8 text, got UTF-16: convert it"),
        ('{"a": 1}'.encode("utf-16-le"), "expected UTF-8 text, got UTF-16: convert it"),
        ('[{"a": 1}]'.encode("utf-16-le"), "expected UTF-8 text, got UTF-16: convert it"),
        ('{"a": 1}'.encode("utf-16-be"), "expected UTF-8 text, got UTF-16: convert it"),
    ],
    ids=["gzip", "bzip2", "xz", "UTF-16", "without a mark", "a list", "big-endian"],
)
def test_a_file_that_is_compressed_or_utf_16_is_one_problem(path, content, problem):
    path.write_bytes(content)

    assert [RecordedEvent(str(path), problem=problem)] == [*read_recording(path)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('[\n{"a": 1},\n{"a": 2}\n]', 2),
        ('[{"a": 1},\n{"a": 2}]', 2),
        ('[{"a": 1}]', 1),
        ('{"a":\n1}', 1),
        ('{"a": 1,\n{"a": 2}\n{"a": 3}', 3),
        ('{"a": "cut off\n{"a": 2}', 2),
    ],
)
def test_a_list_and_an_object_may_take_several_lines(path, text, count):
    assert count == len([*read_recording(written(path, text))])


PRETTY = json.dumps(json.loads(event(2)), indent=2)


@pytest.mark.parametrize(
    "text",
    [
        "\n".join([event(1), "no JSON", *[event(2)] * 2_000]),
        "\n".join([event(1), *[PRETTY] * 2_000]),
        f"[{', '.join([event(2)] * 2_001)}]",
        f"[\n{(',' + chr(10)).join([PRETTY] * 2_001)}\n]\n",
    ],
    ids=["lines", "objects", "a list on one line", "a list"],
)
def test_entries_are_read_one_at_a_time(path, text):
    written(path, text)

    tracemalloc.start()
    count = sum(not entry.problem for entry in read_recording(path))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 2_001
    assert most < 300_000


def test_of_a_large_file_without_an_event_the_first_problem_is_told(path):
    written(path, *["{'a': 1}"] * 100_000)

    tracemalloc.start()
    (only,) = read_recording(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert f"{path}:1" == only.where
    assert most < 300_000


@pytest.mark.parametrize("length", [4, 5, 7, 11, 29])
def test_a_file_may_be_read_in_any_pieces(path, monkeypatch, length):
    monkeypatch.setattr("pytest_chatfake.wire.recordings._PIECE", length)
    bodies = ['{"a": "Grüße 👋\\u0041\\\\"}', '{\n "b": -12.50,\r\n "c": [true, 17]}', '{"d": {}}']

    lines = [*read_recording(written(path, "\ufeff", bodies[0], "odd", *bodies[1:]))]
    items = [*read_recording(written(path, f"\n[{' , '.join(bodies)},\n171717]\n "))]
    *_, bad = read_recording(written(path, f"[{bodies[0]},\n {bodies[2]}, tru]"))

    assert [bodies[0], "", *bodies[1:]] == [entry.body.decode() for entry in lines]
    assert [f"{path}:{line}" for line in (2, 3, 4, 7)] == [entry.where for entry in lines]
    assert [*bodies, ""] == [entry.body.decode() for entry in items]
    assert items[3].problem == "expected an object, got 171717"
    assert Decimal("-12.50") == items[1].json["b"]
    assert (f"{path}:2", "not JSON: Expecting value at column 13") == (bad.where, bad.problem)


# -- attempting ------------------------------------------------------------------------------------


def test_recorded_events_come_byte_for_byte_at_their_distances(fake, receiver, path):
    written(
        path,
        event(1, "2026-03-01T09:00:00.000Z"),
        event(2, "2026-03-01T09:00:07.500Z"),
        event(3, "2026-03-02T09:00:00.000Z"),
    )
    start = fake.clock.now

    fake.webhooks.replay(path)

    assert path.read_bytes().splitlines() == [one.body for one in receiver.requests]
    assert [one.id for one in receiver.events] == ["evt_1", "evt_2", "evt_3"]
    seconds = [(one.at - start).total_seconds() for one in fake.webhooks.attempts]
    assert seconds == [0, 7.5, 86_400]
    assert start + timedelta(days=1) == fake.clock.now


def test_at_once_time_stands(fake, receiver, path):
    written(path, event(1), event(2, "2026-03-02T09:00:00.000Z"))
    start = fake.clock.now

    fake.webhooks.replay(str(path), timing="at once")

    assert [one.id for one in receiver.events] == ["evt_1", "evt_2"]
    assert start == fake.clock.now


def test_an_event_that_was_overtaken_or_has_no_moment_comes_at_once(fake, receiver, path):
    written(
        path,
        event(1, None),
        event(2, "2026-03-01T09:00:10Z"),
        event(3, "2026-03-01T09:00:04Z"),
        event(4, None),
        event(5, "2026-03-01T09:00:15Z"),
    )
    start = fake.clock.now

    fake.webhooks.replay(path)

    assert len(receiver.events) == 5
    seconds = [(one.at - start).total_seconds() for one in fake.webhooks.attempts]
    assert seconds == [0, 0, 0, 0, 5]


def test_what_is_due_on_the_way_happens_at_its_own_moment(fake, receiver, path):
    written(path, event(1), event(2, "2026-03-01T09:01:00Z"))
    fake.send_text().after(seconds=30).deliver()

    fake.webhooks.replay(path)

    assert [one.status for one in receiver.events] == ["sent", None, "delivered", None]


def told(number, status, message="0123456789abcdef"):
    return event(number, chatMessage={"id": message, "status": status})


def test_they_show_the_status_that_was_read_recording(fake, receiver, path):
    written(
        path,
        told(1, "sent"),
        told(2, "delivered"),
        told(3, "sent", "another"),
        told(4, "failed", 7),
    )
    fake.webhooks.replay(path)
    text = str(fake.timeline)
    shown = str(Section(fake._story))

    assert [one.status for one in fake.events] == ["sent", "delivered", "sent", "failed"]
    assert [one.message_id for one in receiver.events] == [None] * 4
    assert repr(fake.events[1]) == "<Event evt_2 delivered r1 (message 0123456789abcdef)>"
    assert "sent r2 (message another), at Receiver()" in repr(fake.webhooks.attempts[2])
    assert fake.events[3]._name == "failed (recorded)"
    told_of = [line.split("event    ")[1] for line in text.splitlines() if "  event  " in line]
    assert told_of == ["sent r1", "delivered r1", "sent r2", "failed (recorded)"]
    assert "attempt  delivered r1 -> Receiver(): 200" in text
    assert [line.strip() for line in text.splitlines() if " = " in line] == [
        "r1 = recorded message 0123456789abcdef",
        "r2 = recorded message another",
    ]
    assert "Receiver() responded with 2xx to all 4 events\n" in shown


@pytest.mark.parametrize(
    "recording",
    [
        event(1, type="chat.other.event", chatMessage={"id": "1", "status": "read"}),
        event(1, chatMessage="read"),
        event(1, chatMessage={"id": "1", "status": 3}),
        event(1, message={"id": "1", "status": "read"}),
    ],
)
def test_what_tells_of_no_message_has_no_status(fake, path, recording):
    fake.webhooks.receiver(events="*")
    fake.webhooks.replay(written(path, recording))

    assert [one.status for one in fake.events] == [None]


def test_the_names_of_the_channel_say_where_the_status_is(path):
    naming = Naming(event_type="brand.message.updated", message_key="brandMessage")
    recording = event(1, type="brand.message.updated", brandMessage={"id": "1", "status": "read"})
    with frozen_fake(naming=naming) as fake:
        fake.webhooks.receiver(events="*")
        fake.webhooks.replay(written(path, recording))

        assert [one.status for one in fake.events] == ["read"]


def test_an_event_without_an_id_gets_one(fake, receiver, path):
    fake.webhooks.replay(written(path, json.dumps({"type": TYPE, "id": 3})))

    assert receiver.events[0].id.startswith("evt_")


def test_it_is_awaited_in_async_mode(path):
    async def scenario(fake):
        receiver = fake.webhooks.receiver()
        await fake.webhooks.replay(path)
        assert [one.id for one in receiver.events] == ["evt_1", "evt_2"]
        assert [(one.at - begun).total_seconds() for one in fake.webhooks.attempts] == [0, 7]

    written(path, event(1), event(2, "2026-03-01T09:00:07Z"))
    with frozen_fake(mode="async") as fake:
        begun = fake.clock.now
        asyncio.run(scenario(fake))


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("{", r"incident\.jsonl:2: not JSON: Expecting property"),
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
