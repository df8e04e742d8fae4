"""What pytest prints about the failing tests that the pages show.

Run as a script, it writes into each page what is printed now: ``python -m tests.docs.outputs``
"""

import re
import subprocess
import tempfile
from pathlib import Path

from ..forked_pytest import run_pytest
from .pages import INI, PAGES, shown_outputs


def printed(shown, folder):
    """Run the code as the page's command says, and give the lines that pytest prints."""
    *options, file = shown.arguments
    (folder / file).write_text("\n".join([*shown.code.lines, ""]), "utf-8")
    (folder / "pytest.ini").write_text(INI, "utf-8")
    options += ["-p", "no:cacheprovider", "-p", "no:inline_snapshot"]
    result = run_pytest(folder, *options, file, COLUMNS="80", NO_COLOR="1")
    output = result.stdout.str()
    assert result.ret == 1, f"its tests fail, and nothing else:\n{output}"
    piped = subprocess.check_output(shown.pipe, shell=True, input=output.rstrip(), text=True)
    return [line.rstrip() for line in piped.splitlines()]


def timeless(lines):
    """Return printed lines without how long the run took."""
    return [re.sub(r" in \d+\.\d+s$", "", line) for line in lines]


def recorded(text):
    """Return the text of a page with each output as it is printed now."""
    lines = text.splitlines()
    for shown in reversed(shown_outputs(text)):
        with tempfile.TemporaryDirectory() as folder:
            start = shown.output.start + 1
            end = shown.output.start + len(shown.output.lines)
            now = printed(shown, Path(folder))
            if timeless(now) != timeless(lines[start:end]):  # else only the duration would change
                lines[start:end] = now
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(recorded(page.read_text("utf-8")), "utf-8")
