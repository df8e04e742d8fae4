"""The check that an app refuses forgeries: right verifiers pass, and wrong ones are named."""

import hmac
import json
import os
import re
import time
from contextlib import nullcontext
from itertools import chain, repeat
from urllib.parse import parse_qs, urlencode

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from pytest_chatfake import ChatFakeError, HmacSigner, StandardWebhooksSigner

from .fakes import START, frozen_fake, section, send_to, visible_state, warnings_at_the_end

SIGNER = HmacSigner("secret", timestamp_header="X-Timestamp")
ALL = [
    "unsigned",
    "without X-Signature",
    "without X-Timestamp",
    "with empty headers",
    "with malformed headers",
    "with a bare signature",
    "with another scheme's prefix",
    "with a wrong signature",
    "signed with another secret",
    "changed after it was signed",
    "with its signature cut off",
    "with another event's signature",
    "signed a day ago",
    "signed a day ago under a new X-Timestamp",
    "signed a day ahead",
]

INBOUND = "chat.inbound_message.received"
STATUSES = ("sent", "delivered", "read", "failed")


class App:
    """Verifies signatures with a flaw, and keeps the ids of events."""

    def __init__(self, flaw=""):
        self.flaw = flaw
        self.ids = []

    def __call__(self, request):
        genuine = self.accepts(request.headers, request.body)
        if genuine or self.flaw == "stores first":
            self.ids.append(request.json()["id"])
        return 204 if genuine else 401

    def accepts(self, headers, body):
        flaw = self.flaw
        if flaw == "accepts everything":
            return True
        if not {"X-Signature", "X-Timestamp"} <= headers.keys():
            assert flaw != "raises"
            return flaw == "ignores a missing header"
        at, _, given = headers["X-Signature"].removeprefix("t=").partition(",s=")
        if not at.isdecimal():
            assert flaw != "trusts the format"
            return flaw in {"ignores a missing header", "wants a header"}
        if flaw == "encodes again":
            body = json.dumps(json.loads(body), separators=(",", ":")).encode()
        right = hmac.new(b"secret", at.encode() + b"." + body, "sha256").hexdigest()
        if flaw == "compares a prefix":
            right = right[: len(given)]
        if flaw == "takes an unsigned timestamp":
            at = headers["X-Timestamp"]
        age = time.time() - int(at)
        is_fresh = flaw == "ignores age" or (age if flaw == "allows the future" else abs(age)) < 300
        return flaw == "wants a header" or (right == given and is_fresh)


class Library(App):
    """Verifies with the package of the convention."""

    def accepts(self, headers, body):
        try:
            Webhook("c2VjcmV0").verify(body, dict(headers))
        except WebhookVerificationError:
            return False
        return True


def verdict(fake, snapshot=None, known=None):
    """The lines of what the check says; none if it passes."""
    try:
        fake.webhooks.assert_rejects_forgeries(snapshot, known=known)
    except AssertionError as error:
        return str(error).split("\n  ")
    return []


def got_through(lines):
    """What a head names, without the types of its events."""
    return lines and lines[0].partition("got through: ")[2].split(", ")


@pytest.mark.parametrize(
    ("app", "signer", "forged"),
    [(App(), SIGNER, 17), (Library(), StandardWebhooksSigner("c2VjcmV0"), 18)],
)
def test_a_right_verifier_passes_and_the_fake_stays_as_it_was(play, app, signer, forged):
    app.ids.clear()

    async def scenario(fake, do):
        fake.webhooks.connect(handler=app, signer=signer, retry_after=[60])
        message = fake.send_text()
        await do(message.deliver())
        with fake.webhooks.tamper(), fake.webhooks.lose():
            before = visible_state(fake)
            await do(fake.webhooks.assert_rejects_forgeries(lambda: app.ids))
            after = visible_state(fake)
            await do(message.read())  # now the faults fire
        to_look_at = section(fake).partition("\n\n")[0]
        assert "\n  m1 was charged 0.05 once, at #7; " in to_look_at
        assert "forgery" not in to_look_at
        before[5] += forged  # attempts
        del before[6], after[6]  # the records of these
        assert (after, len(set(app.ids))) == (before, 4)

    play(scenario)


