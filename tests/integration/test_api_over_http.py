"""The HTTP API over real sockets (§4, §5)."""

from __future__ import annotations

import threading
from contextlib import closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest
import requests

from pytest_chatfake import ChatFake

from .api_support import SECONDS, balance

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def fake() -> Iterator[ChatFake]:
    with ChatFake(seed="over http", opening_balance="190.07658", timeout=SECONDS) as fake:
        yield fake


def test_an_account_that_is_asked_by_many_at_once_answers_all(fake: ChatFake) -> None:
    amounts: list[str] = []

    def client() -> None:
        amounts.extend(balance(fake) for _ in range(10))

    threads = [threading.Thread(target=client, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    fake.send_text().deliver()
    for thread in threads:
        thread.join(SECONDS)

    assert 80 == len(amounts) == len(fake.api.requests)
    assert set(amounts) <= {"190.07658", "190.02658"}


def test_a_truncated_answer_is_an_incomplete_read(fake: ChatFake) -> None:
    fake.api.truncate()
    with pytest.raises(requests.exceptions.ChunkedEncodingError, match="IncompleteRead"):
        balance(fake)
    assert "190.07658" == balance(fake)


@pytest.mark.parametrize("path", ["//v2/balance", "/v2//balance", "/v2/balance/", "/V2/balance"])
def test_a_path_that_is_nearly_right_is_wrong(fake: ChatFake, path: str) -> None:
    with closing(HTTPConnection(fake.http.host, fake.http.port, timeout=SECONDS)) as connection:
        connection.request("GET", path, headers={"X-API-Key": fake.api_key})

        assert 404 == connection.getresponse().status
