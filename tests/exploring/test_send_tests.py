"""``SendTests``, as a team meets it: what it finds in which app, what it skips, what is refused."""

import re

import pytest

from .cards import card, cards, failed, outcomes

#: Right senders without a worker, whose caller is told of errors; and their mistakes.
MODULE = """
    import asyncio
    import itertools
    import json

    import httpx
    import pytest
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3 import Retry

    from pytest_chatfake import SendTests

    ORDER = {"to": "+1", "type": "text", "text": {"body": "Hello"}}

    class Direct(SendTests):
        __test__ = False

        def connect(self, chat_fake):
            chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
            self.fake, self.sent = chat_fake, {}
            return lambda: dict(self.sent)

        def restart(self, chat_fake):
            pass

        def send(self, chat_fake):
            self.post("order-1")

        def post(self, key, session=requests):
            url = f"{self.fake.base_url}/v2/messages"
            headers = {**self.fake.headers, "Idempotency-Key": key}
            response = session.post(url, json=ORDER, headers=headers, timeout=60)
            response.raise_for_status()
            if response.json()["status"] == "failed":
                raise RuntimeError("no money")
            self.sent[key] = response.json()["id"]
"""


def first_lines(result):
    return re.findall(r"^(?:FAILED|skipped) +(.*)", cards(result), re.MULTILINE)


def test_a_sender_whose_caller_is_told_of_errors_passes_all_tests(run):
    result = run("""
    class TestSends(Direct):
        pass
    """)
    assert set(card(result).values()) == {"ok"}


def test_an_async_sender_passes_all_tests_and_fails_without_its_key(run):
    result = run("""
    class TestWithAKey(SendTests):
        key = "Idempotency-Key"

        async def connect(self, chat_fake):
            chat_fake.send_endpoint(idempotency_header=self.key)
            self.states = {}
            self.restart(chat_fake)
            return lambda: dict(self.states)

        def restart(self, chat_fake):
            self.headers = lambda: chat_fake.headers
            self.url = f"{chat_fake.base_url}/v2/messages"

        async def send(self, chat_fake):
            self.states["a"] = "new"

        async def work(self, chat_fake):
            if self.states["a"] != "new":
                return
            headers = self.headers() | {"Idempotency-Key": "a"}
            async with httpx.AsyncClient(verify=False, timeout=60) as client:
                response = await client.post(self.url, json=ORDER, headers=headers)
            if response.status_code == 400:
                self.states["a"] = "failed"
            elif response.status_code == 200 and response.json()["status"] != "failed":
                self.states["a"] = "sent"

    class TestWithoutAKey(TestWithAKey):
        key = None

        def undecided(self, snapshot):
            return False
    """)
    tests = ["a_lost_response", "a_garbled_response", "two_at_once", "a_crash"]
    assert failed(result) == {"TestWithAKey": [], "TestWithoutAKey": tests}


def test_one_call_of_a_client_that_sends_twice_is_counted(run):
    result = run(
        """
    class TestWithoutAKey(Direct):
        def send(self, chat_fake):
            with requests.Session() as session:
                session.mount("http://", HTTPAdapter(max_retries=Retry(3, allowed_methods=None)))
                session.hooks["response"] = []
                self.post("", session)

    class TestNewKeys(Direct):
        def send(self, chat_fake):
            for attempt in range(3):
                try:
                    return self.post(f"key-{attempt}")
                except requests.ConnectionError:
                    pass
    """,
        "-k",
        "a_lost_response",
    )
    lost = "a_lost_response: the response to the 1st POST /v2/messages was lost; m2 repeats m1"
    assert first_lines(result) == [
        f"{lost}: same to and body, the idempotency keys differ; one send() made 2 POSTs",
        f"{lost}: same to and body, no idempotency key; one send() made 2 POSTs",
    ]


def test_two_messages_with_one_key_are_named(run):
    result = run(
        """
    class TestSends(Direct):
        def send(self, chat_fake):
            self.post("order-1")
            self.post("order-1")
    """,
        "-k",
        "a_lost_response",
    )
    (found,) = first_lines(result)
    assert found == (
        "a_lost_response: send() made two POST /v2/messages calls with the same idempotency key, "
        "so the second one sent nothing: give each message its own"
    )


