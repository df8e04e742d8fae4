"""Apps that send, over a socket and with a database in a file; each has a bug, and a right twin."""

import hashlib
import json
import sqlite3
import threading
import time
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from pytest_chatfake import SendTests, WebhookTests

#: The customers that get a message.
ORDERS = ["order-1", "order-2"]


class Refused(Exception):
    """The service refused a message; it was not sent."""

    def __init__(self, status, code=""):
        super().__init__(f"{status} {code}".rstrip())
        self.status, self.code = status, code


class Unclear(Exception):
    """The message may have been sent."""


class Outbox:
    """Writes down what to send, and sends it later, with an idempotency key for each row.

    The methods below are where the apps with bugs differ.
    """

    header = "Idempotency-Key"

    def __init__(self, path, url, key):
        self.host, self.key = urlsplit(url).netloc, key
        self.db = sqlite3.connect(path, timeout=5, isolation_level=None)
        columns = "id PRIMARY KEY, state, tries DEFAULT 0, since"
        self.db.execute(f"CREATE TABLE IF NOT EXISTS box ({columns})")

    def close(self):
        self.db.close()

    def states(self):
        return dict(self.db.execute("SELECT id, state FROM box ORDER BY id"))

    def add(self, orders=ORDERS):
        rows = [(order, "new") for order in orders]
        self.db.executemany("INSERT OR IGNORE INTO box (id, state) VALUES (?, ?)", rows)

    def save(self, id, state):
        self.db.execute("UPDATE box SET state = ? WHERE id = ?", (state, id))

    def claim(self, id):
        """Make a row this worker's; False if another one has it."""
        claimed = self.db.execute(
            "UPDATE box SET state = 'sending', tries = tries + 1, since = ? "
            "WHERE id = ? AND state = 'new'",
            (time.time(), id),
        )
        return claimed.rowcount == 1

    def ready(self):
        query = "SELECT id FROM box WHERE state IN ('new', 'sending') ORDER BY id"
        return [id for (id,) in self.db.execute(query)]

    def work(self):
        for id in self.ready():
            self.send(id)

    def send(self, id):
        """A row that is in the state of sending was left by a crash, and its key still holds."""
        self.claim(id)
        try:
            self.post(id)
        except Unclear:
            self.save(id, "sending")
        except Refused as error:
            self.save(id, "failed" if error.status == 400 else "new")
        else:
            self.save(id, "sent")

    def key_for(self, id):
        return id

    def call(self, method, path, body=None, headers=None):
        """Return a response's status and body; raise ``Unclear`` if there is none."""
        headers = {"X-API-Key": self.key(), **(headers or {})}
        with closing(HTTPConnection(self.host, timeout=60)) as connection:
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, HTTPException) as error:
                raise Unclear(str(error)) from error

    def post(self, id):
        order = {"to": f"+{id[-1]}", "type": "text", "text": {"body": f"{id} is on its way"}}
        order |= {"reference": id}
        headers = {"Idempotency-Key": key} if (key := self.key_for(id)) else {}
        status, body = self.call("POST", "/v2/messages", json.dumps(order), headers)
        return self.read(status, body)

    def read(self, status, body):
        if status in (500, 502, 504):
            raise Unclear(status)
        try:
            found = json.loads(body)
        except ValueError:
            found = {}
        if status != 200:
            raise Refused(status, found.get("error", {}).get("code", ""))
        if found.get("status") == "failed":
            raise Refused(402, found["errorCode"])
        return found["id"]


class Tests(SendTests):
    """Ready-made tests for an outbox."""

    __test__ = False
    make = Outbox
    crash_points = (Outbox.save,)

    def connect(self, chat_fake, tmp_path_factory):
        chat_fake.send_endpoint(idempotency_header=self.make.header, echo=["reference"])
        self.path = tmp_path_factory.mktemp("outbox") / "outbox.db"
        self.restart(chat_fake)
        yield lambda: self.box.states()  # noqa: PLW0108 - of the latest one
        self.box.close()

    def restart(self, chat_fake):
        self.box = self.make(self.path, chat_fake.base_url, lambda: chat_fake.api_key)

    def send(self, chat_fake):
        self.box.add()

    def work(self, chat_fake):
        self.box.work()


