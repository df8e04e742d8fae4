import ssl

import httpx
import pytest


@pytest.mark.chat_fake(tls=True)
def test_it(chat_explore, chat_fake_ca):
    context = ssl.create_default_context(cafile=chat_fake_ca)

    def world(chat_fake):
        chat_fake.webhooks.connect(handler=lambda request: 200)
        chat_fake.send_endpoint("/messages")
        order = {"to": "+1", "type": "text", "text": {"body": "Hi"}}
        with httpx.Client(verify=context, base_url=chat_fake.base_url) as client:
            for _ in range(2):
                try:
                    client.post("/messages", json=order, headers=chat_fake.headers)
                    break
                except httpx.TransportError:
                    pass
        chat_fake.settle()

    kinds = ["webhooks_first", "api.lose_response"]
    assert chat_explore(world, deviations=kinds).worlds > 2
