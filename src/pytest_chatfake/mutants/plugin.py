"""The plugin for mutants: their options, and a keyword for the marker.

Every pytest run loads it, so the rest is only imported if an option asks for mutants.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from .. import options

_INI: Final[options.IniOptions] = {
    "chat_fake_mutants_ignore": (
        [],
        "linelist",
        "names of false facts that --chat-fake-mutants leaves out, one per line",
    ),
}

_FLAGS: Final[options.Flags] = {
    "--chat-fake-mutants": (
        "",
        (
            "run the tests again after the run, with one false fact about the service at a time, "
            "and list the facts that no test noticed"
        ),
    ),
    "--chat-fake-mutants=fast": (
        "",
        "like --chat-fake-mutants, but with each false fact only until a test notices it",
    ),
    "--chat-fake-mutants-seconds": (
        "N",
        "like --chat-fake-mutants, and start no more reruns after N seconds",
    ),
    "--chat-fake-mutants-fail-under": (
        "N",
        "like --chat-fake-mutants, and fail the run if its tests noticed less than N percent",
    ),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    options.declare(parser, _INI, _FLAGS)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker's keyword, and the reruns if an option asks for them."""
    config.addinivalue_line(
        "markers", "chat_fake(mutants=False): leaves a test out of --chat-fake-mutants"
    )
    if options.any_given(config, _FLAGS):
        from .reruns import Reruns

        try:
            reruns = Reruns(config)
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
        config.pluginmanager.register(reruns, "chatfake-reruns")


@pytest.hookimpl(optionalhook=True)  # the fake's plugin may be disabled
def pytest_chatfake_fields(fields: dict[str, Any]) -> None:
    """Take out the marker's keyword, which is about the run and not a field of the fake."""
    from ..base.arguments import check_bool

    check_bool(fields.pop("mutants", True), "mutants")
