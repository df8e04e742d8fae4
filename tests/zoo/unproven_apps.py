"""Apps whose ``ok`` would prove little, each next to a twin for which it proves something."""

import logging
import traceback

from pytest_chatfake import WebhookTests

RANK = ["sent", "delivered", "read", "failed"]


class Shop(WebhookTests):
    """Keeps the furthest status of each message; with the bug, the last one."""

    __test__ = False
    bug = False

    def connect(self, chat_fake):
        self.rows = {}
        chat_fake.webhooks.connect(handler=self.receive, events="*")
        return lambda: self.rows

    def receive(self, request):
        message = request.event.json().get("chatMessage")
        if message:
            self.take(message["id"], message["status"])

    def take(self, id, status):
        known = self.rows.get(id, status)
        self.rows[id] = status if self.bug else max(known, status, key=RANK.index)


class TestSettles(Shop):
    """No event of a message can overtake another, so its bug can't show."""

    __test__ = True
    bug = True

    def scenario(self, chat_fake):
        message = chat_fake.send_text("Hi", to="+1")
        chat_fake.settle()
        message.deliver()


class TestHolds(Shop):
    """Here, an event can: the queue holds them back."""

    __test__ = True

    def scenario(self, chat_fake):
        with chat_fake.webhooks.paused():
            message = chat_fake.send_text("Hi", to="+1")
            chat_fake.settle()
            message.deliver()


class TestHoldsWithTheBug(TestHolds):
    bug = True


class TestSwallowsWhatPeopleWrite(Shop):
    """Expects a status, logs its own error, and takes the event as handled."""

    __test__ = True

    def receive(self, request):
        try:
            message = request.event.json()["chatMessage"]
            self.take(message["id"], message["status"])
        except Exception as error:
            self.report(error)

    def report(self, error):
        logging.getLogger("shop").error("could not handle it", exc_info=error)


class TestPrintsWhatItSwallows(TestSwallowsWhatPeopleWrite):
    """The same, but it prints the error."""

    def report(self, error):
        traceback.print_exception(error)


class TestExpectsTexts(Shop):
    """Takes each message from a person for a text, logs its own error, and goes on."""

    __test__ = True

    def receive(self, request):
        super().receive(request)
        message = request.event.json().get("chatInboundMessage", {"text": {"body": ""}})
        try:
            message["text"]["body"].strip()
        except Exception:
            logging.getLogger("shop").error("could not handle it", exc_info=True)


class TestIgnoresWhatPeopleWrite(Shop):
    __test__ = True


class TestTakesTheFirstEvent(Shop):
    """Takes the id of its account for the id of an event, which is one of those that it knows."""

    __test__ = True

    def take(self, id, status):
        if not self.rows:
            self.rows[id] = status


class TestSwallowsEverything(TestSwallowsWhatPeopleWrite):
    def take(self, id, status):
        raise LookupError("no such shop")
