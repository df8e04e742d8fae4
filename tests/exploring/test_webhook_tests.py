"""``WebhookTests``, as a team meets it: which tests fail for which mistake, and what is refused."""

import re
import textwrap

import pytest
from inline_snapshot import snapshot

from pytest_chatfake import WebhookTests

from .cards import card, cards, failed, outcomes

#: How many tests a class has.
ROWS = sum(name.startswith("test_") for name in vars(WebhookTests))

#: An app that takes everything as it should, and its mistakes.
SHOP = """
    import hashlib, hmac, json, threading, time

    from werkzeug.test import Client

    from pytest_chatfake import HmacSigner

    SIGNER = HmacSigner("secret")
    RANK = ["submitted", "sent", "delivered", "read", "failed"]

    def is_genuine(header, body):
        fields = dict(part.partition("=")[::2] for part in header.split(","))
        if not fields.get("t", "").isdigit() or abs(time.time() - int(fields["t"])) > 300:
            return False
        signed = fields["t"].encode() + b"." + body
        expected = hmac.new(b"secret", signed, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, fields.get("s", ""))

    class Shop:
        def __init__(self, fake, mistake=""):
            self.fake, self.mistake = fake, mistake
            self.status, self.prices, self.known, self.sent = {}, {}, set(), set()
            self.sends, self.lock = False, threading.Lock()

        def app(self, environ, start_response):
            body = environ["wsgi.input"].read()
            status = self.hook(environ.get("HTTP_X_SIGNATURE", ""), body)
            start_response(f"{status} Status", [])
            return []

        def hook(self, signature, body):
            if self.mistake != "signature" and not is_genuine(signature, body):
                return 401
            event = json.loads(body)
            if self.mistake == "fields" and "addedLater" in event:
                return 400
            if "chatMessage" in event:
                self.take(event["id"], event["chatMessage"])
            elif self.mistake == "types":
                return 400
            return 204

        def take(self, event, message):
            id, status, price = message["id"], message["status"], message.get("totalPrice")
            origin = message.get("conversation", {}).get("originType", "marketing")
            if self.mistake == "values" and origin != "marketing":
                raise ValueError(f"unknown origin {origin}")
            if status == "sent" and not (self.mistake == "response" and self.sends):
                self.sent.add(id)
            if self.mistake == "ids" and event in self.known:
                return
            self.known.add(event)
            arrived = ["delivered"] if self.mistake == "reads" else ["delivered", "read"]
            if price and status in arrived:
                self.add(len(self.prices) if self.mistake in ("sums", "ids") else id, price)
            if self.mistake == "races" and self.rank(status) <= self.rank(self.status.get(id)):
                return
            self.save(id, status)

        def add(self, key, price):
            self.prices[key] = price

        def save(self, id, status):
            with self.lock:
                known = self.status.get(id)
                if self.mistake in ("order", "races") or self.rank(status) > self.rank(known):
                    self.status[id] = status

        @staticmethod
        def rank(status):
            return RANK.index(status or "submitted")

        def send(self):
            body = {"to": "+1", "type": "text", "text": {"body": "Hello"}}
            headers = {"X-API-Key": self.fake.api_key}
            self.sends = True
            api = Client(self.fake.wsgi_app)
            id = api.post("/v2/messages", json=body, headers=headers).json["id"]
            self.sends = False
            self.status.setdefault(id, "submitted")

        def snapshot(self):
            spent = round(sum(self.prices.values()), 2)
            return {"status": self.status, "spent": spent, "sent": len(self.sent)}
"""

#: Its scenario is short, as each event adds worlds.
WHOLE = """
    import pytest
    from pytest_chatfake import WebhookTests
    from shop import SIGNER, Shop

    class TestWebhooks(WebhookTests):
        crash_points = [Shop.save]
        mistake = "{mistake}"

        def connect(self, chat_fake):
            self.shop = Shop(chat_fake, self.mistake)
            chat_fake.webhooks.connect(wsgi=self.shop.app, signer=SIGNER, events="*")
            return self.shop.snapshot

        def scenario(self, fake):
            yield fake.send_text("Hello").deliver().read()
"""
#: The shop sends by the API.
SENDING = """
    class TestSends(TestWebhooks):
        def connect(self, chat_fake):
            chat_fake.send_endpoint()
            return super().connect(chat_fake)

        def scenario(self, fake):
            self.shop.send()
            yield fake.find_message().deliver().read()

        def expected(self, fake):
            status = {message.id: message.status for message in fake.messages}
            return {"status": status, "spent": float(fake.balance.charged), "sent": len(status)}
"""
RIGHT, WRONG = WHOLE.format(mistake=""), WHOLE.format(mistake="order")

#: A class with the default scenario, whose app notes statuses.
PLAIN = """
    from pytest_chatfake import WebhookTests

    class TestWebhooks(WebhookTests):
        def connect(self, chat_fake):
            seen = set()
            chat_fake.webhooks.connect(handler=lambda request: seen.add(request.event.status))
            return lambda: seen
"""

#: An app that takes no event.
DEAD = """
    import pytest
    from pytest_chatfake import WebhookTests

    class TestDead(WebhookTests):
        status = 500

        def connect(self, chat_fake):
            chat_fake.webhooks.connect(handler=self.take)
            return list

        def take(self, request):
            return self.status
"""

ASYNCIO = ("-p", "asyncio", "-o", "asyncio_default_fixture_loop_scope=function")


@pytest.fixture
def run(pytester, monkeypatch):
    """Run a test module beside the shop, and return the result."""
    monkeypatch.setenv("COLUMNS", "80")
    pytester.makepyfile(shop=textwrap.dedent(SHOP))

    def run(code, *options):
        pytester.makepyfile(textwrap.dedent(code))
        return pytester.runpytest("-p", "no:inline_snapshot", *options)

    return run


def pasted(result):
    """The test to paste in a report, as a method."""
    _, _, printed = result.stdout.str().partition("fails the same way):\n")
    printed, _, _ = printed.partition("This world alone")
    lines = [line[1:] for line in printed.splitlines() if line.startswith("E")]
    return textwrap.indent(textwrap.dedent("\n".join(lines)), "    ")


def only_of(result):
    """The line that makes a class try the one world that failed."""
    return re.search(r"This world alone: (only = .*\})", result.stdout.str())[1]


# -- mistakes --------------------------------------------------------------------------------------


def test_an_app_without_a_mistake_passes_all_of_them_in_their_order(run):
    result = run(RIGHT + SENDING, "-k", "TestSends")

    expected = ["all_events_are_taken", "snapshot_changes", "snapshot_is_right", "duplicates"]
    expected += ["duplicates_under_another_id", "duplicates_days_later", "duplicates_at_once"]
    expected += ["another_order", "two_events_at_once", "a_read_at_once"]
    expected += [
        "webhooks_before_the_response",
        "a_crash",
        "an_error",
        "a_failing_api",
        "an_unknown_message",
        "a_month_later",
    ]
    expected += ["around_midnight", "a_later_version", "people_write", "forgeries"]
    ends = dict.fromkeys(expected, "ok") | {"a_failing_api": "skipped"}  # it sends no replies
    assert [*card(result).items()] == [*ends.items()]
    assert len(expected) == ROWS


#: The tests that fail for each mistake of the shop.
MISTAKES = {
    "fields": "a_later_version",
    "ids": "duplicates_under_another_id a_read_at_once a_crash an_error",
    "order": "duplicates duplicates_days_later another_order a_crash an_error",
    "races": "two_events_at_once",
    "reads": "a_read_at_once",
    "response": "webhooks_before_the_response",
    "signature": "forgeries",
    "sums": "duplicates duplicates_under_another_id duplicates_days_later duplicates_at_once "
    "a_read_at_once a_crash an_error",
    "types": "a_later_version people_write",
    "values": "a_later_version",
}


def test_a_mistake_fails_the_tests_that_name_it(run):
    code = RIGHT + SENDING
    for mistake in MISTAKES:
        base = "TestSends" if mistake == "response" else "TestWebhooks"
        code += f"    class Test_{mistake}({base}): mistake = {mistake!r}\n"

    expected = {f"Test_{mistake}": tests.split() for mistake, tests in MISTAKES.items()}
    assert failed(run(code, "-k", "not TestWebhooks and not TestSends")) == expected


def test_the_first_line_is_the_finding_and_the_test_to_paste_fails_so(run):
    result = run(WRONG, "-k", "test_another_order")

    finding = "read m1 arrived before delivered m1; "
    values = """[[]"status"][[]"m1"]: 'delivered'; as written: 'read'"""
    only = "This world alone: only = {'test_another_order': [[]'webhooks.reorder("
    result.stdout.fnmatch_lines([f"E*AssertionError: {finding}{values}", f"E*{only}*"])
    for shop, outcome in ((WRONG, {"failed": 1}), (RIGHT, {"passed": 1})):
        run(textwrap.dedent(shop) + pasted(result), "-k", "found").assert_outcomes(**outcome)


#: The shop in the default scenario, which has no line of the user's.
DEFAULT = """
    from pytest_chatfake import WebhookTests
    from shop import SIGNER, Shop

    class TestDefault(WebhookTests):
        def connect(self, chat_fake):
            shop = Shop(chat_fake, "order")
            chat_fake.webhooks.connect(wsgi=shop.app, signer=SIGNER)
            return shop.snapshot
"""


@pytest.mark.parametrize(
    ("code", "function"),
    [(WRONG, "scenario(self, fake)"), (DEFAULT, "connect(self, chat_fake)")],
)
def test_a_failure_stands_at_the_users_scenario_and_verbs_or_at_connect(run, code, function):
    lines = run(code, "-k", "test_another_order").stdout.lines

    (shown,) = [line for line in lines if re.match(r">? +def \w+\(self, ", line)]
    assert shown == f">   def {function}:"
    (place,) = {line.partition(":")[0] for line in lines if line.endswith(": AssertionError")}
    steps = [line for line in lines if re.match(r"E +\d+ .*(  verb |\[reordered)", line)]
    assert {f"{place}:" in line for line in steps} == {code == WRONG}


