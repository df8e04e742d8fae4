"""What the installed wheel must do without anything else: no other plugin, and no framework."""

import json
import re
import urllib.request
from decimal import Decimal
from importlib import metadata, resources

from pytest_chatfake import WebhookTests


def test_a_message_is_charged_once_and_told_of(chat_fake, chat_clock, chat_receiver):
    message = chat_fake.send_text("Sale ends today").deliver(devices=2).read()

    assert chat_receiver.statuses(message) == ["sent", "delivered", "delivered", "read"]
    chat_fake.assert_charged("0.05", message=message)
    chat_fake.assert_held("0")


def test_a_hold_comes_back_after_30_days(chat_fake, chat_clock):
    chat_fake.send_text()

    chat_clock.advance(days=30)

    chat_fake.assert_available("100")


def test_the_balance_is_read_over_http(chat_fake):
    request = urllib.request.Request(
        f"{chat_fake.base_url}/v2/balance", headers={"X-API-Key": chat_fake.api_key}
    )

    with urllib.request.urlopen(request, timeout=5) as response:
        balance = json.loads(response.read(), parse_float=Decimal)

    assert balance == {"amount": 100, "currency": "USD"}


def test_events_fit_the_models(chat_fake, chat_receiver):
    from pytest_chatfake import ChatMessageUpdated

    chat_fake.send_text().fail()

    for event in chat_receiver.events:
        assert ChatMessageUpdated.model_validate(event.json()).id == event.id


def test_a_body_is_explored(chat_explore):
    @chat_explore
    def world(chat_fake):
        receiver = chat_fake.webhooks.receiver()
        message = chat_fake.send_text().deliver()
        chat_fake.settle()
        assert {*receiver.statuses(message)} == {"sent", "delivered"}


class TestAnApp(WebhookTests):
    def connect(self, chat_fake):
        seen = set()
        chat_fake.webhooks.connect(handler=lambda request: seen.add(request.event.message_id))
        return lambda: len(seen)


def test_the_wheel_says_that_it_is_typed():
    assert (resources.files("pytest_chatfake") / "py.typed").is_file()
    assert metadata.metadata("pytest-chatfake")["License-Expression"] == "MIT"


def test_the_wheels_readme_has_no_link_into_the_repository():
    text = metadata.metadata("pytest-chatfake").get_payload()

    assert text.startswith("# pytest-chatfake")
    assert re.findall(r"\]\((?!https?:)[^)]*\)|^\[[^]]+\]: .*$", text, re.MULTILINE) == []


def test_the_wheel_has_the_skill_for_coding_agents():
    skills = resources.files("pytest_chatfake") / ".agents" / "skills"
    text = (skills / "pytest-chatfake" / "SKILL.md").read_text("utf-8")
    assert text.startswith("---\nname: pytest-chatfake\ndescription: ")