#: The headers of each forgery, where "right" is right for the posted body and X-Time.
POSTED = {
    "genuine": "now v1=right",
    "unsigned": "- -",
    "without X-Time": "- v1=right",
    "without X-Signature": "now -",
    "with empty headers": "_ _",
    "with malformed headers": "abc v1=1",
    "with a bare signature": "now wrong",
    "with another scheme's prefix": "now sha1=wrong",
    "with a wrong signature": "now v1=wrong",
    "changed after it was signed": "now v1=wrong",
    "with its signature cut off": "now v1=cut",
    "with another event's signature": "now v1=wrong",
    "signed a day ago": "old v1=right",
    "signed a day ago under a new X-Time": "now v1=wrong",
    "signed a day ahead": "new v1=right",
}


def test_each_forgery_has_one_flaw(fake):
    times = {str(START): "now", str(START - 86_400): "old", str(START + 86_400): "new"}
    posted = []

    def right(at, body):
        return hmac.new(b"key", f"{at}.".encode() + body, "md5").hexdigest()

    def sign(request):
        signature = right(request.timestamp, request.body)
        return {"X-Time": str(request.timestamp), "X-Signature": f"v1={signature}"}

    def app(request):
        at, given = (request.headers.get(f"X-{name}", "-") for name in ("Time", "Signature"))
        signature = right(at if at in times else START, request.body)
        given = given.replace(signature, "right").replace(signature[:-4], "cut")
        given = re.sub(r"[0-9a-f]{32}", "wrong", given)
        posted.append(f"{times.get(at, at) or '_'} {given or '_'}")
        return 204 if posted[-1] == "now v1=right" else 401

    send_to(fake, app, signer=sign)
    assert verdict(fake) == []
    attempts = zip(fake.webhooks.attempts, posted, strict=True)
    found = {mark.text: headers for one, headers in attempts for mark in one.marks}

    assert {f"forgery check, {what}": POSTED[what] for what in POSTED} == found


@pytest.mark.parametrize(
    ("status", "expected"),
    [(399, ALL[:5] + ALL[8:]), (400, []), (499, []), (500, ALL[:5] + ALL[8:])],
)
def test_only_a_4xx_is_a_refusal_but_an_error_may_be_one_too(fake, status, expected):
    app = App()
    send_to(fake, lambda request: 204 if app(request) == 204 else status, signer=SIGNER)

    assert got_through(verdict(fake)) == expected


@pytest.mark.parametrize(
    ("flaw", "got_through", "how"),
    [
        ("accepts everything", ALL, "status 204, expected 400 to 499; the snapshot changed from"),
        ("ignores a missing header", ALL[:7], "status 204"),
        ("trusts the format", ALL[3:5], "AssertionError"),
        ("wants a header", ALL[3:], "status 204"),
        ("compares a prefix", ALL[10:11], "status 204"),
        ("encodes again", ALL[9:10], "status 204"),
        ("ignores age", ALL[12:], "status 204"),
        ("takes an unsigned timestamp", ALL[13:14], "status 204"),
        ("allows the future", ALL[14:], "status 204"),
        ("raises", ALL[:3], "AssertionError"),
        ("stores first", ALL, "status 401; the snapshot changed from"),
    ],
)
def test_a_wrong_verifier_is_named_by_what_got_through(flaw, got_through, how):
    app = App(flaw)
    with frozen_fake() as fake, fake.webhooks.paused():
        send_to(fake, app, signer=SIGNER)
        head, *lines = verdict(fake, lambda: app.ids)
    expected = [f"{what}, at App(): {how}" for what in got_through]

    assert head == f"forgeries got through: {', '.join(got_through)}"
    assert [line[: len(one)] for line, one in zip(lines, expected, strict=True)] == expected
    assert len(app.ids) == len(set(app.ids))
    assert {len(one) for one in app.ids} == {len(fake.events[0].id)}  # none is told by its id


