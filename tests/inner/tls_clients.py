import ssl
from urllib.request import Request, urlopen

import pytest


def test_the_fixtures(chat_fake, chat_fake_url, chat_fake_ca):
    assert chat_fake.base_url == chat_fake_url
    assert chat_fake.base_url.startswith("https://")
    assert chat_fake.ca_file == chat_fake_ca
    context = ssl.create_default_context(cafile=chat_fake_ca)
    query = Request(f"{chat_fake_url}/v2/balance", headers=chat_fake.headers)
    assert urlopen(query, context=context, timeout=5).status == 200


@pytest.mark.chat_fake(tls=False)
def test_without(chat_fake, chat_fake_url):
    assert chat_fake.base_url == chat_fake_url.replace("https", "http")


def test_in_a_frozen_future(chat_fake, chat_clock, chat_fake_ca):
    chat_clock.advance(days=5000)
    context = ssl.create_default_context(cafile=chat_fake_ca)
    query = Request(f"{chat_fake.base_url}/v2/balance", headers=chat_fake.headers)
    assert urlopen(query, context=context, timeout=5).status == 200
