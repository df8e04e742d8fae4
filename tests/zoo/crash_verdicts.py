"""Apps for which a simulated crash is not like a real one, each next to a twin."""

import sqlite3
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from pathlib import Path

from pytest_chatfake import WebhookTests

LIBRARY = """
def respond(app, request):
    try:
        return app(request)
    except:
        return 500
"""

#: A framework that catches whatever an app raises.
framework = {"__name__": "framework.app"}
path = Path(sysconfig.get_path("purelib"), "framework", "app.py")
exec(compile(LIBRARY, path, "exec"), framework)


def save(statuses, message):
    statuses.add((message["id"], message["status"]))


class Shop(WebhookTests):
    __test__ = False
    crash_points = (save,)

    def connect(self, chat_fake):
        self.statuses = set()
        chat_fake.webhooks.connect(handler=self.receive)
        return lambda: sorted(self.statuses)

    def scenario(self, chat_fake):
        yield chat_fake.send_text("Hi").deliver()

    def receive(self, request):
        save(self.statuses, request.event.json()["chatMessage"])


class TestSwallowsTheCrash(Shop):
    __test__ = True

    def receive(self, request):
        try:
            super().receive(request)
        except:  # noqa: E722 - the bug
            return 500
        return 200


class TestBehindAFrameworkThatDoes(Shop):
    __test__ = True

    def receive(self, request):
        return framework["respond"](super().receive, request)


class TestHasAnotherScenario(Shop):
    """Never comes to the crash point of its base class."""

    __test__ = True

    def receive(self, request):
        message = request.event.json()["chatMessage"]
        self.statuses.add((message["id"], message["status"]))


class TestNamesWhatItNeverCalls(TestHasAnotherScenario):
    crash_points = (save,)


class TestSavesInAThread(Shop):
    __test__ = True

    def receive(self, request):
        save(set(), request.event.json()["chatMessage"])
        thread = threading.Thread(target=super().receive, args=[request])
        thread.start()
        thread.join()


class TestSavesOnlyInAPool(Shop):
    """Its own class names the point, which it does call."""

    __test__ = True
    crash_points = (save,)

    def receive(self, request):
        with ThreadPoolExecutor() as pool:
            pool.submit(*self.job, super().receive, request).result()

    @property
    def job(self):
        return ()


class TestSavesInAPoolWithTheContext(TestSavesOnlyInAPool):
    crash_points = (save,)

    @property
    def job(self):
        return (copy_context().run,)


class TestKeepsItsConnection(Shop):
    """Inserts each status once; with the bug, it remembers it in a transaction before."""

    __test__ = True
    bug = False

    def connect(self, chat_fake):
        self.database = sqlite3.connect(":memory:", check_same_thread=False)
        self.database.execute("CREATE TABLE seen (id PRIMARY KEY)")
        self.database.execute("CREATE TABLE shown (id PRIMARY KEY)")
        chat_fake.webhooks.connect(handler=self.receive)
        with closing(self.database):
            yield lambda: self.database.execute("SELECT id FROM shown ORDER BY id").fetchall()

    def receive(self, request):
        message = request.event.json()["chatMessage"]
        key = [message["id"] + message["status"]]
        if not self.database.execute("SELECT 1 FROM seen WHERE id = ?", key).fetchone():
            self.database.execute("INSERT INTO seen VALUES (?)", key)
            if self.bug:
                self.database.commit()
            save(set(), message)
            self.database.execute("INSERT INTO shown VALUES (?)", key)
            self.database.commit()


class TestKeepsItsConnectionWithTheBug(TestKeepsItsConnection):
    bug = True
    crash_points = (save,)
