"""``WebhookTests``, as a team meets it: which tests fail for which mistake, and what is refused."""

from __future__ import annotations

import re
import textwrap

import pytest

from pytest_chatfake import WebhookTests

#: How many tests a class has.
ROWS = sum(name.startswith("test_") for name in vars(WebhookTests))

#: An app that takes everything as it should, and its mistakes.
SHOP = """
    import hashlib, hmac, json, time

    from werkzeug import Request, Response
    from werkzeug.test import Client

    from pytest_chatfake import HmacSigner

    SIGNER = HmacSigner("secret")
    RANK = ["submitted", "sent", "delivered", "read", "failed"]

    def is_genuine(request):
        header = request.headers.get("X-Signature", "")
        fields = dict(part.partition("=")[::2] for part in header.split(","))
        if not fields.get("t", "").isdigit() or abs(time.time() - int(fields["t"])) > 300:
            return False
        signed = fields["t"].encode() + b"." + request.get_data()
        expected = hmac.new(b"secret", signed, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, fields.get("s", ""))

    class Shop:
        def __init__(self, fake, mistake=""):
            self.fake, self.mistake = fake, mistake
            self.status, self.prices, self.known, self.sent = {}, {}, set(), set()
            self.sends = False

        def app(self, environ, start_response):
            request = Request(environ)
            status = self.hook(request) if request.path == "/hooks/chat" else 404
            return Response(status=status)(environ, start_response)

        def hook(self, request):
            if self.mistake != "signature" and not is_genuine(request):
                return 401
            event = request.get_json()
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
            if self.mistake == "order" or self.rank(status) > self.rank(self.status.get(id)):
                self.save(id, status)

        def add(self, key, price):
            self.prices[key] = price

        def save(self, id, status):
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

WHOLE = """
    import pytest
    from pytest_chatfake import WebhookTests
    from shop import SIGNER, Shop

    class TestWebhooks(WebhookTests):
        crash_points = [Shop.save]
        mistake = "{mistake}"

        def connect(self, chat_fake):
            self.shop = Shop(chat_fake, self.mistake)
            chat_fake.send_endpoint()
            chat_fake.webhooks.connect(
                wsgi=self.shop.app, path="/hooks/chat", signer=SIGNER, events="*"
            )
            return self.shop.snapshot

        def scenario(self, fake):
            self.shop.send()
            yield fake.find_message().deliver(devices=2).read()
            message = yield fake.send_text("second", to="+2")
            yield message.fail()
"""

PLAIN = """
    from pytest_chatfake import WebhookTests
    from shop import SIGNER, Shop

    class TestWebhooks(WebhookTests):
        def connect(self, chat_fake{parameters}):
            shop = Shop(chat_fake)
            chat_fake.webhooks.connect(wsgi=shop.app, path="/hooks/chat", signer=SIGNER)
            {end}
"""


@pytest.fixture
def run(pytester: pytest.Pytester):
    """Run a test module beside the shop, and return the result."""
    pytester.makepyfile(shop=textwrap.dedent(SHOP))

    def run(code: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(textwrap.dedent(code))
        return pytester.runpytest(*options)

    return run


def card(result: pytest.RunResult) -> dict[str, str]:
    """How each test ended, as the card shows it."""
    rows = re.findall(
        r"^(ok|FAILED|skipped|expected) +([a-z_]+)(?::|$)", result.stdout.str(), re.MULTILINE
    )
    return {test: outcome for outcome, test in rows}


def failed(result: pytest.RunResult) -> list[str]:
    return [test for test, outcome in card(result).items() if outcome == "FAILED"]


def test_an_app_without_a_mistake_passes_all_of_them_in_their_order(run):
    result = run(WHOLE.format(mistake=""))

    expected = ["all_events_are_taken", "snapshot_changes", "duplicates"]
    expected += ["duplicates_under_another_id", "duplicates_days_later", "duplicates_at_once"]
    expected += ["another_order", "a_read_at_once", "webhooks_before_the_response", "a_crash"]
    expected += ["an_error", "a_later_version", "people_write", "forgeries"]
    assert [(test, "ok") for test in expected] == [*card(result).items()]
    result.assert_outcomes(passed=ROWS)


@pytest.mark.parametrize(
    ("mistake", "expected"),
    [
        (
            "sums",
            [
                "duplicates",
                "duplicates_under_another_id",
                "duplicates_days_later",
                "duplicates_at_once",
                "a_read_at_once",
                "a_crash",
                "an_error",
            ],
        ),
        ("ids", ["duplicates_under_another_id", "a_read_at_once", "a_crash", "an_error"]),
        (
            "order",
            [
                "duplicates",
                "duplicates_days_later",
                "another_order",
                "a_crash",
                "an_error",
            ],
        ),
        ("response", ["webhooks_before_the_response"]),
        ("fields", ["a_later_version"]),
        ("values", ["a_later_version"]),
        ("reads", ["a_read_at_once"]),
        ("types", ["a_later_version", "people_write"]),
        ("signature", ["forgeries"]),
    ],
)
def test_a_mistake_fails_the_tests_that_name_it(run, mistake, expected):
    assert expected == failed(run(WHOLE.format(mistake=mistake)))


def test_the_first_line_is_the_finding_and_the_test_to_paste_fails_so(run):
    result = run(WHOLE.format(mistake="order"), "-k", "test_another_order")

    finding = "read m1 came before delivered m1 #2; "
    values = """[[]"status"][[]"m1"]: 'delivered'; as written: 'read'"""
    result.stdout.fnmatch_lines([f"E*AssertionError: {finding}{values}"])
    _, _, printed = result.stdout.str().partition("fails the same way):\n")
    only = "This world alone: only = {'test_another_order': ['webhooks.reorder("
    printed, _, rest = printed.partition(only)
    assert rest
    lines = [line[1:] for line in printed.splitlines() if line.startswith("E  ")]
    test = textwrap.indent(textwrap.dedent("\n".join(lines)), "    ")
    again = run(textwrap.dedent(WHOLE.format(mistake="order")) + test, "-k", "found")
    again.stdout.fnmatch_lines(["E*AssertionError: assert {*"])
    run(textwrap.dedent(WHOLE.format(mistake="")) + test, "-k", "found").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("code", "function"),
    [
        (WHOLE.format(mistake="order"), "scenario(self, fake)"),
        (
            PLAIN.format(parameters="", end="shop.mistake = 'order'; return shop.snapshot"),
            "connect(self, chat_fake)",
        ),
    ],
)
def test_a_failure_stands_at_the_users_scenario_and_verbs_or_at_connect(run, code, function):
    result = run(code, "-k", "test_another_order")
    lines = result.stdout.lines
    (shown,) = [line for line in lines if re.match(r">? +def \w+\(self, ", line)]
    assert f">   def {function}:" == shown
    (place,) = {line.partition(":")[0] for line in lines if line.endswith(": AssertionError")}
    steps = [line for line in lines if re.match(r"E +\d+ .*(  verb .* m2|\[reordered)", line)]
    is_own = function.startswith("scenario")  # the default one has no line of the user's
    assert [is_own] * 3 == [f"{place}:" in line for line in steps]


ROWSS = """
    import pytest
    from decimal import Decimal as D
    from pytest_chatfake import WebhookTests

    left = []

    class TestWebhooks(WebhookTests):
        {only}
        {word}def connect(self, chat_fake, tmp_path):
            rows = []
            left.append(rows)
            chat_fake.webhooks.connect(handler=lambda request: take(request, rows))
            {end} lambda: [len(rows) * D("0.5"), {more}]
            left.remove(rows)

        def scenario(self, chat_fake):
            message = yield chat_fake.send_text("Hi", to="+1")
            assert message.status == "sent"

    def take(request, rows):
        if {once} or request.id not in rows:
            rows.append(request.id)