class LooksUp(Outbox):
    """Has no key, but looks a message up before it sends it again, after ten minutes."""

    def ready(self):
        query = "SELECT id FROM box WHERE state = 'new' OR state = 'sending' AND since < ?"
        return [id for (id,) in self.db.execute(query, (time.time() - 600,))]

    header = None

    def key_for(self, id):
        return ""

    def send(self, id):
        if not self.claim(id):
            if not self.claim_again(id):
                return
            status, _ = self.call("GET", f"/v2/by-reference/{id}")
            if status == 200:
                self.save(id, "sent")
            if status != 404:
                return
        super().send(id)

    def claim_again(self, id):
        """Make a row this worker's that another one has left behind."""
        claimed = self.db.execute(
            "UPDATE box SET since = ? WHERE id = ? AND state = 'sending' AND since < ?",
            (time.time(), id, time.time() - 600),
        )
        return claimed.rowcount == 1


class NeverTwice(Outbox):
    """Has neither: it leaves what is unclear to a person."""

    header = None

    def key_for(self, id):
        return ""

    def ready(self):
        return [id for (id,) in self.db.execute("SELECT id FROM box WHERE state = 'new'")]

    def send(self, id):
        if self.claim(id):
            super().send(id)


class TestWithKey(Tests):
    pass


class TestWithLookup(Tests):
    make = LooksUp

    def connect(self, chat_fake, tmp_path_factory):
        @chat_fake.route("/v2/by-reference/<reference>", ["GET"])
        def find(_, reference):
            sent = [each for each in chat_fake.messages if each.status != "failed"]
            known = [each.id for each in sent if reference in each.body]
            return {"ids": known}, 200 if known else 404

        yield from super().connect(chat_fake, tmp_path_factory)


class TestNeverTwice(Tests):
    make = NeverTwice

    def undecided(self, snapshot):
        return "sending" in snapshot.values()


# Apps with a bug each


class ShowsATimeoutAsNotSent(Outbox):
    """Sends again under another key, because no response came; the twin keeps the key."""

    bug = True

    def key_for(self, id):
        (tries,) = self.db.execute("SELECT tries FROM box WHERE id = ?", (id,)).fetchone()
        return f"{id} {tries}" if self.bug else id

    def send(self, id):
        self.db.execute("UPDATE box SET state = 'new' WHERE id = ?", (id,))
        super().send(id)


class TriesForEver(Outbox):
    """Takes a 400 for an error that passes."""

    bug = True

    def save(self, id, state):
        super().save(id, "new" if self.bug and state == "failed" else state)


class TriesDaily(Outbox):
    """Tries a rejected message again each day; the twin does so for a week."""

    bug = True

    def ready(self):
        query = "SELECT id FROM box WHERE state = 'rejected' AND since < ? AND tries < ?"
        most = 1000 if self.bug else 7
        again = self.db.execute(query, (time.time() - 86_000, most))
        return [*super().ready(), *(id for (id,) in again)]

    def save(self, id, state):
        super().save(id, "rejected" if state == "failed" else state)

    def send(self, id):
        self.db.execute("UPDATE box SET state = 'new' WHERE id = ?", (id,))
        super().send(id)


class SpendsOnWhatIsRejected(Outbox):
    """Books the price of a message after its call, whatever the response was."""

    bug = True

    def __init__(self, path, url, key):
        super().__init__(path, url, key)
        self.db.execute("CREATE TABLE IF NOT EXISTS spent (id PRIMARY KEY)")

    def states(self):
        (sent,) = self.db.execute("SELECT count(*) FROM spent").fetchone()
        return {"states": super().states(), "spent": f"{0.05 * sent:.2f}"}

    def save(self, id, state):
        if state == "sent" or (self.bug and state == "failed"):
            self.db.execute("INSERT OR IGNORE INTO spent VALUES (?)", (id,))
        super().save(id, state)


class ListsWhatIsRejectedAsSent(Outbox):
    """Has done its work once there was a response."""

    bug = True

    def save(self, id, state):
        super().save(id, "sent" if self.bug and state == "failed" else state)


class ListsErrorsAsSent(Outbox):
    """Has a client that returns an error as a value, which nobody looks at."""

    bug = True

    def post(self, id):
        try:
            return super().post(id)
        except Refused as error:
            if not self.bug:
                raise
            return {"error": str(error)}


