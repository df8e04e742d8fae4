"""Take the screenshot of the page of a run anew: ``python -m tests.by_hand.screenshot``

It shows the run of the tests in ``docs/how-to/read-a-failure.md``. Take it after a change of the
page's looks, or of what the tests print. Needs Debian's chromium and pngquant.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ..docs.pages import DOCS, INI, module_of, shown_outputs
from ..forked_pytest import run_pytest

PAGE = DOCS / "how-to" / "read-a-failure.md"
SCREENSHOT = DOCS / "_static" / "report.png"
SIZE = "1360,1115"


def take(folder: Path) -> None:
    """Run the tests, open the failed one on the page of the run, and photograph the page."""
    text = PAGE.read_text("utf-8")
    failing = shown_outputs(text)[0].code.lines
    (folder / "test_spend.py").write_text("\n".join([*failing, ""]), "utf-8")
    (folder / "test_timeline.py").write_text(module_of(text), "utf-8")
    (folder / "pytest.ini").write_text(INI, "utf-8")
    run_pytest(folder, "--tb=short", "--chat-fake-report=report.html")
    page = folder / "report.html"
    opened = page.read_text("utf-8").replace(
        '<details class="failed"', '<details open class="failed"'
    )
    page.write_text(opened, "utf-8")
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--disable-lcd-text"]
    options += [f"--window-size={SIZE}", f"--screenshot={SCREENSHOT}"]
    subprocess.run(["chromium", *options, page.as_uri()], check=True)
    subprocess.run(["pngquant", "--force", "--output", SCREENSHOT, "64", SCREENSHOT], check=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        take(Path(temporary))
