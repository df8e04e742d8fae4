"""Every Python block of the documentation is run, and every link leads somewhere."""

# Asserts read `expected == actual`.

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .pages import DOCS, LINKED, PAGES, broken, defined_in, links, module_of, name, run

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
    index = DOCS / "README.md"
    targets = links(index.read_text("utf-8"))
    linked = {(DOCS / target.partition("#")[0]).resolve() for target in targets}
    assert {"README.md", "docs/README.md"} == {name(page) for page in PAGES if page not in linked}
