"""What pytest prints of each mistake, as it is pinned in ``outputs``.

Run as a script, this file writes what is printed now.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
OUTPUTS = HERE / "outputs"
NAMES = re.findall(
    r"^(?:async )?def (test_\w+)", (HERE / "mistakes.py").read_text("utf-8"), re.MULTILINE
)

#: What names the cause, in the first line of each section.
CAUSES = {
    "test_a_double_charge": "[duplicate: mistakes.py:21], already accepted at #10",
    "test_a_status_that_goes_back": "[delayed 30 s: mistakes.py:31], after read m1 (#12)",
    "test_a_wrong_amount": "m1 was charged 0.05 once, at #7; events #3 (estimate)",
    "test_a_302_response": "302",
    "test_an_exception_in_the_handler": "500 (the app logged KeyError: 'campaign' at shop.py:",
    # The app hides it. The first line can only explain the price: nothing is odd.
    "test_a_swallowed_exception": "Flask /hooks/chat responded with 2xx to all 2 events",
    "test_no_signature_check": "204 [wrong signature: mistakes.py:80]",
    "test_a_handler_that_never_responds": "TimeoutError: no complete response within 0.2 s",
    "test_a_forgotten_await": "2 steps were not performed, starting with the chain",
}


@cache
def printed() -> dict[str, str]:
    """What is printed of each failure, from its own line on; ports and frames are put short."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:logging", "-W", "ignore"]
    for slow_to_import in ("django", "hypothesispytest", "inline_snapshot", "respx"):
        options += ["-p", f"no:{slow_to_import}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-c", os.devnull, "--rootdir=.", "mistakes.py"],
        cwd=HERE,
        env=environ | {"COLUMNS": "80", "NO_COLOR": "1", "TZ": "UTC"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", done.stdout)
    text = re.sub(r"\b0x[0-9a-f]+", "0x...", text)
    text = re.sub(r'  File ".*site-packages.*\n(?:    .*\n)+', "", text)  # the frames of Flask
    text = re.sub(r'  File ".*/', '  File "', text)
    text = re.sub(r"^ +[~^]+\n", "", text, flags=re.MULTILINE)  # these differ from Python to Python
    parts = re.split(r"^_+ (test_\w+) _+\n", text.partition("\n===== short")[0], flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {name: re.split(r"^=====", part, flags=re.MULTILINE)[0] for name, part in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_mistake_is_told_as_it_is_pinned(name: str) -> None:
    assert printed()[name] == (OUTPUTS / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_first_line_of_the_section_names_the_cause(name: str) -> None:
    above, _, section = printed()[name].partition(" chat_fake timeline ")
    title, first = section.splitlines()[1:3]

    assert title == "What to look at"
    assert CAUSES[name] in first
    assert "mistakes.py:" in above
    assert printed()[name].count(" chat_fake timeline ") == 1


if __name__ == "__main__":
    for test, text in printed().items():
        (OUTPUTS / f"{test}.txt").write_text(text, "utf-8")
