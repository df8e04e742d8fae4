"""``chat_fake_tls``: the API over https, for the fixtures of a run."""

from textwrap import dedent

import pytest

from ..forked_pytest import run_pytest
from ..inner import module_text

pytest.importorskip("trustme")


@pytest.fixture
def run(tmp_path):
    def run(tests, *options):
        (tmp_path / "test_it.py").write_text(dedent(tests))
        return run_pytest(tmp_path, "-p", "no:cacheprovider", *options)

    return run


def test_the_ini_option_serves_https_to_every_test(run):
    result = run(module_text("tls_clients"), "-o", "chat_fake_tls=true")

    result.assert_outcomes(passed=3)


def test_the_marker_serves_https_to_one_test(run):
    result = run("""
        import pytest

        @pytest.mark.chat_fake(tls=True)
        def test_with(chat_fake, chat_fake_url):
            assert chat_fake.base_url == chat_fake_url.replace("http", "https")

        def test_without(chat_fake, chat_fake_url):
            assert chat_fake.base_url == chat_fake_url
    """)

    result.assert_outcomes(passed=2)


def test_another_value_is_refused(run):
    result = run("def test_it(): pass", "-o", "chat_fake_tls=maybe")

    assert "the ini option chat_fake_tls" in result.stdout.str()


def test_explorations_run_over_https(run):
    run(module_text("explored_over_https")).assert_outcomes(passed=1)
