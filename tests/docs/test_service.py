"""The page on the service says of fields and transitions what the fake does."""

import json
import re

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake
from pytest_chatfake.domain.messages import TRANSITIONS

from .pages import DOCS

PAGE = (DOCS / "reference" / "service.md").read_text("utf-8")
STATUSES = ("sent", "delivered", "read", "failed")


def section(mark):
    return re.split(rf"^#+ {mark} ", PAGE, flags=re.MULTILINE)[1].partition("\n#")[0].strip()


def table(mark):
    """The cells of the first table under the heading of a section, without its head."""
    lines = re.search(r"^\|.*?(?=\n\n|\Z)", section(mark), re.MULTILINE | re.DOTALL)
    assert lines is not None
    rows = [[cell.strip() for cell in line.strip("|").split(" |")] for line in lines[0].split("\n")]
    return rows[2:]


def fields(mark):
    """What the items of the list under the heading of a section begin with."""
    heads = re.findall(r"^- (`.+?):", section(mark), re.MULTILINE)
    return {name for head in heads for name in re.findall(r"`(\w+)`", head)}


@pytest.fixture(scope="module")
def bodies():
    """An event of each status, as the fake writes them."""
    with ChatFake() as fake:
        message = fake.send_text().deliver().read()
        failed = fake.send_text().fail()
        events = [*message.events, failed.events[-1]]
    return {event.status: event.json() for event in events}


def statuses(cell):
    """The statuses that a cell of §2.3 means."""
    if cell.startswith("every"):
        return set(STATUSES)
    named = {status for status in STATUSES if f"`{status}`" in cell}
    return set(STATUSES) - named if cell.startswith("not in") else named


@pytest.mark.parametrize("status", STATUSES)
def test_a_message_has_the_fields_of_its_status(status, bodies):
    expected = {row[0].strip("`") for row in table("§2.3") if status in statuses(row[2])}
    assert expected == set(bodies[status]["chatMessage"])


def test_the_parts_of_an_event_have_their_fields(bodies):
    read, failed = bodies["read"]["chatMessage"], bodies["failed"]["chatMessage"]
    assert fields("§2.2") == set(bodies["read"])
    assert fields("§2.4") == set(read["conversation"])
    assert fields("§2.4") - {"type"} == set(bodies["sent"]["chatMessage"]["conversation"])
    assert fields("§2.5") == set(failed["chatApiError"])
    assert {"messaging_product", "details"} == set(failed["chatApiError"]["error_data"])


def test_the_balance_and_the_error_have_their_fields():
    with ChatFake() as fake:
        client = Client(fake.wsgi_app)
        balance = client.get("/v2/balance", headers={"X-API-Key": fake.api_key}).json
        refusal = client.get("/v2/balance").json
    assert fields("§2.1") == set(balance)
    (shown,) = re.findall(r"`({.*})`", section("§7.1"))
    assert json.loads(shown) == refusal


def test_the_ways_from_status_to_status_are_the_codes():
    shown = {(row[0].strip("`()"), row[1].strip("`")) for row in table("§3")}
    before_sent, dropped = ("submitted", "failed"), ("sent", "dropped")  # rule 4, rule 5
    assert shown | {before_sent, dropped} == {
        (state, after) for state, verbs in TRANSITIONS.items() for after in verbs.values()
    }