# -- tests to paste --------------------------------------------------------------------------------

ROWSS = """
    import pytest
    from decimal import Decimal as D
    from pytest_chatfake import WebhookTests

    left = []

    class TestWebhooks(WebhookTests):
        {only}
        once = False

        {word}def connect(self, chat_fake, tmp_path):
            rows = []

            def take(request):
                if not self.once or request.id not in rows:
                    rows.append(request.id)

            left.append(rows)
            chat_fake.webhooks.connect(handler=take)
            {end} lambda: [len(rows) * D("0.5"), {more}]
            left.remove(rows)

        def scenario(self, chat_fake):
            message = yield chat_fake.send_text("Hi", to="+1")
            assert message.status == "sent"
"""
#: The same class with a right app.
REPAIRED = """
class TestRepaired(TestWebhooks):
    once = True
"""


@pytest.mark.parametrize("word", ["", "async "])
@pytest.mark.parametrize("end", ["yield", "return"])
def test_a_pasted_test_runs_in_its_place_and_passes_once_the_app_is_right(run, word, end):
    left = 2 * (end == "return")  # of the class, and of the repaired one
    code = textwrap.dedent(ROWSS.format(word=word, end=end, only="", more="1"))
    result = run(code, "-k", "test_duplicates", *ASYNCIO)
    assert ("pytest.mark.asyncio" in pasted(result)) == bool(word)
    check = f"\ndef test_left_by_found():\n    assert len(left) == {left}\n"
    again = run(code + pasted(result) + REPAIRED + check, "-k", "found", *ASYNCIO)
    again.stdout.fnmatch_lines(["E*assert [[]Decimal('1.0'), 1] == [[]Decimal('0.5'), 1]"])
    again.assert_outcomes(failed=1, passed=2)


REFUSES = """
    import asyncio
    from pytest_chatfake import WebhookTests

    class TestWebhooks(WebhookTests):
        once = False

        def connect(self, chat_fake):
            rows, busy = [], set()

            async def take(request):
                if busy:
                    return 409
                busy.add(request.id)
                await asyncio.sleep(0)
                if not self.once or request.id not in rows:
                    rows.append(request.id)
                busy.clear()

            chat_fake.webhooks.connect(handler=take)
            return lambda: len(rows)

        async def scenario(self, chat_fake):
            await chat_fake.send_text()
"""


def test_a_pasted_test_redelivers_what_was_refused_at_the_same_time(run):
    code = textwrap.dedent(REFUSES)
    result = run(code, "-k", "at_once", *ASYNCIO)
    again = run(code + pasted(result) + REPAIRED, "-k", "found", *ASYNCIO)
    again.assert_outcomes(failed=1, passed=1)


def test_an_async_test_to_paste_says_what_it_needs_where_no_plugin_runs_it(run):
    code = ROWSS.format(word="async ", end="return", only="", more="1")
    result = run(code, "-k", "test_duplicates", "-p", "no:asyncio", "-p", "no:anyio")
    assert "# It needs a plugin for async tests, such as pytest-asyncio." in pasted(result)


def test_only_tries_the_one_world_that_a_failure_printed(run):
    code = ROWSS.format(word="", end="return", more="object", only="{only}")
    result = run(code.format(only=""), "-k", "test_duplicates")
    reason = "There is no test to paste: the snapshot has values that can't be written as code."
    result.stdout.fnmatch_lines([f"E*{reason}"])
    only = only_of(result).replace("start=1", "start=2")
    result = run(code.format(only=only), "-k", "test_duplicates")
    result.stdout.fnmatch_lines(["E*only= does not match this body: it asks for *"])


#: An app that writes a status after its send call; later events repair that.
MASKED = """
    from urllib.request import Request, urlopen
    from pytest_chatfake import WebhookTests

    class TestWebhooks(WebhookTests):
        {only}
        once = False

        def connect(self, chat_fake):
            self.rows, self.fake = {{}}, chat_fake
            chat_fake.send_endpoint("/v2/messages")
            chat_fake.webhooks.connect(handler=self.receive)
            return self.snapshot

        def snapshot(self):
            return self.rows

        def receive(self, request):
            self.rows["status"] = request.event.status

        def send(self, fake):
            data = b'{{"to": "+1", "type": "text", "text": {{"body": "Hi"}}}}'
            headers = {{**fake.headers, "Content-Type": "application/json"}}
            urlopen(Request(fake.base_url + "/v2/messages", data, headers), timeout=60).close()
            if not (self.once and "status" in self.rows):
                self.rows["status"] = "submitted"

        def scenario(self, chat_fake):
            yield self.send(chat_fake)
            yield chat_fake.messages[0].deliver()
            yield chat_fake.messages[0].read()
"""
#: An app with a thread that waits for work, as a pool or aiosqlite has.
IDLE = """
import queue, threading

class TestIdle(TestWebhooks):
    def connect(self, chat_fake):
        work = queue.Queue()
        thread = threading.Thread(target=work.get)
        thread.start()
        yield super().connect(chat_fake)
        work.put(None)
        thread.join()
"""
#: A right app with a thread that takes its time, and whose snapshot does not wait for it.
AT_WORK = """
class TestBusy(TestIdle):
    once, pause = True, threading.Event().wait

    def connect(self, chat_fake):
        self.work = queue.Queue()
        thread = threading.Thread(target=self.run)
        thread.start()
        yield from super().connect(chat_fake)
        self.work.put(None)
        thread.join()

    def run(self):
        while (status := self.work.get()) is not None:
            self.pause(0.02)
            self.rows["status"] = status
            self.work.task_done()

    def receive(self, request):
        self.work.put(request.event.status)

    def send(self, fake):
        super().send(fake)
        self.work.join()

    def scenario(self, chat_fake):
        yield from super().scenario(chat_fake)
        yield self.work.join()
"""
#: Its snapshot differs each time until its last step.
RESTLESS = """
class TestRestless(TestIdle):
    once, looks = True, 0

    def snapshot(self):
        self.looks += 1
        is_between = self.rows.get("status") == "delivered"
        return self.rows, self.looks * is_between
"""
SETTLES = """
class TestSettles(TestWebhooks):
    def snapshot(self):
        self.fake.settle()
        return self.rows
"""


def masked(only=""):
    return textwrap.dedent(MASKED.format(only=only))


def test_what_a_later_step_repairs_is_found_after_the_step_that_shows_it(run):
    chosen = "-k", "test_webhooks_before"
    result = run(masked(), *chosen)
    finding = "*arrived before its response; after step 1, *'submitted'; as written: 'sent'"
    result.stdout.fnmatch_lines([f"E*{finding}"])
    again = run(masked() + pasted(result) + REPAIRED, "-k", "exploration_found")
    again.stdout.fnmatch_lines(["E*assert {'status': 'submitted'} == {'status': 'sent'}"])
    again.assert_outcomes(failed=1, passed=1)
    again = run(masked(only_of(result)) + REPAIRED, *chosen)
    again.stdout.fnmatch_lines([f"E*{finding}"])
    again.assert_outcomes(failed=1, passed=1)


def test_between_steps_neither_a_right_app_nor_a_settling_snapshot_fails(run):
    classes = "(TestRepaired or TestSettles) and (test_webhooks_before or another_order)"
    result = run(masked() + REPAIRED + SETTLES, "-k", classes)
    # The events of all steps can still overtake each other.
    expected = {"another_order": "FAILED", "webhooks_before_the_response": "ok"}
    assert outcomes(result) == {"TestRepaired": expected, "TestSettles": expected}
    assert cards(result).count(" m1 arrived before ") == 2


def test_a_thread_of_the_app_that_waits_for_work_hides_no_step(run):
    result = run(masked() + IDLE, "-k", "TestIdle and test_webhooks_before")
    finding = "*arrived before its response; after step 1, *'submitted'; as written: 'sent'"
    result.stdout.fnmatch_lines([f"E*{finding}"])


def test_between_steps_a_right_app_may_be_busy_in_the_background(run):
    result = run(masked() + IDLE + AT_WORK, "-k", "TestBusy and test_webhooks_before")
    assert card(result) == {"webhooks_before_the_response": "ok"}


@pytest.mark.parametrize(
    ("classes", "remark"),
    [
        (SETTLES, "only the final state was compared"),
        (IDLE + RESTLESS, "the state after step 2 was not compared"),
    ],
    ids=["TestSettles", "TestRestless"],
)
def test_a_step_that_can_not_be_compared_is_said_to_be_left_out(run, request, classes, remark):
    title = request.node.callspec.id
    chosen = "-k", f"{title} and test_webhooks_before"
    row = f"ok webhooks_before_the_response 2 worlds; {remark}"
    assert row in " ".join(cards(run(masked() + REPAIRED + classes, *chosen)).split())
    result = run(masked() + REPAIRED + classes, *chosen, "-q")
    note = f"1 ok, 1 with a note: webhooks_before_the_response ({remark})"
    assert note in " ".join(result.stdout.str().split())


#: A right app that takes nothing after its end, and whose snapshot only differs between steps.
CLOSED = """
    from itertools import count
    from pytest_chatfake import WebhookTests

    looks = count()

    class TestClosed(WebhookTests):
        def connect(self, chat_fake):
            seen, self.is_open, self.is_between = set(), True, False
            def receive(request):
                assert self.is_open
                seen.add(request.event.status)
            chat_fake.webhooks.connect(handler=receive)
            yield lambda: (seen, self.is_between and next(looks))
            self.is_open = False

        def scenario(self, fake):
            self.is_between = True
            try:
                message = yield fake.send_text().deliver(devices=2)
                yield message.read()
            finally:
                self.is_between = False
"""


