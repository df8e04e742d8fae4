"""Fields that every event carries, addresses, and messages that are no text."""

from decimal import Decimal

import pytest

from pytest_chatfake import ChatFakeConfig, ChatFakeError, Naming

from .fakes import frozen_fake, unchanged


def resources(fake):
    return [event.json()["chatMessage"] for event in fake.events]


# -- for a whole suite -----------------------------------------------------------------------------


def test_a_suites_fields_are_in_every_event_and_a_calls_own_count_more():
    with frozen_fake(extra={"account": "a1", "tag": None}) as fake:
        fake.send_text().deliver().read()
        fake.send_text(to="+2", extra={"account": "a2"}).fail()
        fake.submit_text().reject()
        fake.webhooks.emit(fake.messages[0], "played")

        assert [one["account"] for one in resources(fake)] == ["a1"] * 3 + ["a2"] * 2 + ["a1"] * 2
        assert [one["tag"] for one in resources(fake)] == [None] * 7


def test_a_function_is_asked_once_for_each_verb_and_status():
    asked = []

    def extra(message, status):
        asked.append((message.id, message.conversation, status))
        return {"seq": len(asked), "own": "function"}

    with frozen_fake(extra=extra) as fake:
        message = fake.send_text(extra={"own": "call"}).deliver(devices=3).read()
        fake.webhooks.emit(message, "read")

        assert asked == [
            (message.id, message.conversation, status)
            for status in ("sent", "delivered", "read", "read")
        ]
        assert [(one["seq"], one["own"]) for one in resources(fake)] == [
            (number, "call") for number in (1, 2, 2, 2, 3, 4)
        ]


def test_the_function_may_look_but_not_act():
    def extra(_, __):
        assert fake.balance.held >= 0
        fake.top_up(1)

    words = r"^can't call top_up\(\) from the extra= function.* read the fake and return a mapping$"
    with frozen_fake(extra=extra) as fake, pytest.raises(ChatFakeError, match=words):
        fake.send_text()


@pytest.mark.parametrize(
    ("result", "error", "words"),
    [
        ({"currency": "EUR"}, ValueError, "extra can't replace 'currency'"),
        ({"x": object()}, TypeError, "can't be written as JSON"),
        ([], TypeError, "extra: expected a mapping"),
    ],
)
def test_fields_that_the_function_can_not_add_leave_everything_as_it_was(result, error, words):
    with frozen_fake(extra=lambda _, status: result if status == "delivered" else {}) as fake:
        message = fake.send_text()
        with unchanged(fake), pytest.raises(error, match=words):
            message.deliver(devices=2)


# -- addresses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [["to"], ["from"], ["to", "from"]])
def test_addresses_stand_under_the_keys_that_the_naming_has(keys):
    naming = Naming(**{f"{key}_key": key for key in keys})
    with frozen_fake(naming=naming, sender="+4930") as fake:
        fake.send_text(to="+4915").fail()
        addresses = {"to": "+4915", "from": "+4930"}
        expected = {key: addresses[key] for key in keys}
        for resource in resources(fake):
            assert {key: resource[key] for key in addresses if key in resource} == expected


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"currency": "EUR"}, r"'currency'.*ChatFakeConfig\(currency=\) sets it"),
        ({"errorCode": "1"}, r"'errorCode'.*fail\(code=\) sets it"),
        ({"bizType": "x"}, r"'bizType'.*Naming.biz_type sets it"),
        ({"chatMessageId": "x"}, r"'chatMessageId'.*Naming.original_id_key"),
        ({"to": "x"}, r"'to'.*to= sets it"),
        ({"from": "x"}, r"'from'.*ChatFakeConfig\(sender=\) sets it"),
    ],
)
def test_a_field_of_the_description_is_refused_with_what_sets_it(extra, words):
    naming = Naming(to_key="to", from_key="from")
    with pytest.raises(ValueError, match=words):
        ChatFakeConfig(extra=extra, naming=naming)


# -- messages that are no text ---------------------------------------------------------------------


def test_a_text_that_is_sent_by_its_type_is_the_same_byte_for_byte():
    with frozen_fake() as fake:
        fake.send_text("Hällo", extra={"x": 1}).deliver().read()
        expected = [event.body for event in fake.events]
    with frozen_fake() as fake:
        fake.send("text", {"body": "Hällo"}, extra={"x": 1}).deliver().read()
        assert expected == [event.body for event in fake.events]
        assert (fake.messages[0].type, fake.messages[0].body) == ("text", "Hällo")


def test_a_template_is_a_message_whose_content_stands_under_its_type(fake, receiver):
    message = fake.send("template", {"name": "sale", "price": Decimal("0.10")}).deliver()

    fake.assert_charged("0.05", message=message)
    shown = receiver.requests[0].body
    assert b'"type":"template","template":{"name":"sale","price":0.10}' in shown
    assert (message.type, message.body) == ("template", "")
    assert {"name": "sale", "price": Decimal("0.10")} == message.content


def test_a_contents_later_change_is_not_the_messages(fake):
    content = {"name": "sale"}
    message = fake.send("template", content)
    content["name"] = "changed"
    message.content["name"] = "changed"
    message.deliver()
    assert [one["template"] for one in resources(fake)] == [{"name": "sale"}] * 2


@pytest.mark.parametrize("verb", ["send", "submit"])
def test_more_fields_do_not_replace_the_content_of_another_type(verb):
    text = "can't set 'image' in a message of that type: its content has that key"
    with frozen_fake() as fake:
        with unchanged(fake), pytest.raises(ValueError, match=f"^extra {text}$"):
            getattr(fake, verb)("image", {"link": "x"}, extra={"image": 1})
        fake.send("video", {"link": "x"}, extra={"image": 1})

    with frozen_fake(extra={"image": 1}) as fake:
        with pytest.raises(ValueError, match=f"^extra {text}$"):
            getattr(fake, verb)("image", {"link": "x"})
        fake.send_text()

    with frozen_fake(extra=lambda message, _: {"image": message.type}) as fake:
        with unchanged(fake), pytest.raises(ValueError, match=f"^the extra= function {text}$"):
            fake.send("image", {"link": "x"})
        fake.send("video", {"link": "x"})
        assert [one["image"] for one in resources(fake)] == ["video"]


def test_a_number_of_very_many_digits_is_refused_before_it_is_written(fake):
    for number in ("1e4300", "1e-4301", "-1e999999999", "12e4299"):
        with pytest.raises(ValueError, match="it has more than 4300 digits"):
            fake.send_text(extra={"n": Decimal(number)})
    for number in ("1e4299", "1e-4299", "0e-4299"):
        fake.send_text(extra={"n": Decimal(number)})
    assert [Decimal("1e4299"), Decimal("1e-4299"), 0] == [one["n"] for one in resources(fake)]


@pytest.mark.parametrize("wraps", [lambda one: [one], lambda one: {"n": one}])
def test_fields_may_be_nested_a_hundred_levels_deep_and_no_more(wraps, fake):
    value = 1
    for _ in range(100):
        value = wraps(value)
    fake.send_text(extra={"a": value})
    assert [value] == [one["a"] for one in resources(fake)]
    with pytest.raises(ValueError, match="nested more than 100 levels deep"):
        fake.send_text(extra={"a": [value]})
