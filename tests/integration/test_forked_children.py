"""A forked child has no thread of its parent's: what it uses of ours works there all the same."""

import asyncio
import os
import threading
from contextlib import closing

import pytest

from pytest_chatfake import ChatFake
from pytest_chatfake.base.forks import new_lock, new_rlock
from pytest_chatfake.fake.fake import service
from pytest_chatfake.transport.client.http_client import HttpClient
from pytest_chatfake.transport.client.private_loop import PrivateLoop
from pytest_chatfake.transport.client.watchdog import watchdog
from pytest_chatfake.transport.client.worker import Worker

from .api_support import balance
from .forking import in_child
from .raw_server import OK, serving

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system can't fork")


@pytest.fixture
def serving_fake():
    """A fake whose server runs."""
    with ChatFake() as fake:
        assert fake.base_url
        yield fake


def balance_of_a_new_fake():
    with ChatFake(opening_balance="7") as fake:
        return balance(fake)


@pytest.mark.usefixtures("serving_fake")
def test_a_fake_of_the_child_has_a_server_of_its_own():
    assert in_child(balance_of_a_new_fake) == "7"


def test_a_fake_of_the_parent_is_served_by_the_parent(serving_fake):
    def ask():
        return [serving_fake.base_url, balance(serving_fake)]

    assert in_child(ask) == [serving_fake.base_url, "100"]
    serving_fake.assert_requested("GET", "/v2/balance", times=1)


def test_a_grandchild_asks_who_made_the_fake(serving_fake):
    def ask():
        balance_of_a_new_fake()
        with ChatFake() as fake:
            return [in_child(balance, fake), in_child(balance, serving_fake), fake.base_url]

    *balances, url = in_child(ask)
    assert balances == ["100", "100"]
    assert url != serving_fake.base_url
    serving_fake.assert_requested("GET", "/v2/balance", times=1)


def test_a_test_in_the_child_takes_the_parent_s_fakes_over(serving_fake):
    def change():
        service.take_over()
        serving_fake.send_text()
        return balance(serving_fake)

    assert in_child(change) == "99.95"
    assert balance(serving_fake) == "100"


def test_handlers_of_the_parent_serve_in_the_child_as_well(serving_fake):
    serving_fake.http.expect_request("/here").respond_with_data("ok")

    def ask():
        client = HttpClient(f"{serving_fake.http.url_for('/here')}", timeout=60)
        with closing(client):
            return client.post(b"", {}).body.decode()

    assert in_child(ask) == "ok"


def test_the_parent_serves_on_after_the_child_has_closed_its_fakes(serving_fake):
    def close():
        serving_fake.close()
        return balance_of_a_new_fake()

    assert in_child(close) == "7"
    assert balance(serving_fake) == "100"


@pytest.mark.parametrize("new", [new_lock, new_rlock])
def test_a_lock_that_another_thread_holds_is_open_in_the_child(new):
    lock, held, done = new(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(60)
    try:
        assert in_child(lock.acquire, False) is True
        assert lock.acquire(False) is False
    finally:
        done.set()
        holder.join()


def test_a_lock_of_the_thread_that_forks_stays_its_own():
    lock = new_rlock()
    with lock:
        assert in_child(lock._is_owned) is True


def test_a_worker_s_thread_starts_again_in_the_child():
    with closing(Worker("tests")) as worker:
        worker.call(int)
        assert in_child(worker.call, int, "7") == 7


async def waited():
    await asyncio.sleep(0)
    return "waited"


def test_a_loop_of_the_parent_goes_on_after_the_child_has_closed_its_own():
    with closing(PrivateLoop()) as loop:
        loop.run(waited(), None)

        def run_and_close():
            ours = [loop.run(waited(), None)]
            loop.close()
            return ours

        assert in_child(run_and_close) == ["waited"]
        woken = asyncio.Event()

        async def wake():
            running = asyncio.get_running_loop()
            timer = threading.Timer(0.1, running.call_soon_threadsafe, [woken.set])
            timer.start()  # while the loop waits
            await asyncio.wait_for(woken.wait(), 10)
            timer.join()

        loop.run(wake(), None)


def test_a_kept_connection_stays_with_the_parent():
    def keeps_alive(conversation):
        while conversation.read():
            conversation.send(OK)

    with serving(keeps_alive) as server, closing(HttpClient(server.url, timeout=60)) as client:
        client.post(b"parent", {})
        assert in_child(lambda: client.post(b"child", {}).status) == 200
        assert client.post(b"parent again", {}).status == 200

        assert [post.body for post in server.posts] == [b"parent", b"child", b"parent again"]
        assert len(server.connections) == 2


class Hangs:
    limit = 0.1
    current = None

    def __init__(self):
        self.ended = threading.Event()

    def on_timeout(self, _):
        self.ended.set()


def test_the_watchdog_looks_on_in_the_child():
    hanging = Hangs()
    watchdog.add(hanging)

    def is_ended():
        hanging.current = object()
        return hanging.ended.wait(60)

    assert in_child(is_ended) is True
    watchdog.remove(hanging)