def test_an_event_after_the_end_of_a_shortened_scenario_accuses_no_app(run):
    result = run(CLOSED, "-k", "test_duplicates and not (id or later or once)")
    assert card(result) == {"duplicates": "ok"}


#: An async app that holds a lock while it sends; its client gives up after a while, or never.
ASYNC_LOCK = """
    import asyncio
    import httpx
    import pytest
    from pytest_chatfake import WebhookTests

    class TestGivesUp(WebhookTests):
        timeout = 0.3

        async def connect(self, chat_fake):
            self.rows, self.lock = {}, asyncio.Lock()
            chat_fake.send_endpoint("/v2/messages")
            chat_fake.webhooks.connect(handler=self.receive)
            return lambda: self.rows

        async def receive(self, request):
            async with self.lock:
                self.rows["status"] = request.event.status

        async def scenario(self, chat_fake):
            url, body = chat_fake.base_url, {"to": "+1", "type": "text", "text": {"body": "Hi"}}
            async with httpx.AsyncClient(timeout=self.timeout) as client, self.lock:
                await client.post(f"{url}/v2/messages", headers=chat_fake.headers, json=body)
            await chat_fake.settle()

    class TestWaits(TestGivesUp):
        timeout = None

        @pytest.fixture
        def chat_fake_config(self, chat_fake_config):
            return chat_fake_config.replace(timeout=0.3)
"""


def test_an_app_that_holds_a_lock_while_it_sends_is_not_accused(run):
    result = run(ASYNC_LOCK, "-k", "before_the_response")
    skipped = {"webhooks_before_the_response": "skipped"}
    assert outcomes(result) == {"TestGivesUp": skipped, "TestWaits": skipped}
    reason = "your app holds a lock or a transaction while it sends"
    assert " ".join(cards(result).split()).count(reason) == 2


#: It waits for a status after the response, which the bug has lost.
WAITS_LATER = """
class TestWaitsLater(TestWebhooks):
    def receive(self, request):
        if "status" in self.rows:
            super().receive(request)

    def send(self, fake):
        super().send(fake)
        fake.settle()
        if self.rows["status"] == "submitted":
            raise TimeoutError("no status within a minute")
"""


def test_a_time_out_after_the_response_is_a_failure(run):
    result = run(masked() + WAITS_LATER, "-k", "TestWaitsLater and test_webhooks_before")
    result.stdout.fnmatch_lines(["*response; TimeoutError: no status within a minute"])


# -- what is written in a class --------------------------------------------------------------------


def test_connect_may_yield_ask_for_fixtures_and_have_no_snapshot(run):
    code = """
    from pytest_chatfake import WebhookTests

    ended = []

    class App:
        def connected(self, chat_fake):
            rows = {}
            chat_fake.webhooks.connect(handler=lambda one: rows.update({one.id: one.event.status}))
            return lambda: rows

    class TestYields(App, WebhookTests):
        def connect(self, chat_fake):
            yield self.connected(chat_fake)
            ended.append("cleaned up")

    class TestFixture(App, WebhookTests):
        def connect(self, chat_fake, tmp_path, size=3):
            assert not [*tmp_path.iterdir()]
            return self.connected(chat_fake)

    class TestNoSnapshot(App, WebhookTests):
        def connect(self, chat_fake):
            self.connected(chat_fake)

    def test_all_events_have_ended():
        assert "cleaned up" in ended
    """
    result = run(code, "-k", "all_events or changes or before_the_response", "-rA")
    assert cards(result) == snapshot("""\
TestFixture
ok       all_events_are_taken: 6 events
ok       snapshot_changes: 6 of 6 events changed it
skipped  webhooks_before_the_response
           your scenario makes no API call that sends a message
TestNoSnapshot
ok       all_events_are_taken: 6 events
skipped  snapshot_changes
           connect() returned no snapshot, so only responses were checked;
           return a function that returns your app's state, as in lambda:
           dict(app.statuses)
skipped  webhooks_before_the_response
           connect() returned no snapshot, so only responses were checked;
           return a function that returns your app's state, as in lambda:
           dict(app.statuses)
TestYields
ok       all_events_are_taken: 6 events
ok       snapshot_changes: 6 of 6 events changed it
skipped  webhooks_before_the_response
           your scenario makes no API call that sends a message\
""")
    assert result.ret == 0


def test_what_connect_sends_may_deviate_and_has_other_ids_in_other_worlds(run):
    more = """
        class TestSends(TestWebhooks):
            def connect(self, chat_fake):
                snapshot = super().connect(chat_fake)
                chat_fake.send_text("set-up")
                return snapshot

        class TestSettles(TestWebhooks):
            def connect(self, chat_fake):
                snapshot = super().connect(chat_fake)
                chat_fake.send_text("set-up")
                chat_fake.settle()
                return snapshot
    """
    chosen = "not TestWebhooks and (all_events or another_order)"
    expected = {"all_events_are_taken": "ok", "another_order": "ok"}
    result = run(textwrap.dedent(PLAIN) + textwrap.dedent(more), "-k", chosen)
    assert outcomes(result) == {"TestSends": expected, "TestSettles": expected}


def test_async_apps_need_no_plugin(run):
    code = """
    import asyncio, json
    from pytest_chatfake import WebhookTests

    class App:
        def connected(self, chat_fake):
            rows = {}

            async def app(scope, receive, send):
                message = json.loads((await receive())["body"])["chatMessage"]
                await asyncio.sleep(0)
                rows[message["id"]] = message["totalPrice"]
                await send({"type": "http.response.start", "status": 204, "headers": []})
                await send({"type": "http.response.body", "body": b""})

            async def snapshot():
                return rows

            chat_fake.webhooks.connect(asgi=app)
            return snapshot

    class TestReturns(App, WebhookTests):
        async def connect(self, chat_fake):
            await asyncio.sleep(0)
            return self.connected(chat_fake)

        async def scenario(self, chat_fake):
            await chat_fake.send_text().deliver()

    class TestYields(App, WebhookTests):
        async def connect(self, chat_fake):
            await asyncio.sleep(0)
            yield self.connected(chat_fake)

        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver()
    """
    returns, _, yields = cards(run(code, "-p", "no:asyncio")).partition("TestYields\n")
    assert returns == f"TestReturns\n{yields}"
    assert yields == snapshot("""\
ok       all_events_are_taken: 2 events
ok       snapshot_changes
skipped  snapshot_is_right
           nothing says what is right: write expected(self, chat_fake)
ok       duplicates: 3 worlds
ok       duplicates_under_another_id: 2 worlds
ok       duplicates_days_later: 2 events
ok       duplicates_at_once
           2 worlds; both attempts met at test_async_apps_need_no_plugin.py:10
ok       another_order: 2 worlds
ok       two_events_at_once
           2 worlds; one attempt was held at
           test_async_apps_need_no_plugin.py:10, while the other waited or ended
skipped  a_read_at_once
           your scenario never delivers a message and then reads it, with no
           other delivery in between: message.deliver().read()
skipped  webhooks_before_the_response
           your scenario makes no API call that sends a message
ok       a_crash: 2 worlds
skipped  an_error
           no call that can fail; name your database or broker calls:
           crash_points = [Session.commit]
skipped  a_failing_api: your app makes no API call while it handles a webhook
ok       an_unknown_message: 2 events
skipped  a_month_later
           nothing says what is right: write expected(self, chat_fake)
skipped  around_midnight
           nothing says what is right: write expected(self, chat_fake)
ok       a_later_version: 4 worlds; no unknown event type: connect(events="*")
skipped  people_write
           your endpoint does not listen for chat.inbound_message.received:
           connect(events="*")
skipped  forgeries
           your endpoint has no signer: connect(signer=HmacSigner("secret"))
""")


def test_a_scenario_may_expect_that_a_step_is_refused(run):
    code = """
    import pytest
    from pytest_chatfake import IllegalTransition, WebhookTests

    class TestSync(WebhookTests):
        def connect(self, chat_fake):
            chat_fake.webhooks.connect(handler=lambda request: None)

        def scenario(self, chat_fake):
            message = yield chat_fake.send_text().fail()
            with pytest.raises(IllegalTransition):
                yield message.deliver()

    class TestAsync(TestSync):
        async def connect(self, chat_fake):
            super().connect(chat_fake)
    """
    run(code, "-k", "all_events").assert_outcomes(passed=2)


def test_no_step_is_played_after_the_last_one_though_that_is_refused(run):
    code = """
    import pytest
    from pytest_chatfake import IllegalTransition, WebhookTests

    class TestAsync(WebhookTests):
        async def connect(self, chat_fake):
            chat_fake.webhooks.connect(handler=lambda request: None)

        def scenario(self, chat_fake):
            message = yield chat_fake.send_text().fail()
            with pytest.raises(IllegalTransition):
                yield message.deliver()
            yield chat_fake.send_text()

        @pytest.mark.asyncio
        async def test_own(self, chat_fake):
            await self.connect(chat_fake)
            await self.play(chat_fake, steps=2)
            assert [message.status for message in chat_fake.messages] == ["failed"]
    """
    run(code, *ASYNCIO, "-k", "test_own").assert_outcomes(passed=1)


