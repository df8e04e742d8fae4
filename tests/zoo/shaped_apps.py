"""Apps whose service posts statuses in a form of its own: nested JSON, or a form; and their tests.

The right ones take all that a right app has to; the others have one mistake each.
"""

from __future__ import annotations

import hmac
import json
import threading
from typing import TYPE_CHECKING, ClassVar
from unittest.mock import ANY
from urllib.parse import urlencode

import pytest
from werkzeug import Request, Response
from werkzeug.test import Client

from pytest_chatfake import ChatFakeConfig, HmacSigner, WebhookTests

from .right_service import RANK, SECRET

if TYPE_CHECKING:
    from collections.abc import Callable


class Statuses:
    """An app: the last status of each message, and what people wrote; each once."""

    def __init__(self, client, key):
        self.client = client
        self.headers = {"X-API-Key": key, "Idempotency-Key": "order-17"}
        self.lock = threading.Lock()
        self.known = {}
        self.notes = {}

    def send(self):
        body = {"to": "+4915550001", "type": "text", "text": {"body": "On its way"}}
        reply = self.client.post("/v2/messages", json=body, headers=self.headers).json
        self.take(reply["id"], "submitted")
        return str(reply["id"])

    def __call__(self, environ, start_response):
        request = Request(environ)
        good = hmac.new(SECRET.encode(), request.get_data(), "sha256").hexdigest()
        is_genuine = hmac.compare_digest(request.headers.get("X-Signature", ""), f"sha256={good}")
        status = (self.read(request) or 204) if is_genuine else 401
        return Response(status=status)(environ, start_response)

    def read(self, request):
        """Take what a body says, or return the status with which it is refused."""
        raise NotImplementedError

    def take(self, id, status):
        with self.lock:
            if RANK[status] > RANK.get(self.known.get(id, ""), -1):
                self.known[id] = status
            self.commits()

    def commits(self):
        """Do nothing: it is where the app may crash."""


class Nested(Statuses):
    def read(self, request):
        for entry in request.json["entry"]:
            for change in entry["changes"]:
                value = change["value"]
                for status in value.get("statuses", ()):
                    self.take(status["id"], status["status"])
                for wrote in value.get("messages", ()):
                    self.notes[wrote["id"]] = wrote["type"]
        return


class KnowsAllFields(Nested):
    def read(self, request):
        for told in request.json["entry"][0]["changes"][0]["value"].get("statuses", ()):
            if told.keys() != {"id", "status", "price"}:
                return 400
        return super().read(request)


class Form(Statuses):
    def read(self, request):
        if "Body" in request.form:
            self.notes[request.form["MessageSid"]] = request.form["Body"]
        else:
            self.take(request.form["MessageSid"], request.form["MessageStatus"])
        return


class Mail(Statuses):
    """Gets lists of events, as mail services post them, and none when a message is sent."""

    def read(self, request):
        for event in request.json:
            if "text" in event:
                self.notes[event["id"]] = event["text"]
            elif event["event"] in RANK:
                self.take(event["id"], event["event"])
        return


class Counts(Statuses):
    """Counts each status, as often as it comes."""

    def take(self, id, status):
        super().take(id, status)
        self.notes[status] = f"+{self.notes.get(status, '')}"


class CountsNested(Counts, Nested):
    pass


class CountsForms(Counts, Form):
    pass


class CountsMail(Counts, Mail):
    pass


class KnowsAllStatuses(Mail):
    """Loses a whole list, if it does not know the status of one event."""

    def read(self, request):
        for event in request.json:
            if event.get("event", "read") not in RANK:
                return 400
        return super().read(request)


def nested(event):
    message = event["chatMessage"]
    status = {"id": message["id"], "status": message["status"], "price": message["totalPrice"]}
    return entry_of(event["id"], statuses=[status])


def nested_note(message):
    return {"body": entry_of(message.id, messages=[message.resource])}


def entry_of(id, **value):
    return {"entry": [{"id": id, "changes": [{"field": "messages", "value": value}]}]}


def form(event):
    message = event["chatMessage"]
    return urlencode({"MessageSid": message["id"], "MessageStatus": message["status"]})


def form_note(message):
    body = message.content.get("body", "")
    return {"body": urlencode({"MessageSid": message.id, "Body": body})}


def mail(event):
    message = event["chatMessage"]
    if message["status"] == "sent":
        return None
    return [{"id": message["id"], "event_id": event["id"], "event": message["status"]}]


def mail_note(message):
    note = {"id": message.id, "text": message.content.get("body", "")}
    return {"body": json.dumps([note])}


SIGNER = HmacSigner(SECRET, header="X-Signature", format="sha256={signature}", content="{body}")


class ShapedTests(WebhookTests):
    __test__ = False
    crash_points = (Statuses.commits,)
    make: Callable[[Client, str], Statuses]
    headers: ClassVar = {}

    def connect(self, chat_fake):
        chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
        app = type(self).make(Client(chat_fake.wsgi_app), chat_fake.api_key)
        self.send = app.send
        chat_fake.webhooks.connect(wsgi=app, events="*", signer=SIGNER, headers=self.headers)
        return lambda: (app.known, app.notes)

    def expected(self, chat_fake):
        return {one.id: one.status for one in chat_fake.messages}, ANY

    def scenario(self, chat_fake):
        id = self.send()
        yield chat_fake.settle()
        yield chat_fake.message(id).deliver().read()


class NestedTests(ShapedTests):
    __test__ = False
    make = Nested

    @pytest.fixture
    def chat_fake_config(self):
        return ChatFakeConfig(outbound=nested, inbound=nested_note)


class FormTests(ShapedTests):
    __test__ = False
    make = Form
    headers: ClassVar = {"Content-Type": "application/x-www-form-urlencoded"}

    @pytest.fixture
    def chat_fake_config(self):
        return ChatFakeConfig(outbound=form, inbound=form_note)


class MailTests(ShapedTests):
    __test__ = False
    make = Mail

    def expected(self, chat_fake):
        known, notes = super().expected(chat_fake)
        # No event says that a message was sent.
        return {id: "submitted" if it == "sent" else it for id, it in known.items()}, notes

    @pytest.fixture
    def chat_fake_config(self):
        return ChatFakeConfig(outbound=mail, inbound=mail_note)


class TestNested(NestedTests):
    pass


class TestForm(FormTests):
    pass


class TestCountsNested(NestedTests):
    make = CountsNested


class TestKnowsAllFields(NestedTests):
    make = KnowsAllFields


class TestCountsForms(FormTests):
    make = CountsForms


class TestMail(MailTests):
    pass


class TestCountsMail(MailTests):
    make = CountsMail


class TestKnowsAllStatuses(MailTests):
    make = KnowsAllStatuses


class KnowsAllFieldsOfForms(Form):
    def read(self, request):
        if "Body" not in request.form and {*request.form} != {"MessageSid", "MessageStatus"}:
            return 400
        return super().read(request)


class TestKnowsAllFieldsOfForms(FormTests):
    make = KnowsAllFieldsOfForms