@pytest.mark.parametrize(
    ("sends", "flaw", "passed"),
    [
        (False, "", {"": ALL[2:]}),
        (True, "", {f" of {INBOUND}": ALL[2:]}),
        (True, "ignores a missing header", {"": ALL[:7], f" of {INBOUND}": ALL[7:]}),
    ],
)
def test_events_of_each_type_are_forged_and_what_got_through_is_named(fake, sends, flaw, passed):
    app = App(flaw)

    def receive(request):
        is_inbound = request.json()["type"] == INBOUND
        return 204 if is_inbound and "X-Signature" in request.headers else app(request)

    fake.webhooks.connect(handler=receive, signer=SIGNER, events="*")
    fake.recipient("+1").writes("one").writes("two")
    if sends:
        fake.send_text().deliver()
    head, *lines = verdict(fake)
    told = [f"forgeries{title} got through: {', '.join(passed[title])}" for title in passed]
    inbound = [what for found in passed.values() for what in found]
    ended = f"{f' ({INBOUND})' * sends}, at receive(): status 204, expected 400 to 499"

    assert head == "; ".join(told)
    assert lines[: len(inbound)] == [what + ended for what in inbound]
    forged = [entry for entry in fake.timeline if "forgery check" in entry.text]
    verbs = {fake.timeline[entry.cause - 1].text for entry in forged}
    assert all(verb.startswith("assert_rejects_forgeries()") for verb in verbs)
    assert '<g class="bad"' in fake.timeline.svg()
    looked_at = section(fake).partition("\n\n")[0]
    got = f"{INBOUND} #2 -> receive(): 204 [forgery check, {inbound[0]}: test_forgeries.py:"
    assert got in looked_at
    assert f"], and {len(inbound) - 1} more like it" in looked_at


@pytest.mark.parametrize("secrets", ["old new", "older old new"])
def test_a_verifier_passes_in_a_rotation_unless_it_keeps_a_retired_secret(fake, secrets):
    known = [b"new", b"old"]

    def app(request):
        at, *given = request.headers.get("X-Signature", "t=0").removeprefix("t=").split(",s=")
        signed = at.encode() + b"." + request.body
        right = {hmac.new(key, signed, "sha256").hexdigest() for key in known}
        return 401 if right.isdisjoint(given) or abs(time.time() - int(at)) > 300 else 204

    first, *others, new = secrets.split()
    fake.webhooks.connect(handler=app, signer=HmacSigner(first))
    for secret in others:
        fake.webhooks.rotate_secret(secret)
        fake.webhooks.retire_secret()
    fake.webhooks.rotate_secret(new)
    fake.send_text()
    assert verdict(fake) == []
    fake.webhooks.retire_secret()
    assert got_through(verdict(fake)) == ["signed with another secret"]
    assert fake.timeline.svg().count('<g class="bad"') == 1
    known.pop()
    assert verdict(fake) == []


@pytest.mark.parametrize(
    ("signer", "left_out"),
    [
        (lambda _: {"X-Token": "1"}, ALL[4:5] + ALL[8:13] + ALL[14:]),
        (HmacSigner("a").__call__, ALL[8:9]),
        (HmacSigner("a", content="{body}", timestamp_header="T"), ALL[12:13] + ALL[14:]),
    ],
)
def test_what_makes_no_sense_for_a_signer_is_named(fake, signer, left_out):
    send_to(fake, lambda _: None, signer=signer)
    for told in ("\n".join(verdict(fake)), str(fake.timeline)):
        assert f"left out: {', '.join(left_out)}" in told
        assert "under a new" not in told


@pytest.mark.parametrize(
    "value",
    [
        lambda request: str(request.number),
        lambda request: request.id,
        lambda _: "a token",
        lambda _: os.urandom(9).hex(),
    ],
    ids=["number", "id", "token", "random"],
)
@pytest.mark.parametrize(
    ("flaw", "expected"),
    [
        ("", []),
        ("accepts everything", [what for what in ALL if what != "signed with another secret"]),
        ("ignores a missing header", ALL[:7]),
    ],
)
def test_headers_that_sign_nothing_are_in_each_forgery(fake, value, flaw, expected):
    app = App(flaw)
    send_to(
        fake,
        lambda request: app(request) if request.headers["X-More"] else 400,  # or it raises
        signer=lambda request: {**SIGNER(request), "X-More": value(request)},
    )
    assert got_through(verdict(fake)) == expected


BODY_ONLY = HmacSigner("secret", format="{signature}", content="{body}")


def is_genuine(request):
    right = hmac.new(b"secret", request.body, "sha256").hexdigest()
    return request.headers.get("X-Signature") == right


