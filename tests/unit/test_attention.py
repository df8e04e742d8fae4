"""What to look at, and which fakes are looked at."""

import base64
import re
from contextlib import ExitStack, nullcontext
from types import SimpleNamespace

import pytest

from pytest_chatfake import HmacSigner, StandardWebhooksSigner
from pytest_chatfake.base.current_test import running
from pytest_chatfake.report import active_stories
from pytest_chatfake.report.section import Section

from .api_clients import call_with_werkzeug, send_call
from .fakes import frozen_fake, own_lines


def looked_at(fake, error=None):
    """The lines of what to look at, with the lines of tests put short."""
    text = str(Section(fake._story, error)).partition("\n\n")[0]
    if not text.startswith("What to look at"):
        return []
    return [
        re.sub(r"\S+\.py:\d+", "LINE", own_lines(line)).strip() for line in text.splitlines()[1:]
    ]


def test_an_event_that_comes_late_or_twice_says_after_what():
    with frozen_fake() as fake:
        fake.webhooks.receiver()
        fake.webhooks.connect(handler=lambda request: 500 if request.number == 1 else 200)
        fake.webhooks.delay(30, status="delivered", endpoint=fake.webhooks.receiver().endpoint)
        fake.send_text().deliver().read()
        fake.clock.advance(60)
        fake.webhooks.redeliver(fake.events[0])

        lines = looked_at(fake)
        assert sum(not attempt.ok for attempt in fake.webhooks.attempts) == 4

    assert lines[4:] == [
        "20 attempt: delivered m1 -> Receiver() #2: 200 [delayed 30 s: LINE], after read m1 (18)",
        "22 attempt: sent m1 -> Receiver(): 200 [again: LINE], which it took before (5)",
        "24 attempt: sent m1 -> Receiver() #2: 200 [again: LINE], which it took before (7)",
    ]
    assert not [line for line in lines[:4] if "before" in line or "after" in line]


TOLD = {
    "delivered": (
        lambda fake: fake.send_text(price="0.10").deliver(price="0.07"),
        [
            (
                "m1 was charged 0.07 once (7); the events report it in 3 (estimate, 0.10) and 8 "
                "(final)"
            ),
        ],
    ),
    "two devices, and a message after them": (
        lambda fake: (fake.send_text(to="+1").deliver(devices=2).read(), fake.send_text(to="+2")),
        [
            (
                "m1 was charged 0.05 once (7); the events report it in 3 (estimate) and 8, 9 and "
                "13 (final)"
            ),
        ],
    ),
    "shared": (
        lambda fake: (fake.send_text().deliver(), fake.send_text().deliver().read()),
        [
            "m1 was charged 0.05 once (7); the events report it in 3 (estimate) and 8 (final)",
            "m2 was not charged: c1 was already charged for m1 (§1)",
        ],
    ),
    "free": (
        lambda fake: fake.send_text(price=0).deliver(),
        [
            "m1 was not charged: the first delivery in c1 starts its session; the price is 0 (§1)",
        ],
    ),
    "inbound": (
        lambda fake: fake.recipient("+1").writes("STOP"),
        ["Receiver() responded with 2xx to the event"],
    ),
    "dropped": (
        lambda fake: (fake.send_text(), fake.clock.advance(days=30)),
        [
            (
                "m1 was not charged: it was not delivered in time and dropped: what was held comes "
                "back (§3 rule 5); a drop has no event (§3 rule 6)"
            ),
        ],
    ),
    "sent only": (
        lambda fake: fake.send_text(),
        [
            (
                "m1 was not charged: no delivery yet (§1); the price of m1 in 3, 0.05, is an "
                "estimate (§2.3)"
            ),
        ],
    ),
    "failed": (
        lambda fake: fake.submit_text().reject(),
        [
            (
                "m1 was not charged: it failed before it was sent: nothing is held or charged "
                "(§3 rule 4)"
            ),
        ],
    ),
}