WITHOUT_END = """
    class TestSends(Direct):
        def send(self, chat_fake):
            while True:
                try:
                    return self.post("order-1")
                except requests.HTTPError:
                    pass
"""


def test_a_retry_without_end_is_ended(run):
    result = run(WITHOUT_END, "-k", "a_rejected_send")
    (found,) = first_lines(result)
    assert found == (
        "a_rejected_send: the 1st POST /v2/messages and all later ones were refused with 400; "
        "send() called the API more than 100 times, and would go on"
    )


SHAPES = """
    from decimal import Decimal

    class Worker(Direct):
        __test__ = False

        def connect(self, chat_fake):
            super().connect(chat_fake)
            self.rows, self.books = {}, {}
            return lambda: {"rows": dict(self.rows), **self.books}

        def send(self, chat_fake):
            self.rows["order-1"] = "new"

        def work(self, chat_fake):
            if self.rows.get("order-1") != "new":
                return
            try:
                self.post("order-1")
            except requests.HTTPError as error:
                if error.response.status_code == 400:
                    self.reject("order-1", str(error.response.status_code))
            else:
                self.accept("order-1")

        def accept(self, order):
            self.rows[order] = "sent"

        def reject(self, order, reason):
            self.rows[order] = "failed"
"""

RIGHT = """
    class TestFailed(Worker):
        pass

    class TestDeleted(Worker):
        def reject(self, order, reason):
            del self.rows[order]

    class TestWithItsReason(Worker):
        def reject(self, order, reason):
            self.rows[order] = "rejected: " + reason

    class TestDoneAndForgotten(Worker):
        def accept(self, order):
            del self.rows[order]

        reject = lambda self, order, reason: self.accept(order)

    class TestTellsItsCaller(Direct):
        pass

    class TestWithAPrice(Worker):
        def send(self, chat_fake):
            self.rows["order-1"] = "new"
            self.books["prices"] = {"order-1": "0.05"}

    class TestGivesTheHoldBack(Worker):
        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            self.books = {"held": Decimal("0"), "available": Decimal("10")}
            return snapshot

        def accept(self, order):
            super().accept(order)
            self.books = {"held": Decimal("0.05"), "available": Decimal("9.95")}

    class TestRefunds(Worker):
        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            self.books = {"charged": 0.0, "refunded": 0.0}
            return snapshot

        def send(self, chat_fake):
            super().send(chat_fake)
            self.books["charged"] = 0.05

        def reject(self, order, reason):
            super().reject(order, reason)
            self.books["refunded"] = 0.05

    class TestEarns(Worker):
        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            self.books = {"revenue": "0.00"}
            return snapshot

        def send(self, chat_fake):
            super().send(chat_fake)
            self.books["revenue"] = "25.00"

    class TestAsksAPerson(Worker):
        def reject(self, order, reason):
            self.rows[order] = "sent"
            self.books["look at"] = order

        def undecided(self, snapshot):
            return "look at" in snapshot

    class TestStopsAfterAWeek(Worker):
        def reject(self, order, reason):
            self.tries = getattr(self, "tries", 0) + 1
            self.rows[order] = f"retry on day {self.tries}"
            self.due = self.fake.clock.now.timestamp() + 86_000

        def work(self, chat_fake):
            state = self.rows.get("order-1", "")
            is_due = state.startswith("retry") and chat_fake.clock.now.timestamp() >= self.due
            if is_due:
                self.rows["order-1"] = "new" if self.tries < 7 else "failed"
            super().work(chat_fake)
"""


def test_no_right_app_is_accused_for_what_it_keeps_of_a_rejection(run):
    result = run(SHAPES + RIGHT, "-k", "a_rejected_send")

    assert {row for rows in outcomes(result).values() for row in rows.values()} == {"ok"}


CHARGED = """
    class TestCharged(Worker):
        def connect(self, chat_fake):
            super().connect(chat_fake)
            self.spent = {zero}
            return lambda: {snapshot}

        def accept(self, order):
            super().accept(order)
            self.spent += type(self.spent)({price})

        def reject(self, order, reason):
            super().reject(order, reason)
            self.spent += type(self.spent)({price})
"""


