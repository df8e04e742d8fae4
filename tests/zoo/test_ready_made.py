"""``WebhookTests`` finds the bugs of the zoo by name, and passes what a twin does right."""

from __future__ import annotations

import re

import pytest

from . import apps, calls, crashes, days  # noqa: F401 - or each run would import them anew

#: Each app's class of tests, in a module of its own: of the app, and of its twin.
MODULE = """
from contextlib import suppress

import pytest
from pytest_chatfake import WebhookTests
from tests.zoo import apps, calls, crashes, days

App = next(getattr(m, "{app}") for m in (apps, calls, crashes, days) if hasattr(m, "{app}"))

class TestApp(WebhookTests):
    crash_points = App.crash_points
    make = App

    def connect(self, chat_fake):
        self.app = self.make()
        self.app.connect(chat_fake)
        return self.app.snapshot

    def scenario(self, chat_fake):
        with suppress(AssertionError):  # what each scene asserts, the snapshot shows
            self.app.scene(chat_fake)

class TestTwin(TestApp):
    make = apps.correct(App)
"""


@pytest.mark.parametrize(
    ("app", "expected"),
    [
        (
            "CountsDuplicates",
            ["duplicates", "duplicates_under_another_id", "duplicates_days_later"],
        ),
        ("LetsALateStatusWin", ["duplicates", "duplicates_days_later", "another_order"]),
        ("LooksUpTooEarly", ["webhooks_before_the_response"]),
        ("WaitsForTheResponseWithSentOnly", ["webhooks_before_the_response"]),
        ("NeedsSentFirst", ["another_order"]),
        ("DropsWhatItDoesNotKnow", ["another_order"]),
        ("TakesNoRetry", ["another_order"]),
        ("StoresThenRefuses", ["another_order"]),
        ("KeepsTwoIds", ["another_order"]),
        ("ChecksThenInserts", ["duplicates_at_once"]),
        ("ForgetsAfterADay", ["duplicates_days_later"]),
        ("TrustsEventIds", ["duplicates_under_another_id"]),
        ("RefusesAnUnknownField", ["a_later_version"]),
        ("RefusesAnUnknownValue", ["a_later_version"]),
        ("BooksAtDelivery", ["a_read_at_once"]),
        ("CommitsTwice", ["a_crash", "an_error"]),
        ("AwaitsBetweenCommits", ["a_crash"]),
        ("WorksAfterItResponded", ["a_crash"]),
        ("LogsAndGoesOn", ["an_error"]),
    ],
)
def test_the_app_fails_the_tests_of_its_bug_and_its_twin_passes_them(
    pytester: pytest.Pytester, app: str, expected: list[str]
) -> None:
    pytester.makepyfile(MODULE.format(app=app))
    result = pytester.runpytest("-p", "no:asyncio")

    cards = result.stdout.str().partition("TestApp =")[2].partition("TestTwin =")
    failed = [re.findall(r"^FAILED +([a-z_]+)(?::|$)", card, re.MULTILINE) for card in cards[::2]]
    assert [expected, []] == failed