def test_a_random_header_beside_a_signature_of_a_body_alone_dates_nothing(fake):
    send_to(
        fake,
        lambda request: 204 if is_genuine(request) else 401,
        signer=lambda request: {**BODY_ONLY(request), "X-Request-Id": os.urandom(9).hex()},
    )
    assert verdict(fake) == []
    assert "signed a day ago" in str(fake.timeline)


def careless(_):
    pass


def test_each_app_is_forged_what_it_gets_and_what_was_left_out_is_said(fake):
    unsigned = App("accepts everything")
    fake.webhooks.connect(handler=unsigned)
    fake.webhooks.connect(handler=careless, signer=HmacSigner("a").__call__)
    fake.webhooks.connect(handler=App(), signer=SIGNER, events=[INBOUND])
    fake.send_text()
    fake.recipient("+1").writes("one")
    head, *lines, left_out = verdict(fake)

    assert head.startswith("forgeries of chat.message.updated got through: unsigned, with empty ")
    assert all("(chat.message.updated), at careless(): status 200" in line for line in lines)
    assert left_out == "left out: signed with another secret, at careless()"
    assert len(unsigned.ids) == 1


def test_another_event_of_the_same_type_gives_its_signature(fake):
    def app(request):  # trusts that the header's type is the body's
        is_ours = request.headers.get("X-Type") == request.json()["type"]
        return 204 if is_ours and "X-Signature" in request.headers else 401

    fake.webhooks.connect(
        handler=app,
        signer=lambda request: {"X-Type": request.event.type, **SIGNER(request)},
        events="*",
    )
    fake.send_text().deliver()
    fake.recipient("+1").writes("one")
    names = ", ".join(verdict(fake))

    assert "with another event's signature (chat.message.updated), at app(): status 204" in names


def test_an_app_is_forged_the_last_event_that_it_accepted(fake):
    app = App()
    fake.webhooks.connect(
        handler=lambda request: app(request) if request.event.status == "sent" else 410,
        signer=SIGNER,
    )
    fake.webhooks.connect(handler=careless)
    fake.send_text().deliver()

    assert verdict(fake) == []
    sent = fake.webhooks.attempts[0].event
    assert fake.webhooks._forgery_check.refused == {(what, sent) for what in ALL}


def test_an_app_that_got_no_event_to_forge_is_named(fake):
    fake.webhooks.connect(handler=App(), signer=SIGNER)
    fake.webhooks.connect(handler=careless, signer=SIGNER, events=[INBOUND])
    fake.send_text()
    with pytest.raises(ChatFakeError, match=r"nothing to forge for careless"):
        fake.webhooks.assert_rejects_forgeries()


def test_a_genuine_event_that_is_refused_hides_no_forgery_that_got_through(fake):
    of_inbound, app = iter([204]), App("ignores a missing header")
    send_to(
        fake,
        lambda request: app(request) if request.event.status else next(of_inbound, 401),
        signer=SIGNER,
        events="*",
    )
    fake.recipient("+1").writes("one")
    head, *lines = verdict(fake, known={"signed a day ahead": "not tried for each event"})

    assert head == f"forgeries of chat.message.updated got through: {', '.join(ALL[:7])}"
    assert lines[7].startswith(f"assert_rejects_forgeries() can't tell: {INBOUND} under")
    assert len(lines) == 8


@pytest.mark.parametrize(
    ("signer", "app", "says"),
    [
        (None, lambda _: 204, r"signer=HmacSigner(secret)"),
        (
            SIGNER,
            lambda _: 401,
            "sent m1 under a new id, then of another message, then with another status was refused",
        ),
        (SIGNER, App(), ""),
    ],
)
def test_a_check_that_cannot_tell_says_so_and_none_makes_a_failure_good(signer, app, says):
    def scenario(fake):
        failures = iter([500])
        fake.webhooks.connect(handler=lambda request: next(failures, None) or app(request))
        fake.webhooks.receiver()
        fake.send_text()
        with pytest.raises(ChatFakeError, match=re.escape(says)) if says else nullcontext():
            fake.webhooks.assert_rejects_forgeries()

    (warning,) = warnings_at_the_end(scenario, signer=signer)
    assert warning.startswith("1 attempt failed")


