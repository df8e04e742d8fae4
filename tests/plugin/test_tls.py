"""``chat_fake_tls``: the API over https, for the fixtures of a run."""

import pytest

from ..inner import module_text

pytest.importorskip("trustme")

URLS = module_text("tls_clients")


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
    pytester.makepyfile(module_text("explored_over_https"))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=1)
