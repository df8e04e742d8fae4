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


def written(path, text):
    path.write_text(text, "utf-8")
    return str(path)


def out(capsys):
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", ["", "NAMING", "CONFIG", "CONFIG.naming"])
def test_schema_prints_the_schema_of_events_with_the_names_of_the_team(name, capsys):
    assert main(["schema", *(["--naming", f"{HERE}:{name}"] if name else [])]) == 0
    naming = NAMING if name else Naming()
    assert event_schema(naming) == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("conftest", "expected MODULE:OBJECT, as in tests.conftest:NAMING, got 'conftest'"),
        ("json:", "expected MODULE:OBJECT, as in tests.conftest:NAMING, got 'json:'"),
        ("nowhere_at_all:NAMING", "can't be imported: No module named 'nowhere_at_all'"),
        (".conftest:NAMING", "can't be imported: the 'package' argument is required"),
        ("json:NAMING", "can't be imported: module 'json' has no attribute 'NAMING'"),
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
    assert "'broken_settings:NAMING' can't be imported: '(' was never closed" in last


def test_fields_that_the_account_omits_are_not_required(tmp_path):
    file = written(tmp_path / "a.jsonl", "\n".join(bodies(omit=["bizType"])))

    assert main(["validate", "--naming", f"{HERE}:OMITTING", file]) == 0


def test_bodies_of_the_description_have_no_deviation(tmp_path, capsys):
    lines = written(tmp_path / "a.jsonl", "\n\n".join(bodies()) + "\n")
    array = written(tmp_path / "b.json", f"[{','.join(bodies())}]")
    one = written(tmp_path / "c.json", json.dumps(json.loads(bodies()[0]), indent=2))

    assert main(["validate", lines, array, one]) == 0
    assert out(capsys) == ["7 events, 0 deviations"]


def test_a_deviation_is_a_sentence_with_its_file_and_its_line_or_number(tmp_path, capsys):
    sent, delivered, _ = bodies()
    lines = written(tmp_path / "a.jsonl", f"{sent}\n{delivered}\n{sent.replace('v2', 'v3')}")
    items = written(tmp_path / "b.json", f"[{sent}, {sent.replace('evt_', 'e')}, 3]")

    assert main(["validate", lines, items]) == 1
    id_ = json.loads(sent)["id"].replace("evt_", "e")
    assert [
        f"{lines}:3: `apiVersion`: expected 'v2', got 'v3'",
        f"{items}, number 2: `id`: expected the form ^evt_.+, got '{id_}'",
        f"{items}, number 3: expected an object, got 3",
        "5 events, 3 deviations",
    ] == out(capsys)


def test_deviations_are_printed_and_not_kept(tmp_path, monkeypatch):
    path = written(tmp_path / "a.jsonl", "\n".join([bodies()[0].replace("v2", "v3")] * 2_000))
    with open(os.devnull, "w") as nowhere:
        monkeypatch.setattr(sys, "stdout", nowhere)
        main(
            ["validate", written(tmp_path / "b.jsonl", bodies()[0])]
        )  # what is imported and cached

        tracemalloc.start()
        assert main(["validate", path]) == 1
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 300_000


def test_a_terminal_obeys_no_name_of_a_field(tmp_path, capsys):
    sent = json.loads(bodies()[0])
    odd = json.dumps({**sent, "\x1b[2J": 1, "\u202e": 2})
    lone = json.dumps({**sent, "\ud800": 1})
    lines = written(tmp_path / "a.jsonl", f"{odd}\n{lone}")

    lone_surrogate = "expected a text without half of a letter (a lone surrogate)"
    assert main(["validate", lines]) == 1
    assert [
        f"{lines}:1: `\\x1b[2J`: not in the description",
        f"{lines}:1: `\\u202e`: not in the description",
        f"{lines}:2: the event: {lone_surrogate}, got '\\ud800'",
        "2 events, 3 deviations",
    ] == out(capsys)


def test_the_names_of_the_team_and_its_fields_are_options(tmp_path, capsys):
    text = "\n".join(bodies(naming=NAMING, extra={"region": "eu"}))
    path = written(tmp_path / "own.jsonl", text)
    naming = ["--naming", f"{HERE}:NAMING"]

    assert main(["validate", *naming, "--extra-fields", path]) == 0
    assert main(["validate", *naming, path]) == 1
    assert f"{path}:1: `chatMessage.region`: not in the description" in out(capsys)
    assert main(["validate", "--extra-fields", path]) == 1
    assert out(capsys)[-1] == "3 events, 3 deviations"


def test_a_file_that_is_not_there_is_refused(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["validate", "nowhere.json"])

    assert exit_.value.code == 2
    assert "No such file or directory: 'nowhere.json'" in capsys.readouterr().err


def test_it_is_a_program():
    ran = subprocess.run(
        [sys.executable, "-m", "pytest_chatfake", "schema"],
        capture_output=True,
        check=True,
        timeout=60,
    )

    assert event_schema(Naming()) == json.loads(ran.stdout)


def other(type_, **fields):
    envelope = {"id": "evt_o1", "type": type_, "apiVersion": "v2"}
    return json.dumps({**envelope, "createTime": "2026-01-01T12:00:00.000Z", **fields})


def test_events_of_other_types_are_held_to_the_envelope_and_counted(tmp_path, capsys):
    inbound = other("chat.inbound_message.received", chatInboundMessage={"from": "+1"})
    path = written(tmp_path / "a.jsonl", "\n".join([*bodies(), inbound]))

    assert main(["validate", path]) == 0
    assert out(capsys) == ["4 events, 1 of other types (envelope only), 0 deviations"]

    path = written(tmp_path / "b.jsonl", inbound.replace("evt_o1", "o1").replace('"v2"', "2"))
    assert main(["validate", path]) == 1
    assert [
        f"{path}:1: `id`: expected the form ^evt_.+, got 'o1'",
        f"{path}:1: `apiVersion`: expected 'v2', got 2",
        "1 event, 1 of other types (envelope only), 2 deviations",
    ] == out(capsys)


@pytest.mark.parametrize(
    "body",
    [
        other("pigeon.message.updated", pigeonMessage={}),
        other("chat.message.update", chatMessage={}),
        other(""),
    ],
    ids=["of another channel", "with a message", "without a type"],
)
def test_what_is_meant_for_an_event_of_a_message_is_no_other_type(body, tmp_path, capsys):
    path = written(tmp_path / "a.jsonl", body)

    assert main(["validate", path]) == 1
    lines = out(capsys)
    assert any(f"{path}:1: `type`: " in line for line in lines)
    assert "of other types" not in lines[-1]


@pytest.mark.parametrize("command", ["schema", "validate"])
def test_a_program_that_nobody_reads_on_ends_quietly(command, tmp_path, capfd, monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        path = written(tmp_path / "a.jsonl", bodies()[0])
        assert main([command, *([path] if command == "validate" else [])]) == 141
    assert capfd.readouterr().err == ""
