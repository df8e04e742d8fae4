"""Ready-made tests of apps that the fake's books, or a world without another order, prove wrong."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from urllib.request import Request, urlopen

from pytest_chatfake import WebhookTests


class Wallet(WebhookTests):
    """Keeps what messages cost."""

    __test__ = False
    retry_after = ()

    def connect(self, chat_fake):
        self.fake, self.prices = chat_fake, {}
        chat_fake.webhooks.connect(handler=self.handle, retry_after=self.retry_after)
        return lambda: {"spent": sum(self.prices.values())}

    def handle(self, request):
        message = json.loads(request.body, parse_float=Decimal)["chatMessage"]
        return self.take(message["id"], message["status"], message["totalPrice"])

    def take(self, id, status, price):
        if status in ("delivered", "read"):
            self.prices[id] = price

    def scenario(self, chat_fake):
        for to in ("+1", "+2", "+3"):
            yield chat_fake.send_text(to=to, price="0.0715").deliver()

    def expected(self, chat_fake):
        return {"spent": chat_fake.balance.charged}


class TestRounds(Wallet):
    __test__ = True

    def take(self, id, status, price):
        super().take(id, status, round(price, 2))


class TestReserves(Wallet):
    __test__ = True

    def take(self, id, status, price):
        self.prices[id] = price


class TestRefuses(Wallet):
    __test__ = True
    retry_after = (60,)

    def take(self, id, status, price):
        return (
            503
            if len(self.prices) == 3 and id not in self.prices
            else super().take(id, status, price)
        )


class TestForgetsAtNight(Wallet):
    __test__ = True

    def take(self, id, status, price):
        if (datetime.now(UTC) + timedelta(hours=1)).hour:
            super().take(id, status, price)


class TestOverwrites(Wallet):
    __test__ = True

    def scenario(self, chat_fake):
        yield chat_fake.send_text(to="+1").deliver()
        before = dict(self.prices)
        with urlopen(Request(f"{chat_fake.base_url}/v2/balance", headers=chat_fake.headers)):
            self.prices = before
        yield