@pytest.mark.parametrize(
    ("zero", "snapshot", "found"),
    [
        ('Decimal("0")', '{"rows": self.rows, "spent": self.spent}', '["spent"]: 0.05'),
        ("0.0", "[self.spent, self.rows]", "[0]: 0.05"),
        ("0.0", "str(self.spent)", "snapshot: 0.05"),
    ],
)
def test_a_charge_for_a_rejected_message_is_found(run, zero, snapshot, found):
    code = CHARGED.format(zero=zero, snapshot=snapshot, price='"0.05"')
    (line,) = first_lines(run(SHAPES + code, "-k", "a_rejected_send"))

    assert line == (
        "a_rejected_send: the 1st POST /v2/messages and all later ones were refused with 400; "
        f"{found}, as after an accepted send; before: 0{'.0' * (zero == '0.0')}"
    )


def test_what_shows_no_rejection_is_skipped_unless_it_is_judged(run):
    result = run(
        SHAPES
        + """
    class TestProcessed(Worker):
        def accept(self, order):
            self.rows[order] = "processed"

        reject = lambda self, order, reason: self.accept(order)

    class TestJudged(TestProcessed):
        def rejected(self, snapshot):
            return snapshot["rows"] == {"order-1": "processed"}

    class TestJudgedToBeWrong(TestProcessed):
        async def rejected(self, snapshot):
            return snapshot["rows"] == {}
    """,
        "-k",
        "a_rejected_send",
    )
    ended = {title: rows["a_rejected_send"] for title, rows in outcomes(result).items()}

    assert ended == {
        "TestJudged": "ok",
        "TestJudgedToBeWrong": "FAILED",
        "TestProcessed": "skipped",
    }
    assert first_lines(result)[-1] == (
        "a_rejected_send: your app gave up, but after a rejection, the snapshot is the same as "
        "after an accepted send, {'rows': {'order-1': 'processed'}}: let it show that the message "
        "was rejected, or write rejected(self, snapshot)"
    )


STUCK = """
    import asyncio

    class TestSends(Direct):
        async def connect(self, chat_fake):
            self.is_stuck = False
            self.snapshot = super().connect(chat_fake)
            return self.take

        async def take(self):
            if self.is_stuck:
                await asyncio.Event().wait()
            return self.snapshot()

        async def send(self, chat_fake):
            try:
                self.post("order-1")
            except requests.HTTPError:
                self.is_stuck = True
                await asyncio.Event().wait()
"""


def test_a_send_that_never_returns_is_named(run, monkeypatch):
    monkeypatch.setattr("pytest_chatfake.exploring.send_run._TIMEOUT", 0.5)
    monkeypatch.setattr("pytest_chatfake.exploring.patience.LIMIT", 5)
    (found,) = first_lines(run(STUCK, "-k", "a_refused_send"))
    assert found == (
        "a_refused_send: the 1st POST /v2/messages was refused with 503; send() did not return "
        "within 0.5 s of real time"
    )


def test_what_no_app_can_know_is_skipped(run):
    result = run("""
    class TestSends(Direct):
        restart = SendTests.restart

        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            chat_fake.send_endpoint()
            return snapshot
    """)
    no_key = (
        "your app can't know whether the call took effect: pass "
        "send_endpoint(idempotency_header=), add a GET route() by which it can look the message "
        "up, or write undecided(self, snapshot)"
    )
    no_restart = (
        "write restart(self, chat_fake), which makes the app anew on what it has stored, as in "
        "self.shop = Shop(self.path)"
    )
    skips = dict(line.split(": ", 1) for line in first_lines(result))
    assert skips == {
        "a_lost_response": no_key,
        "two_at_once": no_restart,
        "a_crash": no_restart,
    }
    assert f"a_refused_send: 3 worlds; api.disconnect was not tried: {no_key}" in cards(result)


def test_an_app_that_only_replies_is_left_to_webhook_tests(run):
    result = run("""
    class TestReplies(Direct):
        def connect(self, chat_fake):
            def receive(request):
                if request.event.message_id is None:
                    self.post(request.event.id)

            chat_fake.webhooks.connect(handler=receive, events="*")
            return super().connect(chat_fake)

        def send(self, chat_fake):
            chat_fake.recipient("+1").writes("Hello?")
    """)
    assert set(card(result).values()) == {"skipped"}
    assert first_lines(result)[0].endswith(
        "your app only sends while it handles a webhook, so the service's retry makes it send "
        "again: test it with WebhookTests, whose test_a_failing_api does this"
    )


