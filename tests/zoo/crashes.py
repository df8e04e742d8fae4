"""Apps that lose or repeat something when they crash between two commits, each with its twin."""

import asyncio
import inspect
import logging

from .apps import RANK, App, AsgiApp


class CommitsTwice(App):
    """Notes an event in one transaction, and acts on it in the next; the twin does so in one."""

    def commit(self):
        """Do nothing: it is where the app may crash."""

    crash_points = (commit,)

    def take(self, id, message):
        if self.notes(message):
            self.commit()
            self.acts(message)
            self.commit()

    def notes(self, message):
        """Whether an event is news, by what it says: its id may be another one next time."""
        key = f"{message['id']} {message['status']}"
        if key in self.seen:
            return False
        self.seen.add(key)
        if not self.bug:
            self.acts(message)
        return True

    def acts(self, message):
        if message["status"] == "delivered":
            self.statuses[message["id"]] = "delivered"


class AwaitsBetweenCommits(AsgiApp, CommitsTwice):
    """The same in an async app: each of its lines that await is a place to crash at."""

    crash_points = ()

    async def take_in_turn(self, message):
        if self.notes(message):
            await asyncio.sleep(0)  # for its database
            self.acts(message)


class WorksAfterItResponded(AsgiApp):
    """Notes an event, responds, and works in the background; the twin notes what is to be done."""

    def __init__(self):
        super().__init__()
        self.to_do = set()  # in its database, as all that it knows

    def connect(self, chat_fake):
        chat_fake.webhooks.connect(asgi=self.start(), restart=self.start)

    def start(self):
        for id in [] if self.bug else [*self.to_do]:  # what the process before had left
            self.finish(id)
        return self.asgi

    async def asgi(self, scope, receive, send):
        await super().asgi(scope, receive, send)
        await self.work()

    async def take_in_turn(self, message):
        if message["status"] == "delivered" and message["id"] not in self.seen:
            self.seen.add(message["id"])
            self.to_do.add(message["id"])

    async def work(self):
        for id in [*self.to_do]:
            await asyncio.sleep(0)
            self.finish(id)

    def finish(self, id):
        self.statuses[id] = "delivered"
        self.to_do.discard(id)


class LogsAndGoesOn(App):
    """Takes an event as done though its database has failed; the twin refuses it."""

    def save(self, message):
        known = self.statuses.get(message["id"], message["status"])
        self.statuses[message["id"]] = max(known, message["status"], key=lambda each: RANK[each])

    crash_points = (save,)

    def take(self, id, message):
        if id not in self.seen:
            try:
                self.save(message)
            except Exception:
                if not self.bug:
                    return 500
                logging.getLogger("shop").exception("can't save %s", id)
            self.seen.add(id)
        return 200


def _await_in(method):
    lines, first = inspect.getsourcelines(method)
    return f"crashes.py:{first + next(n for n, line in enumerate(lines) if 'await' in line)}"


#: Each with the deviation that finds it, and its verb.
CRASHES = [
    (
        CommitsTwice,
        "crash",
        "webhooks.crash(before='tests.zoo.crashes.CommitsTwice.commit', start=2)",
    ),
    (
        AwaitsBetweenCommits,
        "crash",
        f"webhooks.crash(line='{_await_in(AwaitsBetweenCommits.take_in_turn)}', start=2)",
    ),
    (
        WorksAfterItResponded,
        "crash",
        f"webhooks.crash(line='{_await_in(WorksAfterItResponded.work)}', start=2)",
    ),
    (
        LogsAndGoesOn,
        "error",
        "webhooks.error(before='tests.zoo.crashes.LogsAndGoesOn.save', start=2)",
    ),
]
