"""How refusals read: some whole sentences. That each argument is refused is in `test_refusals`."""

from datetime import timedelta

import pytest
from inline_snapshot import snapshot

from pytest_chatfake import ChatFake, ChatFakeConfig, Edge
from pytest_chatfake.base.arguments import cited, takes

from .refused_arguments import Silent, asgi_app


async def is_done():
    raise NotImplementedError


def told(call):
    with pytest.raises((TypeError, ValueError, LookupError)) as caught:
        call()
    return str(caught.value)


def test_arguments_of_messages_and_people(fake):
    message = fake.send_text()
    calls = [
        lambda: fake.send_text(1),
        lambda: fake.send_text(to=""),
        lambda: fake.send_text(conversation="xyz"),
        lambda: fake.send_text(price=int),
        lambda: fake.send_text(price=0.05),
        lambda: fake.send_text(extra={"status": 1}),
        lambda: message.deliver(1.5),
        lambda: message.deliver(0),
        lambda: message.fail("999"),
        lambda: fake.recipient("+1", online=1),
        lambda: fake.assert_statuses(message, "sent", "delivred"),
        lambda: fake.assert_statuses(message, ["sent"]),
        lambda: fake.explain("id"),
        lambda: fake.find_message(body="Hi"),
    ]
    assert "\n".join(map(told, calls)) == snapshot("""\
body: expected a str, got 1
to: expected a non-empty str, got ''
conversation: expected a hex id such as 'c0ffee', got 'xyz'
price: expected an amount or a function, as in lambda message: "0.05", got <class 'int'>
price must be exact: use "0.05" or Decimal("0.05") instead of the float 0.05
extra can't replace 'status', a field of the description: a verb sets it. To send an event with it changed, see fake.webhooks.emit().
devices: expected an int, got 1.5
devices: expected an int from 1 to 10000, got 0
unknown code '999': use '131026' or '100', or pass its message=
online: expected a bool, got 1
unknown status 'delivred': use 'sent', 'delivered', 'read' or 'failed'
statuses: expected one argument for each status, got ['sent']
message: expected a Message, got 'id'
no message matches (body='Hi'). The closest:
  <Message 385cfdbc00ec320300000001 to +15550100: sent, held 0.05> has body='Hello'\
""")


def test_arguments_of_the_clock(fake):
    message = fake.send_text()
    calls = [
        message.after,
        lambda: message.after(minute=5),
        lambda: Edge("end", timedelta(0)),
        lambda: fake.clock.advance_to("session", message),
        lambda: fake.clock.run_until(is_done, limit=1),
        lambda: fake.wait_until(True),
    ]
    assert "\n".join(map(told, calls)) == snapshot("""\
after() takes one duration: after(90), after(timedelta(days=30)) or after(days=30)
after() takes days=, hours=, minutes=, seconds= and timedelta's other arguments, not minute=
unknown edge 'end': use 'session' or 'drop'
edge: expected an Edge, got 'session'. edges('session') returns three: 1 ms before, at, and 1 ms after the end of the session
predicate: expected a plain function (`def`, not `async def`)
predicate: expected a function of no arguments, as in lambda: app.is_done(), got True\
""")


