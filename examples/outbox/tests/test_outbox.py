"""The outbox sends once: with a key, and with a look-up."""

from outbox import Outbox

from pytest_chatfake import SendTests


class TestWithAKey(SendTests):
    crash_points = (Outbox.save,)
    looks_up = False

    def connect(self, chat_fake, tmp_path_factory):
        header = None if self.looks_up else "Idempotency-Key"
        chat_fake.send_endpoint(idempotency_header=header)
        self.path = tmp_path_factory.mktemp("outbox") / "outbox.db"
        self.restart(chat_fake)

        def states():
            return self.outbox.states()  # of the latest one

        yield states
        self.outbox.close()

    def restart(self, chat_fake):
        url, looks_up = chat_fake.base_url, self.looks_up
        self.outbox = Outbox(self.path, url, lambda: chat_fake.api_key, looks_up=looks_up)

    def send(self, chat_fake):
        self.outbox.add("order 1", "+4915550001")
        self.outbox.add("order 2", "+4915550002")

    def work(self, chat_fake):
        self.outbox.work()


class TestWithALookUp(TestWithAKey):
    looks_up = True

    def connect(self, chat_fake, tmp_path_factory):
        @chat_fake.route("/v2/messages/by-reference/<name>", methods=["GET"])
        def find(request, name):
            sent = (each for each in chat_fake.messages if each.status != "failed")
            found = [each.id for each in sent if name in each.body]
            return {"ids": found}, 200 if found else 404

        yield from super().connect(chat_fake, tmp_path_factory)


def test_a_message_whose_response_was_lost_is_sent_once(chat_fake, chat_clock, tmp_path):
    chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
    outbox = Outbox(tmp_path / "outbox.db", chat_fake.base_url, lambda: chat_fake.api_key)
    outbox.add("order 1", "+4915550001")
    chat_fake.api.lose_response(path="/v2/messages")

    outbox.work()
    assert outbox.states() == {"order 1": "sending"}
    chat_clock.advance(hours=1)
    outbox.work()
    assert outbox.states() == {"order 1": "sent"}
    outbox.close()
    assert [message.body for message in chat_fake.messages] == ["Your order 1 is on its way"]
