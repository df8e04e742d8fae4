"""What a misspelt attribute, argument or status is told."""

from __future__ import annotations

import copy
import pickle
import traceback
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from flask import Flask

import pytest_chatfake
from pytest_chatfake import ChatFake, ChatMessageUpdated, HmacSigner, PlatformError
from pytest_chatfake.base import misspelt
from pytest_chatfake.base.misspelt import nearest, spelt, suggest


@pytest.fixture
def held() -> Iterator[dict[str, Any]]:
    """One of everything that a test can hold, by the name of its class."""
    fake = ChatFake()
    receiver = fake.webhooks.receiver()
    message = fake.send_text()
    fault, api_fault = fake.webhooks.drop(start=9), fake.api.delay(0.01)
    chaos = fake.webhooks.chaos(seed=1, lose_response=0.1)
    things = [
        *(fake, fake.clock, fake.webhooks, fake.api, fake.config, fake.config.naming, fake.balance),
        *(fake.ledger[0], fake.timeline, fake.timeline[0], fake.recipient("+1")),
        *(message, message.conversation, fake.submit_text(), fake.events[0]),
        *(receiver, receiver.endpoint, receiver.requests[0], fake.webhooks.attempts[0]),
        *(HmacSigner("whsec"), PlatformError("m", "t", "1", "x", "d"), fake.webhooks.paused()),
        ChatMessageUpdated.model_validate(fake.events[0].json()),
        *(fault, api_fault, chaos),
    ]
    yield {type(thing).__name__: thing for thing in things}
    fake._shut()  # unchecked: the faults never fired


@pytest.mark.parametrize(
    ("kind", "misspelt_name", "meant"),
    [
        ("ChatFake", "send_txt", "send_text"),
        ("Clock", "advnce", "advance"),
        ("Webhooks", "conect", "connect"),
        ("AccountApi", "request", "requests"),
        ("ChatFakeConfig", "pric", "price"),
        ("Naming", "message_keys", "message_key"),
        ("Balance", "availble", "available"),
        ("LedgerEntry", "ammount", "amount"),
        ("TimelineEntry", "texts", "text"),
        ("Recipient", "goes_offlin", "goes_offline"),
        ("Conversation", "expire_at", "expires_at"),
        ("Submission", "acept", "accept"),
        ("Receiver", "event", "events"),
        ("Endpoint", "diconnect", "disconnect"),
        ("WebhookRequest", "jsn", "json"),
        ("PlatformError", "mesage", "message"),
        ("Paused", "relase", "release"),
        ("ChatMessageUpdated", "creat_time", "create_time"),
        ("Deviation", "fird", "fired"),
        ("ApiFault", "fird", "fired"),
        ("Chaos", "hapened", "happened"),
    ],
)
def test_a_misspelt_attribute_suggests_the_near_one(
    held: dict[str, Any], kind: str, misspelt_name: str, meant: str
) -> None:
    with pytest.raises(AttributeError, match=f"Did you mean: '{meant}'") as caught:
        getattr(held[kind], misspelt_name)

    assert f"'{kind}' object has no attribute '{misspelt_name}'. Did you mean: '{meant}'?" == str(
        caught.value
    )
    assert misspelt_name == caught.value.name


def test_a_name_that_is_like_none_gets_no_suggestion(held: dict[str, Any]) -> None:
    for thing in held.values():
        with pytest.raises(AttributeError, match=r"has no attribute 'zzz'$"):
            _ = thing.zzz


def test_names_that_libraries_ask_for_are_no_misspellings(held: dict[str, Any]) -> None:
    for thing in held.values():
        assert not hasattr(thing, "__deepcopy_")
        with pytest.raises(AttributeError, match=r"no attribute '_engin'$"):
            _ = thing._engin


def test_the_error_of_a_property_is_its_own() -> None:
    @spelt
    class Thing:
        @property
        def broken(self) -> object:
            return {}.missing  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="'dict' object has no attribute 'missing'"):
        _ = Thing().broken


