"""``python -m pytest_chatfake``: the schema of events, and recorded bodies held against it."""

import json
import os
import subprocess
import sys
import tracemalloc

import pytest

from pytest_chatfake import ChatFake, ChatFakeConfig, Naming
from pytest_chatfake.__main__ import main
from pytest_chatfake.wire.models import event_schema

NAMING = Naming(event_type="pigeon.message.updated")
CONFIG = ChatFakeConfig(naming=NAMING)
OMITTING = ChatFakeConfig(omit=iter(["bizType"]))
NUMBER = 7
HERE = __name__


def bodies(**config):
    with ChatFake(**config) as fake:
        fake.send_text("Grüße").deliver().read()
        return [event.body.decode() for event in fake.events]


@pytest.fixture
def validated(tmp_path, monkeypatch, capsys):
    """Validates texts, as files named by their number: what is printed, and the exit status."""

    def validate(*texts, options=()):
        for number, text in enumerate(texts):
            (tmp_path / f"{number}.json").write_text(text, "utf-8")
        status = main(["validate", *options, *(f"{number}.json" for number in range(len(texts)))])
        return [*capsys.readouterr().out.splitlines(), status]

    monkeypatch.chdir(tmp_path)
    return validate


@pytest.mark.parametrize("name", ["", "NAMING", "CONFIG", "CONFIG.naming"])
def test_schema_prints_the_schema_of_events_with_the_names_of_the_team(name, capsys):
    assert main(["schema", *(["--naming", f"{HERE}:{name}"] if name else [])]) == 0
    naming = NAMING if name else Naming()
    assert json.loads(capsys.readouterr().out) == event_schema(naming)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("conftest", "expected MODULE:OBJECT, as in tests.conftest:NAMING, got 'conftest'"),
        ("json:", "expected MODULE:OBJECT, as in tests.conftest:NAMING, got 'json:'"),
        ("nowhere_at_all:NAMING", "can't be imported (No module named 'nowhere_at_all')"),
        (".conftest:NAMING", "can't be imported (the 'package' argument is required"),
        ("json:NAMING", "can't be imported (module 'json' has no attribute 'NAMING')"),
        (f"{HERE}:NUMBER", "expected a Naming or something with .naming, got 7"),
    ],
)
def test_a_naming_that_is_none_is_refused(text, problem, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["schema", "--naming", text])

    assert exit_.value.code == 2
    assert problem in capsys.readouterr().err


def test_a_naming_whose_module_fails_is_refused_in_one_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "broken_settings.py").write_text("NAMING = (")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SystemExit):
        main(["schema", "--naming", "broken_settings:NAMING"])

    last = capsys.readouterr().err.splitlines()[-1]
    assert "'broken_settings:NAMING' can't be imported ('(' was never closed" in last


def test_fields_that_the_account_omits_are_not_required(validated):
    options = ["--naming", f"{HERE}:OMITTING"]

    found = validated("\n".join(bodies(omit=["bizType"])), options=options)
    assert found == ["3 events, 0 mismatches", 0]


def test_bodies_of_the_description_have_no_mismatch(validated):
    one = json.dumps(json.loads(bodies()[0]), indent=2)

    found = validated("\n\n".join(bodies()) + "\n", f"[{','.join(bodies())}]", one)
    assert found == ["7 events, 0 mismatches", 0]


def test_a_mismatch_is_a_sentence_with_its_file_and_its_line_or_number(validated):
    sent, delivered, _ = bodies()
    other = sent.replace("evt_", "e")

    found = validated(f"{sent}\n{delivered}\n{sent.replace('v2', 'v3')}", f"[{sent}, {other}, 3]")
    assert found == [
        "0.json:3: `apiVersion`: expected 'v2', got 'v3'",
        f"1.json, number 2: `id`: expected the form ^evt_.+, got '{json.loads(other)['id']}'",
        "1.json, number 3: expected an object, got 3",
        "5 events, 3 mismatches",
        1,
    ]


