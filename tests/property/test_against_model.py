"""Random scripts of sends, verbs, people, time and money: the fake and the model never disagree."""

import pytest

from .model_comparison import ModelComparison
from .required_paths import REQUIRED_PATHS
from .scripts import FEW, play_scripts


@pytest.mark.parametrize("part", range(4))
def test_random_scripts_agree_with_the_model_and_take_every_path(part, record_property):
    paths = play_scripts(60, lambda script: ModelComparison(script).run(), part)

    record_property("chatfake paths", dict(paths))
    assert FEW or REQUIRED_PATHS - paths.keys() == set()