@pytest.mark.parametrize("told", TOLD)
def test_where_nothing_is_odd_prices_are_told_or_else_the_responses(fake, told):
    do, expected = TOLD[told]
    fake.webhooks.receiver(events="*")
    do(fake)

    assert expected == looked_at(fake)


def test_what_is_alike_is_one_line_with_a_count():
    with frozen_fake() as fake:
        fake.webhooks.connect(handler=lambda request: 500)
        fake.webhooks.drop(status="read", times=None)
        for number in range(30):
            fake.send_text(to=f"+{number}")
        for _ in range(2):
            fake.webhooks.drop(status="failed")
        shown = str(Section(fake._story))
        list(fake.webhooks.attempts)  # they are seen
        fake.reset()

    assert [
        re.sub(r"\S+\.py:\d+", "LINE", line).strip()
        for line in shown.partition("\n\n")[0].splitlines()[1:]
    ] == [
        (
            "5 attempt: sent m1 -> <lambda>(): 500 (did it raise? its log has the error), "
            "and 29 more like it"
        ),
        "unused fault: drop(status='read', times=None), set up at LINE",
        "unused fault: drop(status='failed'), set up at LINE (2 times)",
    ]
    assert "  ... the same 29 times more: 6 to 121 ..." in shown.splitlines()


@pytest.mark.parametrize(
    ("messages", "named", "shown"),
    [(4, None, 4 * 4), (5, None, 2 * 4 + 1), (11, 10, 2 * 4 + 1), (11, 3, 5 * 4 + 1)],
)
def test_repeats_are_folded_where_that_saves_lines_unless_they_are_named(messages, named, shown):
    with frozen_fake() as fake:
        fake.webhooks.receiver()
        sent = [fake.send_text(to=f"+{number}") for number in range(messages)]
        if named is not None:
            with pytest.raises(AssertionError):
                fake.assert_charged(1, message=sent[named])
        told = str(Section(fake._story)).partition("What happened\n")[2]

    assert shown == len([line for line in told.splitlines()[1:] if " = " not in line])


def test_a_forgotten_settle_is_named_with_its_call():
    found = []
    with frozen_fake() as fake:
        fake.webhooks.receiver()

        @fake.route("/send")
        def send(_):
            fake.send_text()
            found.append(looked_at(fake))
            fake.send_text(to="+2").deliver()
            found.append(looked_at(fake))

        call_with_werkzeug(fake, "POST", "/send")
        fake.settle()

    assert found == [
        ["sent m1 is still queued: call chat_fake.settle()"],
        ["sent m1 and 2 more are still queued: call chat_fake.settle()"],
    ]


def test_a_send_call_that_was_refused_has_the_beginning_of_its_response():
    with frozen_fake(api_key="secret-key-1234") as fake:
        fake.webhooks.receiver()
        fake.send_endpoint()
        send_call(fake, to=None)
        (line,) = looked_at(fake)
        (asked,) = fake.api.requests

    head = "1 request: POST /v2/messages with the API key ...1234: 400 "
    assert line.startswith(head + '{"error":{"status":400,"code":')
    assert asked.body.decode().startswith(line.removeprefix(head).removesuffix(" ..."))


@pytest.mark.parametrize("is_first", [True, False])
def test_a_webhook_that_came_before_the_response_of_its_call_is_told_so(is_first):
    with frozen_fake(api_key="secret-key-1234") as fake:
        fake.webhooks.receiver()
        fake.send_endpoint()
        if is_first:
            fake.api.webhooks_first()
        send_call(fake)
        fake.settle()
        (asked,) = (one.text for one in fake.timeline if one.kind == "request")
        early = ", the webhook (6) came before the response [api.webhooks_first(): "

        assert (early in asked) is is_first
        assert (
            any(one.startswith("2 request") and early in one for one in looked_at(fake)) is is_first
        )


