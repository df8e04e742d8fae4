"""The data of several runs, and the one result that they make."""

import re
from pathlib import Path

import pytest

from pytest_chatfake.__main__ import main

from ..forked_pytest import run_pytest

SUITE = """
import pytest
import requests

@pytest.mark.parametrize("devices", [2, 10])
def test_a_port(chat_fake, devices):
    requests.get(chat_fake.base_url + "/v2/balance", headers=chat_fake.headers)
    chat_fake.send_text().deliver(devices=devices).read()

def test_a_clock(chat_fake, chat_clock, chat_receiver):
    with chat_fake.webhooks.duplicate():
        chat_fake.send_text(to="+1")
    chat_clock.advance(days=30)

@pytest.mark.skip
def test_skipped(chat_fake):
    pass

@pytest.fixture
def app():
    yield
    raise ValueError("https://app.example/hook?token=tr0ub4dor")

def test_a_secret(app):
    pass

def test_a_key(chat_fake):
    chat_fake.rotate_key()
    assert chat_fake.api_key == "another"
"""
SHARDS = {"a": ["-kkey"], "b": ["test_it.py::test_a_port"], "c": ["-knot key and not port"]}
RUNS = "FAIL: the run of a ended with exit status 1\nFAIL: the run of c ended with exit status 1\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*options, suite=SUITE):
    Path("test_it.py").write_text(suite, "utf-8")
    return run_pytest(Path.cwd(), "-pno:cacheprovider", *options)


def shards(suite=SUITE):
    """The data of three runs."""
    for name, options in SHARDS.items():
        run(*options, f"--chat-fake-data={name}", suite=suite)
    return [*SHARDS]


def timeless(page):
    """A page without times and ports."""
    times = r"[\d.]+ s</small>|20\d\d-\d\d-\d\d[T ][\d:.]+Z?|\+\d+:\d\d\.\d{3}"
    times += r"| slow(?=\")|<dl>.*</dl>|127.0.0.1:\d+"
    return re.sub(" +", " ", re.sub(times, "", Path(page).read_text("utf-8")))


def refusal(capsys, *files):
    """What is said of files of which nothing is made."""
    with pytest.raises(SystemExit, match="2"):
        main(["merge", "--report=merged.html", *files])
    assert not Path("merged.html").exists()
    return capsys.readouterr().err.partition("error: ")[2]


def test_runs_of_parts_make_the_result_of_one_run_but_for_times_and_ports(
    capsys,
):
    single = run("--chat-fake-report=single.html", "--chat-fake-coverage")
    files = shards()
    status = main(["merge", *files, "--report=merged.html", "--coverage"])
    told, merged = capsys.readouterr().out, timeless("merged.html")

    assert (single.ret, status) == (1, 1)
    tests = "3 files, 6 tests: 1 failed, 1 error, 1 skipped, 3 passed\n"
    coverage = [line for line in single.outlines if line.startswith(("exercised", "never"))]
    assert tests + RUNS + "\n".join([*coverage, "written to merged.html\n"]) == told
    assert timeless("single.html") == merged
    assert merged.count("<svg ") == 4
    texts = [merged, *map(timeless, files)]
    assert [text for text in texts if "tr0ub4dor" in text] == []
    assert "https://app.example/hook?..." in merged


def test_the_percentage_is_that_of_all_runs_together(capsys):
    files = shards("""
def test_key(chat_fake):
    chat_fake.rotate_key()

def test_a_port(chat_fake):
    chat_fake.send_text().fail()

def test_a_read(chat_fake):
    chat_fake.send_text().read()
""")

    for one in files:
        assert main(["merge", one, "--fail-under=10"]) == 1
    assert main(["merge", *files, "--fail-under=10"]) == 0
    assert main(["merge", *files, "--fail-under=90"]) == 1
    assert "FAIL: expected 90% exercised, got 10.5%" in capsys.readouterr().out


def test_an_interrupted_run_tells_of_what_there_was(capsys):
    run(
        "--chat-fake-data=data",
        suite="""
def test_one(chat_fake):
    chat_fake.send_text()

def test_two(chat_fake):
    chat_fake.top_up(1)
    raise KeyboardInterrupt
""",
    )

    assert main(["merge", "data", "--coverage"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 file, 2 tests: 1 interrupted, 1 passed"
    assert lines[1] == "FAIL: the run of data ended with exit status 2"
    assert "topped up" not in "".join(lines)


def test_files_that_can_not_be_used_are_refused_by_their_names_and_lines(capsys):
    run("-kkey or clock", "--chat-fake-data=data")
    whole = Path("data").read_text("utf-8")
    head, clock, key, end, _ = whole.split("\n")
    broken = {
        "nothing": ("", 1),
        "foreign": ("GIF89a", 1),
        "of another version": (whole.replace("pytest-chatfake ", "pytest-chatfake 9"), 1),
        "cut off after a line": (f"{head}\n{clock}\n", 2),
        "cut off in a line": (f"{head}\n{clock}\n{key[:-1]}", 3),
        "without a line": (f"{head}\n{key}\n{end}\n", 3),
        "changed": (whole.replace("passed", "failed"), 4),
    }
    for name, (text, line) in broken.items():
        Path(name).write_text(text, "utf-8")
        assert refusal(capsys, "data", name).startswith(f"{name}:{line}: expected ")

    said = "again:2: expected each test in one file, got test_it.py::test_a_clock again\n"
    Path("again").write_text(whole, "utf-8")
    assert said == refusal(capsys, "data", "again")
    run("-kport", "--chat-fake-data=other", "-ochat_fake_strict=false")
    said = "other:1: expected chat_fake_strict=True, as in data, got chat_fake_strict=False\n"
    assert said == refusal(capsys, "data", "other")
    assert "No such file" in refusal(capsys, "data", "none")
    assert "--fail-under: expected percent" in refusal(capsys, "data", "--fail-under=101")


def test_data_are_not_written_over_a_test():
    assert run("--chat-fake-data=test_it.py").ret == pytest.ExitCode.USAGE_ERROR
    assert Path("test_it.py").read_text("utf-8") == SUITE