def test_mismatches_are_printed_and_not_kept(tmp_path, monkeypatch):
    one, many = tmp_path / "one.jsonl", tmp_path / "many.jsonl"
    one.write_text(bodies()[0].replace("v2", "v3"))
    many.write_text("\n".join([one.read_text()] * 2_000))
    with open(os.devnull, "w") as nowhere:
        monkeypatch.setattr(sys, "stdout", nowhere)
        main(["validate", str(one)])  # what is imported and cached

        tracemalloc.start()
        assert main(["validate", str(many)]) == 1
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 300_000


def test_a_terminal_obeys_no_name_of_a_field(validated):
    sent = json.loads(bodies()[0])
    odd = json.dumps({**sent, "\x1b[2J": 1, "\u202e": 2})

    lone_surrogate = "expected a string without lone surrogates"
    assert validated(f"{odd}\n{json.dumps({**sent, chr(0xD800): 1})}") == [
        "0.json:1: `\\x1b[2J`: not in the description",
        "0.json:1: `\\u202e`: not in the description",
        f"0.json:2: the event: {lone_surrogate}, got '\\ud800'",
        "2 events, 3 mismatches",
        1,
    ]


def test_the_names_of_the_team_and_its_fields_are_options(validated):
    text = "\n".join(bodies(naming=NAMING, extra={"region": "eu"}))
    naming, extra = ["--naming", f"{HERE}:NAMING"], ["--extra-fields"]

    found = [validated(text, options=some) for some in (naming + extra, naming, extra)]
    assert [one[-2:] for one in found] == [
        ["3 events, 0 mismatches", 0],
        ["3 events, 3 mismatches", 1],
        ["3 events, 3 mismatches", 1],
    ]
    assert found[1][0] == "0.json:1: `chatMessage.region`: not in the description"


def test_a_file_that_is_not_there_is_refused(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["validate", "nowhere.json"])

    assert exit_.value.code == 2
    assert "No such file or directory: 'nowhere.json'" in capsys.readouterr().err


def test_python_m_pytest_chatfake_prints_the_schema():
    ran = subprocess.run(
        [sys.executable, "-m", "pytest_chatfake", "schema"],
        capture_output=True,
        check=True,
        timeout=60,
    )

    assert json.loads(ran.stdout) == event_schema(Naming())


def other(type_, **fields):
    envelope = {"id": "evt_o1", "type": type_, "apiVersion": "v2"}
    return json.dumps({**envelope, "createTime": "2026-01-01T12:00:00.000Z", **fields})


def test_events_of_other_types_are_held_to_the_envelope_and_counted(validated):
    inbound = other("chat.inbound_message.received", chatInboundMessage={"from": "+1"})

    assert validated("\n".join([*bodies(), inbound])) == [
        "4 events, 1 of other types (envelope only), 0 mismatches",
        0,
    ]
    assert validated(inbound.replace("evt_o1", "o1").replace('"v2"', "2")) == [
        "0.json:1: `id`: expected the form ^evt_.+, got 'o1'",
        "0.json:1: `apiVersion`: expected 'v2', got 2",
        "1 event, 1 of other types (envelope only), 2 mismatches",
        1,
    ]


@pytest.mark.parametrize(
    "body",
    [
        other("pigeon.message.updated", pigeonMessage={}),
        other("chat.message.update", chatMessage={}),
        other(""),
    ],
    ids=["of another channel", "with a message", "without a type"],
)
def test_what_is_meant_for_an_event_of_a_message_is_no_other_type(body, validated):
    *mismatches, summary, status = validated(body)

    assert status == 1
    assert any(line.startswith("0.json:1: `type`: ") for line in mismatches)
    assert "of other types" not in summary


@pytest.mark.parametrize("command", ["schema", "validate"])
def test_a_program_that_nobody_reads_on_ends_quietly(command, tmp_path, capfd, monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        path = tmp_path / "a.jsonl"
        path.write_text(bodies()[0])
        assert main([command, *([str(path)] if command == "validate" else [])]) == 141
    assert capfd.readouterr().err == ""