@pytest.mark.parametrize("status", [401, 403, 503])
def test_an_app_that_a_forgery_locks_proves_nothing(fake, status):
    app, refused = App(), []

    def lock(request):
        made = status if refused else app(request)
        refused.extend([made] * (made == 401))
        return made

    send_to(fake, lock, signer=SIGNER)
    with pytest.raises(
        (ChatFakeError, AssertionError), match=f"a genuine copy was refused as well, .*{status}"
    ):
        fake.webhooks.assert_rejects_forgeries()


@pytest.mark.parametrize("id", ["7", "evt-7", "0b1c3a"])
def test_a_short_event_id_hides_no_signature(fake, id):
    app = App("ignores age")
    fake.webhooks.connect(handler=app, signer=SIGNER.__call__)
    fake.webhooks.emit_event("chat.message.updated", {"a": 1}, id=id)

    assert got_through(verdict(fake)) == ALL[12:]


def test_a_signer_that_signs_nothing_is_found(fake):
    send_to(fake, lambda _: 204, signer=lambda _: {})

    assert got_through(verdict(fake))[:1] == ["unsigned"]


# -- an app that works by itself -------------------------------------------------------------------


class Queue:
    """Takes up genuine events, and works on them when the next request comes, as a thread might."""

    def __init__(self, refusals):
        self.refusals = iter(refusals)
        self.queued = []
        self.done = 0

    def __call__(self, request):
        self.done += len(self.queued)
        self.queued.clear()
        if not is_genuine(request):
            return next(self.refusals, 403)
        self.queued.append(request)
        return 200


def test_what_an_app_does_by_itself_meanwhile_is_no_work_of_a_forgery(fake):
    app = Queue(repeat(403))
    send_to(fake, app, signer=BODY_ONLY)

    assert verdict(fake, lambda: app.done) == []
    assert "the snapshot changed from 1 to 2 by itself" in str(fake.timeline)


def test_a_repeat_that_is_accepted_is_not_said_to_be_refused(fake):
    app = Queue(chain([403], repeat(200)))
    send_to(fake, app, signer=BODY_ONLY)
    told = str(verdict(fake, lambda: app.done))

    assert "expected 400 to 499" in told
    assert "and was refused" not in told


def test_a_refused_forgery_that_has_an_effect_is_tried_three_times(fake):
    app = App("stores first")
    send_to(fake, app, signer=SIGNER)
    verdict(fake, lambda: app.ids)

    assert str(fake.timeline).count("[forgery check, unsigned: ") == 3


def test_of_bodies_without_an_id_another_event_gives_its_signature(fake):
    """Where only the body is signed, the event's own signature would be the very same."""
    app = Queue(repeat(403))
    fake.webhooks.connect(handler=app, signer=BODY_ONLY, events="*")
    for number in (1, 2):
        fake.webhooks.emit_event("messages", body={"entry": [{"id": f"m-{number}"}]})

    assert verdict(fake) == []
    assert "forgery check, with another event's signature" in str(fake.timeline)


# -- forgeries that are known ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (ALL[12:], []),
        (ALL[12:13], ALL[13:]),
    ],
)
def test_a_known_forgery_may_get_through_and_all_others_count(fake, known, expected):
    send_to(fake, App("ignores age"), signer=SIGNER)
    lines = verdict(fake, known=dict.fromkeys(known, "the SDK allows it"))

    assert got_through(lines) == expected


def test_a_known_forgery_that_is_refused_has_to_be_removed(fake):
    app = App("allows the future")
    send_to(fake, app, signer=SIGNER)
    known = {"signed a day ahead": "#1", "signed a day ago": "#2"}
    with pytest.raises(AssertionError) as failure:
        fake.webhooks.assert_rejects_forgeries(known=known)

    assert str(failure.value) == (
        "signed a day ago no longer gets through: remove it from known=\n"
        "  known: signed a day ahead (#1)"
    )


def test_a_known_forgery_is_no_news_in_reports(fake):
    send_to(fake, App("allows the future"), signer=SIGNER)
    fake.webhooks.assert_rejects_forgeries(known={"signed a day ahead": "#1"})

    assert '<g class="bad"' not in fake.timeline.svg()