def test_the_books_decide_what_the_snapshot_has_to_be(run):
    result = run(
        """
    class TestRight(Direct):
        def expected(self, chat_fake):
            return {"order-1": chat_fake.messages[-1].id}

    class TestWrong(Direct):
        def expected(self, chat_fake):
            return {}
    """,
        "-k",
        "a_refused_send",
    )
    assert failed(result) == {"TestRight": [], "TestWrong": ["a_refused_send"]}
    assert first_lines(result) == [
        "a_refused_send: even when nothing goes wrong; [\"order-1\"]: 'm1'; expected: missing"
    ]


def test_an_amount_that_is_not_in_the_books_is_explained(run):
    result = run(
        """
    class TestSpends(Direct):
        def connect(self, chat_fake):
            super().connect(chat_fake)
            return lambda: {"spent": 0.1 + 0.2 if self.sent else 0}

        def expected(self, chat_fake):
            return {"spent": 6 * chat_fake.balance.held}
    """,
        "-k",
        "a_refused_send",
    )
    result.stdout.fnmatch_lines(
        [
            'E   AssertionError: even when *; [[]"spent"]: 0.30000000000000004; expected: 0.30',
            "E   The fake's books:",
            "E     m1 was not charged: no delivery yet (§1)",
            "E   Hint: a float can't hold this amount exactly. *",
        ]
    )


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (
            """
        def expected(self, chat_fake):
            pass
    """,
            (
                "ChatFakeError: expected(): expected what the snapshot has to be, got None; did "
                "you forget `return`?"
            ),
        ),
        (
            """
        def expected(self, chat_fake):
            yield {}
    """,
            "TypeError: expected(): expected a function without yield",
        ),
        (
            """
        def connect(self, chat_fake):
            super().connect(chat_fake)

        def expected(self, chat_fake):
            return {}
    """,
            (
                "ChatFakeError: connect(): expected a snapshot to compare with expected(), got "
                "None; return a function that returns your app's state, as in lambda: "
                "dict(app.states)"
            ),
        ),
    ],
)
def test_what_can_not_be_compared_with_the_books_is_refused(run, body, refusal):
    result = run(
        f"""
    class TestSends(Direct):
        {body.strip()}
    """,
        "-k",
        "a_refused_send",
    )
    assert first_lines(result) == [f"a_refused_send: {refusal}"]


def test_the_printed_test_compares_with_what_is_expected(run):
    result = run(
        """
    class TestCountsTries(Direct):
        def connect(self, chat_fake):
            super().connect(chat_fake)
            return lambda: len(chat_fake.api.requests)

        def expected(self, chat_fake):
            return len(chat_fake.messages)
    """,
        "-k",
        "a_refused_send",
    )
    result.stdout.fnmatch_lines(
        [
            "E           self.play(chat_fake)",
            "E           assert snapshot() == self.expected(chat_fake)",
        ]
    )


def pasted(run, pytester, classes, row):
    """Run a row, paste the test that it prints into the class, and run that; return both texts."""
    shown = run(classes, "-k", row).stdout.str()
    printed = re.search(r"(?s)E {7}(def test_what_the_exploration_found.*?)\nE +\n", shown)[1]
    test = "\n".join(line.removeprefix("E   ") for line in printed.splitlines())
    pytester.makepyfile(MODULE + classes.rstrip() + "\n\n        " + test.replace("\n", "\n    "))
    again = pytester.runpytest("-p", "no:inline_snapshot", "-k", "the_exploration_found")
    again.assert_outcomes(failed=1)
    return f"{test}\n{again.stdout}"


def test_the_printed_test_fails_like_the_world(run, pytester):
    classes = """
    class TestSends(Direct):
        count = itertools.count()

        def send(self, chat_fake):
            self.post(str(next(self.count)))
            self.sent = {"order-1": "sent"}
    """
    found = pasted(run, pytester, classes, "a_lost_response")
    assert "Left contains one more item: ('+1', 'Hello')" in found


ENDLESS = "() called the API more than 100 times, and would go on"


