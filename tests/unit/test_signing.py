"""Signatures: held against a library and a vector from elsewhere, and broken on purpose."""

import base64
import hmac
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from pytest_chatfake import (
    ChatFakeError,
    HmacSigner,
    StandardWebhooksSigner,
)

from .fakes import START, fake_with_receiver, frozen_fake, played, trail

SECRET = "whsec_" + base64.b64encode(b"thirty-two bytes of a test secret").decode()
REQUEST = SimpleNamespace(id="evt_1", body=b'{"a":1}', timestamp=1_767_268_800)


# -- what is signed --------------------------------------------------------------------------------


def mac(key, content):
    return hmac.digest(key, content, "sha256")


@pytest.mark.parametrize("secret", ["secret", b"secret", "sëcret", "k" * 100])
def test_an_hmac_signature_is_over_timestamp_dot_body(secret):
    key = secret if isinstance(secret, bytes) else secret.encode()
    expected = mac(key, b'1767268800.{"a":1}').hex()

    assert {"X-Signature": f"t=1767268800,s={expected}"} == HmacSigner(secret)(REQUEST)


def test_a_timestamp_may_be_moved_and_have_a_header_of_its_own():
    signer = HmacSigner(
        "secret",
        format="{signature}",
        content="v0:{timestamp}:{body}",
        timestamp_header="X-Timestamp",
        offset=-60,
    )

    expected = mac(b"secret", b'v0:1767268740:{"a":1}').hex()
    assert {"X-Signature": expected, "X-Timestamp": "1767268740"} == signer(REQUEST)


@pytest.mark.parametrize("digest", ["sha1", "sha256", "sha512", "md5", "blake2b", "sha3_256"])
def test_a_body_may_be_signed_alone_with_another_digest_and_encoding(digest):
    body_alone = {"format": "v0={signature}", "content": "{body}", "digest": digest}
    in_hex = HmacSigner("secret", header="X-Hub-Signature", **body_alone)
    in_base64 = HmacSigner("secret", encoding="base64", **body_alone)

    expected = hmac.digest(b"secret", b'{"a":1}', digest)
    assert {"X-Hub-Signature": f"v0={expected.hex()}"} == in_hex(REQUEST)
    assert {"X-Signature": f"v0={base64.b64encode(expected).decode()}"} == in_base64(REQUEST)


def test_content_and_format_are_taken_to_the_letter_and_the_body_as_bytes():
    request = SimpleNamespace(body=b"\xff{timestamp}%d\x00", timestamp=7)
    signer = HmacSigner(
        b"key", format="100%s {{é}} {timestamp} {signature}", content="%d{{ü}}{timestamp}|{body}"
    )

    expected = mac(b"key", "%d{ü}7|".encode() + b"\xff{timestamp}%d\x00").hex()
    assert {"X-Signature": f"100%s {{é}} 7 {expected}"} == signer(request)


@pytest.mark.parametrize(
    "secret", [SECRET, SECRET.removeprefix("whsec_"), b"thirty-two bytes of a test secret"]
)
def test_a_standard_signature_is_over_id_dot_timestamp_dot_body(secret):
    signed = mac(b"thirty-two bytes of a test secret", b'evt_1.1767268740.{"a":1}')

    assert {
        "webhook-id": "evt_1",
        "webhook-timestamp": "1767268740",
        "webhook-signature": "v1," + base64.b64encode(signed).decode(),
    } == StandardWebhooksSigner(secret, offset=-60)(REQUEST)


@pytest.mark.parametrize(
    ("format_", "expected"),
    [
        ("t={timestamp},s={signature}", "t=1767268800,s={0},s={1}"),
        ("s={signature}, t={timestamp}", "s={0}, t=1767268800, s={1}"),
        ("HMAC key=7 s={signature}", "HMAC key=7 s={0},HMAC key=7 s={1}"),
        ("ts={timestamp};h1={signature}", "ts=1767268800;h1={0};h1={1}"),
        ("ts={timestamp}; h1={signature}", "ts=1767268800; h1={0}; h1={1}"),
        ("t={timestamp} v1={signature}", "t=1767268800 v1={0} v1={1}"),
        ("t={timestamp} v1,{signature}", "t=1767268800 v1,{0} v1,{1}"),
        ("t={timestamp}&s={signature}", "t=1767268800&s={0}&s={1}"),
        ("{timestamp},{signature}", "1767268800,{0},{1}"),
        ("{timestamp}.{signature}", "1767268800.{0},1767268800.{1}"),
        ("v1,{signature}", "v1,{0} v1,{1}"),
        ("{signature}", "{0},{1}"),
    ],
)
def test_several_secrets_add_the_parts_in_which_their_signatures_differ(format_, expected):
    signer = HmacSigner(secrets=["new", b"old"], format=format_, content="{body}")

    macs = [mac(key, REQUEST.body).hex() for key in (b"new", b"old")]
    assert {"X-Signature": expected.format(*macs)} == signer(REQUEST)