@pytest.mark.parametrize(
    ("known", "error", "says"),
    [
        (["unsigned"], TypeError, "known: expected a mapping"),
        ({"unsigned": 1}, TypeError, "known['unsigned']: expected a str"),
        ({1: "x"}, TypeError, "the name of a forgery in known: expected a str, got 1"),
        ({"signed late": "x"}, ValueError, "known: unknown forgery 'signed late'; use 'unsigned',"),
        ({"genuine": "x"}, ValueError, "known: unknown forgery 'genuine'; use 'unsigned', "),
        (
            {"signed a day ago": "x"},
            ValueError,
            "known: signed a day ago can't be tried with this signer; use 'unsigned', 'with empty ",
        ),
    ],
)
def test_known_forgeries_that_are_not_tried_are_refused_and_none_is_posted(
    fake, known, error, says
):
    send_to(fake, lambda _: 204, signer=BODY_ONLY)
    with pytest.raises(error, match=re.escape(says)):
        fake.webhooks.assert_rejects_forgeries(known=known)

    assert len(fake.webhooks.attempts) == 1


# -- bodies without an event id --------------------------------------------------------------------


def form(event):
    message = event["chatMessage"]
    return urlencode({"Sid": message["id"], "Status": message["status"]})


def note(message):
    return {"body": urlencode({"Sid": message.id, "Body": message.content.get("body", "")})}


class Once:
    """Takes each body once, unless it is about another message or status."""

    def __init__(self, *, looks_first=False, takes_copies=False):
        self.looks_first = looks_first
        self.takes_copies = takes_copies
        self.known = ""
        self.statuses = STATUSES
        self.seen = []

    def __call__(self, request):
        is_copy = request.body in self.seen
        if self.looks_first and is_copy:
            return 200
        if not is_genuine(request):
            return 401
        text = request.body.decode()
        taken = ["Body", *self.statuses]
        is_ours = self.known in text and any(word in text for word in taken)
        if (is_copy and not self.takes_copies) or (self.seen and not is_ours):
            return 409
        self.seen.append(request.body)
        return 204


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("sends", [True, False])
def test_an_app_that_refuses_duplicates_gets_another_message_s_event(sends, first):
    app = Once(looks_first=first)
    with frozen_fake(outbound=form, inbound=note) as fake:
        fake.webhooks.connect(handler=app, signer=BODY_ONLY, events="*")
        fake.send_text() if sends else fake.recipient("+1").writes("Hello")
        got = verdict(fake, lambda: len(app.seen))
        ids = [parse_qs(body.decode())["Sid"][0] for body in app.seen]

        assert got == []
        assert "forgery check, with another event's signature" in str(fake.timeline)
        assert (len({*ids}), len(fake.messages)) == (3, sends)


@pytest.mark.parametrize(
    ("takes_copies", "statuses", "expected"),
    [(False, STATUSES, 3), (True, ["sent"], 4)],
)
def test_an_app_that_takes_no_other_message_gets_another_status_or_a_copy(
    takes_copies, statuses, expected
):
    app = Once(takes_copies=takes_copies)
    with frozen_fake(outbound=form) as fake:
        fake.webhooks.connect(handler=app, signer=BODY_ONLY)
        app.known, app.statuses = fake.send_text().id, statuses
        got = verdict(fake)
        (*_, note) = fake.webhooks._forgery_check.notes
        marks = [mark.text for attempt in fake.webhooks.attempts for mark in attempt.marks]

        assert got == []
        assert note == "forged as duplicates, as Once() refuses other messages"
        assert marks.count("forgery check, genuine") == expected


@pytest.mark.parametrize(
    ("outbound", "copies"),
    [
        (form, "of another message, then with another status, then unchanged"),
        (lambda _: "to=all", "unchanged"),
    ],
)
def test_an_app_that_takes_no_genuine_copy_is_told_so(outbound, copies):
    app = Once()
    with frozen_fake(outbound=outbound) as fake:
        fake.webhooks.connect(handler=app, signer=BODY_ONLY)
        app.known, app.statuses = fake.send_text().id, ["sent"]
        with pytest.raises(ChatFakeError) as failure:
            fake.webhooks.assert_rejects_forgeries()

    assert str(failure.value) == (
        f"assert_rejects_forgeries() can't tell: sent m1 {copies} was refused at Once(): status "
        f"409, although it was a genuine copy. So refusing forgeries proves nothing"
    )