"""


def pasted(result):
    """The test to paste in a report, as a method."""
    _, _, printed = result.stdout.str().partition("fails the same way):\n")
    printed, _, _ = printed.partition("This world alone")
    lines = [line[1:] for line in printed.splitlines() if line.startswith("E")]
    return textwrap.indent(textwrap.dedent("\n".join(lines)), "    ")


def with_found(code, result):
    before, _, after = textwrap.dedent(code).partition("def take(")
    return f"{before}{pasted(result)}\ndef take({after}"


@pytest.mark.parametrize("word", ["", "async "])
@pytest.mark.parametrize("end", ["yield", "return"])
def test_a_pasted_test_runs_in_its_place_and_passes_once_the_app_is_right(run, word, end):
    options = {"word": word, "end": end, "only": "", "more": "1"}
    plugin = ["-p", "asyncio", "-o", "asyncio_default_fixture_loop_scope=function"]
    buggy = ROWSS.format(once=True, **options)
    result = run(buggy, "-k", "test_duplicates", *plugin)
    assert ("pytest.mark.asyncio" in pasted(result)) == bool(word)
    check = f"\ndef test_left_by_found():\n    assert {int(end == 'return')} == len(left)\n"
    again = run(with_found(buggy, result) + check, "-k", "found", *plugin)
    again.stdout.fnmatch_lines(["E*assert [[]Decimal('1.0'), 1] == [[]Decimal('0.5'), 1]"])
    again.assert_outcomes(failed=1, passed=1)
    right = with_found(ROWSS.format(once=False, **options), result)
    run(right, "-k", "found", *plugin).assert_outcomes(passed=1)


REFUSES = """
    import asyncio
    from pytest_chatfake import WebhookTests

    class TestWebhooks(WebhookTests):
        def connect(self, chat_fake):
            rows, busy = [], set()
            async def receive(request): return await take(request, rows, busy)
            chat_fake.webhooks.connect(handler=receive)
            return lambda: len(rows)

        async def scenario(self, chat_fake):
            await chat_fake.send_text()

    async def take(request, rows, busy):
        if busy:
            return 409
        busy.add(request.id)
        await asyncio.sleep(0)
        if {once} or request.id not in rows:
            rows.append(request.id)
        busy.clear()
