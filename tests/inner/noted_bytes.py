import hashlib
import os
import pathlib

import pytest


def note(name, fake):
    digest = hashlib.sha256(b"".join(event.body for event in fake.events)).hexdigest()
    keys = "/".join(event.id for event in fake.events)
    place = pathlib.Path(os.environ["NOTES"])
    place.mkdir(exist_ok=True)
    (place / name).write_text(digest + keys)


@pytest.mark.parametrize("number", range(4))
def test_numbers(chat_fake, chat_clock, number):
    chat_fake.send_text("one").deliver(devices=2).read()
    chat_clock.advance(hours=number)
    chat_fake.send_text("two", to="+2").fail()
    note(f"numbers-{number}", chat_fake)


class TestIt:
    def test_method(self, chat_clock, chat_fake):
        chat_fake.submit_text("three").reject()
        note("method", chat_fake)


def test_last(chat_fake, chat_clock):
    chat_fake.send_text("one").deliver(devices=2).read()
    note("last", chat_fake)
