"""Apps that reply to people, whose snapshot lacks the replies; each has a bug, and a right twin."""

import json
import time
import uuid
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

from pytest_chatfake import WebhookTests


class Bot:
    """Replies once to each message; its own books only show who wrote.

    The methods below are where the bots with bugs differ.
    """

    bug = True

    def __init__(self, fake):
        self.fake, self.people, self.seen = fake, set(), {}

    def __call__(self, request):
        event = json.loads(request.body)
        message = event.get("chatInboundMessage")
        if message is None or self.is_known(id := self.id_of(event, message)):
            return 200
        if self.reply(message) != 200:
            return 503
        self.save(id)
        return 200

    def state(self):
        return sorted(self.people)

    def id_of(self, event, message):
        return message["id"]

    def is_known(self, id):
        return id in self.seen

    def save(self, id):
        self.seen[id] = time.time()
        self.people.add("+1")

    def reply(self, message):
        return self.post({**self.fake.headers, "Idempotency-Key": self.key_for(message)})

    def post(self, headers):
        order = {"to": "+1", "type": "text", "text": {"body": "We will call you"}}
        with closing(HTTPConnection(urlsplit(self.fake.base_url).netloc, timeout=60)) as connection:
            connection.request("POST", "/v2/messages", json.dumps(order), headers)
            return connection.getresponse().status

    def key_for(self, message):
        return message["id"]


class BotTests(WebhookTests):
    __test__ = False
    crash_points = (Bot.save, Bot.post)
    make = Bot

    def connect(self, chat_fake):
        chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
        app = self.make(chat_fake)
        chat_fake.webhooks.connect(handler=app, events="*", restart=lambda: app)
        return app.state

    def scenario(self, chat_fake):
        yield chat_fake.recipient("+1").writes("Where is it?")


class RepliesToDuplicates(Bot):
    """Knows no message that it had; the key of a reply is new in each try."""

    def is_known(self, id):
        return not self.bug and super().is_known(id)

    def key_for(self, message):
        return str(uuid.uuid4()) if self.bug else super().key_for(message)


class KnowsEventIds(Bot):
    """Knows messages by the ids of their events, and makes the keys of these as well."""

    def id_of(self, event, message):
        self.event = event
        return event["id"] if self.bug else super().id_of(event, message)

    def key_for(self, message):
        return self.event["id"] if self.bug else super().key_for(message)


class ForgetsWhatItHad(Bot):
    """Forgets messages after a day, and makes another key then; the twin remembers them longer."""

    @property
    def life(self):
        return 86_400 if self.bug else 864_000

    def is_known(self, id):
        return time.time() - self.seen.get(id, 0) < self.life

    def key_for(self, message):
        return f"{message['id']} {time.time() // self.life}"


class RepliesAgainAfterACrash(Bot):
    """Makes a new key for each try."""

    def key_for(self, message):
        return str(uuid.uuid4()) if self.bug else super().key_for(message)


class SavesFirst(Bot):
    """Takes a message as answered before it replies."""

    def reply(self, message):
        if self.bug:
            self.save(message["id"])
        return super().reply(message)


class TriesLater(Bot):
    """Accepts a message, and leaves a reply that failed to its worker; the bug has none."""

    def __init__(self, fake):
        super().__init__(fake)
        self.queue = []

    def reply(self, message):
        if super().reply(message) != 200:
            self.queue.append(message)
        return 200

    def state(self):
        waiting, self.queue = self.queue, []
        for message in waiting * (not self.bug):
            self.reply(message)
        return super().state()


#: The tests that each bug fails.
FAILED = {
    RepliesToDuplicates: [
        "duplicates",
        "duplicates_under_another_id",
        "duplicates_days_later",
        "a_crash",
        "an_error",
        "a_failing_api",
    ],
    KnowsEventIds: ["duplicates_under_another_id"],
    ForgetsWhatItHad: ["duplicates_days_later"],
    SavesFirst: ["a_crash", "an_error", "a_failing_api"],
    TriesLater: ["a_failing_api"],
    RepliesAgainAfterACrash: ["a_crash", "an_error", "a_failing_api"],
}


def correct(app):
    """The same app without its bug."""
    return type(f"{app.__name__}Correct", (app,), {"bug": False})
