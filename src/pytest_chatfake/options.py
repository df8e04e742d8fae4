"""The options of a run: of the ini file and of the command line.

Loaded with the plugin in every run of pytest, so heavy modules are imported inside functions.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

START = "2026-01-01T12:00:00Z"

_SCOPES = ("function", "session")
_TIMELINES = ("failed", "always", "never")

#: Options of the ini file: the default, the type, if it is no text, and the help.
_INI: dict[str, tuple[Any, Any, str]] = {
    "chat_clock_start": (
        START,
        None,
        f"the moment at which chat_clock starts: ISO 8601 with an offset or Z (default: {START})",
    ),
    "chat_fake_timeline": (
        "failed",
        None,
        "which tests' reports tell what happened: failed, always or never (default: failed)",
    ),
    "chat_fake_strict": (
        True,
        "bool",
        "whether a test fails for what it overlooked, or is given a WebhookWarning (default: true)",
    ),
    "chat_fake_seed": (
        "fixed",
        None,
        (
            "what ids are derived from, beside the test's node id: fixed (nothing, so they repeat "
            "from run to run), random (new ones in every run), or a text of your own (default: "
            "fixed)"
        ),
    ),
    "chat_fake_loop_scope": (
        "function",
        None,
        (
            "how long the event loop lasts on which plain tests run ASGI apps: function (as long "
            "as its fake) or session (one for all) (default: function)"
        ),
    ),
    "chat_fake_host": (
        "127.0.0.1",
        None,
        "the IPv4 address of the API, as 0.0.0.0 for an app in a container (default: 127.0.0.1)",
    ),
    "chat_fake_mutants_ignore": (
        [],
        "linelist",
        "the names of false facts that do not concern the app: --chat-fake-mutants leaves them out",
    ),
}

#: Options of the command line: what each takes, if it is no flag, and its help. MORE asks for more
#: than the failures of a run, MUTANTS for its tests again.
_OWN = {
    "--chat-fake-seed": (
        "SEED",
        "as the ini option chat_fake_seed; the seed in the header of a run brings its ids again",
    ),
    "--chat-explore-part": (
        "K/N",
        "try only the K-th of N parts of the worlds of each exploration, for jobs side by side",
    ),
}
MORE = {
    "--chat-fake-report": ("PATH", "write a page of all tests, each with what happened, to PATH"),
    "--chat-fake-coverage": (
        "",
        "show which transitions, faults and edges of the service the run never tried",
    ),
    "--chat-fake-coverage-fail-under": (
        "N",
        "as --chat-fake-coverage, and fail if less than N percent were tried",
    ),
    "--chat-fake-data": (
        "FILE",
        "write what these show to FILE; python -m pytest_chatfake merge makes one of several",
    ),
}
MUTANTS = {
    "--chat-fake-mutants": (
        "",
        "after the run, run its tests again with one false fact at a time: would they notice?",
    ),
    "--chat-fake-mutants=fast": ("", "the same, until one test has noticed a false fact"),
    "--chat-fake-mutants-seconds": (
        "N",
        "as --chat-fake-mutants, and begin no more after N real seconds",
    ),
    "--chat-fake-mutants-fail-under": (
        "N",
        "as --chat-fake-mutants, and fail if less than N percent were noticed",
    ),
}


def declare(parser: pytest.Parser) -> None:
    """Declare the options."""
    for name, (default, kind, text) in _INI.items():
        own = [*default] if kind == "linelist" else default  # pytest adds lines to it
        parser.addini(name, text, type=kind, default=own)
    for name, (value, text) in {**_OWN, **MORE, **MUTANTS}.items():
        details = {"metavar": value} if value else {"action": "store_const", "const": True}
        parser.getgroup("chatfake").addoption(name, help=text, **details)


def any_given(config: pytest.Config, names: dict[str, tuple[str, str]]) -> bool:
    """Return whether the command line has one of these options."""
    return any(config.getoption(name) is not None for name in names)


def configuration(config: pytest.Config) -> list[str]:
    """Return what is the same in runs that are parts of one."""
    given = {name: config.getoption(name) for name in ("--chat-fake-seed", *MUTANTS)}
    given |= {name: config.getini(name) for name in _INI}
    return [f"{name}={value}" for name, value in given.items()]


def check(config: pytest.Config) -> None:
    """Refuse invalid options."""
    exposure(config)
    if (scope := config.getini("chat_fake_loop_scope")) not in _SCOPES:
        raise pytest.UsageError(
            f"the ini option chat_fake_loop_scope: expected {' or '.join(_SCOPES)}, got {scope!r}"
        )
    if (when := config.getini("chat_fake_timeline")) not in _TIMELINES:
        raise pytest.UsageError(
            f"the ini option chat_fake_timeline: expected {', '.join(_TIMELINES[:2])} or "
            f"{_TIMELINES[2]}, got {when!r}"
        )
    try:
        config.getini("chat_fake_strict")
    except (TypeError, ValueError, pytest.UsageError) as error:  # by pytest's version
        raise pytest.UsageError(f"the ini option chat_fake_strict: {error}") from None


def exposure(config: pytest.Config) -> list[str]:
    """Return a warning if the API listens where other machines may reach it."""
    from ipaddress import IPv4Address

    host = config.getini("chat_fake_host")
    try:
        if IPv4Address(host).is_loopback:
            return []
    except ValueError:
        raise pytest.UsageError(
            f"the ini option chat_fake_host: expected an IPv4 address such as 0.0.0.0, got {host!r}"
        ) from None
    return [f"chat fake: warning: other machines may reach the API by chat_fake_host={host}"]


def chosen_seed(config: pytest.Config) -> str:
    """Return the seed of the run's ids; a random seed is the same on all workers."""
    given: dict[str, str] = getattr(config, "workerinput", {})
    seed: str | None = given.get("chat_fake_seed", config.getoption("--chat-fake-seed"))
    if seed is None:
        seed = str(config.getini("chat_fake_seed"))
    if not seed.strip():
        raise pytest.UsageError(
            "chat_fake_seed: expected fixed, random, or a text of your own, got nothing"
        )
    if seed == "random":
        seed = os.urandom(4).hex()  # not by way of `random`, which others seed
    return seed
