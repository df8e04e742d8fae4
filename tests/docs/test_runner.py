"""The runner of the documentation's code, put to the test: what it can't see, it misses."""

# Asserts read `expected == actual`.

from __future__ import annotations

from pathlib import Path

import pytest

from .pages import anchors, broken, defined_in, links, module_of, run

PAGE = """\
# A page

```python
import pytest


@pytest.fixture
def person(chat_fake):
    return chat_fake.recipient("+4915550001")
```

Words between the blocks, and a block that is no Python:

```text
assert False
```

```python
def test_it(chat_fake, person):
    chat_fake.send_text(to=person).deliver()
    chat_fake.assert_charged("0.05")


class TestMore:
    def test_in_a_class(self, chat_clock):
        assert chat_clock.now.year == 2026
```
"""


def test_the_blocks_of_a_page_are_one_module_and_its_tests_are_called(tmp_path: Path) -> None:
    module = module_of(PAGE)
    outcome = run(module, tmp_path / "test_page.py")
    assert {"test_it", "test_in_a_class"} == defined_in(module) == outcome.passed
    assert outcome.clean


def test_a_failing_assert_in_a_page_fails_and_names_the_line_of_the_page(tmp_path: Path) -> None:
    wrong = PAGE.replace('"0.05"', '"0.06"')
    outcome = run(module_of(wrong), tmp_path / "test_page.py")
    assert not outcome.clean
    assert {"test_in_a_class"} == outcome.passed
    line = wrong.splitlines().index('    chat_fake.assert_charged("0.06")') + 1
    assert f"test_page.py:{line}:" in outcome.output
    assert "expected 0.06 USD, found 0.05 USD" in outcome.output


def test_a_warning_in_a_page_fails(tmp_path: Path) -> None:
    module = "import warnings\n\n\ndef test_it():\n    warnings.warn('careful')\n"
    assert not run(module, tmp_path / "test_page.py").clean


def test_a_test_that_pytest_does_not_collect_is_missed(tmp_path: Path) -> None:
    module = "class Helper:\n    def test_never_called(self):\n        assert False\n"
    outcome = run(module, tmp_path / "test_page.py")
    assert {"test_never_called"} == defined_in(module) - outcome.passed


def test_a_skipped_test_has_not_passed(tmp_path: Path) -> None:
    module = "import pytest\n\n\n@pytest.mark.skip\ndef test_it():\n    assert False\n"
    assert set() == run(module, tmp_path / "test_page.py").passed


@pytest.mark.parametrize("info", ["python no-run", "py", "pycon", "Python", "python3"])
def test_no_block_of_python_can_be_left_out(info: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        module_of(f"```{info}\nx = 1\n```\n")


def test_no_block_of_python_can_hide_in_a_list() -> None:
    with pytest.raises(ValueError, match="line 2"):
        module_of("- see\n  ```python\n  x = 1\n```\n")


def test_headings_have_the_anchors_that_github_gives_them() -> None:
    text = "# One `two()` & three\n## Same\n## Same\n```\n# a comment\n```\n"
    assert {"one-two--three", "same", "same-1"} == anchors(text)


def test_a_link_to_nowhere_is_seen(tmp_path: Path) -> None:
    page = Path(__file__)
    assert None is broken(page, "pages.py")
    assert None is broken(page, "https://example.com/")
    assert "nowhere.md: there is no such file" == broken(page, "nowhere.md")
    assert "pages.py#x: there is no such heading" == broken(page, "pages.py#x")
    assert ["a.md#b"] == links("See [this](a.md#b), not `[that](c.md)`.\n```\n[x](y.md)\n```\n")
