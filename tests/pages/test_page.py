"""The page of a run, as text."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_chatfake.mutants.verdicts import Score
from pytest_chatfake.pages.page import page
from pytest_chatfake.pages.result import Result


class Tags(HTMLParser):
    """The tags of a page, each with the names of its attributes."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append([tag, *dict(attrs)])


def written(said, outcome="failed", times=1):
    """The page of tests that are called and say so, where everything can be called or said."""
    found = {"title": said, "result": said, "text": said, "test": said, "timelines": []}
    tests = [
        Result(
            f"test_it.py::{said}, {number}",
            line=1,
            is_over=True,
            worst=outcome,
            failure=said,
            finding=said,
            highlights=[said],
            raised=[said],
            timelines=[(said, "<svg></svg>")],
            findings=[found],
        )
        for number in range(times)
    ]
    mutants = {"mutant": ("subject", said)}
    score = Score(mutants, 0, {said: {"mutant": "survived"}}, 0)
    return page([{"Options": said}], tests, [], score)


TAGS = Tags(written("a")).found


@settings(deadline=None, max_examples=25)
@given(st.text(min_size=1))
@example("<script>alert('$1')</script>")
@example('"><b onclick=x>')
@example("\ud800&lt;")
def test_whatever_a_test_says_is_text_on_the_page(said):
    assert Tags(written(said)).found == TAGS


def test_tests_that_passed_have_a_picture_if_there_are_few():
    assert written("a", "passed", 100).count("<svg>") == 100
    assert written("a", "passed", 101).count("<svg>") == 0
    assert written("a", "failed", 101).count("<svg>") == 101


def test_a_timeline_is_shown_once_as_a_picture_or_as_text():
    assert [written("a").count(what) for what in ("<svg>", '"Timeline"')] == [1, 0]
    many = written("a", "passed", 101)
    assert [many.count(what) for what in ("<svg>", '"Timeline"')] == [0, 101]


@pytest.mark.parametrize(("timelines", "says_so"), [([], True), ([("a", "")], False)])
def test_a_test_that_used_no_fake_says_so(timelines, says_so):
    test = Result("test_it.py::a", line=1, is_over=True, worst="passed", timelines=timelines)

    assert ("No fake was used." in page([{}], [test], [], None)) == says_so


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ("def test_a():\n>   fail()\nE   ValueError: no\nE   two", "ValueError: no"),
        ("the test took too long\nand was ended", "the test took too long"),
    ],
)
def test_the_reason_is_the_error_or_the_first_line(failure, reason):
    assert Result("test_it.py::a", line=1, failure=failure).reason == reason


def test_what_to_look_at_comes_first_then_the_failure_then_the_timeline():
    titles = re.findall("<h3>(.*?)</h3>", written("a"))

    assert titles == [
        "What to look at",
        "a",
        "Finding",
        "Test to paste",
        "Failure",
        "Not raised in the test yet",
        "Timeline",
    ]


def test_mutants_are_a_table_with_the_tests_that_exercise_each():
    mutants = {"killed": ("money", "no price"), "kept": ("money", "a price is wrong")}
    verdicts = {
        "a": {"killed": "killed", "kept": "survived"},
        "b": {"kept": "survived"},
    }
    html = page([{}], [], None, Score(mutants, 0, verdicts, 0))

    assert "<small>1 of 2</small>" in html
    assert (
        '<tr><th scope="row">a price is wrong</th><td class="survived">survived</td>'
        '<td data-head="Exercised by">2 tests: a, b</td></tr>'
    ) in html
    assert "<li>killed nothing: b</li>" in html


def test_where_no_mutant_was_exercised_the_page_says_so():
    html = page([{}], [], None, Score({}, 0, {}, 0))

    assert "<small>0 of 0</small>" in html
    assert "<li>killed 0 of 0</li>" in html


def test_a_row_of_the_coverage_says_how_to_try_what_was_never_tried():
    html = page([{}], [], ["transitions: sent"])

    assert '<td data-head="Tried">sent</td>' in html
    assert "<div>time moved: <code>clock.advance()</code></div>" in html


def test_only_the_script_of_the_page_itself_may_run():
    html = written("a")
    (script,) = re.findall("<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    assert f"script-src 'sha256-{digest}'" in html
