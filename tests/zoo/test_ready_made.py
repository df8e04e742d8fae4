"""``WebhookTests`` finds the bugs of the zoo by name, and passes what a twin does right."""

from ..exploring.cards import failed
from . import apps, crashes, days
from .apps import correct

#: The rows of the card that an app fails, for each kind of bug that a row finds.
FAILED = {
    apps.CountsDuplicates: [
        "duplicates",
        "duplicates_under_another_id",
        "duplicates_days_later",
    ],
    apps.LetsALateStatusWin: ["duplicates", "duplicates_days_later", "another_order"],
    apps.TakesNoRetry: ["another_order"],
    apps.StoresThenRefuses: ["another_order"],
    apps.LooksUpTooEarly: ["webhooks_before_the_response"],
    apps.ChecksThenInserts: ["duplicates_at_once"],
    apps.ForgetsAfterADay: ["duplicates_days_later"],
    days.ForgetsByATimer: ["duplicates_days_later"],
    days.TrustsEventIds: ["duplicates_under_another_id"],
    days.RefusesAnUnknownField: ["a_later_version"],
    days.RefusesAnUnknownValue: ["a_later_version"],
    days.BooksAtDelivery: ["a_read_at_once"],
    crashes.CommitsTwice: ["a_crash", "an_error"],
    crashes.WorksAfterItResponded: ["a_crash"],
    crashes.LogsAndGoesOn: ["an_error"],
}

#: A class of tests for each app, and for its twin.
MODULE = """
from contextlib import suppress

from pytest_chatfake import WebhookTests
from tests.zoo.apps import correct
from tests.zoo.test_ready_made import FAILED

class OfAnApp(WebhookTests):
    __test__ = False

    def connect(self, chat_fake):
        self.app = self.make()
        self.app.connect(chat_fake)
        return self.app.snapshot

    def scenario(self, chat_fake):
        with suppress(AssertionError):  # what each scene asserts, the snapshot shows
            self.app.scene(chat_fake)

def forget(self):
    self.app.forget()

for app in FAILED:
    more = {"forget": forget} if hasattr(app, "forget") else {}
    for make in (app, correct(app)):
        name = f"Test{make.__name__}"
        more |= {"make": make, "crash_points": app.crash_points}
        globals()[name] = type(name, (OfAnApp,), more)
"""


def test_each_app_fails_the_tests_of_its_bug_and_its_twin_passes_them(
    pytester,
):
    pytester.makepyfile(MODULE)
    result = pytester.runpytest()

    bugs = {f"Test{app.__name__}": rows for app, rows in FAILED.items()}
    assert failed(result) == bugs | {f"Test{correct(app).__name__}": [] for app in FAILED}
