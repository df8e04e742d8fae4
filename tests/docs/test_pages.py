"""Every Python block of the documentation is run. The build of the site checks its links."""

import re

import pytest

import section_marks
from pytest_chatfake import SendTests, WebhookTests

from .outputs import printed, timeless
from .pages import PAGES, ROOT, defined_in, module_of, name, run, shown_outputs

#: The modules of the pages with code, by the names of their files. A page may show a failing test
#: alone, with its output.
MODULES = {
    f"test_{re.sub(r'[^a-z]+', '_', name(page).removesuffix('.md').lower())}.py": module
    for page in PAGES
    if (module := module_of(page.read_text("utf-8"))).strip()
}

#: The files, so many at a time: to start pytest takes longer than the tests of most pages.
BATCHES = [[*MODULES][start : start + 9] for start in range(0, len(MODULES), 9)]

#: These come with a class, and some of them are skipped.
READY_MADE = {
    name for cls in (SendTests, WebhookTests) for name in vars(cls) if name.startswith("test_")
}


@pytest.mark.parametrize("files", BATCHES, ids=lambda files: files[0])
def test_the_code_of_pages_runs_and_each_of_their_tests_passes(files, tmp_path):
    modules = {file: MODULES[file] for file in files}

    outcome = run(modules, tmp_path)

    assert outcome.clean, f"the lines are those of the pages:\n{outcome.output}"
    passed = {file: tests - READY_MADE for file, tests in outcome.passed.items()}
    assert passed == {file: defined_in(module) for file, module in modules.items()}
    assert [file for file in files if not outcome.passed[file]] == [], "code, and no test"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```console" in page.read_text("utf-8")], ids=name
)
def test_a_failing_test_prints_what_the_page_shows(page, tmp_path):
    for shown in shown_outputs(page.read_text("utf-8")):
        now = printed(shown, tmp_path)
        expected = timeless(shown.output.lines[1:])
        assert timeless(now) == expected, "run python -m tests.docs.outputs"


def test_every_mark_of_a_section_leads_to_it():
    texts = {page: page.read_text("utf-8") for page in section_marks.PAGES}
    not_linked = [name(p) for p, text in texts.items() if section_marks.linked(text, p) != text]
    in_two_lines = [name(p) for p, text in texts.items() if re.search(r"§\d\s*\n\s*rule", text)]

    assert not_linked == [], "run python docs/_ext/section_marks.py"
    assert in_two_lines == []


def test_no_mark_of_a_merge_is_left_in_a_page():
    lines = {name(page): page.read_text("utf-8").splitlines() for page in PAGES}
    assert [page for page in lines if "=======" in lines[page]] == []


def test_every_page_that_a_search_should_show_is_there():
    searches = (ROOT / "tests" / "by_hand" / "searches.txt").read_text("utf-8")
    expected = set(re.findall(r"^[^#\n]+ = (.+)$", searches, re.MULTILINE))
    assert expected <= {name(page).removesuffix(".md") for page in PAGES}


def test_the_services_sections_are_numbered_as_the_description_is():
    subsections = {"2": 5, "4": 2, "7": 2}
    rules = {"3": 6, "5": 4, "6": 4}
    expected = {f"§{n}" for n in range(1, 10)}
    expected |= {f"§{n}.{i + 1}" for n, count in subsections.items() for i in range(count)}
    expected |= {f"§{n} rule {i + 1}" for n, count in rules.items() for i in range(count)}
    assert expected == set(section_marks.anchors())