def test_a_signature_that_is_stale_early_missing_or_wrong_is_called_so(fake):
    own = HmacSigner("secret")
    signers = {
        "stale signature, -600 s": HmacSigner("secret", offset=-600),
        "early signature, +600 s": HmacSigner("secret", offset=600),
        "missing signature": lambda request: {},
        "wrong signature": HmacSigner("other", offset=-600),
    }
    fake.webhooks.connect(handler=lambda request: None, signer=own)
    for signer in signers.values():
        with fake.webhooks.sign(signer):
            fake.send_text()

    assert list(signers) == [attempt.marks[0].text for attempt in fake.webhooks.attempts]


def test_a_fault_is_told_as_it_was_set_up():
    with frozen_fake() as fake:
        webhooks = fake.webhooks
        faults = {
            "delay(600, status='delivered', times=3)": webhooks.delay(
                600, status="delivered", times=3
            ),
            "duplicate(after=1, start=2, times=None)": webhooks.duplicate(
                after=1, times=None, start=2
            ),
            "tamper(upper)": webhooks.tamper(bytes.upper),
        }
        signed = webhooks.sign(HmacSigner("secret-of-somebody")).description
        assert list(faults) == [fault.description for fault in faults.values()]
        fake.reset()

    assert signed.startswith("sign(HmacSigner(")
    assert "somebody" not in signed


def test_a_long_endpoint_has_a_short_label_that_is_explained():
    class App:
        title = "orders"

        def __call__(self, environ, start_response):
            start_response("204 No Content", [])
            return [b""]

    with frozen_fake() as fake:
        fake.webhooks.connect(wsgi=App(), path="/hooks")
        fake.webhooks.connect(wsgi=App(), path="/api/v1/webhooks/messages/status")
        fake.send_text()
        shown = str(Section(fake._story))

    assert [
        line.partition("attempt  ")[2] for line in shown.splitlines() if "attempt  " in line
    ] == ["sent m1 -> orders /hooks: 204", "sent m1 -> e2: 204"]
    assert [line.strip() for line in shown.splitlines()[-2:]] == [
        "orders /hooks = orders (WSGI) /hooks",
        "e2 = orders (WSGI) /api/v1/webhooks/messages/status",
    ]


def test_an_event_that_was_emitted_says_nothing_of_a_price(fake):
    fake.webhooks.receiver()
    fake.webhooks.emit(fake.send_text(), "sent", raw=b"{broken")

    assert not [line for line in looked_at(fake) if "told in" in line]


def test_a_route_that_raised_nowhere_has_no_place(fake):
    fake._engine.core.errors.append(ValueError("lost"))

    assert "a route raised ValueError: lost" in looked_at(fake)
    fake._engine.core.errors.clear()


# -- which fakes are looked at ---------------------------------------------------------------------


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


SECRET = "whsec_" + base64.b64encode(b"no one may read this key").decode()

#: What is said of a 401, by how events are signed. The bytes are those that the app has to hash.
SIGNED = {
    "not": (None, "does it ask for a signature, or for a login?"),
    "by default": (
        HmacSigner(SECRET),
        (
            "signed in X-Signature as t={timestamp},s={signature}: HMAC-SHA256 in hex over %d "
            """bytes, b'1767268800.{"id":"evt_"""
        ),
    ),
    "by a scheme of its own": (
        HmacSigner(
            SECRET,
            header="X-Hub",
            format="sha1={signature}",
            content="{body}",
            timestamp_header="X-Time",
            digest="sha1",
            encoding="base64",
        ),
        (
            "signed in X-Hub beside X-Time as sha1={signature}: HMAC-SHA1 in base64 over %d bytes, "
            """b'{"id":"evt_"""
        ),
    ),
    "by the standard": (
        StandardWebhooksSigner(SECRET),
        (
            "signed in webhook-signature as v1,{signature}: HMAC-SHA256 in base64 over %d bytes, "
            "b'evt_"
        ),
    ),
    "by a function": (
        lambda request: {"X-One": "1", "X-Two": SECRET},
        "signed in X-One and X-Two by the function of signer=",
    ),
}