# -- an app that limits requests -------------------------------------------------------------------


class Limited(App):
    """Refuses everything with 429 after some bad signatures, or only bad ones."""

    def __init__(self, flaw="", *, after=5, only_bad=False):
        super().__init__(flaw)
        self.after, self.only_bad, self.bad = after, only_bad, 0

    def __call__(self, request):
        is_limited = self.bad >= self.after
        if is_limited and not self.only_bad:
            return 429
        status = super().__call__(request)
        self.bad += status == 401
        return 429 if is_limited and status == 401 else status


@pytest.mark.parametrize(
    ("app", "why"),
    [
        (Limited("ignores age"), "the app refuses everything for a while, even a genuine copy"),
        (Limited(only_bad=True), "this may be a rate limit, and no refusal of the signature"),
    ],
)
def test_a_forgery_that_a_rate_limit_refused_is_left_out(fake, app, why):
    send_to(fake, app, signer=SIGNER)

    assert verdict(fake) == []
    assert f"left out: {', '.join(ALL[5:])} (429: {why})" in str(fake.timeline)


def test_a_rate_limit_hides_no_forgery_that_got_through(fake):
    send_to(fake, Limited("ignores a missing header", after=3), signer=SIGNER)
    lines = verdict(fake)

    assert got_through(lines) == ALL[:7]
    assert lines[-1].startswith(f"left out: {', '.join(ALL[10:])} (429: ")


class LocksOut:
    """Asks for a signature, and refuses everything once there was none."""

    def __init__(self, status, *, takes_one=False):
        self.status, self.takes_one, self.known, self.is_locked = status, takes_one, "", False

    def __call__(self, request):
        if self.is_locked:
            return 403
        if "X-Signature" not in request.headers:
            self.is_locked = True
            return self.status
        self.known = self.known or request.body
        return 404 if self.takes_one and self.known != request.body else 204


@pytest.mark.parametrize("status", [401, 429])
def test_a_lock_out_is_told_whatever_came_first(fake, status):
    send_to(fake, LocksOut(status), signer=SIGNER)

    with pytest.raises(ChatFakeError, match=r"refused as well, .*403.* lock the service out"):
        fake.webhooks.assert_rejects_forgeries()


@pytest.mark.parametrize("status", [401, 429])
def test_a_lock_out_is_told_where_forgeries_are_duplicates(status):
    with frozen_fake(outbound=lambda event: {"of": event["chatMessage"]["id"]}) as fake:
        fake.webhooks.connect(handler=LocksOut(status, takes_one=True), signer=SIGNER)
        fake.send_text()
        with pytest.raises(ChatFakeError, match="refuse a duplicate with the same status"):
            fake.webhooks.assert_rejects_forgeries()


@pytest.mark.parametrize("valid", [7_200, 86_370, 86_400])
def test_an_app_may_accept_what_has_just_expired(fake, valid):
    def signature(expires, body):
        return hmac.digest(b"secret", f"{expires}.".encode() + body, "sha256").hex()

    def sign(request):
        expires = request.timestamp + valid
        return {"X-Signature": f"e={expires},s={signature(expires, request.body)}"}

    def app(request):
        found = re.fullmatch(r"e=(\d+),s=(\w+)", request.headers.get("X-Signature", ""))
        is_good = found and found[2] == signature(found[1], request.body)
        return 204 if is_good and int(found[1]) + 60 > time.time() else 401

    send_to(fake, app, signer=sign)
    assert verdict(fake) == []


def test_a_known_forgery_that_a_rate_limit_refused_may_stay(fake):
    send_to(fake, Limited("ignores age"), signer=SIGNER)

    assert verdict(fake, known={"signed a day ago": "#1"}) == []


def test_an_app_that_refuses_all_forgeries_by_a_rate_limit_proves_nothing(fake):
    send_to(fake, Limited(after=0, only_bad=True), signer=SIGNER)
    with pytest.raises(ChatFakeError) as failure:
        fake.webhooks.assert_rejects_forgeries()

    assert str(failure.value) == (
        "assert_rejects_forgeries() can't tell: each forgery of sent m1 was refused at Limited() "
        "with 429; this may be a rate limit, and no refusal of the signature. Switch the rate "
        "limit off in this test"
    )