"""


def test_a_pasted_test_redelivers_what_was_refused_at_the_same_time(run):
    plugin = ["-p", "asyncio", "-o", "asyncio_default_fixture_loop_scope=function"]
    code, once = (textwrap.dedent(REFUSES.format(once=once)) for once in (True, False))
    result = run(code, "-k", "at_once", *plugin)
    for source, outcome in ((code, "failed"), (once, "passed")):
        before, _, after = source.partition("async def take(")
        again = run(f"{before}{pasted(result)}\nasync def take({after}", "-k", "found", *plugin)
        again.assert_outcomes(**{outcome: 1})


def test_an_async_test_to_paste_says_what_it_needs_where_no_plugin_runs_it(run):
    code = ROWSS.format(word="async ", end="return", only="", more="1", once=True)
    result = run(code, "-k", "test_duplicates", "-p", "no:asyncio", "-p", "no:anyio")
    assert "# It needs a plugin for async tests, such as pytest-asyncio." in pasted(result)


def test_only_tries_the_one_world_that_a_failure_printed(run):
    code = ROWSS.format(word="", end="return", more="object", once=True, only="{only}")
    result = run(code.format(only=""), "-k", "test_duplicates")
    reason = "There is no test to paste: the snapshot has values that can't be written as code."
    result.stdout.fnmatch_lines([f"E*{reason}"])
    (only,) = re.findall(r"This world alone: (only = .*\])", result.stdout.str())[:1]
    only = only.replace("start=1", "start=2") + "}"
    result = run(code.format(only=only), "-k", "test_duplicates")
    result.stdout.fnmatch_lines(["E*only= does not match this body: it asks for *"])


#: An app that writes a status after its send call; later events repair that.
MASKED = """
    from urllib.request import Request, urlopen
    from pytest_chatfake import WebhookTests

    class TestWebhooks(WebhookTests):
        {only}
        def connect(self, chat_fake):
            self.rows, self.fake = {{}}, chat_fake
            chat_fake.send_endpoint("/v2/messages")
            chat_fake.webhooks.connect(handler=self.receive)
            return self.snapshot

        def snapshot(self):
            {look}
            return self.rows

        def receive(self, request):
            self.rows["status"] = request.event.status

        def send(self, fake):
            data = b'{{"to": "+1", "type": "text", "text": {{"body": "Hi"}}}}'
            headers = {{**fake.headers, "Content-Type": "application/json"}}
            urlopen(Request(fake.base_url + "/v2/messages", data, headers), timeout=5).close()
            {write}

        def scenario(self, chat_fake):
            yield self.send(chat_fake)
            yield chat_fake.messages[0].deliver()
            yield chat_fake.messages[0].read()

    def take(): pass
"""
WRONG = 'self.rows["status"] = "submitted"'
RIGHT = 'self.rows.setdefault("status", "submitted")'


def masked(only="", look="pass", write=WRONG):
    return MASKED.format(only=only, look=look, write=write)


def test_what_a_later_step_repairs_is_found_after_the_step_that_shows_it(run):
    chosen = "-k", "test_webhooks_before"
    result = run(masked(), *chosen)
    finding = "*came before its response; after step 1: *'submitted'; as written: 'sent'"
    result.stdout.fnmatch_lines([f"E*{finding}"])
    again = run(with_found(masked(), result), "-k", "exploration_found")
    again.stdout.fnmatch_lines(["E*assert {'status': 'submitted'} == {'status': 'sent'}"])
    run(with_found(masked(write=RIGHT), result), "-k", "exploration_found").assert_outcomes(
        passed=1
    )
    (only,) = re.findall(r"This world alone: (only = .*\})", result.stdout.str())[:1]
    run(masked(only), *chosen).stdout.fnmatch_lines([f"E*{finding}"])
    run(masked(only, write=RIGHT), *chosen).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("write", "look"),
    [(RIGHT, "pass"), (WRONG, "self.fake.settle()")],
)
def test_between_steps_neither_a_right_app_nor_a_settling_snapshot_fails(run, write, look):
    result = run(masked(write=write, look=look), "-k", "test_webhooks_before or order")
    assert card(result)["webhooks_before_the_response"] == "ok"
    # The events of all steps can still overtake each other.
    assert failed(result) == ["another_order"]
    result.stdout.fnmatch_lines(["* m1 came before * m1; *"])


def test_only_names_tests_that_there_are(run):
    code = ROWSS.format(word="", end="return", more="1", once=True, only="only = {'test_x': []}")
    run(code).stdout.fnmatch_lines(["E*ValueError: TestWebhooks: only: expected one of *'test_x'"])


@pytest.mark.parametrize(
    ("parameters", "end"),
    [
        ("", "yield shop.snapshot; print('cleaned up')"),
        (", tmp_path", "assert not [*tmp_path.iterdir()]; return shop.snapshot"),
        ("", "return None"),
    ],
)
def test_connect_may_yield_ask_for_fixtures_and_have_no_snapshot(run, parameters, end):
    code = PLAIN.format(parameters=parameters, end=end)
    result = run(code, "-rA", "-k", "all_events or test_duplicates or before_the_response")
    assert failed(result) == []
    assert card(result)["all_events_are_taken"] == "ok"
    assert ("None" not in end) == (card(result)["duplicates"] == "ok")
    assert card(result)["webhooks_before_the_response"] == "skipped"  # the app makes no call
    assert ("yield" in end) == ("cleaned up" in result.stdout.str())
    if "None" in end:
        result.stdout.fnmatch_lines(["*returned no snapshot, so only responses were checked*"])


@pytest.mark.parametrize("settle", ["", "chat_fake.settle();"])
def test_what_connect_sends_may_deviate_and_has_other_ids_in_other_worlds(run, settle):
    end = f"chat_fake.send_text('set-up'); {settle} return shop.snapshot"
    result = run(PLAIN.format(parameters="", end=end), "-k", "all_events or another_order")
    assert card(result) == {"all_events_are_taken": "ok", "another_order": "ok"}


@pytest.mark.parametrize(("word", "steps"), [("return", "async "), ("yield", "")])
def test_async_apps_need_no_plugin(run, word, steps):
    result = run(
        f"""
        import asyncio, json
        from pytest_chatfake import WebhookTests

        class TestWebhooks(WebhookTests):
            async def connect(self, chat_fake):
                await asyncio.sleep(0)
                rows = {{}}

                async def app(scope, receive, send):
                    message = json.loads((await receive())["body"])["chatMessage"]
                    await asyncio.sleep(0)
                    rows[message["id"]] = message["totalPrice"]
                    await send({{"type": "http.response.start", "status": 204, "headers": []}})
                    await send({{"type": "http.response.body", "body": b""}})

                async def snapshot():
                    return rows

                chat_fake.webhooks.connect(asgi=app)
                {word} snapshot

            {steps}def scenario(self, chat_fake):
                {"await" if steps else "yield"} chat_fake.send_text().deliver().read()
        """,
        "-p",
        "no:asyncio",
    )
    assert failed(result) == []
    ok = [test for test, outcome in card(result).items() if outcome == "ok"]
    assert {"duplicates", "duplicates_at_once", "another_order", "a_crash"} <= {*ok}


@pytest.mark.parametrize("word", ["", "async "])
def test_a_scenario_may_expect_that_a_step_is_refused(run, word):
    result = run(
        f"""
        import pytest
        from pytest_chatfake import IllegalTransition, WebhookTests

        class TestWebhooks(WebhookTests):
            {word}def connect(self, chat_fake):
                chat_fake.webhooks.connect(handler=lambda request: None)

            def scenario(self, chat_fake):
                message = yield chat_fake.send_text().fail()
                with pytest.raises(IllegalTransition):
                    yield message.deliver()
        """,
        "-k",
        "all_events",
    )
    assert card(result) == {"all_events_are_taken": "ok"}


OUTLIVES = """
    from pytest_chatfake import WebhookTests
    from shop import Shop
    seen = []

    class TestWebhooks(WebhookTests):
        def connect(self, chat_fake):
            chat_fake.webhooks.connect(handler=lambda request: seen.append(request.event.status))
            return lambda: seen