#: How many bytes are signed beside the body.
BESIDE = {"by default": len("1767268800."), "by the standard": len("evt_.1767268800.") + 24}


@pytest.mark.parametrize(("how", "status"), [*((how, 401) for how in SIGNED), ("by default", 403)])
def test_a_401_says_what_was_signed_over_which_bytes(how, status):
    signer, hint = SIGNED[how]
    with frozen_fake() as fake:
        bodies = []
        fake.webhooks.connect(
            handler=lambda request: bodies.append(request.body) or status, signer=signer
        )
        fake.send_text()
        line, *_ = looked_at(fake)
        list(fake.webhooks.attempts)  # they are seen

    if "%d" in hint:
        hint %= len(bodies[0]) + BESIDE.get(how, 0)
    head = f"4 attempt: sent m1 -> <lambda>(): {status} ({hint}"
    tail = ": does the app verify just that, with the same secret?)" * (how != "not")
    assert line.startswith(head)
    assert line.removesuffix(")").endswith(tail.removesuffix(")"))
    assert SECRET not in line


@pytest.mark.parametrize("fault", ["tamper", "sign"])
def test_a_401_that_the_test_has_caused_has_no_hint(fake, fault):
    fake.webhooks.connect(handler=lambda request: 401, signer=HmacSigner("secret"))
    if fault == "sign":
        fake.webhooks.sign(HmacSigner("other"))
    else:
        fake.webhooks.tamper(lambda body: body[:-1])
    fake.send_text()

    assert looked_at(fake)[0].startswith("5 attempt: sent m1 -> <lambda>(): 401 [")


#: How a second call has the key of the first, and what is said of it.
WITH_THE_SAME_KEY = {
    "the same body": ("Hi", {}, "replayed, because an earlier call had this Idempotency-Key"),
    "another body": ("Hello", {}, "an earlier call had this Idempotency-Key and another body"),
    "another key": ("Hello", {"Idempotency-Key": "2"}, None),
    "no key": ("Hi", {"Idempotency-Key": ""}, None),
}


@pytest.mark.parametrize("how", WITH_THE_SAME_KEY)
def test_a_call_whose_idempotency_key_was_there_before_says_so(fake, how):
    body, headers, said = WITH_THE_SAME_KEY[how]
    fake.send_endpoint(idempotency_header="Idempotency-Key")
    send_call(fake, body="Hi", **{"Idempotency-Key": "1"})
    second = send_call(fake, body=body, **{"Idempotency-Key": "1", **headers})
    fake.settle()

    told = f": {second.status} ({said})" if said else ": 200"
    assert str(fake.api.requests[0]).endswith(": 200")
    assert str(fake.api.requests[1]).endswith(told)
    looked = [line for line in looked_at(fake) if " request: " in line]
    assert [f"{told}, see 1" in line for line in looked] == [True] * (said is not None)


def test_a_call_whose_idempotency_key_is_in_flight_says_so(fake):
    def call(_=None):
        return send_call(fake, **{"Idempotency-Key": "1"}).json()

    fake.send_endpoint(reply=call, idempotency_header="Idempotency-Key")
    call()
    told = "409 (an earlier call with this Idempotency-Key has no response yet)"
    assert str(fake.api.requests[1]).endswith(told)


# -- by what the test failed with ------------------------------------------------------------------


def failure(fail, fake):
    """What a test fails with."""
    with pytest.raises(Exception) as caught:
        fail(fake)
    return caught.value


def raises(error):
    def fail(fake):
        raise error

    return fail


CHARGED = "m1 was charged 0.05 once (7); the events report it in 3 (estimate) and 8 (final)"
SENT = "m1 was not charged: no delivery yet (§1); the price of m1 in 3, 0.05, is an estimate (§2.3)"
UNCONNECTED = (
    "no endpoint was connected, so nothing was attempted: call chat_fake.webhooks.connect()"
)

