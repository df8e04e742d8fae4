"""Explorations are an extra: what needs the folder says so where it is missing."""

import sys

import pytest

import pytest_chatfake
from pytest_chatfake import ChatFakeError


@pytest.fixture
def _is_missing(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("pytest_chatfake.exploring.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pytest_chatfake.exploring", None)


@pytest.mark.usefixtures("_is_missing")
@pytest.mark.parametrize("name", ["explore", "Explorer", "WebhookTests"])
def test_a_name_of_the_folder_says_what_is_missing(monkeypatch, name):
    monkeypatch.delitem(vars(pytest_chatfake), name, raising=False)
    expected = f"{name} needs pytest_chatfake.exploring, which is not installed"
    with pytest.raises(ChatFakeError, match=expected):
        getattr(pytest_chatfake, name)


def test_a_star_import_gives_all_names():
    namespace = {}
    exec("from pytest_chatfake import *", namespace)
    assert set(pytest_chatfake.__all__) == set(namespace) - {"__builtins__"}