"""


@pytest.mark.parametrize(
    ("code", "test", "sentence"),
    [
        (OUTLIVES, "all_events_are_taken", "*expected a new app in each world, got one that rem*"),
        (
            OUTLIVES.replace("lambda: seen", "list"),
            "snapshot_changes",
            "*the snapshot shows nothing of what has happened: expected a change*",
        ),
        (
            OUTLIVES.replace("lambda: seen", "seen"),
            "all_events_are_taken",
            "*snapshot: expected a function of no argument, as in lambda: *, got *",
        ),
        (
            OUTLIVES.replace("chat_fake.webhooks.connect", "dict"),
            "all_events_are_taken",
            "*connect(): expected it to connect the app, got no endpoint: call *",
        ),
        (
            OUTLIVES.replace("def connect", "def conect"),
            "all_events_are_taken",
            "*expected a method connect(self, chat_fake) that connects the app*",
        ),
        (
            OUTLIVES + "        async def scenario(self, fake): yield fake.send_text()",
            "all_events_are_taken",
            "*expected no yield in an async def: await each step*",
        ),
        (
            OUTLIVES + "        def scenario(self, fake): pass",
            "all_events_are_taken",
            "*scenario(): expected events, got none: send a message in it*",
        ),
        (
            OUTLIVES.replace("append(request.event.status)", "clear(), events=['messages']"),
            "all_events_are_taken",
            "*expected an endpoint that listens for chat.message.updated, the events of the*",
        ),
    ],
)
def test_what_would_be_green_for_nothing_fails_and_says_what_to_write(run, code, test, sentence):
    result = run(code)
    assert test in failed(result)
    result.stdout.fnmatch_lines([sentence])


def test_a_refused_scenario_fails_one_test_and_the_others_name_it(run):
    result = run(PLAIN.format(parameters="", end="").replace("/hooks", "/wrong"))

    result.assert_outcomes(failed=1, skipped=ROWS - 1)
    assert failed(result) == ["all_events_are_taken"]
    result.stdout.fnmatch_lines(["skipped  forgeries: test_all_events_are_taken fails"])


#: What makes a test of one's own green, or silent, where an app has refused an event.
SILENCED = """
    from contextlib import suppress

    import pytest
    from pytest_chatfake import WebhookTests

    def refuse(request):
        STATUSES.append(request.event.status)
        {end}

    STATUSES = []

    @pytest.mark.chat_fake(timeout=0.2, {mark})
    class TestRefuses(WebhookTests):
        def connect(self, chat_fake):
            STATUSES.clear()
            chat_fake.webhooks.connect(handler=refuse{arguments})
            return lambda: ([*STATUSES], {snapshot})[0]

        def scenario(self, chat_fake):
            yield chat_fake.send_text()
            {scenario}
"""


@pytest.mark.parametrize(
    "changes",
    [
        {"mark": "strict=False"},
        {"end": "1 / 0", "arguments": ", raise_exceptions=False", "mark": "strict=False"},
        {"end": "1 / 0", "arguments": ", raise_exceptions=False"},
        {"arguments": ", disable_after=1"},
        {"mark": "retry_after=[1]", "scenario": "chat_fake.webhooks.attempts"},
        {"scenario": "assert chat_fake.webhooks.attempts"},
        {"snapshot": "len(chat_fake.webhooks.attempts)"},
        {
            "end": "STATUSES[1:] and 1 / 0",
            "scenario": "with suppress(ZeroDivisionError): yield chat_fake.send_text()",
        },
    ],
    ids=str,
)
def test_nothing_that_a_class_says_silences_a_refused_event(run, changes):
    given = {"end": "return 500", "mark": "", "arguments": "", "snapshot": "0", "scenario": ""}
    result = run(SILENCED.format(**given | changes))
    assert failed(result) == ["all_events_are_taken"]
    result.stdout.no_fnmatch_line("*strict=False this is*")


@pytest.mark.parametrize("test", ["a_later_version", "duplicates", "duplicates_days_later"])
@pytest.mark.parametrize("option", ["mark", "read"])
def test_nor_one_that_is_refused_in_another_world_only(run, test, option):
    code = """
    import pytest
    from pytest_chatfake import WebhookTests

    @pytest.mark.chat_fake(strict={strict})
    class TestRefuses(WebhookTests):
        def connect(self, chat_fake):
            taken = set()

            def app(request):
                is_known = "added" not in request.body.decode() and request.id not in taken
                taken.add(request.id if "added" not in request.body.decode() else "")
                return 204 if is_known else 500

            chat_fake.webhooks.connect(handler=app, events="*")
            return lambda: (len(taken - {{""}}), {read})[0]
    """
    read = "len(chat_fake.webhooks.attempts)" * (option == "read") or "0"
    result = run(code.format(strict=option == "read", read=read), "-k", test)
    assert card(result)[test] == "FAILED"


def test_faults_of_the_tests_disable_no_endpoint(run):
    code = """
    from pytest_chatfake import WebhookTests

    class TestTakesAll(WebhookTests):
        def connect(self, chat_fake):
            taken = set()
            app = lambda request: taken.add(request.event.status)
            chat_fake.webhooks.connect(handler=app, disable_after=1)
            return lambda: taken
    """
    result = run(code, "-k", "duplicates or order")
    assert failed(result) == []


#: An app that takes no event.
DEAD = """
    import pytest
    from pytest_chatfake import WebhookTests

    class TestDead(WebhookTests):
        def connect(self, chat_fake):
            chat_fake.webhooks.connect(handler=lambda request: 500)
            return list
