"""The app in every world: events late, twice, unheard, or before the send call's answer."""

from itertools import count
from pathlib import Path

from billing_flask import create_app
from billing_flask.testing import Billing, Campaign

from pytest_chatfake import ChatFake, Explorer


def test_what_a_campaign_cost_is_right_whatever_comes(
    chat_explore: Explorer, tmp_path: Path
) -> None:
    numbers = count()

    @chat_explore
    def world(chat_fake: ChatFake) -> None:
        database = tmp_path / f"{next(numbers)}.sqlite3"
        app = create_app(
            {
                "DATABASE": str(database),
                "DATABASE_SYNC": False,
                "TESTING": True,
                "MESSAGING_BASE_URL": chat_fake.base_url,
                "MESSAGING_API_KEY": chat_fake.api_key,
            }
        )
        chat_fake.webhooks.connect(wsgi=app, path="/hooks/chat")
        chat_fake.send_endpoint()
        billing = Billing(app)
        campaign = Campaign(billing, chat_fake, "Spring sale")

        message = campaign.send().deliver().read()
        chat_fake.settle()

        shown = billing.message(message.id)
        assert (shown["campaign"], shown["status"]) == (campaign.id, "read")
        assert campaign.charged == format(chat_fake.balance.charged, "f")

    assert world.complete
    assert world.worlds > 30
