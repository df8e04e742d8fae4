"""Which fakes belong to the test that runs: a failure shows their timelines."""

from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_chatfake.base.current_test import running
from pytest_chatfake.report import active_stories

from .fakes import frozen_fake


def test_a_fake_outside_a_test_is_nobodys(monkeypatch):
    with running(None), frozen_fake():
        assert active_stories.is_in_a_test()  # pytest says so, where our plugin can't
        monkeypatch.delenv("PYTEST_CURRENT_TEST")
        assert not active_stories.is_in_a_test()
        assert active_stories.stories() == []


def test_a_fake_that_others_show_is_left_out_however_often_they_say_so():
    with running(object()), frozen_fake() as fake:
        assert [fake._story] == active_stories.stories()
        active_stories.unwatch(fake._story)
        active_stories.unwatch(fake._story)
        assert active_stories.stories() == []


@pytest.fixture
def forgotten():
    """The stories of which other plugins hear that a test forgets them."""
    seen = []

    def forget(story):
        seen.append(story)

    with running(SimpleNamespace(ihook=SimpleNamespace(pytest_chatfake_forget=forget))):
        yield seen


def test_of_very_many_fakes_each_is_looked_at_before_it_is_lost(forgotten):
    with ExitStack() as stack:
        fakes = [stack.enter_context(frozen_fake()) for _ in range(12)]

        assert [fake._story for fake in fakes[:2]] == forgotten


def test_of_very_many_examples_each_is_looked_at_before_it_is_lost(forgotten):
    stories = []

    @settings(max_examples=3, database=None)
    @given(st.integers())
    def run(_):
        with frozen_fake() as fake:
            stories.append(fake._story)

    run()

    assert stories == [*forgotten, *active_stories.stories()]
    assert len(stories) == 3