#: How a test fails: whether its price is explained, and whether it is told that no app was there.
FAILED_WITH = {
    "an amount": (raises(AssertionError("assert Decimal('0.10') == Decimal('0.05')")), 1, 1),
    "a sum of floats": (raises(AssertionError("assert 0.1 == 0.05")), 1, 1),
    "a status": (raises(AssertionError("assert 'sent' == 'read'")), 0, 1),
    "a time": (raises(AssertionError("assert '12:00:00.500' == '127.0.0.1, 3.11.2'")), 0, 1),
    "a missing row": (raises(IndexError("list index out of range")), 0, 1),
    "an attribute": (raises(AttributeError("no attribute 'delivr'")), 0, 0),
    "a name": (raises(NameError("name 'chatfake' is not defined")), 0, 0),
    "a type": (raises(TypeError("can't compare 0.1 and 'a'")), 0, 0),
    "an expectation": (lambda fake: fake.assert_held("1.5"), 0, 0),
    "a refusal": (lambda fake: fake.messages[0].reject(), 0, 0),
    "an argument": (lambda fake: fake.send_text(devices=1.5), 0, 0),
}


@pytest.mark.parametrize("how", FAILED_WITH)
def test_what_is_told_without_an_app_depends_on_the_failure(fake, how):
    fail, *told = FAILED_WITH[how]
    fake.send_text()
    error = failure(fail, fake)

    expected = [line for line, is_told in zip([SENT, UNCONNECTED], told, strict=True) if is_told]
    assert expected == looked_at(fake, error)


@pytest.mark.parametrize("how", ["an amount", "a status", "a name"])
def test_a_price_is_explained_where_the_failure_is_about_money(fake, how):
    fail, is_told, _ = FAILED_WITH[how]
    fake.webhooks.receiver()
    fake.send_text().deliver()

    told = CHARGED if is_told else "Receiver() responded with 2xx to all 2 events"
    assert [told] == looked_at(fake, failure(fail, fake))


def test_that_no_app_was_connected_comes_last(fake):
    fake.send_text().after(60).deliver()

    lines = looked_at(fake, AssertionError("assert 'sent' == 'delivered'"))
    assert ["clock.advance" in lines[0], *lines[1:]] == [True, UNCONNECTED]


# -- the cause first -------------------------------------------------------------------------------


def test_an_unheard_event_comes_with_its_remedy_before_a_failed_attempt():
    with frozen_fake() as fake:
        fake.webhooks.connect(handler=lambda request: 500)
        fake.send_text()
        for text in ("STOP", "START"):
            fake.recipient("+1").writes(text)
        lines = looked_at(fake)
        list(fake.webhooks.attempts)  # they are seen
        fake._engine.outbox.unheard.clear()

    assert lines == [
        (
            "no endpoint listened for chat.inbound_message.received, caused at LINE, and 1 more: "
            'connect the app with events="*"'
        ),
        "4 attempt: sent m1 -> <lambda>(): 500 (did it raise? its log has the error)",
    ]


def test_an_app_that_is_connected_after_the_verb_is_told_so(fake):
    fake.send_text()
    fake.webhooks.receiver()

    assert looked_at(fake) == [
        (
            "no endpoint listened for chat.message.updated, caused at LINE: connect the app "
            "before the verb"
        )
    ]


def test_an_app_that_listens_for_other_events_only_is_told_so(fake):
    fake.webhooks.connect(handler=print, events=["account.updated"])
    fake.send_text()

    assert looked_at(fake) == [
        (
            "no endpoint listened for chat.message.updated, caused at LINE: connect the app "
            'with events="*"'
        )
    ]


def test_how_far_the_clock_moves_is_the_same_once_a_fake_is_closed():
    with frozen_fake() as fake:
        fake.webhooks.connect(handler=lambda request: 500, retry_after=[10])
        fake.send_text()

    assert looked_at(fake)[-1].endswith("Run it with chat_fake.clock.advance(seconds=10).")


def test_what_is_emitted_after_a_disconnection_is_no_news(fake):
    fake.webhooks.receiver()
    fake.webhooks.disconnect()
    fake.send_text()

    assert not str(Section(fake._story)).startswith("What to look at")