class GetsStuck(Outbox):
    """Waits for ever for a row that a crash left behind."""

    bug = True

    def ready(self):
        return NeverTwice.ready(self) if self.bug else super().ready()

    def send(self, id):
        try:
            self.claim(id)
            self.post(id)
        except Unclear:
            self.save(id, "new")
        except Refused as error:
            self.save(id, "failed" if error.status == 400 else "new")
        else:
            self.save(id, "sent")


class GetsStuckDaysLater(GetsStuck):
    """Does so with a message that is due in two days."""

    def __init__(self, path, url, key):
        super().__init__(path, url, key)
        self.db.execute("CREATE TABLE IF NOT EXISTS due (id PRIMARY KEY, at)")

    def add(self, orders=ORDERS):
        at = time.time() + 50 * 3600
        self.db.executemany("INSERT OR IGNORE INTO due VALUES (?, ?)", [(id, at) for id in orders])
        super().add(orders)

    def ready(self):
        due = self.db.execute("SELECT id FROM due WHERE at <= ?", (time.time(),)).fetchall()
        return [id for id in super().ready() if (id,) in due]


class SendsWhatAnotherSends(NeverTwice):
    """Looks which rows are new, and then sends them, whoever has begun to do so meanwhile."""

    bug = True

    def claim(self, id):
        return super().claim(id) or self.bug


class LocksItsProcess(SendsWhatAnotherSends):
    """Does so as well, but not in the same process."""

    lock = threading.Lock()

    def work(self):
        with self.lock:
            super().work()


class LosesTheRun(Outbox):
    """Takes all rows out of the box, and stops at a response that it can't read."""

    bug = True

    def ready(self):
        found = super().ready()
        if self.bug:
            self.db.execute("UPDATE box SET state = 'sent'")
        return found

    def read(self, status, body):
        if self.bug and body.startswith(b"<"):
            return json.loads(body)
        return super().read(status, body)


class GivesUpWithoutMoney(Outbox):
    """Takes a lack of money for the end of a message."""

    bug = True

    def read(self, status, body):
        try:
            return super().read(status, body)
        except Refused as error:
            if self.bug and error.code == "BALANCE_INSUFFICIENT":
                raise Refused(400, error.code) from None
            raise


class KeepsItsToken(Outbox):
    """Asks for its token once."""

    bug = True
    token = None

    def call(self, method, path, body=None, headers=None):
        if self.token is None or not self.bug:
            self.token = self.fetch()
        return super().call(method, path, body, headers)

    def __init__(self, path, url, key):
        super().__init__(path, url, lambda: self.token)
        self.fetch = key


class SendsTheBatchAgain(NeverTwice):
    """Sends all orders again, if one of them could not be sent."""

    bug = True

    def work(self):
        taken = [id for id in self.ready() if self.claim(id)]
        for id in taken:
            try:
                self.post(id)
            except Refused as error:
                again = taken if self.bug else [id]
                for each in again:
                    self.save(each, "failed" if error.status == 400 else "new")
                if self.bug:
                    return
            else:
                self.save(id, "sent")


class HashesWhatChanges(Outbox):
    """Makes its key of all fields of a row, the count of its tries among them."""

    bug = True

    def key_for(self, id):
        fields = "id, tries" if self.bug else "id"
        row = self.db.execute(f"SELECT {fields} FROM box WHERE id = ?", (id,)).fetchone()
        return hashlib.sha256(repr(row).encode()).hexdigest()

    def send(self, id):
        self.db.execute("UPDATE box SET tries = tries + 1 WHERE id = ?", (id,))
        super().send(id)


class Replies:
    """Replies to what people write, while it handles the webhook.

    The bug: it accepts the webhook although the reply was refused.
    """

    bug = False

    def __init__(self, fake):
        self.fake, self.replied = fake, {}

    def __call__(self, request):
        message = json.loads(request.body).get("chatInboundMessage")
        if message is None:
            return 200
        order = {"to": "+1", "type": "text", "text": {"body": "We will call you"}}
        headers = {**self.fake.headers, "Idempotency-Key": message["id"]}
        host = urlsplit(self.fake.base_url).netloc
        with closing(HTTPConnection(host, timeout=60)) as connection:
            connection.request("POST", "/v2/messages", json.dumps(order), headers)
            try:
                status = connection.getresponse().status
            except OSError:
                return 500
        self.replied[message["id"]] = status == 200
        return 200 if status == 200 or (self.bug and status == 429) else 503


