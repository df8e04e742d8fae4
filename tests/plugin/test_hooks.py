"""The hooks that other plugins may implement."""

from ..inner import module_text


def test_a_conftest_looks_at_attempts_and_gives_another_response(pytester):
    pytester.makeconftest(
        """
        from contextlib import contextmanager

        around = []

        @contextmanager
        def noted(attempt):
            around.append(f"before {attempt.event.status}")
            yield
            around.append(f"after {attempt.event.status}")

        def pytest_chatfake_attempt(attempt):
            return noted(attempt) if attempt.event.status != "read" else None

        def pytest_chatfake_reply(reply, is_balance):
            return reply()._replace(status=503) if is_balance or b"lost" in reply().body else None
        """
    )
    pytester.makepyfile(
        """
        from conftest import around
        from werkzeug.test import Client

        def test_attempts(chat_fake):
            app = around.append
            chat_fake.webhooks.connect(handler=lambda request: app(request.event.status))
            chat_fake.send_text().deliver().read()
            assert ["before sent", "sent", "after sent"] == around[:3]
            assert ["before delivered", "delivered", "after delivered", "read"] == around[3:]

        def test_calls(chat_fake):
            chat_fake.route("/send")(lambda _: {})
            client, headers = Client(chat_fake.wsgi_app), {"X-API-Key": chat_fake.api_key}
            assert 503 == client.get("/v2/balance", headers=headers).status_code
            assert 200 == client.post("/send", headers=headers).status_code
            chat_fake.api.fail(429)
            assert 429 == client.get("/v2/balance", headers=headers).status_code

        def test_records_of_calls(chat_fake):
            chat_fake.route("/lost")(lambda _: {"what": "lost"})
            client, headers = Client(chat_fake.wsgi_app), {"X-API-Key": chat_fake.api_key}
            assert 503 == client.get("/v2/balance", headers=headers).status_code
            assert 503 == client.post("/lost", headers=headers).status_code
            assert [200, 200] == [request.status for request in chat_fake.api.requests]
        """
    )
    pytester.runpytest().assert_outcomes(passed=3)


def test_an_error_of_a_hook_around_attempts_is_raised_in_the_test(pytester):
    pytester.makeconftest(
        """
        from contextlib import contextmanager

        @contextmanager
        def broken(attempt):
            if attempt.event.status == "sent":
                raise LookupError("before")
            yield
            raise LookupError("after")

        def pytest_chatfake_attempt(attempt):
            return broken(attempt)
        """
    )
    pytester.makepyfile(
        """
        import pytest

        def shop(environ, start_response):
            start_response("200 OK", [])
            return []

        @pytest.mark.parametrize("target", [{"handler": lambda request: None}, {"wsgi": shop}])
        def test_one_after_the_other(chat_fake, target):
            chat_fake.webhooks.connect(**target)
            with pytest.raises(LookupError, match="before") as raised:
                chat_fake.send_text()
            assert raised.value.__notes__[0].startswith("raised around")
            with pytest.raises(LookupError, match="after"):
                chat_fake.find_message().deliver()
            assert [each.status_code for each in chat_fake.webhooks.attempts] == [None, 200]

        def test_at_the_same_time(chat_fake):
            chat_fake.webhooks.connect(wsgi=shop)
            with pytest.raises(LookupError, match="before"):
                with chat_fake.webhooks.concurrently():
                    chat_fake.send_text().deliver()
            assert [each.status_code for each in chat_fake.webhooks.attempts] == [None, 200]
        """
    )
    pytester.runpytest().assert_outcomes(passed=3)


def test_a_conftest_looks_at_what_goes_from_a_test_and_at_its_report(pytester):
    pytester.makeconftest(
        """
        told = []

        def pytest_chatfake_forget(story):
            told.append(f"gone {len(story.trace.records)}")

        def pytest_chatfake_section(item, report, section):
            assert str(section) in report.longreprtext
            told.append(f"shown {item.name} {report.when}")
        """
    )
    pytester.makepyfile(module_text("resets"))
    pytester.runpytest().assert_outcomes(passed=2, failed=1)


def test_a_conftest_takes_its_own_keyword_out_of_the_marker(pytester):
    pytester.makeconftest(
        """
        def pytest_chatfake_fields(item, fields):
            if fields.pop("ticket", "SHOP") != "SHOP":
                raise ValueError(f"{item.name}: expected the ticket of a shop")
        """
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.chat_fake(ticket="SHOP", price="0.10")
        def test_it(chat_fake):
            assert "0.10" == str(chat_fake.config.price)

        @pytest.mark.chat_fake(ticket="7")
        def test_another(chat_explore): pass

        @pytest.mark.chat_fake(tickets="SHOP")
        def test_nobody_s(chat_fake): pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(
        [
            "*chat_fake: test_another: expected the ticket of a shop",
            "*chat_fake: *got an unexpected argument 'tickets'*",
        ]
    )