def test_a_fault_that_is_set_up_too_late_names_the_attempt_before_it():
    with frozen_fake() as fake:
        fake.webhooks.connect(handler=lambda request: 500)
        fake.send_text()
        fake.webhooks.duplicate()
        fake.webhooks.duplicate(status="read")
        lines = looked_at(fake)
        list(fake.webhooks.attempts)  # they are seen
        fake._engine.outbox.faults.ever.clear()

    assert lines == [
        (
            "unused fault: duplicate(), set up at LINE, after the attempt at sent m1 (4): it "
            "reaches later events only"
        ),
        "4 attempt: sent m1 -> <lambda>(): 500 (did it raise? its log has the error)",
        "unused fault: duplicate(status='read'), set up at LINE",
    ]


def test_a_read_without_a_delivered_event_is_a_line(fake):
    fake.webhooks.receiver()
    fake.send_text().read()
    fake.send_text(to="+2").read()
    fake.send_text(to="+3").deliver().read()

    assert looked_at(fake)[0] == (
        "m1 and m2 went from sent to read, so there is no delivered event (§3): call deliver() "
        "before read() to get one"
    )


def test_a_read_without_read_receipts_is_a_line(fake):
    fake.webhooks.receiver()
    for number in range(2):
        person = fake.recipient(f"+{number}", read_receipts=False)
        fake.send_text(to=person).deliver().read()
    fake.send_text(to="+2").deliver().read()

    assert looked_at(fake)[0] == (
        "m1 and m2 went to a person without read receipts, so there is no read event (§3 rule 3)"
    )


@pytest.mark.parametrize(
    ("retry_after", "hint"),
    [((), " (connect(retry_after=[10]) retries it)"), ([1], " (another attempt is pending)")],
)
def test_a_503_names_the_retries_where_there_are_none(retry_after, hint):
    with frozen_fake() as fake:
        fake.webhooks.connect(handler=lambda request: 503, retry_after=retry_after)
        fake.send_text()
        lines = looked_at(fake)
        list(fake.webhooks.attempts)  # they are seen

    assert f"4 attempt: sent m1 -> <lambda>(): 503{hint}" == lines[0]


@pytest.mark.parametrize(
    ("kind", "text"),
    [(AttributeError, "'State' object has no attribute 'db'"), (KeyError, "state")],
)
@pytest.mark.parametrize("runs", [False, True])
def test_an_app_whose_lifespan_has_not_run_is_told_so(kind, text, runs):
    async def app(scope, receive, send):
        if scope["type"] == "http":
            raise kind(text)
        for phase in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{phase}.complete"})

    with frozen_fake() as fake, pytest.raises(kind) as raised:
        fake.webhooks.connect(asgi=app)
        with fake.webhooks.lifespan(app) if runs else nullcontext():
            fake.send_text()
    shown = looked_at(fake)[0]

    hint = "the app's lifespan has not run: enter chat_fake.webhooks.lifespan(app)"
    assert (hint in raised.value.__notes__) is not runs
    assert shown.endswith(f" ({hint})") is not runs


def test_that_an_app_responds_is_told_only_if_it_is_all_there_is():
    with frozen_fake() as fake:
        fake.webhooks.receiver()
        fake.send_text().after(60).deliver()
        lines = looked_at(fake)

    assert lines[0].startswith("pending: deliver() of m1 at ")
    assert lines[1].startswith("m1 was not charged: ")
    assert len(lines) == 2


def test_a_404_names_the_routes_that_there_are():
    with frozen_fake(api_key="key-1234") as fake:
        call_with_werkzeug(fake, path="/")
        fake.send_endpoint()
        call_with_werkzeug(fake, "POST", "/messages")
        lines = looked_at(fake)

    assert lines == [
        "1 request: GET / with the API key ...: 404 (add it: chat_fake.send_endpoint() or route())",
        "2 request: POST /messages with the API key ...: 404 (your routes: POST /v2/messages)",
    ]