def test_the_printed_test_of_a_retry_without_end_is_ended_as_well(run, pytester):
    assert "AssertionError: send" + ENDLESS in pasted(run, pytester, WITHOUT_END, "a_rejected")


#: Workers that do something else if a call has failed, after a while.
LATER = (
    SHAPES
    + """
    class Later(Worker):
        __test__ = False

        def send(self, chat_fake):
            super().send(chat_fake)
            self.began, self.tried = chat_fake.clock.now, False

        def work(self, chat_fake):
            hours = (chat_fake.clock.now - self.began).total_seconds() / 3_600
            if self.rows["order-1"] == "new" and self.is_due(hours):
                try:
                    self.tried = True
                    self.post("order-1")
                except requests.HTTPError:
                    pass
                else:
                    self.accept("order-1")
"""
)


def test_a_retry_without_end_that_begins_days_later_is_ended(run, pytester):
    classes = (
        LATER
        + """
    class TestSends(Later):
        def is_due(self, hours):
            while self.tried and hours > 72:
                try:
                    self.post("order-1")
                except requests.HTTPError:
                    pass
            return not self.tried
    """
    )
    assert "AssertionError: work" + ENDLESS in pasted(run, pytester, classes, "a_rejected")


def test_the_printed_test_works_no_longer_than_its_world(run, pytester):
    classes = (
        LATER
        + """
    class TestSends(Later):
        def is_due(self, hours):
            return not self.tried or hours > 48
    """
    )
    found = pasted(run, pytester, classes, "a_refused_send")
    assert "Right contains one more item: ('+1', 'Hello')" in found


def test_the_printed_test_sees_what_is_only_tried_for_a_day(run, pytester):
    classes = (
        LATER
        + """
    class TestSends(Later):
        def is_due(self, hours):
            return hours < 30
    """
    )
    assert "late if each.method != 'GET'] == []" in pasted(run, pytester, classes, "a_rejected")


def test_the_printed_test_works_as_many_days_as_the_app_takes(run, pytester):
    classes = (
        LATER
        + """
    class TestSends(Later):
        def is_due(self, hours):
            return hours > 60

        def accept(self, order):
            self.rows[order] = "sent" if self.fake.api.requests[0].status == 200 else "late"
    """
    )
    assert "    self.play(chat_fake, days=2)\n" in pasted(run, pytester, classes, "a_refused_send")


def test_a_restart_that_never_ends_is_ended(run):
    result = run(
        """
    class TestSends(Direct):
        def connect(self, chat_fake):
            self.headers = chat_fake.headers
            return super().connect(chat_fake)

        def send(self, chat_fake):
            try:
                self.post("order-1")
            except requests.HTTPError:
                pass

        def restart(self, chat_fake):
            self.post("order-1")
            while True:
                self.post("order-1")

        def post(self, key):
            headers = {**self.headers, "Idempotency-Key": key}
            url = f"{self.fake.base_url}/v2/messages"
            requests.post(url, json=ORDER, headers=headers, timeout=60)
            self.sent[key] = "sent"
    """,
        *("-k", "rotated_key or a_crash"),
    )
    found = first_lines(result)
    assert [line.partition(": ")[0] for line in found] == ["a_rotated_key", "a_crash"]
    assert all("restart" + ENDLESS in line for line in found)


def test_a_process_that_starts_slowly_is_waited_for(run):
    result = run(
        """
    class TestSends(Direct):
        def connect(self, chat_fake):
            chat_fake.send_endpoint()
            self.fake, self.sent = chat_fake, {}
            return lambda: list(self.sent)

        async def restart(self, chat_fake):
            await asyncio.sleep(0.5)

        async def send(self, chat_fake):
            if self.sent:
                return
            async with httpx.AsyncClient(verify=False, timeout=60) as client:
                url = f"{self.fake.base_url}/v2/messages"
                await client.post(url, json=ORDER, headers=self.fake.headers)
            self.sent["order-1"] = "sent"
    """,
        "-k",
        "two_at_once",
    )
    assert failed(result) == {"TestSends": ["two_at_once"]}


