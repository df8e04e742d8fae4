"""The longer modules that tests run in a pytest of their own, as files that linters read."""

from pathlib import Path


def module_text(name):
    """Return the text of a module of this folder."""
    return Path(__file__).with_name(f"{name}.py").read_text("utf-8")
