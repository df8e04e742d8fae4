"""The page of a run, as text."""

# Asserts read `expected == actual`.

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_chatfake.suite.page import page
from pytest_chatfake.suite.result import Result


class Tags(HTMLParser):
    """The tags of a page, each with the names of its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append([tag, *dict(attrs)])


def written(said: str, outcome: str = "failed", times: int = 1) -> str:
    """The page of tests that are called and say so, where everything can be called or said."""
    explored = {"body": said, "result": said, "finding": said, "test": said, "timelines": []}
    tests = [
        Result(
            f"test_it.py::{said}, {number}",
            line=1,
            is_over=True,
            worst=outcome,
            failure=said,
            timelines=[(said, "<svg></svg>")],
            explorations=[explored],
        )
        for number in range(times)
    ]
    return page([{"Options": said}], tests, [], [said])


@settings(deadline=None)
@given(st.text(min_size=1))
@example("<script>alert('$1')</script>")
@example('"><b onclick=x>')
@example("\ud800&lt;")
def test_whatever_a_test_says_is_text_on_the_page(said: str) -> None:
    assert Tags(written("a")).found == Tags(written(said)).found


def test_tests_that_passed_have_a_picture_if_there_are_few() -> None:
    assert 100 == written("a", "passed", 100).count("<svg>")
    assert 0 == written("a", "passed", 101).count("<svg>")
    assert 101 == written("a", "failed", 101).count("<svg>")


def test_only_the_script_of_the_page_itself_may_run() -> None:
    html = written("a")
    (script,) = re.findall("<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    assert f"script-src 'sha256-{digest}'" in html
