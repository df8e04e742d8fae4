"""What errors cite of an argument: short, whatever it is, and without its secrets."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatfake import HmacSigner
from pytest_chatfake.base.arguments import cited

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chatfake import ChatFake

LONG = "x" * 100_000
HUGE = 10**5_000
SURROGATE = "cut \ud800"


class Silent:
    """Something that can't be shown."""

    def __repr__(self) -> str:
        raise RuntimeError


def test_a_short_argument_is_cited_as_it_is() -> None:
    assert "'+49'" == cited("+49")
    assert repr("x" * 198) == cited("x" * 198)


def test_a_long_argument_is_cut_off_at_200_characters() -> None:
    assert "'" + "x" * 196 + "..." == cited("x" * 199)


def test_what_has_no_text_is_called_by_its_type() -> None:
    assert "<Silent without a repr>" == cited(Silent())
    assert "<int without a repr>" == cited(HUGE)


def test_a_url_is_cited_without_user_and_values() -> None:
    url = "https://ada:hush@example.com/hook?token=hush"

    assert "'https://...@example.com/hook?token=...'" == cited(url)


CALLS: dict[str, Callable[[ChatFake, Any], object]] = {
    "to": lambda fake, value: fake.send_text(to=[value]),
    "body": lambda fake, value: fake.send_text([value]),
    "conversation": lambda fake, value: fake.send_text(conversation=value),
    "price": lambda fake, value: fake.send_text(price=value),
    "extra": lambda fake, value: fake.send_text(extra=[value]),
    "field": lambda fake, value: fake.send_text(extra={"a": {value}}),
    "devices": lambda fake, value: fake.send_text().deliver(value),
    "code": lambda fake, value: fake.send_text().fail([value]),
    "message": lambda fake, value: fake.message([value]),
    "advance": lambda fake, value: fake.clock.advance(value),
    "move_to": lambda fake, value: fake.clock.move_to(value),
    "statuses": lambda fake, value: fake.assert_statuses(fake.send_text(), value),
    "a URL": lambda fake, value: fake.webhooks.connect(value),
    "events": lambda fake, value: fake.webhooks.connect("http://127.0.0.1:1", events=value),
    "headers": lambda fake, value: fake.webhooks.connect("http://127.0.0.1:1", headers=value),
    "header": lambda fake, value: fake.webhooks.connect("http://x", headers={"A": [value]}),
    "path": lambda fake, value: fake.webhooks.connect(wsgi=print, path=value),
    "handler": lambda fake, value: fake.webhooks.connect(handler=value),
    "delay": lambda fake, value: fake.webhooks.delay(value),
    "times": lambda fake, value: fake.webhooks.drop(times=[value]),
    "a fault's status": lambda fake, value: fake.webhooks.drop(status=[value]),
    "remove": lambda fake, value: fake.webhooks.emit(fake.send_text(), "read", remove=[value]),
    "api status": lambda fake, value: fake.api.fail(value),
    "respond": lambda fake, value: fake.webhooks.receiver().respond(value),
    "route": lambda fake, value: fake.route(value)(lambda _: {}),
    "methods": lambda fake, value: fake.route("/a", [value, 1])(lambda _: {}),
    "signer": lambda _, value: HmacSigner("hush", header=[value]),
}


@pytest.mark.parametrize("value", [LONG, HUGE, Silent()], ids=["long", "huge", "silent"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_error_is_a_sentence_of_a_readable_length(
    fake: ChatFake, call: Callable[[ChatFake, Any], object], value: Any
) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call(fake, value)

    assert 700 > len(str(caught.value))


def answer_with(body: str) -> Callable[[ChatFake], object]:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(handler=lambda _: (200, body))
        fake.send_text()

    return scenario


OBSCURE: list[tuple[Callable[[ChatFake], object], type[Exception], str]] = [
    (
        lambda fake: fake.assert_held(Decimal("NaN")),
        ValueError,
        "the expected amount: expected a finite amount, got NaN",
    ),
    (lambda fake: fake.assert_held(Decimal("-sNaN")), ValueError, "expected a finite amount"),
    (lambda fake: fake.assert_held(Decimal("-Infinity")), ValueError, "expected a finite amount"),
    (lambda fake: fake.assert_held(-HUGE), ValueError, "is out of range"),
    (
        lambda fake: fake.webhooks.receiver().respond(500, times=2**70),
        ValueError,
        f"times must be from 1 to 1000000, not {2**70}",
    ),
    (
        lambda fake: fake.message(None),  # type: ignore[arg-type]
        TypeError,
        "a message's id must be text, not NoneType None",
    ),
    (lambda fake: fake.message(""), ValueError, "a message's id must not be empty"),
    (
        lambda fake: fake.webhooks.emit(fake.send_text(), "read", raw=SURROGATE),
        ValueError,
        "raw has half of a letter (a lone surrogate) at place 4: was it decoded with",
    ),
    (
        lambda fake: fake.webhooks.emit_event("a.b", body=SURROGATE),
        ValueError,
        "body has half of a letter",
    ),
    (lambda fake: fake.api.fail(body=SURROGATE), ValueError, "body has half of a letter"),
    (answer_with(SURROGATE), ValueError, "the body that a handler returned has half"),
]


@pytest.mark.parametrize(("call", "error", "words"), OBSCURE)
def test_what_was_obscure_is_a_sentence(
    fake: ChatFake, call: Callable[[ChatFake], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        call(fake)

    assert error is type(caught.value)
    assert words in str(caught.value)


def test_nothing_negative_is_the_same_as_nothing(fake: ChatFake) -> None:
    fake.assert_held(Decimal("-0"))
    fake.assert_held("-0")


@pytest.mark.parametrize("name", ["Authorization", "X-API-Key"])
def test_a_header_s_secret_is_not_cited(fake: ChatFake, name: str) -> None:
    with pytest.raises(ValueError, match="line break") as caught:
        fake.webhooks.connect("http://127.0.0.1:1/", headers={name: "hush-hush-hush\n"})

    assert "hush-hush" not in str(caught.value)
