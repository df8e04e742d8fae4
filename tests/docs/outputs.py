"""What pytest prints about the failing tests that the pages show.

Run as a script, it writes into each page what is printed now: ``python -m tests.docs.outputs``
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from ..forked_pytest import run_pytest
from .pages import INI, PAGES, ShownOutput, shown_outputs


def printed(shown: ShownOutput, folder: Path) -> list[str]:
    """Run the code as the page's command says, and give the lines that pytest prints."""
    *options, file = shown.arguments
    (folder / file).write_text("\n".join([*shown.code.lines, ""]), "utf-8")
    (folder / "pytest.ini").write_text(INI, "utf-8")
    options += ["-p", "no:cacheprovider", "-p", "no:inline_snapshot"]
    result = run_pytest(folder, *options, file, COLUMNS="80", NO_COLOR="1")
    output = result.stdout.str()
    assert result.ret == 1, f"its tests fail, and nothing else:\n{output}"
    lasting = re.sub(r" in \d+\.\d+s$", " in 0.12s", output.rstrip(), flags=re.MULTILINE)
    piped = subprocess.check_output(shown.pipe, shell=True, input=lasting, text=True)
    return [line.rstrip() for line in piped.splitlines()]


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
