"""What the report of a test says of a name that the test misspelt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..forked_pytest import run_pytest

if TYPE_CHECKING:
    from pathlib import Path

SUITE = """
def test_an_argument(chat_fake):
    chat_fake.send_text(pric="1")

def test_an_attribute_of_an_event(chat_fake):
    chat_fake.send_text()
    chat_fake.events[0].statsu

def test_an_argument_of_somebody_else(chat_fake):
    def send_text(price): ...
    send_text(pric=1)
"""


def test_a_report_suggests_the_near_name_and_only_for_names_of_ours(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)

    result = run_pytest(tmp_path, "-p", "no:cacheprovider")

    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "E *TypeError: ChatFake.send_text() got an unexpected *'pric'. Did you mean 'price'[?]",
            "E *AttributeError: 'Event' object has no *'statsu'. Did you mean: 'status'[?]",
            "E *TypeError: test_an_argument_of_somebody_else*argument 'pric'*",
        ]
    )
