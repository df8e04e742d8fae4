"""Ready-made tests of an app that sends, and keeps other amounts than the fake's books."""

import json
from urllib.request import Request, urlopen

import pytest

from pytest_chatfake import SendTests


@pytest.mark.chat_fake(price="0.0715")
class TestRoundsWhatItReserves(SendTests):
    test_a_lost_response = test_a_rejected_send = test_a_garbled_response = None
    test_a_rotated_key = test_out_of_funds = test_two_at_once = test_a_crash = None

    def connect(self, chat_fake):
        chat_fake.send_endpoint()
        return lambda: {"reserved": round(chat_fake.balance.held, 2)}

    def send(self, chat_fake):
        body = json.dumps({"to": "+1", "type": "text", "text": {"body": "Hi"}}).encode()
        headers = {**chat_fake.headers, "Content-Type": "application/json"}
        urlopen(Request(f"{chat_fake.base_url}/v2/messages", body, headers), timeout=10).close()

    def expected(self, chat_fake):
        return {"reserved": chat_fake.balance.held}


class TestRaisesInItsWorker(TestRoundsWhatItReserves):
    def work(self, chat_fake):
        raise LookupError("nothing to do")