class DropsReplies(Replies):
    bug = True


class RepliesTests(WebhookTests):
    __test__ = False
    make = Replies

    def connect(self, chat_fake):
        chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
        app = self.make(chat_fake)
        chat_fake.webhooks.connect(handler=app, events="*")
        return lambda: dict(app.replied)

    def scenario(self, chat_fake):
        yield chat_fake.recipient("+1").writes("Where is it?")


class TestDropsReplies(RepliesTests):
    make = DropsReplies


class TestReplies(RepliesTests):
    pass


#: The tests that each bug fails, and what the first of them says.
FAILED = {
    ShowsATimeoutAsNotSent: (
        ["a_lost_response", "a_garbled_response", "two_at_once", "a_crash"],
        (
            "the response to the 1st POST /v2/messages was lost; m3 repeats m1: same to and "
            "body, the idempotency keys differ"
        ),
    ),
    TriesForEver: (
        ["a_rejected_send"],
        (
            "the 1st POST /v2/messages and all later ones were refused with 400; it still "
            "tried in the last 5 hours, 42 times in all: a 400 never ends by itself"
        ),
    ),
    TriesDaily: (
        ["a_rejected_send"],
        (
            "the 1st POST /v2/messages and all later ones were refused with 400; it still "
            "tried in the last 5 days, 64 times in all: a 400 never ends by itself"
        ),
    ),
    SpendsOnWhatIsRejected: (
        ["a_rejected_send"],
        (
            "the 1st POST /v2/messages and all later ones were refused with 400; "
            '["spent"]: 0.10, as after an accepted send; before: 0.00'
        ),
    ),
    ListsErrorsAsSent: (
        ["a_refused_send", "a_garbled_response", "a_rotated_key", "out_of_funds"],
        (
            "the 1st POST /v2/messages was refused with 503; the message 'order-1 is on its "
            "way' to +1 was never sent"
        ),
    ),
    GetsStuck: (
        ["a_crash"],
        (
            "the app crashed before the API call (senders.py) in work(), which was called "
            "again; the message 'order-1 is on its way' to +1 was never sent"
        ),
    ),
    GetsStuckDaysLater: (
        ["a_crash"],
        (
            "the app crashed before the API call (senders.py) in work() #23, which was called "
            "again; the message 'order-1 is on its way' to +1 was never sent"
        ),
    ),
    SendsWhatAnotherSends: (
        ["two_at_once"],
        (
            "work() ran twice at the same time, and both attempts met before the API call; m3"
            " repeats m1: same to and body, no idempotency key"
        ),
    ),
    LosesTheRun: (
        ["a_garbled_response", "a_crash"],
        (
            "the 1st POST /v2/messages was refused with 503 and an HTML page; the message "
            "'order-1 is on its way' to +1 was never sent"
        ),
    ),
    GivesUpWithoutMoney: (
        ["out_of_funds"],
        (
            "there was no money at first, and then top_up(); the message 'order-1 is on its "
            "way' to +1 was never sent (m1 failed with BALANCE_INSUFFICIENT)"
        ),
    ),
    KeepsItsToken: (
        ["a_rotated_key"],
        "the API key was rotated; the message 'order-1 is on its way' to +1 was never sent",
    ),
    SendsTheBatchAgain: (
        ["a_refused_send", "a_garbled_response"],
        (
            "the 2nd POST /v2/messages was refused with 503; m2 repeats m1: same to and body,"
            " no idempotency key"
        ),
    ),
    HashesWhatChanges: (
        ["a_lost_response", "a_garbled_response", "two_at_once", "a_crash"],
        (
            "the response to the 1st POST /v2/messages was lost; m3 repeats m1: same to and "
            "body, the idempotency keys differ"
        ),
    ),
}


def correct(app):
    """The same app without its bug."""
    return type(f"{app.__name__}Correct", (app,), {"bug": False})
