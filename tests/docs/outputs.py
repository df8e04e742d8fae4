"""What pytest prints about the failing tests that the pages show.

Run as a script, it writes into each page what is printed now: ``python -m tests.docs.outputs``
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .pages import INI, PAGES, ShownOutput, shown_outputs

#: Real seconds that one run may take.
PATIENCE = 120


def printed(shown: ShownOutput, folder: Path) -> list[str]:
    """Run the code as the page's command says, and give the lines that pytest prints."""
    *options, file = shown.arguments
    (folder / file).write_text("\n".join([*shown.code.lines, ""]), "utf-8")
    (folder / "pytest.ini").write_text(INI, "utf-8")
    # In CI, and on a wide or coloured terminal, pytest prints more.
    quiet = {"COLUMNS": "80", "NO_COLOR": "1"}
    environ = {
        key: value
        for key, value in os.environ.items()
        if not re.match("PYTEST_|CI$|BUILD_NUMBER$|FORCE_COLOR$|PY_COLORS$", key)
    }
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *options,
            *["-p", "no:cacheprovider", "-p", "no:inline_snapshot"],
            file,
        ],
        cwd=folder,
        env=environ | quiet,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1, f"its tests fail, and nothing else:\n{done.stdout}{done.stderr}"
    lasting = re.sub(r" in \d+\.\d+s$", " in 0.12s", done.stdout.rstrip(), flags=re.MULTILINE)
    return [line.rstrip() for line in lasting.splitlines()]


def recorded(text: str) -> str:
    """Return the text of a page with each output as it is printed now."""
    lines = text.splitlines()
    for shown in reversed(shown_outputs(text)):
        with tempfile.TemporaryDirectory() as folder:
            start = shown.output.start + 1
            end = shown.output.start + len(shown.output.lines)
            lines[start:end] = printed(shown, Path(folder))
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(recorded(page.read_text("utf-8")), "utf-8")
