"""What a misspelt attribute, argument or status is told."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

import pytest_chatfake
from pytest_chatfake import ChatFake, ChatFakeConfig, ChatMessageUpdated, PlatformError
from pytest_chatfake.base.misspelt import nearest, suggest


@pytest.mark.parametrize(
    ("hold", "misspelt", "meant"),
    [
        (lambda fake: fake, "send_txt", "send_text"),
        (lambda fake: fake.clock, "advnce", "advance"),
        (lambda fake: fake.webhooks, "conect", "connect"),
        (lambda fake: fake.webhooks.attempts[0], "numbr", "number"),
        (lambda fake: fake.config, "pric", "price"),
        (lambda fake: fake.balance, "availble", "available"),
        (lambda fake: fake.events[0], "statsu", "status"),
        (lambda fake: fake.messages[0], "delivr", "deliver"),
        (lambda fake: PlatformError("m", "t", "1", "x", "d"), "mesage", "message"),
        (
            lambda fake: ChatMessageUpdated.model_validate(fake.events[0].json()),
            "creat_time",
            "create_time",
        ),
        (lambda _: pytest_chatfake, "ChatFke", "ChatFake"),
    ],
)
def test_a_misspelt_attribute_suggests_the_near_one_where_it_is_shown(
    fake: ChatFake, hold: Callable[[ChatFake], object], misspelt: str, meant: str
) -> None:
    fake.webhooks.receiver()
    fake.send_text()
    with pytest.raises(AttributeError) as caught:
        getattr(hold(fake), misspelt)

    suggest(caught.value)
    suggest(caught.value)  # once is enough
    shown = "".join(traceback.format_exception_only(caught.value))

    assert 1 == shown.count(f". Did you mean: '{meant}'?")
    assert str(caught.value) in shown


@pytest.mark.parametrize("name", ["zzz", "__deepcopy_", "_engin"])
def test_what_is_like_no_public_name_gets_no_suggestion(fake: ChatFake, name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(fake, name)

    suggest(caught.value)

    assert f"'ChatFake' object has no attribute '{name}'" == str(caught.value)


@pytest.mark.parametrize(
    ("call", "method", "argument", "meant"),
    [
        (lambda fake: fake.send_text(pric="1"), "ChatFake.send_text", "pric", "price"),
        (lambda fake: fake.send_text().deliver(device=2), "Message.deliver", "device", "devices"),
        (lambda _: ChatFakeConfig(pric="1"), "ChatFakeConfig.__init__", "pric", "price"),  # type: ignore[call-arg]
        (lambda fake: fake.send_text().read(zzz=1), "Message.read", "zzz", None),
        (lambda fake: fake.send_text(recipient="+1"), "ChatFake.send_text", "recipient", "to"),
        (lambda fake: fake.send_text(text="Hi"), "ChatFake.send_text", "text", "body"),
        (lambda fake: fake.submit_text(phone="+1"), "ChatFake.submit_text", "phone", "to"),
    ],
)
def test_a_misspelt_argument_suggests_the_near_one_where_it_is_shown(
    fake: ChatFake, call: Callable[[Any], object], method: str, argument: str, meant: str | None
) -> None:
    with pytest.raises(TypeError) as caught:
        call(fake)

    suggest(caught.value)
    suggest(caught.value)  # once is enough

    hint = f". Did you mean {meant!r}?" if meant else ""
    assert f"{method}() got an unexpected keyword argument {argument!r}{hint}" == str(caught.value)


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda fake: fake.clock.now(), ". now is a property: write it without ()"),
        (lambda fake: fake.balance(), ". balance is a property: write it without ()"),
        (lambda fake: vars(fake)["clock"].now.replace(hour=1)(), ""),
    ],
)
def test_a_property_that_is_called_is_told_to_be_one(
    fake: ChatFake, call: Callable[[Any], object], hint: str
) -> None:
    with pytest.raises(TypeError) as caught:
        call(fake)

    suggest(caught.value)

    assert str(caught.value).endswith(f"object is not callable{hint}")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("ChatFake.send_text() got an unexpected keyword argument 'pric'"),
        TypeError("Shop.sell() got an unexpected keyword argument 'pric'"),
        TypeError("ChatFake.sell() got an unexpected keyword argument 'pric'"),
        TypeError("unhashable type"),
        AttributeError("'dict' object has no attribute 'item'", name="item", obj={}),
        AttributeError(),
    ],
)
def test_errors_of_others_stay_as_they_are(error: Exception) -> None:
    before = str(error)
    suggest(error)
    assert before == str(error)


def test_the_nearest_of_none_is_none() -> None:
    assert None is nearest("price", [])
    assert "price" == nearest("pric", ["devices", "price"])
