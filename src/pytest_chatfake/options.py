"""The options of the ini file and the command line.

Every pytest run loads this module, so heavy modules are imported inside functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import pytest

#: What the ids of a run are derived from.
seed_key: pytest.StashKey[str] = pytest.StashKey()

#: The standard error from before capturing starts.
stderr_key: pytest.StashKey[int] = pytest.StashKey()

#: Whether the listener is kept for the session.
listens_key: pytest.StashKey[bool] = pytest.StashKey()

START = "2026-01-01T12:00:00Z"

_CHOICES = {
    "chat_fake_loop_scope": ("function", "session"),
    "chat_fake_timeline": ("failed", "always", "never"),
}

#: Ini options: default, type (None: a string), help.
IniOptions: TypeAlias = Mapping[str, tuple[Any, Any, str]]

#: Command-line options: what each takes (empty for a flag) and its help. A flag's name may contain
#: ``=``, because argparse matches the whole text.
Flags: TypeAlias = Mapping[str, tuple[str, str]]

_INI: IniOptions = {
    "chat_clock_start": (
        START,
        None,
        f"when chat_clock starts: ISO 8601 with an offset or Z (default: {START})",
    ),
    "chat_fake_timeline": (
        "failed",
        None,
        (
            "which tests' reports show their fake's timeline: failed, always or never "
            "(default: failed)"
        ),
    ),
    "chat_fake_strict": (
        True,
        "bool",
        (
            "true: a test fails if a webhook failed or was never posted, or if a fault never "
            "fired; false: it gets a WebhookWarning (default: true)"
        ),
    ),
    "chat_fake_seed": (
        "fixed",
        None,
        (
            "the seed of ids: fixed (the same ids in every run), random (new ids in every run), or "
            "your own string (the same ids for the same string) (default: fixed)"
        ),
    ),
    "chat_fake_loop_scope": (
        "function",
        None,
        (
            "the event loop on which sync tests run ASGI apps: function (a new one for each fake) "
            "or session (one for all) (default: function)"
        ),
    ),
    "chat_fake_tls": (
        False,
        "bool",
        (
            "whether chat_fake.base_url is https, with a certificate authority made for the run "
            "(default: false; needs pytest-chatfake[tls])"
        ),
    ),
    "chat_fake_host": (
        "127.0.0.1",
        None,
        (
            "the IPv4 address that the fake's HTTP API listens on, such as 0.0.0.0 for an app in a "
            "container (default: 127.0.0.1)"
        ),
    ),
}

_OWN: Flags = {
    "--chat-fake-seed": (
        "SEED",
        (
            "use SEED instead of the ini option chat_fake_seed; the seed in a run's header "
            "reproduces its ids"
        ),
    ),
}

#: The options declared by the core and by extras; True: in the ini file.
_declared: dict[str, bool] = {}


def declare(parser: pytest.Parser, ini: IniOptions = _INI, flags: Flags = _OWN) -> None:
    """Declare the core's options, or those that an extra passes."""
    for name, (default, kind, text) in ini.items():
        # A copy, because pytest would append to it.
        own = [*default] if kind == "linelist" else default
        parser.addini(name, text, type=kind, default=own)
    for name, (value, text) in flags.items():
        details = {"metavar": value} if value else {"action": "store_const", "const": True}
        parser.getgroup("chatfake: a fake messaging service").addoption(name, help=text, **details)
    _declared.update(dict.fromkeys(ini, True) | dict.fromkeys(flags, False))


def any_given(config: pytest.Config, names: Iterable[str]) -> bool:
    """Return whether the command line has one of these options."""
    return any(config.getoption(name) is not None for name in names)


def values(config: pytest.Config, *, without: Container[str]) -> dict[str, str]:
    """Return the values of all options of the core and its extras, except some."""
    found: dict[str, str] = {}
    for name, is_ini in _declared.items():
        with suppress(ValueError):  # a run inside another one may lack the option's plugin
            if name not in without:
                found[name] = str(config.getini(name) if is_ini else config.getoption(name))
    return found


def number_given(
    options: Callable[[str], Any],
    name: str,
    expected: str = "percent, from 0 to 100",
    most: float = 100,
) -> float | None:
    """Return an option's number, from 0 to ``most``; None if it was not given."""
    given: str | None = options(name)
    if given is None:
        return None
    with suppress(ValueError):
        if 0 <= (number := float(given)) <= most:
            return number
    raise ValueError(f"{name}: expected {expected}, got {given!r}")


def check(config: pytest.Config) -> None:
    """Raise a UsageError for an invalid ini option."""
    exposure(config)  # which refuses anything but an address
    for name, (*others, last) in _CHOICES.items():
        if (value := config.getini(name)) not in {*others, last}:
            raise pytest.UsageError(
                f"the ini option {name}: expected {', '.join(others)} or {last}, got {value!r}"
            )
    for name in ("chat_fake_strict", "chat_fake_tls"):
        try:
            config.getini(name)
        except (TypeError, ValueError, pytest.UsageError) as error:
            # The class depends on pytest's version.
            raise pytest.UsageError(f"the ini option {name}: {error}") from None


def exposure(config: pytest.Config) -> list[str]:
    """Return a warning if other machines may reach the API."""
    from ipaddress import IPv4Address

    host = config.getini("chat_fake_host")
    try:
        if IPv4Address(host).is_loopback:
            return []
    except ValueError:
        raise pytest.UsageError(
            f"the ini option chat_fake_host: expected an IPv4 address such as 0.0.0.0, got {host!r}"
        ) from None
    return [
        f"chat_fake: warning: other machines may reach the API because of chat_fake_host={host}"
    ]


def chosen_seed(config: pytest.Config) -> str:
    """Return the seed of the run's ids; all workers use the same random seed."""
    given: dict[str, str] = getattr(config, "workerinput", {})
    seed: str | None = given.get("chat_fake_seed", config.getoption("--chat-fake-seed"))
    if seed is None:
        seed = str(config.getini("chat_fake_seed"))
    if not seed.strip():
        raise pytest.UsageError(
            "chat_fake_seed: expected fixed, random, or your own string, got nothing"
        )
    if seed == "random":
        seed = os.urandom(4).hex()  # not `random`, because other plugins seed it
    return seed