def test_an_error_of_a_worker_is_swallowed_unless_nothing_is_sent(run):
    result = run(
        """
    class TestSends(Direct):
        def work(self, chat_fake):
            raise LookupError("nothing to do")

    class TestNothing(TestSends):
        def send(self, chat_fake):
            pass
    """,
        "-k",
        "a_refused_send",
    )
    assert first_lines(result) == [
        "a_refused_send: LookupError: nothing to do, while handling work() #72"
    ]
    assert failed(result) == {"TestNothing": ["a_refused_send"], "TestSends": []}


def test_a_timeline_says_what_send_and_work_raised(run):
    result = run(
        """
    class TestSends(Direct):
        def send(self, chat_fake):
            raise ValueError("no such order")

        def work(self, chat_fake):
            raise LookupError("nothing to do")

        def test_a_timeline(self, chat_fake):
            self.connect(chat_fake)
            with chat_fake.api.rate_limit(path="/v2/messages"):  # so an error may be told
                self.play(chat_fake)
            assert not chat_fake.webhooks.attempts
    """,
        *("-k", "a_timeline"),
    )
    found = re.findall(r"attempt  (\S+) -> \S+: (.*?)$", result.stdout.str(), re.MULTILINE)
    assert {*found} == {
        ("send()", "ValueError: no such order"),
        ("work()", "LookupError: nothing to do"),
    }


def test_a_timeline_says_which_call_would_never_end(run):
    result = run(
        """
    class TestSends(Direct):
        def send(self, chat_fake):
            while True:
                requests.get(f"{self.fake.base_url}/v2/balance", headers=self.fake.headers)
    """,
        *("-k", "a_refused_send"),
    )
    assert "TestSends.send(): EndlessRetry: more than 100 API calls" in result.stdout.str()


def test_only_one_world_is_tried_if_it_is_named(run):
    result = run(
        """
    class TestSends(Direct):
        only = {
            "test_a_refused_send": [
                "api.rate_limit(retry_after=30, as_date=True, times=1, path='/v2/messages', "
                "method='POST', start=1)"
            ]
        }
    """,
        "-k",
        "a_refused_send",
    )
    assert "ok       a_refused_send: 1 world" in cards(result)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def send(self): pass", "TestSends: expected send(self, chat_fake)"),
        ("def undecided(self): pass", "TestSends: expected undecided(self, snapshot)"),
        ("def undecided(self, snapshot): return True", "undecided(): expected False if nothing"),
        ("def send(self, chat_fake): pass", "send(): expected it to send a message"),
        ("send = SendTests.send", "TestSends: expected a method send(self, chat_fake)"),
        ("test_a_typo = None", "a test of TestSends set to None: expected one of"),
        (
            "def send(self, chat_fake): self.post(str(len(chat_fake.messages))); 1 / 0",
            "ZeroDivisionError: division by zero",
        ),
    ],
)
def test_a_class_that_does_not_fit_is_refused(run, body, expected):
    result = run(
        f"""
    class TestSends(Direct):
        {body}
    """,
        "-k",
        "a_refused_send",
    )
    assert expected in first_lines(result)[0]


def test_an_app_that_remembers_an_earlier_world_is_refused(run):
    result = run(
        """
    class TestSends(Direct):
        kept = {}

        def connect(self, chat_fake, tmp_path):
            super().connect(chat_fake)
            return lambda: dict(self.kept)

        def send(self, chat_fake):
            super().send(chat_fake)
            self.kept["order-1"] = "sent"
    """,
        *("-k", "a_refused_send"),
    )
    assert first_lines(result)[0].partition("connect(): ")[2] == (
        "expected a new app in each world, got one that remembers an earlier world; the snapshot "
        "was {} at first, and is {'order-1': 'sent'} now. Create the app inside connect(), and "
        "empty its database there. tmp_path is one folder for all worlds of a test: take "
        'tmp_path_factory, and call tmp_path_factory.mktemp("world") for each'
    )


def test_what_connect_sends_has_other_ids_in_other_worlds(run):
    result = run(
        """
    class TestSends(Direct):
        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            self.sent["set-up"] = chat_fake.send_text("set-up").id
            return snapshot
    """,
        *("-k", "a_refused_send"),
    )
    assert failed(result) == {"TestSends": []}


IN_A_THREAD = """
    from concurrent.futures import ThreadPoolExecutor

    class TestSends(Direct):
        crash_points = [Direct.post]

        def send(self, chat_fake):
            with ThreadPoolExecutor() as pool:
                pool.submit(super().send, chat_fake).result()
"""

