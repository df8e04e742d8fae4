"""Explorations of bodies that use other features: retries, signatures, endpoints, calls, forms."""

from pathlib import Path

import pytest

from pytest_chatfake import ChatFakeConfig, explore
from pytest_chatfake.base.current_test import current

from ..unit.test_api_faults import status
from ..unit.test_calling_lines import called_over_a_socket, outside_a_test
from ..unit.test_checks_that_cannot_tell import repeated
from ..unit.test_forgeries import SIGNER, App


def test_an_app_that_takes_only_its_own_retries_survives_each_fault():
    def body(chat_fake):
        refused = set()

        def take(request):
            is_first = request.id not in refused
            refused.add(request.id)
            return 503 if is_first else 200

        chat_fake.webhooks.connect(handler=take, retry_after=[1])
        chat_fake.send_text().deliver()

    assert explore(body, deviations=["refuse", "lose_response"]).complete


def test_a_check_is_made_as_often_in_each_world():
    def world(chat_fake):
        seen = repeated(chat_fake)
        chat_fake.settle()
        for _ in list(seen):
            chat_fake.assert_order_independent(lambda: 1)

    with pytest.raises(AssertionError, match="expected 2 calls, as in the world as written, got 3"):
        explore(world, deviations=["duplicate"])


def test_an_exploration_expects_no_attempts_at_a_disabled_endpoint():
    found = set()

    def body(fake):
        taken = set()
        endpoint = fake.webhooks.connect(
            handler=lambda request: taken.add(request.id), retry_after=[10], disable_after=1
        )
        fake.send_text().deliver().read()
        fake.settle()
        found.add((endpoint.disabled, len(taken) < 3))

    assert explore(body, deviations=["refuse", "duplicate", "reorder"]).worlds > 10
    assert {(False, False), (True, True)} == found


def test_an_exploration_outside_a_test_shows_the_lines_of_its_body():
    places = []

    def world(fake):
        fake.send_endpoint()
        fake.webhooks.connect(handler=lambda _: None)
        called_over_a_socket(fake)
        fake.send_text()
        fake.settle()
        places.extend(event.line.place for event in fake.events)

    with outside_a_test():
        explore(world, depth=0)
        assert current().code is None

    file, first = Path(__file__).name, world.__code__.co_firstlineno
    assert [f"by the app, at {file}:{first}", f"at {file}:{first + 4}"] == places[:2]


def test_an_exploration_has_as_many_worlds_with_the_check():
    def worlds(checks):
        def body(fake):
            app = App()
            fake.webhooks.connect(handler=app, signer=SIGNER)
            fake.send_text().deliver()
            for _ in range(checks):
                fake.webhooks.assert_rejects_forgeries(lambda: app.ids)
            fake.settle()

        return explore(body).worlds

    assert worlds(0) == worlds(1)


@pytest.mark.parametrize(
    ("what", "worlds"),
    [
        (lambda message, fake: message.deliver(devices=2), 3),
        (lambda message, fake: message.deliver(price="0.03"), 2),
        (lambda message, fake: (fake.clock.advance(1) and None) or message.deliver(), 2),
        (lambda message, fake: (fake.send_text(to="+4915"), message.deliver()), 2),
        (lambda message, fake: message.read(), 2),
    ],
    ids=["at once", "for another price", "later", "after a neighbour", "never"],
)
def test_a_delivery_that_would_differ_if_it_was_early_is_not_tried_so(what, worlds):
    def body(fake):
        fake.webhooks.receiver()
        fake.send_endpoint()
        status(fake)
        what(fake.messages[0], fake)

    assert explore(body, deviations=["webhooks_first"]).worlds == worlds


def test_an_unknown_value_that_the_posted_form_refuses_is_not_tried():
    def kind(event):
        return {"kind": {"text": 1}[event["chatMessage"]["type"]]}

    def world(fake):
        fake.webhooks.connect(handler=lambda request: 200)
        fake.send_text()

    explored = explore(world, deviations=["unknown_value"], config=ChatFakeConfig(outbound=kind))
    assert "unknown_value was not tried: your webhooks have none of" in str(explored)
    assert (explored.worlds, explored.complete) == (1, False)
