"""Configures a test's fakes, and keeps the session's listener."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from .. import options
from ..base.terminal import speak_through
from ..fake.config import ChatFakeConfig
from ..fake.fake import service


def configured(
    request: pytest.FixtureRequest, config: ChatFakeConfig, mode: Literal["sync", "async"]
) -> ChatFakeConfig:
    """Return a test's configuration: the fixture's, overridden by markers; the nearest wins.

    The listener keeps running from now on.
    """
    keep_listening(request.config)
    fields: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("chat_fake"))):
        if marker.args:
            pytest.fail(
                f"@pytest.mark.chat_fake: expected keyword arguments, as in price='0.10', "
                f"got {marker.args!r}",
                pytrace=False,
            )
        fields.update(marker.kwargs)
    if not isinstance(config, ChatFakeConfig):
        pytest.fail(
            f"the fixture chat_fake_config: expected a ChatFakeConfig(...), got {config!r}",
            pytrace=False,
        )
    if mode not in {"sync", "async"}:
        pytest.fail(
            f"the fixture chat_fake_mode: expected 'sync' or 'async', got {mode!r}", pytrace=False
        )
    seed = request.node.nodeid
    if request.config.stash[options.seed_key] != "fixed":
        seed = f"{request.config.stash[options.seed_key]} {seed}"
    ini = request.config.getini
    defaults = {"seed": seed, "mode": mode}
    defaults |= {name: ini(f"chat_fake_{name}") for name in ("strict", "tls")}
    try:
        request.node.ihook.pytest_chatfake_fields(item=request.node, fields=fields)
        for name, default in defaults.items():
            if fields.get(name, getattr(config, name)) is None:
                fields[name] = default
        return config.replace(**fields)
    except (TypeError, ValueError) as error:
        problem = str(error)
    pytest.fail(f"@pytest.mark.chat_fake: {problem}", pytrace=False)


def keep_listening(config: pytest.Config) -> None:
    """Keep the listener running until the session ends, whatever fakes come and go."""
    if options.listens_key in config.stash:
        return
    config.stash[options.listens_key] = True
    speak_through(config.stash.get(options.stderr_key, None))
    service.host = config.getini("chat_fake_host")
    service.hold()
