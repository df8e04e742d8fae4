"""What happens in production sooner or later, one bad day at a time. The app survives them all."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from billing_flask.testing import Billing, Campaign
from flask import Flask
from werkzeug import Request, Response

from pytest_chatfake import ChatFake, Clock, HmacSigner, WebhookRequest

Signer = Callable[[WebhookRequest], Mapping[str, str]]

SECRET = "whsec"
TEN_MINUTES = timedelta(minutes=10)


def attempted(chat_fake: ChatFake) -> list[str]:
    """Return the status in each webhook, in the order in which they were attempted."""
    return [attempt.event.status for attempt in chat_fake.webhooks.attempts]


def answers(chat_fake: ChatFake) -> list[int | None]:
    """Return what the app answered to each; None to one that never reached it."""
    return [attempt.status_code for attempt in chat_fake.webhooks.attempts]


# Twice, in the wrong order, late, or not at all


def test_every_event_comes_twice(chat_fake: ChatFake, campaign: Campaign) -> None:
    chat_fake.webhooks.duplicate(times=None)

    campaign.send().deliver(devices=2).read()

    assert attempted(chat_fake) == ["sent"] * 2 + ["delivered"] * 4 + ["read"] * 2
    assert campaign.spend()["messages"]["read"] == 1
    assert campaign.charged == "0.05"


def test_an_event_comes_again_a_week_later(
    chat_fake: ChatFake, chat_clock: Clock, campaign: Campaign
) -> None:
    message = campaign.send().deliver()
    before = campaign.spend()

    chat_clock.advance(weeks=1)
    chat_fake.webhooks.redeliver(message.events[0])

    assert attempted(chat_fake) == ["sent", "delivered", "sent"]
    assert campaign.spend() == before


def test_events_come_in_reversed_order(
    chat_fake: ChatFake, billing: Billing, campaign: Campaign
) -> None:
    with chat_fake.webhooks.paused() as queue:
        message = campaign.send().deliver().read()
        queue.release(order="reversed")

    assert attempted(chat_fake) == ["read", "delivered", "sent"]
    assert billing.message(message.id)["status"] == "read"
    assert campaign.charged == "0.05"


@pytest.mark.parametrize("seed", range(3))
def test_events_come_in_any_order(
    chat_fake: ChatFake, billing: Billing, campaign: Campaign, seed: int
) -> None:
    with chat_fake.webhooks.paused() as queue:
        read = campaign.send(to="+4915550001").deliver(devices=2).read()
        failed = campaign.send(to="+4915550002").fail()
        queue.release(order="shuffled", seed=seed)

    assert billing.message(read.id)["status"] == "read"
    assert billing.message(failed.id)["status"] == "failed"
    assert campaign.charged == "0.05"


def test_the_read_receipt_overtakes_the_delivery(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing, campaign: Campaign
) -> None:
    chat_fake.webhooks.delay(TEN_MINUTES, status="delivered")

    message = campaign.send().deliver().read()
    chat_clock.advance(TEN_MINUTES)

    assert attempted(chat_fake) == ["sent", "read", "delivered"]
    assert billing.message(message.id)["status"] == "read"


def test_a_delivery_is_lost_and_comes_when_it_is_asked_for(
    chat_fake: ChatFake, campaign: Campaign
) -> None:
    chat_fake.webhooks.lose(status="delivered")

    message = campaign.send().deliver()
    assert campaign.charged == "0"

    chat_fake.webhooks.redeliver(message.events[-1])
    assert campaign.charged == "0.05"


def test_a_lost_delivery_is_made_good_by_the_read_receipt(
    chat_fake: ChatFake, campaign: Campaign
) -> None:
    chat_fake.webhooks.lose(status="delivered")
    campaign.send().deliver().read()
    assert answers(chat_fake) == [204, None, 204]
    assert campaign.charged == "0.05"


# Events that should not come at all


def test_a_sent_event_comes_after_read(chat_fake: ChatFake, billing: Billing) -> None:
    message = chat_fake.send_text().read()
    before = billing.message(message.id)

    chat_fake.webhooks.emit(message, "sent")

    assert answers(chat_fake)[-1] == 204
    assert billing.message(message.id) == before


def test_a_delivery_comes_after_a_failure(chat_fake: ChatFake, campaign: Campaign) -> None:
    message = campaign.send().fail()
    before = campaign.spend()

    chat_fake.webhooks.emit(message, "delivered", changes={"totalPrice": Decimal("0.05")})

    assert answers(chat_fake)[-1] == 204
    assert campaign.spend() == before


def test_a_failure_comes_after_a_delivery(chat_fake: ChatFake, campaign: Campaign) -> None:
    message = campaign.send().deliver()
    before = campaign.spend()

    chat_fake.webhooks.emit(message, "failed")

    assert answers(chat_fake)[-1] == 204
    assert campaign.spend() == before


def test_a_status_of_next_years_api_is_acknowledged_and_ignored(
    chat_fake: ChatFake, billing: Billing
) -> None:
    message = chat_fake.send_text()

    chat_fake.webhooks.emit(message, "played")

    assert answers(chat_fake)[-1] == 204
    assert billing.message(message.id)["status"] == "sent"


def test_an_event_without_its_price_is_refused(chat_fake: ChatFake, billing: Billing) -> None:
    message = chat_fake.send_text()

    chat_fake.webhooks.emit(message, "delivered", remove=["totalPrice"])

    assert answers(chat_fake)[-1] == 400
    assert billing.message(message.id)["status"] == "sent"


def test_a_body_that_is_cut_off_is_refused(chat_fake: ChatFake, billing: Billing) -> None:
    message = chat_fake.send_text()

    chat_fake.webhooks.emit(message, "delivered", raw=message.events[0].body[:-30])

    assert answers(chat_fake)[-1] == 400
    assert billing.message(message.id)["status"] == "sent"


# We were down ourselves


class Maintenance:
    """The app behind a proxy that answers 503 to the first requests."""

    def __init__(self, app: Flask, *, requests: int) -> None:
        self.app = app
        self.left = requests

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if self.left:
            self.left -= 1
            return Response("Back soon", 503)(environ, start_response)
        return self.app(environ, start_response)


@pytest.fixture
def connect_after_failures(chat_fake: ChatFake, app: Flask) -> Callable[[int], Billing]:
    """Connect the app, down for a number of requests, to a service that tries three times more."""

    def connect(failures: int) -> Billing:
        chat_fake.webhooks.connect(
            wsgi=Maintenance(app, requests=failures),
            path="/hooks/chat",
            retry_after=[10, 30, 300],
        )
        return Billing(app)

    return connect


def test_what_came_while_we_were_down_comes_again(
    chat_fake: ChatFake, chat_clock: Clock, connect_after_failures: Callable[[int], Billing]
) -> None:
    billing = connect_after_failures(2)
    message = chat_fake.send_text()

    chat_clock.advance(seconds=40)

    assert answers(chat_fake) == [503, 503, 204]
    assert billing.message(message.id)["status"] == "sent"


def test_a_retry_that_comes_after_newer_events_takes_nothing_back(
    chat_fake: ChatFake, chat_clock: Clock, connect_after_failures: Callable[[int], Billing]
) -> None:
    billing = connect_after_failures(1)
    message = chat_fake.send_text().deliver().read()

    chat_clock.advance(seconds=10)

    assert attempted(chat_fake) == ["sent", "delivered", "read", "sent"]
    assert answers(chat_fake) == [503, 204, 204, 204]
    assert billing.message(message.id)["status"] == "read"


# Somebody else knocks


@pytest.fixture
def guarded(chat_fake: ChatFake, app: Flask) -> Billing:
    """The app, taking only what is signed with its secret; the service knows the secret."""
    app.config["WEBHOOK_SECRET"] = SECRET
    chat_fake.webhooks.connect(
        wsgi=app, path="/hooks/chat", signer=HmacSigner(SECRET), retry_after=[3600]
    )
    return Billing(app)


def test_what_the_service_signed_is_taken(chat_fake: ChatFake, guarded: Billing) -> None:
    message = chat_fake.send_text().deliver().read()
    assert guarded.message(message.id)["status"] == "read"


@pytest.mark.parametrize(
    "signer",
    [
        pytest.param(lambda request: {}, id="not signed"),
        pytest.param(HmacSigner("guessed"), id="signed with another secret"),
        pytest.param(HmacSigner(SECRET, offset=-600), id="signed ten minutes ago"),
        pytest.param(HmacSigner(SECRET, offset=600), id="signed in ten minutes"),
    ],
)
def test_what_it_did_not_sign_just_now_is_turned_away(
    chat_fake: ChatFake, guarded: Billing, signer: Signer
) -> None:
    message = chat_fake.send_text()
    chat_fake.webhooks.sign(signer, status="delivered")

    message.deliver()

    assert answers(chat_fake) == [204, 401]
    assert guarded.message(message.id)["status"] == "sent"


def test_what_was_changed_on_the_way_is_turned_away(chat_fake: ChatFake, guarded: Billing) -> None:
    message = chat_fake.send_text()
    chat_fake.webhooks.tamper(lambda body: body.replace(b"0.05", b"0.01"), status="delivered")

    message.deliver()

    assert answers(chat_fake) == [204, 401]
    assert guarded.message(message.id)["status"] == "sent"


def test_a_retry_an_hour_later_is_signed_anew_and_taken(
    chat_fake: ChatFake, chat_clock: Clock, guarded: Billing
) -> None:
    chat_fake.webhooks.sign(HmacSigner("guessed"))
    message = chat_fake.send_text()

    chat_clock.advance(hours=1)

    assert answers(chat_fake) == [401, 204]
    assert guarded.message(message.id)["status"] == "sent"


# The service's API has a bad day: the webhook is stored, the check is skipped and noted


def test_the_api_is_down(chat_fake: ChatFake, billing: Billing) -> None:
    chat_fake.api.fail(503)
    chat_fake.set_balance("5")

    message = chat_fake.send_text()
    assert billing.message(message.id)["status"] == "sent"
    assert billing.alerts() == []
    assert billing.skipped_checks() == ["503 SERVICE_UNAVAILABLE"]

    message.deliver()
    assert billing.alerts() == ["low"]


def test_the_api_closes_the_connection(chat_fake: ChatFake, billing: Billing) -> None:
    chat_fake.api.disconnect()
    message = chat_fake.send_text()
    assert billing.message(message.id)["status"] == "sent"
    assert billing.skipped_checks() == ["no complete answer (RemoteDisconnected)"]


def test_the_api_is_too_slow(chat_fake: ChatFake, app: Flask, billing: Billing) -> None:
    app.config["MESSAGING_TIMEOUT"] = 0.1
    chat_fake.api.delay(1)
    message = chat_fake.send_text()
    assert billing.message(message.id)["status"] == "sent"
    assert billing.skipped_checks() == ["no answer in time"]


def test_the_api_stops_in_the_middle_of_its_answer(chat_fake: ChatFake, billing: Billing) -> None:
    chat_fake.api.truncate()
    message = chat_fake.send_text()
    assert billing.message(message.id)["status"] == "sent"
    assert billing.skipped_checks() == ["no complete answer (IncompleteRead)"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"amount": 99.', "the answer is not JSON"),
        ("<html>Sign in to the hotel's network", "the answer is not JSON"),
        ("[]", "the answer is not a balance"),
        ('{"amount": "a lot", "currency": "USD"}', "the answer is not a balance"),
    ],
)
def test_the_api_talks_nonsense(
    chat_fake: ChatFake, billing: Billing, body: str, reason: str
) -> None:
    chat_fake.api.fail(200, body=body)
    message = chat_fake.send_text()
    assert billing.message(message.id)["status"] == "sent"
    assert billing.skipped_checks() == [reason]


def test_a_rate_limit_is_kept_until_it_is_over(
    chat_fake: ChatFake, chat_clock: Clock, billing: Billing
) -> None:
    chat_fake.api.rate_limit(60)
    chat_fake.send_text().deliver(devices=3)
    chat_fake.assert_requested("GET", "/v2/balance", times=1)

    chat_clock.advance(seconds=60)
    assert billing.check_balance()[0] == 0
    chat_fake.assert_requested("GET", "/v2/balance", times=2)


def test_the_key_is_rotated_and_the_app_gets_the_new_one_later(
    chat_fake: ChatFake, app: Flask, billing: Billing
) -> None:
    new_key = chat_fake.rotate_key()
    chat_fake.set_balance("5")

    message = chat_fake.send_text()
    assert billing.message(message.id)["status"] == "sent"
    assert billing.skipped_checks() == ["401 INVALID_API_KEY"]

    app.config["MESSAGING_API_KEY"] = new_key
    message.deliver()
    assert billing.alerts() == ["low"]


# The race of the send call


def test_the_webhook_is_faster_than_the_answer_to_the_send_call(
    chat_fake: ChatFake, billing: Billing
) -> None:
    @chat_fake.route("/v2/messages", webhooks_first=True)
    def send(request: Request) -> dict[str, str]:
        return {"id": chat_fake.send_text(request.get_json()["text"]["body"]).id}

    campaign_id = billing.new_campaign("Spring sale")
    message_id = billing.send(campaign_id, "Sale ends today", to="+4915550001")

    known = billing.message(message_id)
    assert known["status"] == "sent"
    assert known["campaign"] == campaign_id
