"""What pytest prints of failing tests: each module here is compared with its text.

After a change of texts, record them anew and read the diff::

    python -m pytest tests/golden -n 0 --inline-snapshot=fix
"""

from __future__ import annotations

import re
import shutil
from difflib import unified_diff
from pathlib import Path

import pytest
from inline_snapshot import external_file

from ..forked_pytest import run_pytest

FOLDER = Path(__file__).parent
MODULES = sorted({file.stem for file in FOLDER.glob("*.py")} - {Path(__file__).stem})

#: Writes what the terminal shows of each failure into a file of its module.
CONFTEST = """
from pathlib import Path

def pytest_runtest_logreport(report):
    if report.failed:
        phase = "" if report.when == "call" else f"{report.when} of "
        title = f" {phase}{report.head_line} ".center(80, "_")
        with Path(report.fspath).with_suffix(".txt").open("a", encoding="utf-8") as file:
            print(title, report.longreprtext, sep="\\n", file=file)
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what pytest prints of each module."""
    folder = tmp_path_factory.mktemp("golden")
    (folder / "conftest.py").write_text(CONFTEST, "utf-8")
    for module in MODULES:
        shutil.copy(FOLDER / f"{module}.py", folder)
    options = ("--tb=short", "-p", "no:cacheprovider", "-p", "no:inline_snapshot")
    run_pytest(folder, *options, *(f"{module}.py" for module in MODULES), COLUMNS="80")
    return folder


def everywhere_alike(text: str, folder: Path) -> str:
    """A text without what depends on the machine and on Python, and with short ids."""
    text = text.replace(f"{folder}/", "")
    text = re.sub(r"^ +[~^]+\n", "", text, flags=re.MULTILINE)
    return re.sub(r"(?<![0-9a-f])[0-9a-f]{16,24}0{5}(?=[0-9a-f]{3}\b)", "", text)


@pytest.mark.parametrize("module", MODULES)
def test_each_failure_of_a_module_is_printed_as_recorded(printed: Path, module: str) -> None:
    text = everywhere_alike((printed / f"{module}.txt").read_text("utf-8"), printed)
    recorded = external_file(f"{module}.txt")
    if text != recorded:  # an assert would take minutes to compare that many lines
        diff = unified_diff(
            recorded.splitlines(), text.splitlines(), "recorded", "now", lineterm=""
        )
        pytest.fail("\n".join(diff), pytrace=False)
