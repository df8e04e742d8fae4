"""What pytest prints of failing tests: each module here is compared with its text.

After a change of texts, record them anew and read the diff::

    python -m pytest tests/golden -n 0 --inline-snapshot=create,fix
"""

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


def everywhere_alike(text, folder):
    """A text without what depends on the machine and on Python, and with short ids."""
    text = text.replace(f"{folder}/", "")
    text = re.sub(r"^ +[~^]+\n", "", text, flags=re.MULTILINE)
    return re.sub(r"(?<![0-9a-f])[0-9a-f]{16,24}0{5}(?=[0-9a-f]{3}\b)", "", text)


def test_failures_are_printed_as_recorded(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    for module in MODULES:
        shutil.copy(FOLDER / f"{module}.py", tmp_path)
    left_out = (f"-pno:{name}" for name in ("cacheprovider", "hypothesispytest", "inline_snapshot"))
    run_pytest(
        tmp_path, "--tb=short", *left_out, *(f"{module}.py" for module in MODULES), COLUMNS="80"
    )

    changes = []
    for module in MODULES:
        text = everywhere_alike((tmp_path / f"{module}.txt").read_text("utf-8"), tmp_path)
        recorded = external_file(f"{module}.txt")
        if text != recorded:  # an assert would take minutes to compare that many lines
            lines = recorded.splitlines(), text.splitlines()
            changes += unified_diff(*lines, f"{module}.txt", "now", lineterm="")
    if changes:
        pytest.fail("\n".join(changes), pytrace=False)