IN_A_TASK = """
    class TestSends(Direct):
        crash_points = [Direct.post]

        async def connect(self, chat_fake):
            snapshot, self.jobs = super().connect(chat_fake), asyncio.Queue()
            worker = asyncio.create_task(self.post_all(chat_fake))
            yield snapshot
            worker.cancel()

        async def post_all(self, chat_fake):
            while True:
                await self.jobs.get()
                Direct.send(self, chat_fake)
                self.jobs.task_done()

        async def send(self, chat_fake):
            self.jobs.put_nowait(1)
            await self.jobs.join()
"""


@pytest.mark.parametrize("code", [IN_A_THREAD, IN_A_TASK])
def test_a_point_that_is_called_without_the_context_accuses_nobody(run, code):
    result = run(code, "-k", "two_at_once or a_crash")
    assert failed(result) == {"TestSends": []}
    assert (
        "Direct.post was only called in a task or thread without the context of send() or work(): "
    ) in cards(result)


WITH_A_TOKEN = """
    class WithAToken(Direct):
        __test__ = False
        after = 3

        def connect(self, chat_fake):
            @chat_fake.route("/tokens", methods=["POST"])
            def token(call):
                return {"token": "t"}

            snapshot = super().connect(chat_fake)
            self.orders, self.key, self.runs = {}, chat_fake.api_key, 0
            requests.post(f"{self.fake.base_url}/tokens", headers=self.fake.headers, timeout=60)
            return snapshot

        def send(self, chat_fake):
            self.orders["order-1"] = "new"

        def work(self, chat_fake):
            self.runs += 1
            for order in [each for each in self.orders if self.orders[each] == "new"]:
                if self.runs > self.after:
                    try:
                        self.post(order)
                    except Exception as error:
                        self.failed(order, error)
                    else:
                        self.orders[order] = "sent"

        def failed(self, order, error):
            pass
"""


def test_a_call_of_connect_does_not_end_the_trouble_before_a_send(run):
    result = run(
        WITH_A_TOKEN
        + """
    class TestRight(WithAToken):
        pass

    class TestGivesUp(WithAToken):
        def failed(self, order, error):
            self.orders[order] = "failed"
    """,
        *("-k", "rotated_key or out_of_funds"),
    )
    assert failed(result) == {"TestGivesUp": ["a_rotated_key", "out_of_funds"], "TestRight": []}


def test_what_connect_sends_is_not_the_send_that_comes_days_later(run):
    result = run(
        WITH_A_TOKEN
        + """
    class TestSends(WithAToken):
        after = 24

        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            chat_fake.send_text("set-up")
            return snapshot
    """,
        *("-k", "rotated_key"),
    )
    assert card(result) == {"a_rotated_key": "ok"}


def test_a_key_that_a_restart_does_not_read_again_is_named(run):
    result = run(
        """
    class Reads(Direct):
        __test__ = False

        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            self.headers = chat_fake.headers
            return snapshot

        def send(self, chat_fake):
            try:
                self.post("order-1")
            except requests.HTTPError:
                pass

        work = send

        def post(self, key):
            headers = {**self.headers, "Idempotency-Key": key}
            url = f"{self.fake.base_url}/v2/messages"
            requests.post(url, json=ORDER, headers=headers, timeout=60).raise_for_status()
            self.sent[key] = "sent"

    class TestReadsOnce(Reads):
        pass

    class TestReadsAgain(Reads):
        def restart(self, chat_fake):
            self.headers = chat_fake.headers
    """,
        *("-k", "rotated_key"),
    )
    assert failed(result) == {"TestReadsOnce": ["a_rotated_key"], "TestReadsAgain": []}
    assert "; after restart(), no call had the new key: let it read chat_fake.api_key" in (
        cards(result)
    )
    assert "the new key was used only after restart()" in cards(result)