"""


@pytest.mark.parametrize(
    ("line", "options", "outcome"),
    [
        ("", (), "skipped"),
        ("", ("-k", "another_order or days_later"), "FAILED"),
        ("        test_snapshot_changes = None", (), "FAILED"),
        ("        expected_failures = {'test_snapshot_changes': '#12'}", (), "FAILED"),
    ],
)
def test_tests_that_compare_unchanging_snapshots_fail_unless_it_was_said(
    run, line, options, outcome
):
    result = run(DEAD.replace("500", "200") + line, *options)
    compared = ["duplicates_days_later", "another_order"]
    assert [outcome] * 2 == [card(result)[test] for test in compared]
    result.stdout.fnmatch_lines(["*the snapshot shows nothing of what has happened*"])
    if outcome == "skipped":
        assert failed(result) == ["snapshot_changes"]
        result.stdout.fnmatch_lines(["skipped *another_order: test_snapshot_changes fails*"])


def test_an_app_that_takes_each_event_when_it_is_retried_is_right(run):
    result = run(
        """
        from pytest_chatfake import WebhookTests
        taken, refused = [], []

        class TestRefuses(WebhookTests):
            def connect(self, chat_fake):
                seen, rows = set(), set()

                def app(request):
                    if request.id not in seen:
                        seen.add(request.id)
                        refused.append(request.event.type)
                        return 503
                    taken.append(request.event.type)
                    rows.add(request.event.json().get("chatMessage", {}).get("id"))

                chat_fake.webhooks.connect(handler=app, events="*", retry_after=[1, 3600])
                return lambda: len(rows)

        def test_each_type_was_taken():
            assert {*refused} == {*taken}
        """
    )
    assert failed(result) == []
    expected = ["all_events_are_taken", "duplicates", "another_order", "people_write"]
    assert [card(result)[test] for test in expected] == ["ok"] * 4
    assert result.ret == 0


@pytest.mark.parametrize("word", ["", "async "])
def test_the_clean_up_behind_a_yield_is_done_however_a_world_ends(run, word):
    result = run(
        f"""
        from pytest_chatfake import WebhookTests
        left = []

        class TestCounts(WebhookTests):
            {word}def connect(self, chat_fake):
                rows = []
                left.append(1)
                chat_fake.webhooks.connect(handler=lambda request: rows.append(request.id))
                yield lambda: len(rows)
                left.pop()
                assert len(rows) < 7, "an error of the clean-up"

        def test_all_was_cleaned_up():
            assert [] == left
        """
    )
    assert {"duplicates", "duplicates_days_later"} <= {*failed(result)}
    assert card(result)["people_write"] == "skipped"
    result.stdout.fnmatch_lines(["E*AssertionError: sent m1 was redelivered; *"])
    result.stdout.fnmatch_lines(["E*The clean-up of connect() failed as well: *of the clean-up*"])
    result.stdout.no_fnmatch_line("FAILED*test_all_was_cleaned_up*")


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("if False: yield", "expected a yield of the snapshot, got none"),
        ("yield list; yield list", "expected one yield, got another one behind it"),
    ],
)
def test_a_connect_that_yields_yields_once(run, end, words):
    result = run(PLAIN.format(parameters="", end=end), "-k", "all_events")
    result.stdout.fnmatch_lines([f"*connect(): {words}*"])


#: Runs the first test last, as a random order may.
BACKWARDS = """
    def pytest_collection_modifyitems(items):
        items.reverse()
"""

#: A mark for the first test, and a failure of its own before it begins.
MARKED = """
        @pytest.fixture(autouse=True)
        def mark(self, request):
            if "all_events" in request.node.name:
                request.applymarker(pytest.mark.xfail)
"""
NOT_SET_UP = """
        @pytest.fixture(autouse=True)
        def fail(self, request):
            assert "all_events" not in request.node.name