def test_arguments_of_webhooks(fake):
    webhooks = fake.webhooks
    calls = [
        webhooks.connect,
        lambda: webhooks.connect(asgi_app),
        lambda: webhooks.connect(wsgi=asgi_app),
        lambda: webhooks.connect(wsgi="app"),
        lambda: webhooks.connect(asgi_app, path="/"),
        lambda: webhooks.connect("http://x", path="/"),
        lambda: webhooks.connect(handler=print, path=lambda event: "/"),
        lambda: webhooks.connect("http://x", client=lambda: "10.0.0.1"),
        lambda: webhooks.connect("http://x", event="*"),
        lambda: webhooks.connect("http://x", events="a.b"),
        lambda: webhooks.lose(tims=1),
        lambda: webhooks.replay("x", timing="fast"),
        lambda: webhooks.evolve(unknown="currency"),
        lambda: webhooks.redeliver("evt_1"),
        lambda: fake.api.fail(path="/v2/<"),
        lambda: fake.api.lose_response(status=502, reset=True),
        lambda: fake.api.rate_limit("tomorrow"),
        lambda: fake.api.rate_limit("Thu, 01 Jan 2026 12:00:00 GMT"),
        lambda: fake.api.rate_limit("Thu, 01 Jan 2026 12:00:00 -0000"),
        lambda: fake.api.rate_limit(timedelta(days=40_000)),
        lambda: fake.api.rate_limit(0),
    ]
    assert "\n".join(map(told, calls)) == snapshot("""\
connect() takes exactly one target: a URL, wsgi=app, asgi=app or handler=function; it got none
url: expected a str, got a callable. Pass an app or a function by keyword: wsgi=, asgi= or handler=
asgi_app looks like an ASGI app: connect it as asgi=
wsgi: expected a callable, got 'app'
url: expected a str, got a callable. Pass an app or a function by keyword: wsgi=, asgi= or handler=
path= goes with wsgi= or asgi= only, not with a URL
path= goes with wsgi= or asgi= only, not with handler=
client= goes with wsgi= or asgi= only, not with a URL
connect() got an unexpected argument 'event'. It takes wsgi, asgi, handler, path, client, headers, events, raise_exceptions, retry_after, signer, restart, disable_after.
events: expected a list of event types such as ["chat.message.updated"], got 'a.b'
lose() got an unexpected argument 'tims'. It takes times, start, message, status, endpoint, type.
unknown timing 'fast': use 'recorded' or 'at once'
unknown field in unknown= 'currency': use 'conversation.originType', 'conversation.type', 'errorCode', 'status' or 'type'
event: expected one of fake.events, got 'evt_1'
path: expected a path, or a rule such as /v2/messages/<id>, got '/v2/<'
reset: expected either reset=True or a response, got both
retry_after: expected seconds, or a date such as 'Wed, 21 Oct 2026 07:28:00 GMT', got 'tomorrow'
retry_after: expected a date after 2026-01-01 12:00:00+00:00, the fake's time
retry_after: expected seconds, or a date such as 'Wed, 21 Oct 2026 07:28:00 GMT', got 'Thu, 01 Jan 2026 12:00:00 -0000'
retry_after: expected at most timedelta(days=36000), got datetime.timedelta(days=40000)
retry_after: expected a duration greater than 0, got 0\
""")


def test_fields_of_the_configuration():
    calls = [
        lambda: ChatFake(colour="red"),
        lambda: ChatFakeConfig(currency="usd"),
        lambda: ChatFakeConfig(mode="asyncio"),
        lambda: ChatFakeConfig(strict=1),
        lambda: ChatFakeConfig(api_key_header="Authorization: Bearer very-secret"),
    ]
    assert "\n".join(map(told, calls)) == snapshot("""\
ChatFakeConfig() got an unexpected argument 'colour'. It takes api_key, api_key_header, opening_balance, currency, price, charge_per, origin_type, conversation_type, conversation_length, drop_after, event_ids, balance_amount, on_insufficient_balance, insufficient_balance_code, naming, webhook_url, timeout, seed, mode, retry_after, signer, extra, omit, inbound, outbound, tick, sender, strict, tls.
currency: expected a three-letter code such as 'USD', got 'usd'
unknown mode 'asyncio': use None, 'sync' or 'async'
strict: expected a bool, got 1
api_key_header: expected a header with {api_key} once in its ASCII value, as in 'X-API-Key: {api_key}' or 'Authorization: Bearer {api_key}'\
""")


def test_an_argument_is_cited_short_and_without_what_a_url_has_in_secret():
    assert repr("x" * 198) == cited("x" * 198)
    assert cited("x" * 199) == "'" + "x" * 196 + "..."
    assert cited(Silent()) == "<Silent without a repr>"
    assert cited(10**5_000) == "<int without a repr>"
    url = "https://ada:hush@example.com/hook?token=hush"
    assert cited(url) == "'https://...@example.com/hook?...'"


@pytest.mark.parametrize(
    ("function", "most"),
    [(lambda one, two=None: None, 2), (lambda one, *, name=None: None, 1), (dict, 9), (print, 9)],
)
def test_a_function_takes_what_it_shows_or_anything_if_it_shows_nothing(function, most):
    assert takes(function, 1)
    assert takes(function, *range(most))
    assert (most == 9) == takes(function, *range(most + 1))


@pytest.mark.parametrize("name", ["Authorization", "X-API-Key"])
def test_a_header_s_secret_is_not_cited(fake, name):
    assert "hush" not in told(
        lambda: fake.webhooks.connect("http://127.0.0.1:1/", headers={name: "hush-hush-hush\n"})
    )
