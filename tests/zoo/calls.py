"""Small apps with a bug that shows only if one of their own calls goes wrong, over a socket."""

import json
from contextlib import closing
from decimal import Decimal
from http.client import HTTPConnection
from threading import Thread
from urllib.parse import urlsplit

from .apps import App

_ORDER = json.dumps({"to": "+15550100", "type": "text", "text": {"body": "On its way"}})


class Caller(App):
    """Calls the API, and confirms an order by a response or a webhook."""

    is_confirmed = False

    def connect(self, chat_fake):
        super().connect(chat_fake)
        chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
        self.host = urlsplit(chat_fake.base_url).netloc
        self.headers = {"X-API-Key": chat_fake.api_key}

    def call(self, method, path, body=None):
        """Return the status of a response, and its body; 0 if the connection was closed."""
        with closing(HTTPConnection(self.host, timeout=60)) as connection:
            connection.request(method, path, body, self.headers)
            try:
                response = connection.getresponse()
            except ConnectionError:
                return 0, {}
            return response.status, json.loads(response.read(), parse_float=Decimal)

    def send(self):
        status, _ = self.call("POST", "/v2/messages", _ORDER)
        self.is_confirmed |= status == 200
        return status

    def notify(self):
        """Send the message about an order, once; the bugs are here."""
        self.send()

    def take(self, id, message):
        self.is_confirmed = True

    def scene(self, chat_fake):
        for _ in range(3):
            if not self.is_confirmed:
                self.notify()
            chat_fake.settle()
        assert len(chat_fake.messages) == 1


class SendsAgainAfterSilence(Caller):
    """Asks again at once if no response came, without the order's key; the twin keeps the key."""

    unsure = 0

    def notify(self):
        self.headers["Idempotency-Key"] = "order-17"
        if self.send() == self.unsure:
            if self.bug:
                del self.headers["Idempotency-Key"]
            self.send()


class SendsAgainAfterAnError(SendsAgainAfterSilence):
    """Does so after a 502, though the message may have been sent."""

    unsure = 502


class TakesAnErrorForSent(Caller):
    """Confirms an order that was refused."""

    def notify(self):
        if self.send() == 503 and self.bug:
            self.is_confirmed = True


class GivesUpOnAReply(Caller):
    """Responds to a person's message, and replies later: if that fails, nothing sends again."""

    def __init__(self):
        super().__init__()
        self.to_do = []
        self.replies = []

    def connect(self, chat_fake):
        super().connect(chat_fake)
        chat_fake.webhooks.disconnect()
        chat_fake.webhooks.connect(handler=self, events="*")

    def __call__(self, request):
        message = json.loads(request.body).get("chatInboundMessage")
        if message is not None and message["id"] not in self.seen:
            self.seen.add(message["id"])
            self.to_do.append(message["id"])

    def work(self):
        """Reply to all that wrote, once for each of their messages."""
        while self.to_do:
            self.headers["Idempotency-Key"] = self.to_do.pop()
            status = 0
            while status != 200:
                status, reply = self.call("POST", "/v2/messages", _ORDER)
                if status == 200:
                    self.replies.append(reply["id"])
                elif self.bug:
                    break

    def scene(self, chat_fake):
        chat_fake.recipient("+15550100").writes("Where is it?")
        chat_fake.settle()
        self.work()
        chat_fake.settle()
        assert [message.id for message in chat_fake.messages] == self.replies
        assert len(self.replies) == 1


class RepliesInTheBackground(GivesUpOnAReply):
    """Replies in a thread, after its response, to each event; the twin to each message."""

    def __init__(self):
        super().__init__()
        self.threads = []

    def __call__(self, request):
        message = json.loads(request.body).get("chatInboundMessage")
        if message is not None and self.is_news(message["id"]):
            self.threads.append(Thread(target=self.reply, args=(message["id"],)))
            self.threads[-1].start()

    def reply(self, id):
        if not self.bug:
            self.headers["Idempotency-Key"] = id
        while self.send() != 200:
            pass

    def work(self):
        for thread in self.threads:
            thread.join()

    def scene(self, chat_fake):
        chat_fake.recipient("+15550100").writes("Where is it?")
        self.work()
        chat_fake.settle()
        self.work()  # what came at that barrier
        chat_fake.settle()
        assert len(chat_fake.messages) == 1


_SEND = "path='/v2/messages', method='POST', start=1"

#: The bug of this one is found with defaults.
REPLIES = [RepliesInTheBackground]

CALLS = [
    (SendsAgainAfterSilence, "api.lose_response", f"api.lose_response({_SEND})"),
    (SendsAgainAfterAnError, "api.lose_response", f"api.lose_response(status=502, {_SEND})"),
    (TakesAnErrorForSent, "api.fail", f"api.fail(status=503, {_SEND})"),
    (GivesUpOnAReply, "api.lose_response", f"api.lose_response({_SEND})"),
]
