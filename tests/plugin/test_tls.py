"""``chat_fake_tls``: the API over https, for the fixtures of a run."""

import pytest

pytest.importorskip("trustme")

URLS = """
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
"""


def test_the_ini_option_serves_https_to_every_test(pytester):
    pytester.makepyfile(URLS)
    result = pytester.runpytest_subprocess("-o", "chat_fake_tls=true", "-p", "no:cacheprovider")

    result.assert_outcomes(passed=3)


def test_the_marker_serves_https_to_one_test(pytester):
    pytester.makepyfile("""
        import pytest

        @pytest.mark.chat_fake(tls=True)
        def test_with(chat_fake, chat_fake_url):
            assert chat_fake.base_url == chat_fake_url.replace("http", "https")

        def test_without(chat_fake, chat_fake_url):
            assert chat_fake.base_url == chat_fake_url
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=2)


def test_another_value_is_refused(pytester):
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest_subprocess("-o", "chat_fake_tls=maybe")

    assert "the ini option chat_fake_tls" in result.stderr.str() + result.stdout.str()


def test_explorations_run_over_https(pytester):
    pytester.makepyfile("""
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
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=1)
