"""Which fakes belong to the test that runs: a failure shows their timelines."""

from contextlib import ExitStack
from types import SimpleNamespace

from pytest_chatfake.base.current_test import running
from pytest_chatfake.report import active_stories

from .fakes import frozen_fake


def test_a_fake_outside_a_test_is_nobodys(monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with running(None), frozen_fake():
        assert not active_stories.is_in_a_test()
        assert active_stories.stories() == []


def test_a_fake_that_others_show_is_left_out_however_often_they_say_so():
    with running(object()), frozen_fake() as fake:
        assert [fake._story] == active_stories.stories()
        active_stories.unwatch(fake._story)
        active_stories.unwatch(fake._story)
        assert active_stories.stories() == []


def test_of_very_many_fakes_each_is_looked_at_before_it_is_lost():
    seen = []

    def forget(story):
        seen.append(story)

    item = SimpleNamespace(ihook=SimpleNamespace(pytest_chatfake_forget=forget))
    with running(item), ExitStack() as stack:
        fakes = [stack.enter_context(frozen_fake()) for _ in range(12)]

    assert [fake._story for fake in fakes[:2]] == seen