#: Classes in which nothing can go wrong, unless one of their tests fails.
GREEN = """
    from pytest_chatfake import WebhookTests

    class TestBase(WebhookTests):
        def app_of(self, chat_fake, **options):
            seen = []
            options = {"handler": lambda request: seen.append(request.event.status), **options}
            chat_fake.webhooks.connect(**options)
            return lambda: seen

    class TestMisspelt(TestBase):
        def conect(self, chat_fake):
            return self.app_of(chat_fake)

    class TestNoEndpoint(TestBase):
        def connect(self, chat_fake):
            return list

    class TestNoFunction(TestBase):
        def connect(self, chat_fake):
            return self.app_of(chat_fake)()

    class TestNoYield(TestBase):
        def connect(self, chat_fake):
            if False: yield

    class TestTwoYields(TestBase):
        def connect(self, chat_fake):
            yield self.app_of(chat_fake)
            yield

    class TestDeaf(TestBase):
        def connect(self, chat_fake):
            return self.app_of(chat_fake, events=["messages"])

    class TestShowsNothing(TestBase):
        def connect(self, chat_fake):
            self.app_of(chat_fake)
            return list

    class TestOld(TestBase):
        statuses = []

        def connect(self, chat_fake):
            snapshot = self.app_of(chat_fake, handler=self.take)
            return lambda: self.statuses

        def take(self, request):
            self.statuses.append(request.event.status)

    class TestOfItsOwn(TestBase):
        def connect(self, chat_fake):
            return self.app_of(chat_fake)

    class TestNoEvents(TestOfItsOwn):
        def scenario(self, fake): pass

    class TestAsyncYield(TestOfItsOwn):
        async def scenario(self, fake): yield fake.send_text()

    class TestUnknownOnly(TestOfItsOwn):
        only = {"test_x": []}
"""


def test_what_would_be_green_for_nothing_fails_and_says_what_to_write(run):
    result = run(GREEN, "-k", "all_events or snapshot_changes")
    assert cards(result) == snapshot("""\
TestAsyncYield
FAILED   all_events_are_taken
           TypeError: scenario(): expected no yield in an async def; write a
           plain def, which yields what you would await
skipped  snapshot_changes: test_all_events_are_taken fails
TestDeaf
FAILED   all_events_are_taken
           ChatFakeError: connect(): expected an endpoint that listens for
           chat.message.updated, the scenario's events, got none; pass their
           types as connect(events=)
skipped  snapshot_changes: test_all_events_are_taken fails
TestMisspelt
FAILED   all_events_are_taken
           NotImplementedError: TestMisspelt: expected a method connect(self,
           chat_fake) that connects the app, as in
           chat_fake.webhooks.connect(wsgi=app, path='/hooks/chat')
skipped  snapshot_changes: test_all_events_are_taken fails
TestNoEndpoint
FAILED   all_events_are_taken
           ChatFakeError: connect(): expected it to connect the app, got no
           endpoint; call chat_fake.webhooks.connect(...) in it
skipped  snapshot_changes: test_all_events_are_taken fails
TestNoEvents
FAILED   all_events_are_taken
           ChatFakeError: scenario(): expected events, got none; send a message
           in it
skipped  snapshot_changes: test_all_events_are_taken fails
TestNoFunction
FAILED   all_events_are_taken
           TypeError: snapshot: expected a function of no arguments, as in
           lambda: dict(app.statuses), got []
skipped  snapshot_changes: test_all_events_are_taken fails
TestNoYield
FAILED   all_events_are_taken
           ChatFakeError: connect(): expected it to yield the snapshot, got no
           yield
skipped  snapshot_changes: test_all_events_are_taken fails
TestOfItsOwn
ok       all_events_are_taken: 6 events
ok       snapshot_changes: 6 of 6 events changed it
TestOld
FAILED   all_events_are_taken
           ChatFakeError: connect(): expected a new app in each world, got one
           that remembers an earlier world; the snapshot was [] at first, and is
           ['sent', 'delivered', 'delivered', 'read', 'sent', 'failed'] now.
           Create the app inside connect(), and empty its database there
ok       snapshot_changes: 6 of 6 events changed it
TestShowsNothing
ok       all_events_are_taken: 6 events
FAILED   snapshot_changes
           the snapshot did not change: it was [] before and after the scenario
TestTwoYields
FAILED   all_events_are_taken
           ChatFakeError: connect(): expected one yield, got a second one
FAILED   snapshot_changes
           ChatFakeError: connect(): expected one yield, got a second one
TestUnknownOnly
FAILED   all_events_are_taken
           ValueError: TestUnknownOnly.only: expected one of ['test_a_crash',
           'test_a_failing_api', 'test_a_later_version', 'test_a_month_later',
           'test_a_read_at_once', 'test_all_events_are_taken', 'test_an_error',
           'test_an_unknown_message', 'test_another_order',
           'test_around_midnight', 'test_duplicates', 'test_duplicates_at_once',
           'test_duplicates_days_later', 'test_duplicates_under_another_id',
           'test_forgeries', 'test_people_write', 'test_snapshot_changes',
           'test_snapshot_is_right', 'test_two_events_at_once',
           'test_webhooks_before_the_response'], got 'test_x'
skipped  snapshot_changes: test_all_events_are_taken fails\
""")


def test_a_refused_scenario_fails_one_test_and_the_others_name_it(run):
    result = run(DEAD)

    expected = dict.fromkeys(card(result), "skipped") | {"all_events_are_taken": "FAILED"}
    assert card(result) == expected
    assert cards(result).count(": test_all_events_are_taken fails") == ROWS - 4
    assert cards(result).count("nothing says what is right: write expected(") == 3


#: What makes a test of one's own green, or silent, where an app has refused an event.
SILENCED = """
    from contextlib import suppress

    import pytest
    from pytest_chatfake import WebhookTests

    class Refuses:
        arguments = {}

        def connect(self, chat_fake):
            self.statuses = []
            chat_fake.webhooks.connect(handler=self.take, **self.arguments)
            return lambda: ([*self.statuses], self.look(chat_fake))[0]

        def take(self, request):
            self.statuses.append(request.event.status)
            return self.end()

        def end(self):
            return 500

        def look(self, chat_fake):
            pass

        def scenario(self, chat_fake):
            yield chat_fake.send_text()

    class Raises(Refuses):
        arguments = {"raise_exceptions": False}

        def end(self):
            1 / 0

    @pytest.mark.chat_fake(strict=False)
    class TestNotStrict(Refuses, WebhookTests): pass

    @pytest.mark.chat_fake(strict=False)
    class TestRaisesAndIsNotStrict(Raises, WebhookTests): pass

    class TestRaises(Raises, WebhookTests): pass

    class TestDisables(Refuses, WebhookTests):
        arguments = {"disable_after": 1}

    @pytest.mark.chat_fake(retry_after=[1])
    class TestLooks(Refuses, WebhookTests):
        def scenario(self, chat_fake):
            yield chat_fake.send_text()
            chat_fake.webhooks.attempts

    class TestAsserts(Refuses, WebhookTests):
        def scenario(self, chat_fake):
            yield chat_fake.send_text()
            assert chat_fake.webhooks.attempts

    class TestSnapshotLooks(Refuses, WebhookTests):
        def look(self, chat_fake):
            return chat_fake.webhooks.attempts[:]

    class TestSuppresses(Refuses, WebhookTests):
        def end(self):
            if self.statuses[1:]: 1 / 0

        def scenario(self, chat_fake):
            yield chat_fake.send_text()
            with suppress(ZeroDivisionError): yield chat_fake.send_text()
"""


def test_nothing_that_a_class_says_silences_a_refused_event(run):
    result = run(SILENCED, "-k", "all_events")
    result.assert_outcomes(failed=8)
    result.stdout.no_fnmatch_line("*strict=False this is*")


def test_no_setting_silences_an_event_refused_in_another_world_only(run):
    code = """
    import pytest
    from pytest_chatfake import WebhookTests

    @pytest.mark.chat_fake(strict=False)
    class TestMarked(WebhookTests):
        def connect(self, chat_fake):
            taken = set()

            def app(request):
                is_known = "added" not in request.body.decode() and request.id not in taken
                taken.add(request.id if "added" not in request.body.decode() else "")
                return 204 if is_known else 500

            chat_fake.webhooks.connect(handler=app, events="*")
            return lambda: (len(taken - {""}), self.look(chat_fake))[0]

        def look(self, chat_fake):
            pass

        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver()

    @pytest.mark.chat_fake(strict=True)
    class TestLooks(TestMarked):
        def look(self, chat_fake):
            return chat_fake.webhooks.attempts[:]
    """
    found = failed(run(code, "-k", "later_version or test_duplicates or days_later"))
    expected = ["duplicates", "duplicates_under_another_id", "duplicates_days_later"]
    expected += ["a_later_version"]
    assert found == {"TestLooks": expected, "TestMarked": expected}


def test_faults_of_the_tests_disable_no_endpoint(run):
    code = PLAIN.replace("handler=", "disable_after=1, handler=")
    assert failed(run(code, "-k", "duplicates or order")) == {"TestWebhooks": []}


def test_an_app_that_takes_each_event_when_it_is_retried_is_right(run):
    code = """
    from pytest_chatfake import WebhookTests
    taken, refused = set(), set()

    class TestRefuses(WebhookTests):
        def connect(self, chat_fake):
            seen, rows = set(), set()

            def app(request):
                if request.id not in seen:
                    seen.add(request.id)
                    refused.add(request.event.type)
                    return 503
                taken.add(request.event.type)
                rows.add(request.event.json().get("chatMessage", {}).get("id"))

            chat_fake.webhooks.connect(handler=app, events="*", retry_after=[1, 3600])
            return lambda: len(rows)

        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver()

    def test_each_type_was_taken():
        assert refused == taken
        assert len(taken) == 3
    """
    result = run(code)
    ok = {test for test, outcome in card(result).items() if outcome == "ok"}
    assert {"all_events_are_taken", "duplicates", "another_order", "people_write"} <= ok
    assert result.ret == 0


def test_one_test_reports_a_snapshot_that_raises(run):
    code = """
    from pytest_chatfake import WebhookTests

    class TestRaises(WebhookTests):
        def connect(self, chat_fake):
            rows = []
            chat_fake.webhooks.connect(handler=rows.append)
            return lambda: {0: 0, 1: 1, 2: 2}[len(rows)]
    """
    assert cards(run(code, "-k", "changes or another_order or forgeries")) == snapshot("""\
TestRaises
FAILED   snapshot_changes: KeyError: 6
skipped  another_order: test_snapshot_changes fails
skipped  forgeries
           your endpoint has no signer: connect(signer=HmacSigner("secret"))\
""")


