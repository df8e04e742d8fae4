"""Where the API listens: on this machine alone, or where a container reaches it."""

from types import SimpleNamespace

import pytest

from pytest_chatfake.http_api.service import Service

from ..forked_pytest import run_pytest

REACHES = """
    from urllib.request import Request, urlopen

    def test_it(chat_fake, chat_fake_url):
        assert chat_fake_url.startswith("http://127.0.0.2:")
        query = Request(f"{chat_fake.base_url}/v2/balance", headers=chat_fake.headers)
        with urlopen(query, timeout=60) as response:
            assert response.status == 200
"""
WARNING = "chat_fake: warning: other machines may reach the API because of chat_fake_host=0.0.0.0"


def test_the_api_listens_where_the_ini_file_says(pytester):
    pytester.makepyfile(test_it=REACHES)
    result = run_pytest(pytester.path, "-o", "chat_fake_host=127.0.0.2")

    result.assert_outcomes(passed=1)
    assert "chat_fake: warning" not in result.stdout.str()


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_an_address_that_others_may_reach_is_said_once(pytester, options):
    pytester.makepyfile(test_it="def test_it(chat_fake):\n    chat_fake.send_text()")  # no socket
    result = run_pytest(pytester.path, "-o", "chat_fake_host=0.0.0.0", *options)

    assert result.stdout.lines.count(WARNING) == 1


@pytest.mark.parametrize("host", ["::1", "localhost", ""])
def test_what_is_no_ipv4_address_is_refused(pytester, host):
    result = run_pytest(pytester.path, "-o", f"chat_fake_host={host}")

    expected = f"expected an IPv4 address such as 0.0.0.0, got {host!r}"
    assert f"ERROR: the ini option chat_fake_host: {expected}" in result.stdout.str()


def test_on_this_machine_all_addresses_are_reached_by_the_local_one():
    service = Service()
    service._listener = SimpleNamespace(host="0.0.0.0", port=7, is_running=lambda: True)

    assert service.url == "http://127.0.0.1:7"