def test_values_can_be_copied_and_pickled(held: dict[str, Any]) -> None:
    for kind in ("Balance", "LedgerEntry", "PlatformError", "Naming", "ChatMessageUpdated"):
        thing = held[kind]
        assert thing == copy.copy(thing) == copy.deepcopy(thing)
        assert thing == pickle.loads(pickle.dumps(thing))
    assert held["Message"] == copy.copy(held["Message"])


def test_mocks_take_after_them(held: dict[str, Any]) -> None:
    del held["ChatMessageUpdated"]  # pydantic warns of its old methods, which a mock looks at
    for thing in held.values():
        pretended = mock.create_autospec(thing)
        with pytest.raises(AttributeError):
            _ = pretended.zzz


def argument_error(call: Callable[[], object]) -> TypeError:
    with pytest.raises(TypeError) as caught:
        call()
    return caught.value


def test_a_misspelt_argument_suggests_the_near_one_where_it_is_shown(fake: ChatFake) -> None:
    message = fake.send_text()
    calls: dict[str, Callable[[], object]] = {
        "ChatFake.send_text() got an unexpected keyword argument 'pric'. Did you mean 'price'?": (
            lambda: fake.send_text(pric="1")  # type: ignore[call-arg]
        ),
        "Message.deliver() got an unexpected keyword argument 'device'. Did you mean 'devices'?": (
            lambda: message.deliver(device=2)  # type: ignore[call-arg]
        ),
        "ChatFakeConfig.__init__() got an unexpected keyword argument 'pric'. "
        "Did you mean 'price'?": (
            lambda: pytest_chatfake.ChatFakeConfig(pric="1")  # type: ignore[call-arg]
        ),
        "Message.read() got an unexpected keyword argument 'zzz'": (
            lambda: message.read(zzz=1)  # type: ignore[call-arg]
        ),
    }
    for text, call in calls.items():
        error = argument_error(call)
        suggest(error)
        suggest(error)  # once is enough
        assert text == str(error)


@pytest.mark.parametrize(
    ("kind", "misspelt_name", "meant"),
    [("Event", "statsu", "status"), ("Message", "delivr", "deliver")],
)
def test_a_misspelt_attribute_of_what_is_used_most_suggests_the_near_one_where_it_is_shown(
    held: dict[str, Any], kind: str, misspelt_name: str, meant: str
) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(held[kind], misspelt_name)

    suggest(caught.value)
    shown = "".join(traceback.format_exception_only(caught.value))  # as pytest shows it

    text = f"'{kind}' object has no attribute '{misspelt_name}'. Did you mean: '{meant}'?"
    assert f"AttributeError: {text}\n" == shown
    assert text == str(caught.value)


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


@pytest.mark.parametrize("name", pytest_chatfake.__all__)
def test_every_public_class_suggests_names(name: str) -> None:
    thing = getattr(pytest_chatfake, name)
    if not isinstance(thing, type) or issubclass(thing, Exception | ChatMessageUpdated):
        return
    assert {one.__name__ for one in thing.__mro__} & misspelt._known.keys()


def test_a_misspelt_status_suggests_the_near_one(fake: ChatFake) -> None:
    message = fake.send_text()

    with pytest.raises(ValueError, match="'delivred' is none: did you mean 'delivered'"):
        fake.assert_statuses(message, "sent", "delivred")


def test_a_misspelt_field_of_the_configuration_suggests_the_near_one() -> None:
    with pytest.raises(TypeError, match=r"field 'pric' \(did you mean 'price'\?\)"):
        ChatFake(pric="0.10")
    with pytest.raises(TypeError, match=r"field 'zzz'; the fields are: api_key, "):
        ChatFake(zzz=1)


def test_an_app_that_is_connected_as_app_is_told_the_two_arguments(fake: ChatFake) -> None:
    with pytest.raises(TypeError, match=r"write wsgi= for .*, or asgi= for"):
        fake.webhooks.connect(app=Flask("x"))  # type: ignore[call-arg]


def test_the_nearest_of_none_is_none() -> None:
    assert None is nearest("price", [])
    assert "price" == nearest("pric", ["devices", "price"])