# -- secrets that rotate ---------------------------------------------------------------------------


def b64(letter):
    return base64.b64encode(letter.encode() * 24).decode()


def valid_secrets(request):
    """Name the secrets that have signed a request, by the package."""
    valid = ""
    for letter in "abc":
        with suppress(WebhookVerificationError):
            Webhook(b64(letter)).verify(request.body, dict(request.headers))
            valid += letter
    return valid


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_all_secrets_sign_until_retired_and_a_reset_brings_the_first_back(mode):
    async def scenario(fake, do):
        hub, found = fake.webhooks, []
        receiver = hub.receiver()

        async def send():
            await do(fake.send_text())
            found.append(valid_secrets(receiver.requests[-1]))

        await send()
        for letter in "bc-a":
            hub.retire_secret() if letter == "-" else hub.rotate_secret(b64(letter))
            await send()
        told = f"{fake.timeline} {receiver.endpoint.signer}"
        assert "webhooks.rotate_secret()" in told
        assert [one for one in map(b64, "abc") if one in told] == []
        await do(fake.reset())
        await send()
        return found

    signer = StandardWebhooksSigner(secrets=[b64("a")])
    assert played(mode, scenario, signer=signer) == ["a", "ab", "abc", "c", "ac", "a"]


def rotated(format_, **settings):
    """The header after a rotation, with "new" and "old" for the signatures of the secrets."""
    signer = HmacSigner("old", format=format_, content="{body}", **settings)
    with fake_with_receiver(signer=signer) as (fake, receiver):
        fake.webhooks.rotate_secret("new")
        fake.send_text()
        (request,) = receiver.requests
    header = request.headers["X-Signature"].replace(str(START), "1")
    for secret in ("old", "new"):
        header = header.replace(mac(secret.encode(), request.body).hex(), secret)
    return header


@pytest.mark.parametrize(
    ("format_", "expected"),
    [
        ("v0={signature}", "v0=new"),
        ("{signature}", "new"),
        ("Bearer {signature}", "Bearer new"),
        ("{timestamp}.{signature}", "1.new"),
        ('keyId="7",signature="{signature}"', 'keyId="7",signature="new"'),
        ("v1,{signature}", "v1,new v1,old"),
        ("ts={timestamp};h1={signature}", "ts=1;h1=new;h1=old"),
    ],
)
def test_a_header_with_room_for_one_signature_cuts_over(format_, expected):
    assert rotated(format_) == expected


@pytest.mark.parametrize(
    ("rotation", "format_", "expected"),
    [
        ("overlap", "v1={signature}", "v1=new,v1=old"),
        ("cutover", "t={timestamp},s={signature}", "t=1,s=new"),
    ],
)
def test_a_provider_may_rotate_in_another_way_than_its_format_says(rotation, format_, expected):
    assert rotated(format_, rotation=rotation) == expected


def test_after_a_cut_over_the_old_secret_is_retired_as_in_any_rotation(fake):
    signer = HmacSigner("old", format="v0={signature}", content="{body}")
    valid = ["new", "old"]

    def app(request):
        given = request.headers.get("X-Signature", "")
        right = {"v0=" + mac(key.encode(), request.body).hex() for key in valid}
        return 204 if given in right else 401

    fake.webhooks.connect(handler=app, signer=signer)
    fake.webhooks.rotate_secret("new")
    fake.send_text()
    fake.webhooks.assert_rejects_forgeries()
    fake.webhooks.retire_secret()
    with pytest.raises(AssertionError, match="got through: signed with another secret\n"):
        fake.webhooks.assert_rejects_forgeries()


def test_a_signer_of_the_tests_own_class_signs_with_a_new_secret_too():
    class Ours(HmacSigner):
        def __init__(self):
            super().__init__("old")

    with fake_with_receiver(signer=Ours()) as (fake, receiver):
        fake.webhooks.rotate_secret("new")
        receiver.endpoint.enable()
        fake.send_text()

        assert receiver.requests[0].headers["X-Signature"].count("s=") == 2


@pytest.mark.parametrize(
    ("signer", "new", "error"),
    [
        (None, ["new"], ChatFakeError),
        (HmacSigner("s").__call__, ["new"], ChatFakeError),
        (HmacSigner("s"), [], ChatFakeError),
        (HmacSigner("s"), ["s"], ValueError),
        (StandardWebhooksSigner(SECRET), ["no base64"], ValueError),
    ],
)
def test_a_rotation_that_cannot_be_is_refused_and_changes_nothing(signer, new, error):
    with fake_with_receiver(signer=signer) as (fake, receiver):
        with pytest.raises(error, match="secret"):
            (fake.webhooks.rotate_secret if new else fake.webhooks.retire_secret)(*new)
        assert (signer, 0) == (receiver.endpoint.signer, len(fake.timeline))


# -- on real attempts ------------------------------------------------------------------------------