"""


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("", ("-k", "duplicates")),
        ("        test_all_events_are_taken = None", ()),
        ("        expected_failures = {'test_all_events_are_taken': '#12'}", ()),
        (MARKED, ()),
        (NOT_SET_UP, ()),
    ],
)
def test_the_cause_fails_each_test_unless_the_first_one_has_failed_of_it(run, line, options):
    result = run(DEAD + line, *options)
    outcomes = {**card(result), "all_events_are_taken": "any"}
    assert {"FAILED"} == {*outcomes.values()} - {"any"}
    result.stdout.fnmatch_lines(["FAILED   duplicates_at_once", "*: status 500*"])


def test_the_cause_fails_those_that_run_before_the_first_test(run, pytester):
    pytester.makeconftest(textwrap.dedent(BACKWARDS))
    run(DEAD).assert_outcomes(failed=ROWS)


def test_the_cause_fails_the_tests_of_another_worker(run):
    outcomes = run(DEAD, "-n", "2").parseoutcomes()
    assert outcomes["failed"] > 1
    assert outcomes["failed"] + outcomes.get("skipped", 0) == ROWS


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
    code = DEAD.replace("lambda request: 500", "lambda request: self.status")
    run(f"{code}        status = 500").assert_outcomes(passed=1, failed=ROWS - 1)


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
    result = run(OF_ONE_LOOP)
    result.assert_outcomes(passed=1, failed=ROWS - 1)
    result.stdout.fnmatch_lines(["E*set chat_fake_loop_scope = session in pytest's ini file."])


def test_async_classes_use_the_loop_of_the_session_if_there_is_one(run):
    result = run(OF_ONE_LOOP, "-o", "chat_fake_loop_scope=session")
    assert failed(result) == []
    assert card(result)["duplicates"] == "ok"


#: An app that is called in the test's thread, except where two attempts are made at once.
IN_THREADS = """
    import threading
    from flask import Flask
    from pytest_chatfake import WebhookTests

    class TestThreads(WebhookTests):
        runs = 0

        def connect(self, chat_fake):
            app, rows = Flask("shop"), {"rows": 0}

            @app.post("/hook")
            def hook():
                if threading.current_thread() is threading.main_thread():
                    rows["rows"] = rows["rows"] or 1
                elif REFUSES:
                    return "", 503
                elif rows["rows"] < 2:
                    type(self).runs += 1
                    rows["rows"] = 2 if self.runs <= WRONG else 1
                return "", 204

            chat_fake.webhooks.connect(wsgi=app, path="/hook")
            return lambda: rows

        def scenario(self, chat_fake):
            yield chat_fake.send_text()
"""


def test_attempts_at_once_that_were_refused_each_time_tried_nothing(run):
    result = run("REFUSES = True\n" + textwrap.dedent(IN_THREADS))
    assert card(result)["duplicates_at_once"] == "skipped"
    result.stdout.fnmatch_lines(["*both attempts at the same time were refused each time: *503*"])


@pytest.mark.parametrize(
    ("refuse", "expected"),
    [("return 409", "ok"), ("rows.append(1); return 409", "FAILED")],
)
def test_an_async_app_may_refuse_an_event_while_it_takes_it(run, refuse, expected):
    code = """
    import asyncio
    from pytest_chatfake import WebhookTests

    class TestBusy(WebhookTests):
        def connect(self, chat_fake):
            status, busy, rows = {{}}, set(), []

            async def app(request):
                message = request.event.json()["chatMessage"]
                if message["id"] in busy:
                    {refuse}
                busy.add(message["id"])
                await asyncio.sleep(0)
                status[message["id"]] = "known"
                busy.discard(message["id"])

            chat_fake.webhooks.connect(handler=app)
            return lambda: (status, rows)
    """
    result = run(code.format(refuse=refuse), "-k", "duplicates_at_once")
    assert {"duplicates_at_once": expected} == card(result)


def test_a_refusal_of_both_in_one_thread_is_no_matter_of_threads(run):
    code = """
    import asyncio
    from pytest_chatfake import WebhookTests

    class TestBusy(WebhookTests):
        def connect(self, chat_fake):
            known, busy = set(), []

            async def app(request):
                busy.append(request)
                await asyncio.sleep(0)
                try:
                    if len(busy) > 1:
                        return 409
                    known.add(request.id)
                    await asyncio.sleep(0)
                finally:
                    await asyncio.sleep(0)
                    busy.remove(request)

            chat_fake.webhooks.connect(handler=app)
            return lambda: known
    """
    result = run(code, "-k", "duplicates_at_once")
    assert card(result) == {"duplicates_at_once": "skipped"}
    result.stdout.fnmatch_lines(["*were refused each time: status 409*"])
    result.stdout.no_fnmatch_line("*Does a thread*")


@pytest.mark.parametrize(("wrong", "expected"), [(1, "skipped"), (2, "skipped"), (3, "FAILED")])
def test_what_fails_in_threads_has_to_fail_three_times(run, wrong, expected):
    result = run(f"REFUSES, WRONG = False, {wrong}\n" + textwrap.dedent(IN_THREADS))
    assert expected == card(result)["duplicates_at_once"]
    said = {
        "skipped": "*sent m1 came twice at the same time. Do two threads share*",
        "FAILED": "E *Attempts ran in threads: this world failed 3 times in a row, but may pass*",
    }
    shown = re.sub(r"\n +", " ", result.stdout.str())
    assert re.search(said[expected].replace("*", ".*"), shown)


def test_threads_of_a_framework_are_threads(run):
    code = """
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route
    from pytest_chatfake import WebhookTests

    class TestThreads(WebhookTests):
        def connect(self, chat_fake):
            rows = []

            def hook(request):  # no coroutine: Starlette calls it in a thread
                rows.append(1)
                return Response(status_code=204)

            app = Starlette(routes=[Route("/hook", hook, methods=["POST"])])
            chat_fake.webhooks.connect(asgi=app, path="/hook")
            return lambda: len(rows)
    """
    result = run(code, "-k", "duplicates_at_once")
    result.stdout.fnmatch_lines(
        ["E *Attempts ran in threads: this world failed 3 times in a row, but may pass*"]
    )


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

    class TestSends(WebhookTests):
        async def connect(self, chat_fake):
            rows = self.rows = {}

            async def app(request):
                if request.event.status:
                    rows[request.event.message_id] = request.event.status
                elif REPLIES:
                    rows[post(chat_fake)] = "submitted"

            chat_fake.send_endpoint()
            chat_fake.webhooks.connect(handler=app, events="*")
            return lambda: rows

        async def scenario(self, chat_fake):
            if REPLIES:
                await chat_fake.recipient("+1").writes("Hello")
            else:
                WAY
            await chat_fake.settle()
"""
IN_A_THREAD = "await asyncio.to_thread(post, chat_fake)"
BLOCKS = "your app blocks its event loop while it sends"


