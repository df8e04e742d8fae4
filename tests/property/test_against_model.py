"""Random scripts of sends, verbs, time and money: the fake and the model never disagree."""

# Asserts read `expected == actual`.

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given

from .paths import MUST_MEET, profile
from .players import Play
from .scripts import Script, scripts

if TYPE_CHECKING:
    from collections.abc import Callable


def test_random_scripts_agree_with_the_reference_model_and_meet_every_path(
    record_property: Callable[[str, object], None],
) -> None:
    met: Counter[str] = Counter()

    @profile(400)
    @given(scripts())
    def play(script: Script) -> None:
        met.update(Play(script).run().met)
        met["scripts"] += 1

    play()

    record_property("chatfake paths", dict(met))
    assert set() == MUST_MEET - met.keys()