#: Snapshots that show nothing of what has happened; each test says so, or another one for it.
EMPTY = (
    DEAD.replace("500", "200")
    + """
    class TestLeftOut(TestDead):
        test_snapshot_changes = None

    class TestExpected(TestDead):
        expected_failures = {"test_snapshot_changes": "#12"}
"""
)


def test_tests_that_compare_unchanging_snapshots_fail_unless_it_was_said(run):
    comparing = "another_order or days_later"
    assert cards(run(EMPTY, "-k", f"changes or {comparing}")) == snapshot("""\
TestDead
FAILED   snapshot_changes
           the snapshot did not change: it was [] before and after the scenario
skipped  duplicates_days_later: test_snapshot_changes fails
skipped  another_order: test_snapshot_changes fails
TestExpected
expected snapshot_changes
           the snapshot did not change: it was [] before and after the scenario
FAILED   duplicates_days_later
           the snapshot did not change: it was [] before and after the scenario
FAILED   another_order
           the snapshot did not change: it was [] before and after the scenario
TestLeftOut
FAILED   duplicates_days_later
           the snapshot did not change: it was [] before and after the scenario
FAILED   another_order
           the snapshot did not change: it was [] before and after the scenario\
""")
    assert failed(run(EMPTY, "-k", f"TestDead and ({comparing})")) == {
        "TestDead": ["duplicates_days_later", "another_order"]
    }


def test_the_clean_up_behind_a_yield_is_done_however_a_world_ends(run):
    code = """
    from pytest_chatfake import WebhookTests
    left = []

    class App:
        def connected(self, chat_fake):
            left.append(rows := [])
            chat_fake.webhooks.connect(handler=lambda request: rows.append(request.id))
            return rows

        def close(self, rows):
            left.remove(rows)
            assert len(rows) < 3, "an error of the clean-up"

        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver()

    class TestSync(App, WebhookTests):
        def connect(self, chat_fake):
            rows = self.connected(chat_fake)
            yield lambda: len(rows)
            self.close(rows)

    class TestAsync(App, WebhookTests):
        async def connect(self, chat_fake):
            rows = self.connected(chat_fake)
            yield lambda: len(rows)
            self.close(rows)

    def test_all_duplicates_were_cleaned_up():
        assert [] == left
    """
    result = run(code, "-k", "duplicates or people")
    assert cards(result) == snapshot("""\
TestAsync
FAILED   duplicates: sent m1 was redelivered; snapshot: 3; as written: 2
FAILED   duplicates_under_another_id
           sent m1 was redelivered with a new id; snapshot: 3; as written: 2
FAILED   duplicates_days_later
           redelivering sent m1 changed the snapshot; snapshot: 3; before: 2
skipped  duplicates_at_once
           a plain function handles one event at a time: connect your app as
           wsgi=, asgi= or by its URL
skipped  people_write
           your endpoint does not listen for chat.inbound_message.received:
           connect(events="*")
TestSync
FAILED   duplicates: sent m1 was redelivered; snapshot: 3; as written: 2
FAILED   duplicates_under_another_id
           sent m1 was redelivered with a new id; snapshot: 3; as written: 2
FAILED   duplicates_days_later
           redelivering sent m1 changed the snapshot; snapshot: 3; before: 2
skipped  duplicates_at_once
           a plain function handles one event at a time: connect your app as
           wsgi=, asgi= or by its URL
skipped  people_write
           your endpoint does not listen for chat.inbound_message.received:
           connect(events="*")\
""")
    result.stdout.fnmatch_lines(["E*The clean-up of connect() failed as well: *of the clean-up*"])
    result.stdout.no_fnmatch_line("FAILED*cleaned_up*")


# -- one cause for many tests ----------------------------------------------------------------------

#: Classes whose first test does not fail of the cause: each other test says it then.
UNSAID = (
    DEAD
    + """
    class TestLeftOut(TestDead):
        test_all_events_are_taken = None

    class TestExpected(TestDead):
        expected_failures = {"test_all_events_are_taken": "#12"}

    class TestMarked(TestDead):
        @pytest.fixture(autouse=True)
        def mark(self, request):
            if "all_events" in request.node.name:
                request.applymarker(pytest.mark.xfail)

    class TestNotSetUp(TestDead):
        @pytest.fixture(autouse=True)
        def fail(self, request):
            assert "all_events" not in request.node.name
"""
)


def test_the_cause_fails_each_test_unless_the_first_one_has_failed_of_it(run):
    assert cards(run(UNSAID, "-k", "all_events or duplicates_at")) == snapshot("""\
TestDead
FAILED   all_events_are_taken: sent m1 to TestDead.take(): status 500
skipped  duplicates_at_once: test_all_events_are_taken fails
TestExpected
expected all_events_are_taken: sent m1 to TestDead.take(): status 500
FAILED   duplicates_at_once: sent m1 to TestDead.take(): status 500
TestLeftOut
FAILED   duplicates_at_once: sent m1 to TestDead.take(): status 500
TestMarked
expected all_events_are_taken: sent m1 to TestDead.take(): status 500
FAILED   duplicates_at_once: sent m1 to TestDead.take(): status 500
TestNotSetUp
FAILED   all_events_are_taken
           assert 'all_events' not in 'test_all_events_are_taken'
FAILED   duplicates_at_once: sent m1 to TestDead.take(): status 500\
""")
    alone = failed(run(DEAD, "-k", "changes or duplicates_at"))
    assert alone == {"TestDead": ["snapshot_changes", "duplicates_at_once"]}


def test_the_cause_fails_those_that_run_before_the_first_test(run, pytester):
    pytester.makeconftest("def pytest_collection_modifyitems(items): items.reverse()")
    run(DEAD, "-k", "all_events or changes or order").assert_outcomes(failed=3)


def test_a_first_test_that_passes_when_it_is_run_again_has_not_failed(run, pytester):
    pytester.makeconftest(
        textwrap.dedent(
            """
            from _pytest.runner import runtestprotocol

            def pytest_runtest_protocol(item, nextitem):  # as plugins do that run tests again
                if "all_events" in item.name:
                    runtestprotocol(item, log=False, nextitem=nextitem)
                    item._initrequest()
                    item.cls.status = 200
                    runtestprotocol(item, nextitem=nextitem)
                    item.cls.status = 500
                    return True
            """
        )
    )
    run(DEAD, "-k", "all_events or changes or order").assert_outcomes(passed=1, failed=2)


#: An app with a client of one event loop, made at import.
OF_ONE_LOOP = """
    import asyncio
    from pytest_chatfake import WebhookTests

    class TestPool(WebhookTests):
        loops = []

        async def connect(self, chat_fake):
            rows = set()

            async def app(request):
                self.loops = self.loops or [asyncio.get_running_loop()]
                type(self).loops = self.loops
                if self.loops[0].is_closed():
                    raise RuntimeError("Event loop is closed")
                rows.add(request.json()["chatMessage"]["id"])

            chat_fake.webhooks.connect(handler=app)
            return lambda: rows
"""


def test_a_client_of_a_loop_that_was_closed_fails_and_says_what_to_set(run):
    result = run(OF_ONE_LOOP, "-k", "all_events or changes or duplicates_at")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["E*set chat_fake_loop_scope = session in pytest's ini file."])


def test_async_classes_use_the_loop_of_the_session_if_there_is_one(run):
    result = run(
        OF_ONE_LOOP,
        "-k",
        "all_events or changes or duplicates_at",
        "-o",
        "chat_fake_loop_scope=session",
    )
    result.assert_outcomes(passed=3)


# -- two attempts at the same time -----------------------------------------------------------------

#: An app that keeps the status which arrives last.
LAST_WINS = """
    import asyncio, json
    from pytest_chatfake import WebhookTests

    class TestWebhooks(WebhookTests):
        def connect(self, chat_fake):
            status = {}

            async def app(request):
                message = json.loads(request.body)["chatMessage"]
                await asyncio.sleep(0)
                status[message["id"]] = message["status"]

            chat_fake.webhooks.connect(handler=app)
            return lambda: status

    class TestExpected(TestWebhooks):
        expected_failures = {"test_another_order": "the provider promises the order"}

    class TestLeftOut(TestWebhooks):
        test_another_order = None
"""


def test_an_app_that_needs_the_order_fails_the_test_of_the_order_alone(run):
    result = run(LAST_WINS, "-k", "another_order or two_events")
    assert cards(result) == snapshot("""\
TestExpected
expected another_order
           read m1 arrived before delivered m1 #2; ["m1"]: 'delivered'; as
           written: 'read'
ok       two_events_at_once
           2 worlds; one attempt was held at test_an_app_that_needs_the_order_fa
           ils_the_test_of_the_order_alone.py:10, while the other waited or
           ended; events whose order matters to your app were left out:
           test_another_order is expected to fail
TestLeftOut
ok       two_events_at_once
           2 worlds; one attempt was held at test_an_app_that_needs_the_order_fa
           ils_the_test_of_the_order_alone.py:10, while the other waited or
           ended; events whose order matters to your app were left out:
           test_another_order is left out
TestWebhooks
FAILED   another_order
           read m1 arrived before delivered m1 #2; ["m1"]: 'delivered'; as
           written: 'read'
ok       two_events_at_once
           2 worlds; one attempt was held at test_an_app_that_needs_the_order_fa
           ils_the_test_of_the_order_alone.py:10, while the other waited or
           ended; events whose order matters to your app were left out:
           test_another_order fails\
""")


