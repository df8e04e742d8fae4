"""``SendTests``: ready-made tests for an app that sends messages."""

from __future__ import annotations

from typing import Any

import pytest

from ..base.coroutines import run_at_once
from ..fake.fake import ChatFake
from ..fake.inside import Inside
from .explorer import Explorer
from .ready_made import ReadyMade
from .send_run import SendRun, play_send


class SendTests(ReadyMade):
    """Does your app send twice, or not at all? Write three methods, and get eight tests.

    Subclass it in a test module::

        class TestOutbox(SendTests):
            crash_points = [Session.commit]

            def connect(self, chat_fake, tmp_path_factory):
                chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
                self.path = tmp_path_factory.mktemp("outbox") / "outbox.db"
                self.restart(chat_fake)
                return lambda: self.outbox.states()  # the snapshot

            def restart(self, chat_fake):
                self.outbox = Outbox(self.path, chat_fake.base_url, chat_fake.api_key)

            def send(self, chat_fake):
                self.outbox.add("+4915550001", "Your order is on its way")

            def work(self, chat_fake):
                self.outbox.send_all()

    Each test plays one business send in many worlds, and something different goes wrong each time.
    In the end, each message must have been sent as often as when nothing goes wrong, and the
    snapshot must be the same. Messages count as the same if they have the same recipient and
    content; failed ones don't count. A test that can't judge your app is skipped, and the reason
    says what to write. After the run, each class gets a card with a line for each test.

    To leave a test out, write ``test_a_crash = None``. A class without ``connect()`` is a base
    class, and is not collected. All methods may be ``async def``.

    Attributes:
        crash_points: Functions before and after whose calls the app may crash, and at which two
            workers meet, besides its calls of the API: ``[Session.commit]``.
        expected_failures: Reasons why tests fail for now, by test name. Once one of these tests
            passes, it counts as a failure.
        only: The only world to try, by test name, as a failure printed it.
    """

    # Yours to write

    def connect(self, chat_fake: ChatFake, *args: Any, **kwargs: Any) -> Any:
        """Add the send call, and make a new app with an empty database.

        The app has to call ``chat_fake.base_url``, over a socket. This method may ``yield`` the
        snapshot and then clean up, like a fixture. Further parameters are fixtures, which all
        worlds of a test share.

        Returns:
            The *snapshot*: a function without arguments that returns what the app knows of its
            sends, such as their states, as plain data without times or counts of tries. If you
            return None, only the messages are checked.
        """
        raise NotImplementedError(
            f"{type(self).__name__}: expected a method connect(self, chat_fake) that adds the send "
            f"call, as in chat_fake.send_endpoint(), and makes the app"
        )

    def restart(self, chat_fake: ChatFake) -> Any:
        """Make the app anew, as after a deployment, on what it has stored.

        Without this method, ``test_a_crash`` and ``test_two_at_once`` are skipped. A second worker
        calls it on a copy of this object, in a thread of its own.
        """

    def send(self, chat_fake: ChatFake) -> Any:
        """Send once, as your app's caller does.

        Let errors through of which the caller would be told: it then calls once more, ten minutes
        later.
        """
        raise NotImplementedError(
            f"{type(self).__name__}: expected a method send(self, chat_fake) that makes the app "
            f"send"
        )

    def work(self, chat_fake: ChatFake) -> Any:
        """Do what a scheduler does now and then, such as sending what is in the outbox.

        It is called after ``send()``, and then every hour for 20 hours. If nothing was sent by
        then, it is called every day until something is, for 31 days at most, and again for 20
        hours. Its errors are swallowed.
        """

    def undecided(self, snapshot: Any) -> Any:
        """Return whether the app says that a person has to look.

        It then need not have sent all messages, but must not have sent one twice.
        """

    def rejected(self, snapshot: Any) -> Any:
        """Return whether the snapshot is right after all messages were rejected with a 400.

        Apps differ in what they keep of a message that was never accepted. Without this method,
        ``test_a_rejected_send`` only compares amounts, and is skipped if the snapshot is the same
        as after an accepted send.
        """

    def expected(self, chat_fake: ChatFake) -> Any:
        """Return what the snapshot has to be, from the fake's books, in place of as written."""

    def play(self, chat_fake: ChatFake, *, days: int = 0) -> Any:
        """Send once and let the app work, as each test does; ``await`` it in an async test.

        Args:
            chat_fake: The fake.
            days: On how many days the app sends nothing, as a printed test says.

        Raises:
            AssertionError: A call of ``send()`` or ``work()`` would never end.
        """
        playing = play_send(self, chat_fake, days)
        return playing if Inside(chat_fake).is_async else run_at_once(playing)

    @pytest.fixture(name="send_run")
    def _send_run(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> SendRun:
        """Runs the ready-made tests of a SendTests class."""
        return SendRun(self, chat_explore, request)

    # The tests, in the order of the card

    def test_a_refused_send(self, send_run: SendRun) -> None:
        """Send later if a call gets a 503, a 429 with ``Retry-After``, or a closed connection."""
        send_run.compare("api.fail", "api.rate_limit", "api.disconnect")

    def test_a_lost_response(self, send_run: SendRun) -> None:
        """Don't send again if a call took effect: its connection was closed or reset, or a 502."""
        send_run.compare("api.lose_response")

    def test_a_rejected_send(self, send_run: SendRun) -> None:
        """Give up at some time if a call gets a 400, and don't take the message for accepted."""
        send_run.compare("api.fail_400")

    def test_a_garbled_response(self, send_run: SendRun) -> None:
        """Survive a response that is cut off, and a 503 with an HTML page."""
        send_run.compare("api.truncate", "api.fail_page")

    def test_a_rotated_key(self, send_run: SendRun) -> None:
        """Get the new API key, and send what was refused with 401."""
        send_run.compare_with_a_new_key()

    def test_out_of_funds(self, send_run: SendRun) -> None:
        """Send what failed for lack of money once there is money again."""
        send_run.compare_without_money()

    def test_two_at_once(self, send_run: SendRun) -> None:
        """Send once although two processes do the same at the same time."""
        send_run.require_restart()
        send_run.compare_at_once()

    def test_a_crash(self, send_run: SendRun) -> None:
        """Survive a crash before and after each call of the API, and at crash points."""
        send_run.require_restart()
        send_run.compare("crash")