def test_what_a_restart_sends_is_no_part_of_an_earlier_call(run):
    result = run(
        """
    class TestSendsTwice(Direct):
        def connect(self, chat_fake):
            self.key = chat_fake.api_key
            return super().connect(chat_fake)

        def restart(self, chat_fake):
            self.key = chat_fake.api_key
            for number in range(2):
                self.post(f"order-{number}")

        def send(self, chat_fake):
            try:
                self.post("order-1")
            except requests.HTTPError:
                pass

        def post(self, key):
            headers = {"X-API-Key": self.key, "Idempotency-Key": key}
            url = f"{self.fake.base_url}/v2/messages"
            requests.post(url, json=ORDER, headers=headers, timeout=60).raise_for_status()
    """,
        *("-k", "rotated_key"),
    )
    (found,) = first_lines(result)
    assert found.partition("; the new key")[0] == (
        "a_rotated_key: the API key was rotated; m2 repeats m1: same to and body, the idempotency "
        "keys differ"
    )


def test_a_worker_in_a_thread_of_its_own_is_no_handler_of_webhooks(run):
    result = run(
        """
    import queue
    import threading

    class TestWorker(Direct):
        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            self.due = queue.Queue()
            thread = threading.Thread(target=self.run)
            thread.start()
            yield snapshot
            self.due.put(False)
            thread.join(60)

        def run(self):
            while self.due.get():
                try:
                    self.post("order-1")
                except requests.RequestException:
                    pass
                finally:
                    self.due.task_done()

        def send(self, chat_fake):
            self.due.put(True)

        def work(self, chat_fake):
            self.due.join()
    """,
        *("-k", "lost_response"),
    )
    assert "your app only sends while it handles a webhook" not in cards(result)


def test_an_app_that_never_calls_again_is_not_told_to_read_the_key(run):
    result = run(
        """
    class TestTakesItForSent(Direct):
        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            self.headers = chat_fake.headers
            return snapshot

        def send(self, chat_fake):
            self.sent["order-1"] = "sent"
            url = f"{self.fake.base_url}/v2/messages"
            requests.post(url, json=ORDER, headers=self.headers, timeout=60)

        def restart(self, chat_fake):
            self.headers = chat_fake.headers
    """,
        *("-k", "rotated_key"),
    )
    assert "no call had the new key" not in cards(result)
    assert "; the app made no call after restart()" in cards(result)


def test_an_app_that_asks_for_the_balance_has_to_send_once_there_is_money(run):
    result = run(
        """
    class Asks(Direct):
        __test__ = False

        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            self.orders = {}
            return snapshot

        def has_money(self):
            url = f"{self.fake.base_url}/v2/balance"
            return requests.get(url, headers=self.fake.headers, timeout=60).json()["amount"] > 1

    class TestWaits(Asks):
        def send(self, chat_fake):
            self.orders["order-1"] = "new"

        def work(self, chat_fake):
            if self.orders["order-1"] == "new" and self.has_money():
                self.post("order-1")
                self.orders["order-1"] = "sent"

    class TestTellsItsCaller(Asks):
        def send(self, chat_fake):
            if not self.has_money():
                raise RuntimeError("no money")
            self.post("order-1")

    class TestGivesUp(TestWaits):
        def work(self, chat_fake):
            if not self.has_money():
                self.orders["order-1"] = "failed"
            super().work(chat_fake)
    """,
        *("-k", "out_of_funds"),
    )
    assert failed(result) == {
        "TestWaits": [],
        "TestTellsItsCaller": [],
        "TestGivesUp": ["out_of_funds"],
    }
    result.assert_outcomes(passed=2, failed=1)


def test_a_call_of_connect_is_no_part_of_the_send(run):
    result = run(
        WITH_A_TOKEN
        + """
    class TestSends(WithAToken):
        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            assert self.post("set-up") is None
            return snapshot
    """,
        *("-k", "a_refused_send or a_rejected_send or a_lost_response"),
    )
    assert failed(result) == {"TestSends": ["a_rejected_send"]}  # work() tries for ever


def test_garbage_is_collected_without_a_look_at_older_objects(run):
    result = run(
        """
    import gc

    FROZEN = []

    class TestSends(Direct):
        def send(self, chat_fake):
            FROZEN.append(gc.get_freeze_count())
            super().send(chat_fake)

    def test_afterwards():
        assert min(FROZEN) > 10_000 > gc.get_freeze_count()
    """,
        *("-k", "a_crash or afterwards"),
    )
    result.assert_outcomes(passed=2)