def test_the_order_is_to_blame_where_its_own_test_did_not_run(run):
    result = run(LAST_WINS, "-k", "two_events")
    assert cards(result) == snapshot("""\
TestExpected
ok       two_events_at_once
           2 worlds; one attempt was held at
           test_the_order_is_to_blame_where_its_own_test_did_not_run.py:10,
           while the other waited or ended; events whose order matters to your
           app were left out: test_another_order is expected to fail
TestLeftOut
ok       two_events_at_once
           2 worlds; one attempt was held at
           test_the_order_is_to_blame_where_its_own_test_did_not_run.py:10,
           while the other waited or ended; events whose order matters to your
           app were left out: test_another_order is left out
TestWebhooks
FAILED   two_events_at_once
           read m1 arrived before delivered m1 #2; ["m1"]: 'delivered'; as
           written: 'read'\
""")


def test_races_count_that_pass_beside_one_whose_order_matters(run):
    code = """
    import asyncio, json
    from pytest_chatfake import WebhookTests

    class TestFailures(WebhookTests):
        expected_failures = {"test_another_order": "the provider promises the order"}

        def connect(self, chat_fake):
            status = {}

            async def app(request):
                message = json.loads(request.body)["chatMessage"]
                await asyncio.sleep(0)
                if message["status"] != "sent" or status.get(message["id"]) == "failed":
                    status[message["id"]] = message["status"]

            chat_fake.webhooks.connect(handler=app)
            return lambda: status

        def scenario(self, chat_fake):
            yield chat_fake.send_text("a").deliver()
            yield chat_fake.send_text("b").fail()
    """
    assert cards(run(code, "-k", "two_events")) == snapshot("""\
TestFailures
ok       two_events_at_once
           1 world; one attempt was held at
           test_races_count_that_pass_beside_one_whose_order_matters.py:12,
           while the other waited or ended; events whose order matters to your
           app were left out: test_another_order is expected to fail
""")


#: An app that reads a sum, awaits, and writes it.
SUMS = """
    import asyncio, json
    from decimal import Decimal
    from pytest_chatfake import WebhookTests

    RANK = ["sent", "delivered", "read", "failed"]

    class TestWebhooks(WebhookTests):
        def connect(self, chat_fake):
            charged, app_status, total = set(), {}, [Decimal(0)]

            async def app(request):
                message = json.loads(request.body, parse_float=Decimal)["chatMessage"]
                known = app_status.get(message["id"], "sent")
                app_status[message["id"]] = max(known, message["status"], key=RANK.index)
                if message["status"] in ("delivered", "read") and message["id"] not in charged:
                    charged.add(message["id"])
                    known = total[0]
                    await asyncio.sleep(0)
                    total[0] = known + message["totalPrice"]

            chat_fake.webhooks.connect(handler=app)
            return lambda: {"spent": total[0], "status": app_status}

        def expected(self, chat_fake):
            status = {message.id: message.status for message in chat_fake.messages}
            return {"spent": chat_fake.balance.charged, "status": status}
"""


def test_a_sum_is_raced_though_the_order_of_a_message_matters(run):
    code = SUMS.replace('max(known, message["status"], key=RANK.index)', 'message["status"]')
    result = run(code, "-k", "another_order or two_events")
    assert cards(result) == snapshot("""\
TestWebhooks
FAILED   another_order
           read m1 arrived before delivered m1 #2; ["status"]["m1"]:
           'delivered'; expected: 'read'
FAILED   two_events_at_once
           delivered m3 and delivered m4 arrived at the same time, and delivered
           m3 was held at
           test_a_sum_is_raced_though_the_order_of_a_message_matters.py:18;
           ["spent"]: 0.1430; expected: 0.2145\
""")


def test_the_printed_test_and_only_fail_as_the_race_did(run):
    first = run(SUMS, "-k", "two_events")
    again = run(textwrap.dedent(SUMS) + pasted(first), "-k", "what_the_exploration_found")
    alone = run(f"{SUMS}\n        {only_of(first)}", "-k", "two_events")
    assert again.parseoutcomes()["failed"] == 1
    assert failed(alone) == {"TestWebhooks": ["two_events_at_once"]}


def test_only_a_race_at_a_point_that_the_app_never_reaches_is_refused(run):
    only = "only = {'test_two_events_at_once': ['webhooks.concurrently(by=1, line=\"app.py:1\")']}"
    result = run(f"{SUMS}\n        {only}", "-k", "two_events")
    assert "and the app never came there. Remove only=" in result.stdout.str()


def test_an_app_that_is_too_slow_for_a_hold_is_said_not_to_be_raced(run):
    code = """
    import asyncio, pytest, time
    from pytest_chatfake import WebhookTests

    @pytest.mark.chat_fake(timeout=1)
    class TestSlow(WebhookTests):
        def connect(self, chat_fake):
            seen = set()

            async def app(request):
                if request.event.status == "sent":
                    await asyncio.sleep(0)
                else:
                    await asyncio.to_thread(time.sleep, 0.6)
                seen.add(request.event.status)

            chat_fake.webhooks.connect(handler=app)
            return lambda: seen

        def scenario(self, chat_fake):
            chat_fake.send_text().deliver()
    """
    assert cards(run(code, "-k", "two_events")) == snapshot("""\
TestSlow
ok       two_events_at_once
           1 world; no attempt was held at
           test_an_app_that_is_too_slow_for_a_hold_is_said_not_to_be_raced.py:11
           for long enough, because your app takes longer than a fifth of
           timeout=
""")


def test_a_pair_that_fails_twice_each_time_is_named_beside_another_one(run):
    code = """
    import asyncio
    from pytest_chatfake import WebhookTests

    OTHER = {"delivered": "read", "read": "delivered"}

    class TestClash(WebhookTests):
        def connect(self, chat_fake):
            seen, busy, clashes = set(), set(), []

            async def app(request):
                status = request.event.status
                if OTHER.get(status) in busy:
                    clashes.append(status)
                    raise OSError("busy")
                busy.add(status)
                await asyncio.sleep(0)
                busy.discard(status)
                if clashes:
                    clashes.clear()
                    raise OSError("busy")
                seen.add(status)

            chat_fake.webhooks.connect(handler=app)
            return lambda: seen

        def scenario(self, chat_fake):
            chat_fake.send_text().deliver().read()
    """
    assert cards(run(code, "-k", "two_events")) == snapshot("""\
TestClash
ok       two_events_at_once
           3 worlds; two simultaneous attempts both failed every time for
           delivered m1 and read m1: OSError: busy; one attempt was held at test
           _a_pair_that_fails_twice_each_time_is_named_beside_another_one.py:16,
           while the other waited or ended
""")


def test_a_plain_function_and_events_that_nothing_follows_are_not_raced(run):
    code = """
    import asyncio
    from pytest_chatfake import WebhookTests

    class TestPlain(WebhookTests):
        def connect(self, chat_fake):
            seen = set()
            chat_fake.webhooks.connect(handler=lambda request: seen.add(request.event.status))
            return lambda: seen

    class TestInTurn(WebhookTests):
        def connect(self, chat_fake):
            seen = set()

            async def app(request):
                await asyncio.sleep(0)
                seen.add(request.event.status)

            chat_fake.webhooks.connect(handler=app)
            return lambda: seen

        def scenario(self, chat_fake):
            message = chat_fake.send_text()
            chat_fake.settle()
            message.deliver()
    """
    assert cards(run(code, "-k", "two_events")) == snapshot("""\
TestInTurn
skipped  two_events_at_once
           no event can overtake another: cause two without settle(), an
           assertion or a clock move between them
TestPlain
skipped  two_events_at_once
           a plain function handles one event at a time: connect your app as
           wsgi=, asgi= or by its URL
""")


#: Apps that are called in threads, where two attempts are made at once.
IN_THREADS = """
    import threading
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route
    from pytest_chatfake import WebhookTests

    class Threads(WebhookTests):
        __test__ = False
        refuses, wrong, runs = False, 0, 0

        def connect(self, chat_fake):
            rows = {"rows": 0}

            def app(environ, start):
                status = "204 No Content"
                if threading.current_thread() is threading.main_thread():
                    rows["rows"] = rows["rows"] or 1
                elif self.refuses:
                    status = "503 Busy"
                elif rows["rows"] < 2:
                    type(self).runs += 1
                    rows["rows"] = 2 if self.runs <= self.wrong else 1
                start(status, [])
                return []

            chat_fake.webhooks.connect(wsgi=app)
            return lambda: rows

        def scenario(self, chat_fake):
            yield chat_fake.send_text()

    class TestRefused(Threads):
        refuses = True

    class TestWrongOnce(Threads):
        wrong = 1

    class TestWrongTwice(Threads):
        wrong = 2

    class TestWrongThreeTimes(Threads):
        wrong = 3

    class TestFramework(WebhookTests):
        def connect(self, chat_fake):
            rows = []

            def hook(request):  # no coroutine: Starlette calls it in a thread
                rows.append(1)
                return Response(status_code=204)

            app = Starlette(routes=[Route("/hook", hook, methods=["POST"])])
            chat_fake.webhooks.connect(asgi=app, path="/hook")
            return lambda: len(rows)
"""


def test_what_fails_or_is_refused_in_threads_has_to_be_so_each_time(run):
    result = run(IN_THREADS, "-k", "duplicates_at_once")
    assert cards(result) == snapshot("""\
TestFramework
FAILED   duplicates_at_once
           sent m1 arrived twice at the same time; snapshot: 7; as written: 6
TestRefused
skipped  duplicates_at_once
           two simultaneous attempts both failed every time: status 503
TestWrongOnce
skipped  duplicates_at_once
           by chance, because of threads: this failed in one run and passed in
           another: sent m1 arrived twice at the same time; ["rows"]: 2; as
           written: 1. Name the function that writes: crash_points =
           [Session.commit]
TestWrongThreeTimes
FAILED   duplicates_at_once
           sent m1 arrived twice at the same time; ["rows"]: 2; as written: 1
TestWrongTwice
skipped  duplicates_at_once
           by chance, because of threads: this failed in one run and passed in
           another: sent m1 arrived twice at the same time; ["rows"]: 2; as
           written: 1. Name the function that writes: crash_points =
           [Session.commit]\
""")
    limit = "Attempts ran in threads: this world failed 3 times in a row, but may pass"
    assert result.stdout.str().count(limit) == 2


