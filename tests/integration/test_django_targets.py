"""Django in sync mode: its code runs in the test's thread and sees the test's transaction."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("django_app.py")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the attempts found, made in a process of their own under warnings as errors."""
    database = tmp_path_factory.mktemp("django") / "db.sqlite3"
    result = subprocess.run(
        [sys.executable, "-W", "error", SCRIPT, database],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stderr == ""
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    "way", ["wsgi", "sync view", "async view", "inside a loop", "at the same time"]
)
def test_attempts_see_the_test_s_transaction_and_go_with_it(found, way):
    assert found[way] == {
        "responses": [
            [200, '{"in_atomic_block": true, "rows": 1}'],
            [200, '{"in_atomic_block": true, "rows": 2}'],
        ],
        "rows inside": 2,
        "rows after": 0,
        "in this thread": True,
    }


def test_an_error_of_a_view_surfaces_where_django_lets_it(found):
    assert found["error"] == "no such message"


def test_in_coroutines_django_has_its_own_thread_and_closes_its_connection(found):
    assert found["asyncio"] == {
        "response": '{"in_atomic_block": false, "rows": 1}',
        "rows after": 1,
        "connection closed": True,
    }


def test_django_closes_old_connections_again_after_the_attempts(found):
    assert found["signals"] == [True, True]


def test_a_lifespan_is_nothing_to_django(found):
    assert found["lifespan"] == "left alone"
