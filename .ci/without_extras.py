"""Test the core without its extras: python .ci/without_extras.py [OPTIONS OF PYTEST]

In a copy of what git tracks, the folder of each extra is deleted, with its tests and its lines in
pyproject.toml, as ARCHITECTURE.md says. The copy is installed in a copy of this Python's
environment, which has the project's dev dependencies, and the tests of the core run there.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ("tests/unit", "tests/property", "tests/integration")


def extras(project: str) -> list[str]:
    """The folders of the package that an entry point leads into."""
    groups = tomllib.loads(project)["project"]["entry-points"].values()
    modules = [entry.split(":")[0].split(".") for group in groups for entry in group.values()]
    return sorted({folder for _, folder, *inside in modules if inside})


def copy_core(to: Path) -> None:
    """Copy the tracked files, and delete the extras there."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, tracked.stdout.decode().split("\0")):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)
    project = to / "pyproject.toml"
    text = project.read_text("utf-8")
    names = extras(text)
    print("without", *names, flush=True)
    for name in names:
        shutil.rmtree(to / "src" / "pytest_chatfake" / name)
        shutil.rmtree(to / "tests" / name)
    theirs = re.compile(rf"^.*\bpytest_chatfake\.(?:{'|'.join(names)})\b.*\n", re.MULTILINE)
    project.write_text(theirs.sub("", text), "utf-8")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        core, environment = Path(folder, "core"), Path(folder, "environment")
        copy_core(core)
        # Scripts of a copied environment would start the old Python; only its own is called here.
        shutil.copytree(sys.prefix, environment, symlinks=True)
        python = [str(environment / "bin" / "python"), "-m"]
        install = ["pip", "install", "-q", "--no-deps", "-e", "."]
        subprocess.run([*python, *install], cwd=core, check=True)
        tests = [*python, "pytest", "-q", "-n", "2", *TESTS, *sys.argv[1:]]
        return subprocess.run(tests, cwd=core, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
