"""The fixtures, the marker and the ini option, as a team meets them."""

from ..inner import module_text


def test_the_two_examples_of_the_front_page_pass(pytester):
    pytester.makepyfile(module_text("front_page"))
    pytester.runpytest("-W", "error").assert_outcomes(passed=2)


def test_the_fixtures_are_what_they_say(pytester):
    pytester.makepyfile(module_text("fixtures"))
    pytester.runpytest().assert_outcomes(passed=8)


def test_one_url_serves_an_app_that_is_configured_once_for_the_session(pytester):
    pytester.makepyfile(module_text("app_of_the_session"))
    pytester.runpytest().assert_outcomes(passed=3)


# -- configuration ---------------------------------------------------------------------------------


def test_markers_override_the_configuration_of_the_fixture_field_by_field(pytester):
    pytester.makeconftest(
        """
        import pytest
        from pytest_chatfake import ChatFakeConfig

        @pytest.fixture
        def chat_fake_config():
            return ChatFakeConfig(price="0.20", currency="EUR")
        """
    )
    pytester.makepyfile(module_text("marked_tests"))
    pytester.runpytest("--strict-markers").assert_outcomes(passed=5)


def test_a_fixture_of_the_user_s_that_does_not_fit_is_named(pytester):
    pytester.makepyfile(
        """
        import pytest

        class TestConfig:
            @pytest.fixture
            def chat_fake_config(self):
                return "EUR"

            def test_it(self, chat_fake):
                pass

        class TestMode:
            @pytest.fixture
            def chat_fake_mode(self):
                return "Async"

            def test_it(self, chat_fake):
                pass
        """
    )
    pytester.runpytest().stdout.fnmatch_lines(
        [
            "the fixture chat_fake_config: expected a ChatFakeConfig(...), got 'EUR'",
            "the fixture chat_fake_mode: expected 'sync' or 'async', got 'Async'",
        ]
    )


def test_an_unknown_field_of_the_marker_is_named_and_the_valid_ones_listed(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.chat_fake(prize="0.10")
        def test_unknown(chat_fake): pass

        @pytest.mark.chat_fake(price=0.10)
        def test_float(chat_fake): pass

        @pytest.mark.chat_fake("0.10")
        def test_positional(chat_fake): pass

        @pytest.mark.chat_fake(event_ids="same")
        def test_choice(chat_fake): pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=4)
    result.stdout.fnmatch_lines_random(
        [
            (
                "@pytest.mark.chat_fake: ChatFakeConfig() got an unexpected argument 'prize'. It "
                "takes api_key, *"
            ),
            (
                '@pytest.mark.chat_fake: price must be exact: use "0.1" or Decimal("0.1") '
                "instead of the float 0.1"
            ),
            "@pytest.mark.chat_fake: expected keyword arguments, as in price='0.10', got ('0.10',)",
            "@pytest.mark.chat_fake: unknown event_ids 'same': use 'unique' or 'per-message'",
        ]
    )


def test_the_marker_and_the_fixtures_are_documented(pytester):
    result = pytester.runpytest("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.chat_fake(*fields): ChatFakeConfig fields*"])
    result = pytester.runpytest("--fixtures", "-q")
    for name in ("chat_fake", "chat_clock", "chat_receiver", "chat_fake_mode"):
        assert f"\n{name} -- " in result.stdout.str()
    for name in ("chat_fake_config", "chat_fake_url"):
        assert f"\n{name} [session scope] -- " in result.stdout.str()
    result = pytester.runpytest("--help")
    result.stdout.fnmatch_lines(["*chat_clock_start (string):*", "*chat_fake_strict (bool):*"])


def test_the_mode_is_a_fixture_that_can_be_overridden(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def chat_fake_mode():
            return "async"

        def test_it(chat_fake):
            assert chat_fake.config.mode == "async"
            with pytest.raises(TypeError, match="this fake is in async mode"):
                with chat_fake.webhooks.paused():
                    pass

        @pytest.mark.chat_fake(mode="sync")
        def test_the_configuration_comes_first(chat_fake):
            assert chat_fake.send_text().status == "sent"
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)
