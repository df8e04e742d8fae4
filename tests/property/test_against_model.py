"""Random scripts of sends, verbs, people, time and money: the fake and the model never disagree."""

from collections import Counter

from hypothesis import given

from .model_comparison import ModelComparison
from .required_paths import FEW, REQUIRED_PATHS, profile
from .scripts import scripts


def test_random_scripts_agree_with_the_reference_model_and_take_every_path(record_property):
    paths = Counter()

    @profile(400)
    @given(scripts())
    def play(script):
        paths.update(ModelComparison(script).run().paths)
        paths["scripts"] += 1

    play()

    record_property("chatfake paths", dict(paths))
    assert FEW or set() == REQUIRED_PATHS - paths.keys()
