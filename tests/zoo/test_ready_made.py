"""``WebhookTests`` finds the bugs of the zoo by name, and passes what a twin does right."""

from concurrent.futures import ThreadPoolExecutor

from inline_snapshot import snapshot

from ..exploring.cards import cards, failed, outcomes
from . import apps, bots, crashes, days, forged_apps, judged, races, unproven_apps
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
    apps.ChecksThenInserts: ["duplicates_at_once", "two_events_at_once"],
    races.ChecksThenInsertsInThreads: ["duplicates_at_once", "two_events_at_once"],
    races.ChecksThenInsertsInThePool: ["duplicates_at_once", "two_events_at_once"],
    races.OverwritesInThreads: ["two_events_at_once"],
    races.AddsUpInThreads: ["two_events_at_once"],
    races.OverwritesWhileItAwaits: ["two_events_at_once"],
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


def test_what_proves_nothing_is_not_ok_or_says_so_and_its_twin_is(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    pytester.makepyfile(f"from {unproven_apps.__name__} import *")
    rows = "snapshot_changes or another_order or people_write"
    result = pytester.runpytest("-p", "no:inline_snapshot", "-k", rows)

    assert cards(result) == snapshot("""\
TestExpectsTexts
ok       snapshot_changes: 5 of 6 events changed it
ok       another_order: 16 worlds
FAILED   people_write
           the app accepted an image from a person, but logged KeyError: 'text'
           at unproven_apps.py:92
TestHolds
ok       snapshot_changes: 2 of 2 events changed it
ok       another_order: 2 worlds
ok       people_write: 2 messages
TestHoldsWithTheBug
ok       snapshot_changes: 2 of 2 events changed it
FAILED   another_order
           delivered m1 arrived before sent m1; ["m1"]: 'sent'; as written:
           'delivered'
ok       people_write: 2 messages
TestIgnoresWhatPeopleWrite
ok       snapshot_changes: 5 of 6 events changed it
ok       another_order: 16 worlds
ok       people_write: 2 messages
TestPrintsWhatItSwallows
ok       snapshot_changes: 5 of 6 events changed it
ok       another_order: 16 worlds
FAILED   people_write
           the app accepted a text and an image from a person, but logged
           KeyError: 'chatMessage' at unproven_apps.py:67
TestSettles
ok       snapshot_changes: 2 of 2 events changed it
skipped  another_order
           no event overtook an earlier one of its message: cause two without a
           settle(), an assertion or a clock move between them, or hold them
           back with chat_fake.webhooks.paused()
ok       people_write: 2 messages
TestSwallowsEverything
FAILED   snapshot_changes
           the app accepted sent m1, but logged LookupError: no such shop at
           unproven_apps.py:113, and the snapshot did not change: it was {}
           before and after the scenario
skipped  another_order: test_snapshot_changes fails
FAILED   people_write
           the app accepted a text and an image from a person, but logged
           KeyError: 'chatMessage' at unproven_apps.py:67
TestSwallowsWhatPeopleWrite
ok       snapshot_changes: 5 of 6 events changed it
ok       another_order: 16 worlds
FAILED   people_write
           the app accepted a text and an image from a person, but logged
           KeyError: 'chatMessage' at unproven_apps.py:67
TestTakesTheFirstEvent
ok       snapshot_changes: 1 of 6 events changed it
FAILED   another_order
           delivered m1 arrived before sent m1; ["m1"]: 'delivered'; as written:
           'sent'
ok       people_write: 2 messages\
""")


BOTS = """
from tests.zoo import bots

for app in bots.FAILED:
    for make in (app, bots.correct(app)):
        name = f"Test{make.__name__}"
        globals()[name] = type(name, (bots.BotTests,), {"make": make})
"""


def test_replies_are_counted_though_the_snapshot_lacks_them(pytester):
    pytester.makepyfile(BOTS)
    rows = "(duplicates and not at_once) or crash or error or failing"
    with ThreadPoolExecutor() as pool:
        pool.submit(int).result()  # whose thread waits for more, and will send nothing
        result = pytester.runpytest("-k", rows)

    bugs = {f"Test{app.__name__}": rows for app, rows in bots.FAILED.items()}
    assert failed(result) == bugs | {f"Test{app.__name__}Correct": [] for app in bots.FAILED}


#: How the row of webhooks before the response ends, and the end of what it says.
EARLY = """\
TestBooksATimeout
FAILED   webhooks_before_the_response
           the webhooks of the 1st POST /v2/messages arrived before its
           response; ["refused"]: 'failed'; as written: missing
TestHoldsALock
skipped  webhooks_before_the_response
           the webhook can't be handled before the response: your app holds a
           lock or a transaction while it sends
TestHoldsATransaction
skipped  webhooks_before_the_response
           the webhook can't be handled before the response: your app holds a
           lock or a transaction while it sends
TestIgnoresNothing
ok       webhooks_before_the_response: 2 worlds
TestIgnoresNothingOfTwo
ok       webhooks_before_the_response: 5 worlds
TestIgnoresUnknown
FAILED   webhooks_before_the_response
           the webhooks of the 1st POST /v2/messages and `delivered` arrived
           before its response; after step 2, ["m1"]: 'sent'; as written:
           'delivered'
TestIgnoresUnknownOfTwo
FAILED   webhooks_before_the_response
           the webhooks of the 1st POST /v2/messages and `delivered` arrived
           before its response; after step 3, ["m1"]: 'sent'; as written:
           'delivered'
TestOverwrites
FAILED   webhooks_before_the_response
           the webhooks of the 1st POST /v2/messages arrived before its
           response; after step 1, ["m1"]: 'submitted'; as written: 'sent'
TestOverwritesNothing
ok       webhooks_before_the_response: 2 worlds
TestSendsInAnotherOrder
ok       webhooks_before_the_response: 3 worlds"""


def test_apps_that_send_fail_for_their_bugs_and_their_twins_never(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    pytester.makepyfile("from tests.zoo.early import *\ndel OfAShop")
    result = pytester.runpytest("-k", "before_the_response")
    assert cards(result) == EARLY


def test_apps_that_let_forgeries_through_fail_and_their_twins_pass(pytester):
    pytester.makepyfile(f"from {forged_apps.__name__} import *")
    result = pytester.runpytest("-p", "no:inline_snapshot", "-k", "test_forgeries")

    found = [name for name, rows in failed(result).items() if rows]
    assert found == [
        "TestComparesNothing",
        "TestIgnoresTheAge",
        "TestOnlyRefusesDuplicates",
        "TestTokenNeverExpires",
        "TestVerifiesOneForm",
    ]
    assert {row for rows in failed(result).values() for row in rows} == {"forgeries"}


#: The rows that an app fails which is wrong in every world alike, or in one of its own.
JUDGED = {
    "TestNeverReleases": ["a_month_later"],
    "TestReleasesInLocalTime": ["a_month_later"],
    "TestChargesDevices": ["snapshot_is_right"],
    "TestKeepsFloats": ["snapshot_is_right"],
    "TestKeepsTwoDecimals": ["snapshot_is_right"],
    "TestThanksTwice": ["duplicates", "duplicates_days_later"],
    "TestWaitsForEver": ["an_unknown_message"],
    "TestRaisesForOthers": ["an_unknown_message"],
    "TestPolls": ["webhooks_before_the_response"],
    "TestSearches": ["webhooks_before_the_response"],
    "TestOverwritesItsSpend": ["webhooks_before_the_response"],
    "TestCountsAnotherDay": ["around_midnight"],
}


def test_the_books_and_other_worlds_find_what_no_comparison_shows(pytester):
    pytester.makepyfile(f"from {judged.__name__} import *\ndel Judged")
    rows = "snapshot_is_right or duplicates or before or unknown or month or midnight"
    result = pytester.runpytest("-k", f"({rows}) and not at_once and not another_id")

    twins = {name: [] for name, app in vars(judged).items() if getattr(app, "__test__", False)}
    assert failed(result) == twins | JUDGED
    for twin in ("TestReleases", "TestCountsTheDay", "TestChargesOnce", "TestThanksOnce"):
        assert outcomes(result)[twin]["a_month_later"] == "ok"
        assert outcomes(result)[twin]["around_midnight"] == "ok"
    for twin in ("TestGivesUp", "TestIgnoresOthers"):
        assert outcomes(result)[twin]["an_unknown_message"] == "ok"
    for twin in ("TestPollsAgain", "TestSearchesAgain", "TestKeepsItsSpend", "TestReminds"):
        assert outcomes(result)[twin]["webhooks_before_the_response"] == "ok"
