"""In a crash, an app is only accused of what it does itself."""

from ..exploring.cards import cards

#: How the row of crashes ends.
CRASHES = """\
TestBehindAFrameworkThatDoes
skipped  a_crash
           framework catches BaseException itself (framework/app.py:4), so a
           crash can't be told from an error: let it raise the exception again,
           connect your app without it, or name another crash point
TestHasAnotherScenario
skipped  a_crash
           before its response, no event made the app call
           tests.zoo.crash_verdicts.save, which the base class names in its
           crash_points: write crash_points = [...] in this class as well
TestKeepsItsConnection
ok       a_crash: 4 worlds
TestKeepsItsConnectionWithTheBug
FAILED   a_crash
           the app crashed before save (crash_verdicts.py:133) while it handled
           sent m1, which was retried after delivered m1; snapshot: one missing
           (('m1sent',)); 1 item; as written: 2
TestNamesWhatItNeverCalls
FAILED   a_crash
           ChatFakeError: crash_points: before its response, no event made the
           app call tests.zoo.crash_verdicts.save; name a function that it calls
           while it handles an event
TestSavesInAPoolWithTheContext
ok       a_crash
           4 worlds; worker threads weren't crashed (crash_verdicts.py:97)
TestSavesInAThread
ok       a_crash
           4 worlds; worker threads weren't crashed (crash_verdicts.py:85)
TestSavesOnlyInAPool
skipped  a_crash
           tests.zoo.crash_verdicts.save was only called in a task or thread
           without the context of your handler: name a function that your
           handler calls itself, or submit contextvars.copy_context().run to a
           pool
TestSwallowsTheCrash
FAILED   a_crash
           the app crashed before save (crash_verdicts.py:44) while it handled
           sent m1; ChatFakeError: the app went on after it crashed before save
           (crash_verdicts.py:44): a `try` around crash_verdicts.py:52 swallowed
           the crash (a bare `except:`, or one that catches cancellation). Raise
           it again there, while handling sent m1"""


def test_crashes_accuse_an_app_only_of_its_own_code(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    pytester.makepyfile("from tests.zoo.crash_verdicts import *\ndel Shop")
    assert cards(pytester.runpytest("-k", "test_a_crash")) == CRASHES