@pytest.mark.parametrize(
    ("replies", "way", "expected", "why"),
    [
        ("False", "self.rows[post(chat_fake)] = 'submitted'", "skipped", BLOCKS),
        ("False", f"self.rows[{IN_A_THREAD}] = 'submitted'", "FAILED", "as written: 'sent'"),
        ("False", f"self.rows.setdefault({IN_A_THREAD}, 'submitted')", "ok", "1 passed"),
        ("True", "pass", "skipped", BLOCKS),
    ],
)
def test_webhooks_that_came_after_the_response_were_not_tried_before_it(
    run, replies, way, expected, why
):
    code = SENDS.replace("REPLIES", replies).replace("WAY", way)
    result = run(code, "-k", "before_the_response")
    assert {"webhooks_before_the_response": expected} == card(result)
    assert why in " ".join(result.stdout.str().split())


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
                handler=lambda request: texts.append(request.json()["text"]), events=["TYPE"]
            )
            return lambda: texts

        def scenario(self, chat_fake):
            yield chat_fake.recipient("+1").writes("Hello")
"""


def test_people_write_in_the_shape_of_the_configuration(run):
    result = run(BOT.replace("TYPE", "messages"), "-k", "people_write")
    assert "FAILED   people_write: KeyError: 'text', at messages #3" in result.stdout.lines


def test_people_who_write_what_nobody_listens_for_have_tried_nothing(run):
    code = WHOLE.format(mistake="").replace('"*"', '["chat.message.updated"]')
    result = run(code, "-k", "people_write")
    assert card(result) == {"people_write": "skipped"}
    result.stdout.fnmatch_lines(["*your endpoint does not listen for chat.inbound_message.rec*"])


def test_quiet_runs_have_one_line_for_a_class_that_passes(run):
    result = run(PLAIN.format(parameters="", end="return None"), "-q", "-k", "not forgeries")
    _, _, shown = result.stdout.str().partition("[100%]\n")
    lines = shown.splitlines()[:-1]
    assert max(map(len, lines)) <= 80
    text = " ".join(line.strip() for line in lines)
    name = "test_quiet_runs_have_one_line_for_a_class_that_passes.py::TestWebhooks"
    assert text.startswith(f"{name}: 1 ok, {ROWS - 2} skipped: snapshot_changes, duplicates, ")
    assert text.endswith(")")
    assert text.count("only responses") == 1


def test_quiet_runs_count_expected_failures_and_show_a_failed_card_whole(run):
    signature, few = WHOLE.format(mistake="signature"), "all_events or changes or forgeries"
    code = signature + "        expected_failures = {'test_forgeries': '#1'}"
    result = run(code, "-q", "-k", few)
    assert "2 ok, 1 expected to fail" in " ".join(map(str.strip, result.stdout.lines))
    result = run(signature, "-q", "-k", few)
    ok = {"all_events_are_taken": "ok", "snapshot_changes": "ok"}
    assert ok | {"forgeries": "FAILED"} == card(result)


def test_the_summary_shows_a_skipped_test_at_the_users_class(run):
    code = """
    from pytest_chatfake import WebhookTests

    class TestShop(WebhookTests):
        async def connect(self, chat_fake):
            chat_fake.webhooks.connect(handler=lambda request: None)
    """
    result = run(code, "-rs")
    result.stdout.fnmatch_lines(["SKIPPED [[]1] test_*.py:4: your endpoint has no signer: *"])


def test_a_fixture_that_uses_the_fake_belongs_to_another_fake(run):
    fixture = """
    import pytest

    @pytest.fixture
    def endpoint(chat_fake):
        return chat_fake.send_endpoint()
    """
    result = run(fixture + PLAIN.format(parameters=", endpoint", end=""))
    result.stdout.fnmatch_lines(["*a fixture uses chat_fake, but each world of this test has its*"])


def test_failures_that_are_expected_are_strict_and_a_test_can_be_left_out(run):
    more = """
        expected_failures = {"test_forgeries": "#12", "test_duplicates": "#13"}
        test_another_order = None
    """
    code = WHOLE.format(mistake="signature") + more
    result = run(code, "-k", "forgeries or test_duplicates or another_order")
    assert failed(result) == ["duplicates"]
    assert card(result)["forgeries"] == "expected"
    assert "another_order" not in card(result)
    result.stdout.fnmatch_lines(["*duplicates: it passes: remove it from expected_failures"])


def test_a_class_without_connect_is_a_base_unless_it_is_misspelt(run):
    code = """
    from pytest_chatfake import WebhookTests

    class TestBase(WebhookTests):
        def set_up(self): pass

    class TestMisspelt(WebhookTests):
        def conect(self, chat_fake): pass
    """
    result = run(code)
    result.assert_outcomes(failed=1, skipped=ROWS - 1)
    result.stdout.fnmatch_lines(["*TestMisspelt: expected a method connect(self, chat_fake) that*"])


def test_a_parameter_of_connect_with_a_default_is_no_fixture(run):
    result = run(PLAIN.format(parameters=", size=3", end="return shop.snapshot"), "-k", "events")
    result.assert_outcomes(passed=1)


def test_a_snapshot_that_cannot_be_compared_fails_one_test(run):
    code = """
    from pytest_chatfake import WebhookTests

    class Row:
        pass

    class TestRows(WebhookTests):
        def connect(self, chat_fake):
            rows = []
            chat_fake.webhooks.connect(handler=lambda request: rows.append(Row()))
            return lambda: rows
    """
    result = run(code)
    assert failed(result) == ["snapshot_changes"]
    assert "skipped  duplicates: test_snapshot_changes fails" in result.stdout.lines
    result.stdout.fnmatch_lines(["*expected plain values, such as a sum or a list of tuples*"])
    assert failed(run(code, "-k", "another_order")) == ["another_order"]


@pytest.mark.parametrize(
    ("snapshot", "test"),
    [
        ('{"average": float("nan"), **status}', "all_events_are_taken"),
        ('{"total": lambda: 1, **status}', "all_events_are_taken"),
        ("list(map(Thing, status))", "snapshot_changes"),
        ("[float('nan') for _ in status]", "snapshot_changes"),
    ],
)
def test_of_values_that_equal_only_themselves_one_test_says_so(run, snapshot, test):
    code = f"""
    from pytest_chatfake import HmacSigner, WebhookTests

    class Thing:
        def __init__(self, value): self.value = value

    class TestValues(WebhookTests):
        def connect(self, chat_fake):
            status = {{}}
            app = lambda request: status.update({{request.event.message_id: request.event.status}})
            chat_fake.webhooks.connect(handler=lambda request: app(request), signer=HmacSigner("s"))
            return lambda: {snapshot}
    """
    result = run(code)
    assert [test] == failed(result)
    result.stdout.fnmatch_lines(
        ["E*Error: snapshot: expected plain values*can't be compared by value*"]
    )


def test_a_class_that_each_world_makes_anew_is_no_old_app(run):
    code = """
    from dataclasses import dataclass
    from pytest_chatfake import WebhookTests

    class TestLocal(WebhookTests):
        def connect(self, chat_fake):
            @dataclass
            class Total:
                value: int

            chat_fake.webhooks.connect(handler=lambda request: None)
            return lambda: Total(0)
    """
    result = run(code, "-k", "all_events")
    result.stdout.fnmatch_lines(["E*, which can't be compared by value: return plain data*"])
    result.stdout.no_fnmatch_line("*remembers*")


def test_what_fails_before_anything_deviates_blames_no_deviation(run):
    code = """
    from pytest_chatfake import WebhookTests

    class TestPort(WebhookTests):
        connected = 0

        def connect(self, chat_fake):
            type(self).connected += 1
            if self.connected == 4:
                raise OSError("Address already in use")
            rows = {}
            chat_fake.webhooks.connect(handler=lambda r: rows.update({r.event.id: r.event.status}))
            return lambda: rows
    """
    result = run(code, "-k", "test_duplicates")
    result.stdout.fnmatch_lines(["*nothing had deviated yet; OSError: Address already in use"])


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
    result = run(WHOLE.format(mistake="") + more, "-k", "test_another_order", "-n", "1")
    result.assert_outcomes(failed=3)
    for title in ("TestWebhooks", "TestPrices[[]2[]]", "TestPrices[[]3[]]"):
        result.stdout.fnmatch_lines([f"=* test_*.py::{title} =*", "FAILED   another_order*"])
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
    result = run(code, "-k", "people_write or later_version")
    result.stdout.fnmatch_lines(
        [
            "FAILED   a_later_version: KeyError: 'chatMessage', at chat.added_later",
            "FAILED   people_write: KeyError: 'chatMessage', at chat.inbound_message.received",
        ]
    )


BY_TIME = """
    import pytest
    from pytest_chatfake import ChatFakeConfig, WebhookTests

    @pytest.fixture
    def chat_fake_config():
        return ChatFakeConfig({config})

    class TestByTime(WebhookTests):
        def connect(self, chat_fake):
            newest = {{}}

            def app(request):
                event = request.json()
                if message := event.get("chatMessage"):
                    found = event["createTime"], message["status"]
                    earlier = newest.setdefault(message["id"], found)
                    if found[0] >= earlier[0]:
                        newest[message["id"]] = found

            chat_fake.webhooks.connect(handler=app, events="*")
            return lambda: {{key: status for key, (_, status) in newest.items()}}

        def test_of_its_own(self, chat_fake):
            self.connect(chat_fake)
            self.play(chat_fake)
            first, second, *_ = [event.create_time for event in chat_fake.events]
            assert {seconds} == (second - first).total_seconds()
"""


@pytest.mark.parametrize(("config", "seconds"), [("", 1), ("tick=0.5", 0.5)])
def test_an_app_that_goes_by_the_time_of_events_is_tried_and_not_accused(run, config, seconds):
    result = run(BY_TIME.format(config=config, seconds=seconds))

    assert failed(result) == []
    assert card(result)["another_order"] == "ok"
    result.assert_outcomes(passed=ROWS - 4, skipped=5)


def test_without_a_tick_its_events_can_t_be_told_apart(run):
    result = run(BY_TIME.format(config="tick=0", seconds=0))

    assert failed(result) == ["duplicates", "duplicates_days_later", "another_order"]
