"""Random scripts of sends, verbs, people, time and money: the fake and the model never disagree."""

# Asserts read `expected == actual`.

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given

from .model_comparison import ModelComparison
from .required_paths import FEW, REQUIRED_PATHS, profile
from .scripts import Script, scripts

if TYPE_CHECKING:
    from collections.abc import Callable


def test_random_scripts_agree_with_the_reference_model_and_take_every_path(
    record_property: Callable[[str, object], None],
) -> None:
    paths: Counter[str] = Counter()

    @profile(400)
    @given(scripts())
    def play(script: Script) -> None:
        paths.update(ModelComparison(script).run().paths)
        paths["scripts"] += 1

    play()

    record_property("chatfake paths", dict(paths))
    assert FEW or set() == REQUIRED_PATHS - paths.keys()