def test_the_standardwebhooks_package_signs_each_attempt_alike_retries_too():
    signer = StandardWebhooksSigner(SECRET)
    with fake_with_receiver(signer=signer, retry_after=[60]) as (fake, receiver):
        receiver.respond(500)
        fake.send_text("Grüße, 你好").deliver().read()
        fake.clock.advance(60)

        package = Webhook(SECRET)
        seconds = [START, START, START, START + 60]
        for one, second in zip(receiver.requests, seconds, strict=True):
            moment = datetime.fromtimestamp(second, UTC)
            assert one.headers["webhook-timestamp"] == str(second)
            assert one.headers["webhook-signature"] == package.sign(
                one.id, moment, one.body.decode()
            )
        assert package.verify(one.body, dict(one.headers))


def test_an_hmac_signature_is_over_the_exact_bytes_at_the_apps_time():
    with fake_with_receiver(signer=HmacSigner("secret")) as (fake, receiver):
        fake.clock.advance(microseconds=999_999)  # Unix seconds are whole
        fake.send_text()

        (request,) = receiver.requests
        expected = mac(b"secret", f"{START}.".encode() + request.body).hex()
        assert request.headers["X-Signature"] == f"t={START},s={expected}"


def test_an_endpoint_may_have_a_signer_of_its_own():
    seen = []

    def app(request):
        seen.append(request.headers["X-Signature"])

    with frozen_fake(signer=lambda _: {"X-Signature": "config"}) as fake:
        fake.webhooks.connect(handler=app, signer=lambda _: {"X-Signature": "own"})
        fake.webhooks.connect(handler=app)
        fake.send_text()
    assert seen == ["own", "config"]


def test_a_signer_sees_the_whole_request(fake):
    seen = []
    endpoint = fake.webhooks.connect(handler=print, signer=lambda one: seen.append(one) or {})
    fake.send_text()

    (event,), (one,) = fake.events, seen
    assert (one.id, one.event, one.body, one.json()["type"]) == (
        event.id,
        event,
        event.body,
        event.type,
    )
    assert (one.timestamp, one.number, one.endpoint) == (START, 1, endpoint)
    assert one.headers == {"Content-Type": "application/json"}


def test_what_a_signer_does_is_caused_by_the_attempt_that_it_signs(fake):
    def signer(request):
        if len(fake.messages) == 1:
            fake.send_text()
        return {}

    fake.webhooks.connect(handler=lambda _: None, signer=signer)
    fake.send_text()
    (cause,) = [entry.cause for entry in fake.timeline if entry.text == "send_text() m2"]

    assert fake.timeline[cause - 1].text.startswith("sent m1 -> ")


# -- bad signers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("result", [None, "X-Signature: 1", {"X-Signature": 1}, {1: "x"}, ["a"]])
def test_a_signer_that_returns_no_mapping_of_texts_is_named(result):
    with frozen_fake(signer=lambda request: result) as fake:
        fake.webhooks.connect(handler=print)
        with pytest.raises(TypeError, match="expected a mapping of header names to strings"):
            fake.send_text()

        assert trail(fake) == "sent TypeError"


@pytest.mark.parametrize("options", [{}, {"raise_exceptions": False}, {"retry_after": [1]}])
def test_a_signer_that_raises_is_never_let_pass_and_spares_the_others(fake, options):
    broken = Mock(side_effect=KeyError("no secret"))
    fake.webhooks.connect(handler=print, signer=broken, **options)
    fake.webhooks.receiver()
    with pytest.raises(KeyError, match="no secret"):
        fake.send_text()

    assert trail(fake) == "sent KeyError, sent"


def test_the_first_of_two_errors_is_the_one_that_surfaces(fake):
    for error in (KeyError("first"), ValueError("second")):
        fake.webhooks.connect(handler=Mock(side_effect=error))
    with pytest.raises(KeyError, match="first"):
        fake.send_text()

    assert trail(fake) == "sent KeyError, sent ValueError"


SHOWN = "HmacSigner(..., header='X-Signature', format='t={timestamp},s={signature}'"


@pytest.mark.parametrize(
    ("signer", "shown"),
    [
        (HmacSigner("hush"), f"{SHOWN})"),
        (HmacSigner("hush", offset=-600), f"{SHOWN}, offset=-600)"),
        (StandardWebhooksSigner(SECRET), "StandardWebhooksSigner(...)"),
        (
            StandardWebhooksSigner(SECRET, offset=timedelta(minutes=-10)),
            "StandardWebhooksSigner(..., offset=-600)",
        ),
    ],
)
def test_a_signer_shows_no_secret_but_how_stale_its_timestamps_are(signer, shown):
    assert repr(signer) == shown


def test_a_refusal_does_not_show_the_secret():
    with pytest.raises(ValueError, match="at index 4") as refused:
        HmacSigner("hush\ud800")
    assert "hush" not in str(refused.value)
    assert refused.value.__context__ is None  # whose text has it
