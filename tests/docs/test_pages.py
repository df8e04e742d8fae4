"""Every Python block of the documentation is run, and every link leads somewhere."""

# Asserts read `expected == actual`.

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .pages import LINKED, PAGES, broken, defined_in, links, module_of, name, run

if TYPE_CHECKING:
    from pathlib import Path

WITH_CODE = [page for page in PAGES if "```py" in page.read_text("utf-8")]


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_of_a_page_runs_and_each_of_its_tests_passes(page: Path, tmp_path: Path) -> None:
    module = module_of(page.read_text("utf-8"))

    outcome = run(module, tmp_path / f"test_{page.stem.replace('-', '_').lower()}.py")

    assert outcome.clean, f"{name(page)} (the lines are those of the page):\n{outcome.output}"
    assert defined_in(module) == outcome.passed, outcome.output
    assert outcome.passed, f"{name(page)} shows code, and no test"


@pytest.mark.parametrize("page", LINKED, ids=name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    assert [] == [problem for link in links(text) if (problem := broken(page, link))]


def test_every_page_of_the_documentation_can_be_reached_from_its_index() -> None:
    index = next(page for page in PAGES if name(page) == "docs/README.md")
    linked = {
        (index.parent / link.partition("#")[0]).resolve() for link in links(index.read_text())
    }
    assert set() == {name(page) for page in PAGES if page.parts[-3:-1] and page not in linked} - {
        name(index)
    }