def test_behind_a_url_no_crash_point_is_asked_for(run):
    result = run(
        """
    import threading
    from werkzeug.serving import make_server
    from pytest_chatfake import WebhookTests

    class TestByUrl(WebhookTests):
        def connect(self, chat_fake):
            seen = set()

            def app(environ, start):
                seen.add(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
                start("204 No Content", [])
                return []

            server = make_server("127.0.0.1", 0, app, threaded=True)
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            chat_fake.webhooks.connect(f"http://127.0.0.1:{server.port}")
            yield lambda: len(seen)
            server.shutdown()
            thread.join()

        def scenario(self, chat_fake):
            yield chat_fake.send_text()
    """,
        "-k",
        "duplicates_at_once",
    )
    note = "1 world; by chance, because your app is connected by its URL"
    assert " ".join(cards(result).split()).endswith(note)


#: Async apps that refuse an event while they handle it.
BUSY = """
    import asyncio
    from pytest_chatfake import WebhookTests

    class TestRefusesOne(WebhookTests):
        def connect(self, chat_fake):
            status, busy, self.rows = {}, set(), []

            async def app(request):
                message = request.event.json()["chatMessage"]
                if message["id"] in busy:
                    return self.refuse()
                busy.add(message["id"])
                await asyncio.sleep(0)
                status[message["id"]] = "known"
                busy.discard(message["id"])

            chat_fake.webhooks.connect(handler=app)
            return lambda: (status, self.rows)

        def refuse(self):
            return 409

        def scenario(self, chat_fake):
            yield chat_fake.send_text()

    class TestCountsWhatItRefuses(TestRefusesOne):
        def refuse(self):
            self.rows.append(1)
            return 409

    class TestRefusesBoth(TestRefusesOne):
        def connect(self, chat_fake):
            known, numbers = set(), []

            async def app(request):
                numbers.append(request.number)
                await asyncio.sleep(0)
                if request.number == 1 and numbers.count(1) > 1:
                    return 409
                known.add(request.id)

            chat_fake.webhooks.connect(handler=app)
            return lambda: known
"""


def test_an_async_app_may_refuse_an_event_while_it_takes_it(run):
    assert cards(run(BUSY, "-k", "duplicates_at")) == snapshot("""\
TestCountsWhatItRefuses
FAILED   duplicates_at_once
           sent m1 arrived twice at the same time; [1]: one more (1); 1 item; as
           written: 0
TestRefusesBoth
skipped  duplicates_at_once
           two simultaneous attempts both failed every time: status 409
TestRefusesOne
ok       duplicates_at_once: 1 world\
""")


# -- what a test has not tried ---------------------------------------------------------------------

#: An app that sends, from a scenario or while it takes what a person has written.
SENDS = """
    import asyncio, json
    from urllib.request import Request, urlopen
    from pytest_chatfake import WebhookTests

    def post(fake):
        body = json.dumps({"to": "+1", "type": "text", "text": {"body": "Hello"}}).encode()
        headers = {"X-API-Key": fake.api_key, "Content-Type": "application/json"}
        with urlopen(Request(f"{fake.base_url}/v2/messages", body, headers)) as response:
            return json.load(response)["id"]

    class TestBlocks(WebhookTests):
        async def connect(self, chat_fake):
            self.rows = {}
            chat_fake.send_endpoint()
            chat_fake.webhooks.connect(handler=self.take, events="*")
            return lambda: self.rows

        async def take(self, request):
            if request.event.status:
                self.rows[request.event.message_id] = request.event.status

        async def scenario(self, chat_fake):
            self.rows[post(chat_fake)] = "submitted"
            await chat_fake.settle()

    class TestOverwrites(TestBlocks):
        async def scenario(self, chat_fake):
            self.rows[await asyncio.to_thread(post, chat_fake)] = "submitted"
            await chat_fake.settle()

    class TestKeeps(TestBlocks):
        async def scenario(self, chat_fake):
            self.rows.setdefault(await asyncio.to_thread(post, chat_fake), "submitted")
            await chat_fake.settle()

    class TestReplies(TestBlocks):
        async def take(self, request):
            await super().take(request)
            if not request.event.status:
                self.rows[post(self.fake)] = "submitted"

        async def scenario(self, chat_fake):
            self.fake = chat_fake
            await chat_fake.recipient("+1").writes("Hello")
            await chat_fake.settle()
"""


def test_webhooks_that_came_after_the_response_were_not_tried_before_it(run):
    assert cards(run(SENDS, "-k", "before_the_response")) == snapshot("""\
TestBlocks
skipped  webhooks_before_the_response
           your app blocks its event loop while it sends, so no webhook can
           arrive before the response: await the call, or make it in
           asyncio.to_thread()
TestKeeps
ok       webhooks_before_the_response: 1 world
TestOverwrites
FAILED   webhooks_before_the_response
           the webhooks of the 1st POST /v2/messages arrived before its
           response; ["m1"]: 'submitted'; as written: 'sent'
TestReplies
skipped  webhooks_before_the_response
           your app blocks its event loop while it sends, so no webhook can
           arrive before the response: await the call, or make it in
           asyncio.to_thread()\
""")


BOT = """
    import pytest
    from pytest_chatfake import ChatFakeConfig, WebhookTests

    @pytest.fixture
    def chat_fake_config():
        return ChatFakeConfig(
            inbound=lambda message: {"type": "messages", "body": {message.type: message.content}}
        )

    class TestBot(WebhookTests):
        def connect(self, chat_fake):
            texts = []
            chat_fake.webhooks.connect(
                handler=lambda request: texts.append(request.json()["text"]), events=["messages"]
            )
            return lambda: texts

        def scenario(self, chat_fake):
            yield chat_fake.recipient("+1").writes("Hello")
"""


def test_people_write_in_the_shape_of_the_configuration(run):
    result = run(BOT, "-k", "people_write")
    line = "FAILED   people_write: KeyError: 'text', while handling messages #3"
    assert line in result.stdout.lines


def test_people_who_write_what_nobody_listens_for_have_tried_nothing(run):
    result = run(PLAIN, "-k", "people_write")
    assert card(result) == {"people_write": "skipped"}
    result.stdout.fnmatch_lines(["*your endpoint does not listen for chat.inbound_message.rec*"])


def test_values_that_equal_only_themselves_fail_one_test_and_it_says_so(run):
    code = """
    from dataclasses import dataclass
    from pytest_chatfake import WebhookTests

    class Thing:
        def __init__(self, value): self.value = value

    class Values:
        def connect(self, chat_fake):
            self.status = {}
            chat_fake.webhooks.connect(handler=self.take)
            return self.snapshot

        def take(self, request):
            self.status[request.event.message_id] = request.event.status

        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver()

    class TestNan(Values, WebhookTests):
        def snapshot(self):
            return {"average": float("nan"), **self.status}

    class TestFunction(Values, WebhookTests):
        def snapshot(self):
            return {"total": lambda: 1, **self.status}

    class TestThings(Values, WebhookTests):
        def snapshot(self):
            return list(map(Thing, self.status))

    class TestNans(Values, WebhookTests):
        def snapshot(self):
            return [float("nan") for _ in self.status]

    class TestClassOfAWorld(Values, WebhookTests):
        def snapshot(self):
            return self.total(len(self.status))

        def connect(self, chat_fake):
            @dataclass
            class Total:
                value: int

            self.total = Total
            return super().connect(chat_fake)
    """
    assert cards(run(code, "-k", "all_events or changes or another_order")) == snapshot("""\
TestClassOfAWorld
FAILED   all_events_are_taken
           SnapshotError: snapshot: expected values that are equal in each
           world, got TestClassOfAWorld.connect.<locals>.Total(value=0), which
           can't be compared by value; return plain data
ok       snapshot_changes: 1 of 2 events changed it
skipped  another_order: test_all_events_are_taken fails
TestFunction
FAILED   all_events_are_taken
           SnapshotError: snapshot: expected plain values, such as a sum or a
           list of tuples, got objects that can't be compared by value:
           ["total"]: <function TestFunction.snapshot.<locals>.<lambda>>
skipped  snapshot_changes: test_all_events_are_taken fails
skipped  another_order: test_all_events_are_taken fails
TestNan
FAILED   all_events_are_taken
           SnapshotError: snapshot: expected plain values, such as a sum or a
           list of tuples, got objects that can't be compared by value:
           ["average"]: nan
skipped  snapshot_changes: test_all_events_are_taken fails
skipped  another_order: test_all_events_are_taken fails
TestNans
ok       all_events_are_taken: 2 events
FAILED   snapshot_changes
           SnapshotError: snapshot: expected plain values, such as a sum or a
           list of tuples, got objects that can't be compared by value: [0]: nan
skipped  another_order: test_snapshot_changes fails
TestThings
ok       all_events_are_taken: 2 events
FAILED   snapshot_changes
           SnapshotError: snapshot: expected plain values, such as a sum or a
           list of tuples, got objects that can't be compared by value: [0]: <te
           st_values_that_equal_only_themselves_fail_one_test_and_it_says_so.Thi
           ng object>
skipped  another_order: test_snapshot_changes fails\
""")
    assert failed(run(code, "-k", "Things and another_order")) == {"TestThings": ["another_order"]}


def test_what_fails_before_anything_deviates_blames_no_deviation(run):
    code = """
    from pytest_chatfake import WebhookTests

    class TestPort(WebhookTests):
        connected = 0

        def connect(self, chat_fake):
            type(self).connected += 1
            if self.connected == 4 or self.connected > 5:  # not the control
                raise OSError("Address already in use")
            rows = {}
            chat_fake.webhooks.connect(handler=lambda r: rows.update({r.event.id: r.event.status}))
            return lambda: rows
    """
    result = run(code, "-k", "test_duplicates")
    result.stdout.fnmatch_lines(["*nothing had deviated yet; OSError: Address already in use"])


