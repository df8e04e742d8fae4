"""What happened to one message is found without reading what happened to all the others."""

from collections import defaultdict

from werkzeug.test import Client

from pytest_chatfake.fake.inside import Inside


def check(fake):
    """Compare what is found for each message with what is read of everything."""
    trace = Inside(fake).story.trace
    expected = defaultdict(list)
    for one in trace.records:
        expected[one._message].append(one)
    expected.pop(None, None)
    assert len(expected) >= len(fake.messages)
    assert {message: trace.of(message) for message in expected} == expected


def test_what_is_found_for_a_message_is_what_is_read_of_everything(fake):
    nested = []

    def app(request):
        if request.event.status == "read" and len(nested) < 3:
            check(fake)  # while this attempt is made
            nested.append(fake.send_text(to="+nested").deliver().id)
        return 500 if request.number == 1 and request.event.status == "delivered" else 200

    @fake.route("/send")
    def send(request):
        return {"id": fake.send_text(to="+route").id}

    hooks, client = fake.webhooks, Client(fake.wsgi_app)
    hooks.connect(handler=app, retry_after=[1])
    hooks.receiver()
    hooks.drop(status="sent", start=3, times=4)
    hooks.delay(5, status="read", start=2, times=2)
    phone = fake.recipient("+phone").goes_offline()
    for number in range(160):
        message = fake.send_text(to=f"+{number % 7}").deliver()
        if number % 3 == 0:
            message.read()
        if number % 10 == 0:
            client.post("/send", headers={"X-API-Key": fake.api_key})
            fake.send_text(to=phone)
            fake.top_up(1)
            fake.submit_text().reject()
            hooks.redeliver(fake.events[number])
            hooks.emit(message, "sent")
            hooks.emit_event("chat.inbound_message.received", {"text": "hi"})
            fake.clock.advance(1)
            check(fake)
    phone.comes_online()
    fake.send_text(to="+failed").fail()
    fake.send_text(to="+dropped")
    fake.clock.advance(days=30)
    check(fake)
    assert len(Inside(fake).records) > 2 * 1024

    fake.reset()
    hooks.receiver()
    fake.send_text().deliver()
    check(fake)
