"""The runner of the documentation's code, put to the test: what it can't see, it misses."""

import re

import pytest

import section_marks

from .outputs import printed, recorded
from .pages import defined_in, module_of, run, shown_outputs

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


def test_pages_are_modules_and_a_failing_assert_names_the_line_of_its_page(tmp_path):
    wrong = PAGE.replace('"0.05"', '"0.06"')
    modules = {"test_page.py": module_of(PAGE), "test_wrong.py": module_of(wrong)}
    outcome = run(modules, tmp_path)

    assert outcome.passed["test_page.py"] == defined_in(modules["test_page.py"])
    assert outcome.passed == {
        "test_page.py": {"test_it", "test_in_a_class"},
        "test_wrong.py": {"test_in_a_class"},
    }
    assert not outcome.clean
    line = wrong.splitlines().index('    chat_fake.assert_charged("0.06")') + 1
    assert f"test_wrong.py:{line}:" in outcome.output
    assert "expected 0.06 USD, got 0.05 USD" in outcome.output


@pytest.mark.parametrize("info", ["python no-run", "pycon", "python3"])
def test_no_block_of_python_can_be_left_out(info):
    with pytest.raises(ValueError, match="line 1"):
        module_of(f"```{info}\nx = 1\n```\n")


FAILURE = """\
```python
def test_it(chat_fake, chat_clock):
    chat_fake.assert_charged("1")
```

It fails:

```console
$ pytest -q test_money.py
something old
```

```python
def test_another(chat_fake):
    chat_fake.assert_charged("0")
```
"""


def test_a_block_that_is_followed_by_its_output_is_a_module_of_its_own():
    assert {"test_another"} == defined_in(module_of(FAILURE))
    (shown,) = shown_outputs(FAILURE)
    assert {"test_it"} == defined_in("\n".join(shown.code.lines))
    assert shown.arguments == ["-q", "test_money.py"]


def test_an_output_is_recorded_in_its_place_and_kept_if_only_times_differ():
    text = recorded(FAILURE)
    assert "something old" not in text
    assert "E       AssertionError: charged: expected 1 USD, got 0 USD" in text
    assert re.search(r"1 failed in \d+\.\d+s\n```\n\n```python\ndef test_another", text)

    later = re.sub(r"1 failed in \S+", "1 failed in 99.99s", text)
    assert recorded(later) == later


def test_a_pipe_reads_what_pytest_prints():
    text = recorded(FAILURE.replace("test_money.py", "test_money.py | grep -m1 ^E"))
    output = "E       AssertionError: charged: expected 1 USD, got 0 USD\n```"
    assert f"$ pytest -q test_money.py | grep -m1 ^E\n{output}" in text


def test_an_output_of_a_test_that_passes_is_refused(tmp_path):
    (shown,) = shown_outputs(FAILURE.replace('"1"', '"0"'))
    with pytest.raises(AssertionError, match="1 passed"):
        printed(shown, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ pytest test_it.py\n```\n",
        "```python\nx = 1\n```\n```console\n$ ls\n```\n",
        "```python\nx = 1\n```\n```console\n```\n",
    ],
)
def test_an_output_without_code_or_command_is_refused(text):
    with pytest.raises(ValueError, match="an output"):
        module_of(text)


def test_marks_become_links_and_code_stays_as_it_is():
    page = section_marks.ROOT / "docs" / "tutorial" / "page.md"
    text = "# About §1\n\nSee §3 rule 5, and `§2`.\n\n```text\n§4\n```\n"
    linked = section_marks.linked(text, page)
    assert linked == (
        "# About §1\n\nSee [§3 rule 5], and `§2`.\n\n```text\n§4\n```\n"
        "\n[§3 rule 5]: ../reference/service.md#3-rule-5\n"
    )
    assert linked == section_marks.linked(linked, page)