# -- what is shown ---------------------------------------------------------------------------------


def test_quiet_runs_have_one_line_for_a_class_that_passes(run):
    code = PLAIN.replace("return lambda: seen", "")
    result = run(code, "-q", "-k", "not forgeries")
    _, _, shown = result.stdout.str().partition("[100%]\n")
    assert "\n".join(shown.splitlines()[:-1]) == snapshot("""\
test_quiet_runs_have_one_line_for_a_class_that_passes.py::TestWebhooks: 1 ok, 18
  skipped: snapshot_changes, duplicates, duplicates_under_another_id,
  duplicates_days_later, duplicates_at_once, another_order, two_events_at_once,
  a_read_at_once, webhooks_before_the_response, a_crash, an_error,
  a_failing_api, a_later_version (connect() returned no snapshot, so only
  responses were checked; return a function that returns your app's state, as in
  lambda: dict(app.statuses)); snapshot_is_right, a_month_later, around_midnight
  (nothing says what is right: write expected(self, chat_fake));
  an_unknown_message (your app sends nothing, so it knows none of the messages
  anyway); people_write (your endpoint does not listen for
  chat.inbound_message.received: connect(events="*"))\
""")


def test_quiet_runs_count_expected_failures_and_show_a_failed_card_whole(run):
    signature, few = WHOLE.format(mistake="signature"), "all_events or changes or forgeries"
    result = run(f"{signature}        expected_failures = {{'test_forgeries': '#1'}}", "-qk", few)
    assert "2 ok, 1 expected to fail" in " ".join(map(str.strip, result.stdout.lines))
    expected = {"all_events_are_taken": "ok", "snapshot_changes": "ok", "forgeries": "FAILED"}
    assert card(run(signature, "-qk", few)) == expected


def test_the_summary_shows_a_skipped_test_at_the_users_class(run):
    code = """
    from pytest_chatfake import WebhookTests

    class TestShop(WebhookTests):
        async def connect(self, chat_fake):
            chat_fake.webhooks.connect(handler=lambda request: None)
    """
    result = run(code, "-rs", "-k", "forgeries")
    result.stdout.fnmatch_lines(["SKIPPED [[]1] test_*.py:4: your endpoint has no signer: *"])


def test_a_fixture_that_uses_the_fake_belongs_to_another_fake(run):
    code = """
    import pytest
    from pytest_chatfake import WebhookTests

    @pytest.fixture
    def endpoint(chat_fake):
        return chat_fake.send_endpoint()

    class TestShop(WebhookTests):
        def connect(self, chat_fake, endpoint): pass
    """
    result = run(code, "-k", "all_events")
    result.stdout.fnmatch_lines(["*a fixture uses chat_fake, but each world of this test has its*"])


def test_failures_that_are_expected_are_strict_and_a_test_can_be_left_out(run):
    more = """
        expected_failures = {"test_forgeries": "#12", "test_duplicates": "#13"}
        test_another_order = None
    """
    code = WHOLE.format(mistake="signature") + more
    result = run(code, "-k", "forgeries or test_duplicates or another_order")
    assert cards(result) == snapshot("""\
TestWebhooks
FAILED   duplicates: it passes: remove it from expected_failures
ok       duplicates_under_another_id: 3 worlds
ok       duplicates_days_later: 3 events
ok       duplicates_at_once
           6 worlds; both attempts met before Shop.save and after Shop.save
expected forgeries
           forgeries got through: unsigned, with empty headers, with malformed
           headers, with a bare signature, with another scheme's prefix, with a
           wrong signature, signed with another secret, changed after it was
           signed, with its signature cut off, with another event's signature,
           signed a day ago, signed a day ahead\
""")


#: Apps that verify signatures, and know no limit of age.
AGELESS = """
    import hmac
    from pytest_chatfake import HmacSigner, WebhookTests

    class TestAgeless(WebhookTests):
        signer = HmacSigner("secret")
        known_forgeries = {known}

        def connect(self, chat_fake):
            seen = []
            def receive(request):
                if self.signer(request).items() <= request.headers.items() or self.is_old(request):
                    seen.append(request.event.status)
                    return 204
                return 401
            chat_fake.webhooks.connect(handler=receive, signer=self.signer)
            return lambda: seen

        def is_old(self, request):
            at, _, given = request.headers.get("X-Signature", "").removeprefix("t=").partition(",")
            signed = at.encode() + b"." + request.body
            return given == "s=" + hmac.new(b"secret", signed, "sha256").hexdigest()
"""


def test_known_forgeries_are_named_beside_an_ok(run):
    known = {"signed a day ago": "#14", "signed a day ahead": "#14"}
    result = run(AGELESS.format(known=known), "-k", "test_forgeries")

    assert cards(result) == snapshot("""\
TestAgeless
ok       forgeries
           10 forgeries; known: signed a day ago (#14); known: signed a day
           ahead (#14)
""")


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (["unsigned"], "TypeError: TestAgeless.known_forgeries: expected a mapping*"),
        ({"unsigned": 1}, "TypeError: TestAgeless.known_forgeries['unsigned']: expected a str*"),
        ({"late": "x"}, "ValueError: known: unknown forgery 'late'; use 'unsigned', *"),
    ],
)
def test_known_forgeries_that_are_not_tried_are_refused(run, known, says):
    result = run(AGELESS.format(known=known), "-k", "test_forgeries")

    result.stdout.fnmatch_lines([f"E*{says.replace('[', '[[]')}"])


def test_what_could_not_be_forged_is_named_beside_an_ok(run):
    code = """
    from pytest_chatfake import WebhookTests

    class TestKey(WebhookTests):
        def connect(self, chat_fake):
            key = {"Authorization": "Bearer 0123456789"}
            chat_fake.webhooks.connect(
                handler=lambda request: 204 if key.items() <= request.headers.items() else 401,
                signer=lambda request: key,
            )
    """
    assert cards(run(code, "-k", "test_forgeries")) == snapshot("""\
TestKey
ok       forgeries
           7 forgeries; left out: signed with another secret, changed after it
           was signed, with another event's signature, signed a day ago, signed
           a day ahead, at <lambda>()
""")


def test_classes_inherit_take_parameters_and_marks_and_have_a_set_up(run):
    more = """
        def setup_method(self):
            self.mistake = "order"

    @pytest.mark.parametrize("price", [2, 3])
    @pytest.mark.chat_fake(price=7)
    class TestPrices(TestWebhooks):
        def connect(self, chat_fake, price):
            snapshot = super().connect(chat_fake)
            return lambda: [price, snapshot(), str(chat_fake.config.price)]
    """
    result = run(RIGHT + more, "-k", "test_another_order", "-n", "1")
    titles = ["TestPrices[2]", "TestPrices[3]", "TestWebhooks"]
    assert failed(result) == {title: ["another_order"] for title in titles}
    result.stdout.fnmatch_lines(["*; [[]1[]]*\"status\"*\"m1\"*: 'delivered'; as written: 'read'*"])


def test_on_ci_the_summary_is_short(run, monkeypatch):
    monkeypatch.setenv("CI", "1")
    result = run(WHOLE.format(mistake="ids"), "-k", "under_another_id")
    summary = result.stdout.str().partition("short test summary info")[2].splitlines()
    assert len(summary) == 3  # its title, the failure, and the closing line


def test_a_card_names_the_event_at_which_an_app_has_raised(run):
    code = """
    from pytest_chatfake import WebhookTests

    class TestShop(WebhookTests):
        def connect(self, chat_fake):
            statuses = []
            chat_fake.webhooks.connect(
                handler=lambda one: statuses.append(one.json()["chatMessage"]["status"]),
                events="*",
            )
            return lambda: set(statuses)
    """
    assert cards(run(code, "-k", "people_write or later_version")) == snapshot("""\
TestShop
FAILED   a_later_version
           KeyError: 'chatMessage', while handling chat.added_later
FAILED   people_write
           KeyError: 'chatMessage', while handling chat.inbound_message.received\
""")


# -- the time of events ----------------------------------------------------------------------------

BY_TIME = """
    import pytest
    from pytest_chatfake import ChatFakeConfig, WebhookTests

    @pytest.fixture
    def chat_fake_config(request):
        return ChatFakeConfig(**request.cls.options)

    class TestByTime(WebhookTests):
        options, seconds = {}, 1

        def connect(self, chat_fake):
            newest = {}

            def app(request):
                event = request.json()
                if message := event.get("chatMessage"):
                    found = event["createTime"], message["status"]
                    earlier = newest.setdefault(message["id"], found)
                    if found[0] >= earlier[0]:
                        newest[message["id"]] = found

            chat_fake.webhooks.connect(handler=app, events="*")
            return lambda: {key: status for key, (_, status) in newest.items()}

        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver().read()

        def test_of_its_own(self, chat_fake):
            self.connect(chat_fake)
            self.play(chat_fake)
            first, second, *_ = [event.create_time for event in chat_fake.events]
            assert self.seconds in (None, (second - first).total_seconds())

    class TestOfHalfASecond(TestByTime):
        options, seconds = {"tick": 0.5}, 0.5

    class TestWithoutATick(TestByTime):
        options, seconds = {"tick": 0}, None  # real ones
"""


def test_an_app_that_goes_by_the_time_of_events_is_tried_and_not_accused(run):
    result = run(BY_TIME, "-k", "not crash and not error")

    accused = ["duplicates", "duplicates_days_later", "another_order"]  # can't be told apart
    assert failed(result) == {
        "TestByTime": [],
        "TestOfHalfASecond": [],
        "TestWithoutATick": accused,
    }
    assert outcomes(result)["TestByTime"]["another_order"] == "ok"
    assert result.parseoutcomes()["failed"] == len(accused)
