"""Write what is looked at by hand: ``python tests/by_hand/make_pages.py FOLDER``.

Pages of 1, 200 and 1,000 tests, with explorations, coverage and mutants; a page with a timeline of
5,000 lines, a picture, and a page of pytest-html.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SUITE = """
import pytest
import time

from pytest_chatfake import WebhookTests


def app(environ, start_response):
    start_response("204 No Content", [])
    return []


def broken(environ, start_response):
    start_response("422 Unprocessable Content", [])
    return [b'{"detail": [{"loc": ["chatMessage", "to"], "msg": "Field required"}]}']


@pytest.mark.parametrize("number", range(NUMBER))
def test_a_campaign(chat_fake, chat_clock, number):
    chat_fake.webhooks.connect(wsgi=broken if number % 50 == 7 else app, path="/hooks/chat")
    if number % 20 == 3:
        chat_fake.webhooks.duplicate(status="delivered")
    first = chat_fake.send_text("Sale ends today").deliver().read()
    chat_fake.send_text("Are you there?", to="+15550102")
    chat_clock.advance(days=30)
    assert list(chat_fake.webhooks.attempts)
    if number == 0:
        time.sleep(1.1)
    assert number % 50 != 7
    if number % 100 == 9:
        pytest.skip("not today")
"""

EXPLORED = """

def test_what_is_spent_is_counted_once(chat_explore):
    @chat_explore
    def world(chat_fake):
        spent = []
        def shop(request):
            message = request.json()["chatMessage"]
            spent.extend([message["totalPrice"]] * (message["status"] == "delivered"))
        chat_fake.webhooks.connect(handler=shop)
        chat_fake.send_text().deliver().read()
        assert len(spent) <= 1


def test_nothing_is_lost(chat_explore):
    @chat_explore
    def world(chat_fake):
        chat_fake.webhooks.receiver()
        chat_fake.send_text().deliver()


@pytest.mark.xfail(reason="not yet")
def test_a_refund(chat_fake, chat_receiver):
    chat_fake.assert_charged("0.05")


class TestWebhooksOfAShopWithALongName(WebhookTests):
    def connect(self, chat_fake):
        self.seen = []
        chat_fake.webhooks.connect(handler=self.take)
        return lambda: self.seen

    def take(self, request):
        self.seen.append(request.event.status)

    def scenario(self, chat_fake):
        chat_fake.send_text().deliver()


def test_without_a_fake():
    pass


@pytest.fixture
def broken_fixture(chat_fake):
    chat_fake.send_text()
    raise RuntimeError("the fixture is broken: " + "a long explanation " * 12)


def test_of_a_broken_fixture(broken_fixture):
    pass
"""

LONG = """
def test_five_thousand_lines(chat_fake, chat_clock, chat_receiver):
    for number in range(1250):
        chat_fake.send_text(to=f"+{number}")
    assert not chat_fake.timeline
"""

PICTURE = """
from pathlib import Path


def test_a_picture(chat_fake, chat_clock):
    def respond(request):
        if request.number == 1 and request.event.status == "sent" and not delivered:
            delivered.append(1)
            chat_fake.message(request.event.message_id).deliver()
        return 500 if request.event.status == "read" else 200

    delivered = []
    chat_fake.webhooks.connect(handler=respond)
    chat_fake.webhooks.duplicate(status="delivered")
    chat_fake.webhooks.lose(status="failed")
    message = chat_fake.send_text("Sale; ends #today <now> {1}", to="+1;2")
    message.read()
    chat_fake.webhooks.emit_event("chat.inbound_message.received", {"text": "a;b#c"})
    chat_fake.send_text(to="+3").fail()
    chat_clock.advance(days=30)
    Path("picture.svg").write_text(chat_fake.timeline.svg(), "utf-8")
    assert message.status == "delivered"
"""


def main(folder: Path) -> None:
    """Run each suite in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    suites = {
        "one": SUITE.replace("NUMBER", "1"),
        "some": SUITE.replace("NUMBER", "176") + EXPLORED,
        "thousand": SUITE.replace("NUMBER", "976") + EXPLORED,
        "long": LONG,
        "picture": PICTURE,
    }
    for name, code in suites.items():
        (folder / f"test_{name}.py").write_text(code, "utf-8")
        page = ["--chat-fake-report", f"{name}.html", "--chat-fake-coverage"]
        if name == "some":
            page += ["--chat-fake-mutants=fast"]
        if name == "picture":
            page += ["--html", "rows.html", "--self-contained-html"]
        options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-W", "ignore", *page]
        command = [sys.executable, "-m", "pytest", *options, f"test_{name}.py"]
        subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
        size = (folder / f"{name}.html").stat().st_size
        print(f"{name}.html: {size / 1_000_000:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
