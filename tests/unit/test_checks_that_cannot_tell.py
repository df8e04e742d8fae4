"""Checks that would pass without having checked anything are refused, with what to write."""

import asyncio
import json
import threading
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from ipaddress import ip_interface
from operator import attrgetter
from pathlib import Path
from uuid import UUID

import attrs
import pytest

from pytest_chatfake import ChatFake, ChatFakeError, NotAwaited

from .asgi_apps import respond


def repeated(fake):
    """Connect an app that counts what comes twice, and let it take two events."""
    seen = []
    fake.webhooks.connect(handler=lambda request: seen.append(request.id))
    fake.send_text().deliver()
    return seen


@pytest.mark.parametrize(
    "set_up", [lambda w: w.lose(), lambda w: w.delay(30), lambda w: w.reorder()]
)
def test_no_fault_keeps_what_comes_again_from_the_app(fake, set_up):
    seen = repeated(fake)
    with set_up(fake.webhooks), pytest.raises(AssertionError, match="redelivering"):
        fake.assert_idempotent(lambda: len(seen))
    fake.reset()


def test_an_event_that_is_held_back_is_not_called_idempotent(fake):
    seen = repeated(fake)
    with (
        fake.webhooks.paused(),
        pytest.raises(ChatFakeError, match="was not redelivered"),
    ):
        fake.assert_idempotent(lambda: len(seen))


@pytest.mark.asyncio
async def test_an_event_held_back_in_async_mode_is_not_called_idempotent(fake):
    seen = repeated(fake)
    async with fake.webhooks.paused():
        with pytest.raises(ChatFakeError, match="was not redelivered"):
            await fake.assert_idempotent(lambda: len(seen))


@pytest.mark.parametrize("check", ["assert_idempotent", "webhooks.assert_rejects_forgeries"])
def test_a_receiver_waits_for_no_attempt_of_its_own(fake, check):
    repeated(fake)
    fake.webhooks.connect(handler=lambda request: attrgetter(check)(fake)(list) and None)
    with pytest.raises(ChatFakeError, match=r"^can't call assert_\w+\(\) from a"):
        fake.send_text()
    assert [event.status for event in fake.events] == ["sent", "delivered", "sent"]
    assert len(fake.webhooks.attempts) == 4  # nothing comes again


def test_where_nothing_was_taken_there_is_nothing_to_check():
    with ChatFake() as fake, pytest.raises(ChatFakeError, match="nothing to redeliver"):
        fake.send_text()
        fake.assert_idempotent(lambda: 1)


def test_a_snapshot_that_cannot_be_compared_is_refused(fake):
    async def snapshot():
        return 1

    repeated(fake)
    with pytest.raises(TypeError, match="snapshot: expected a plain function"):
        fake.assert_idempotent(snapshot)
    with pytest.raises(TypeError, match=r"expected plain values.* objects that can't be copied"):
        fake.assert_idempotent({}.keys)


@dataclass
class Row:
    value: object


@dataclass(eq=False)
class Unequal:
    value: object


LOCAL = [lambda: 1, float("nan"), Decimal("NaN"), object(), Unequal(1)]


@pytest.mark.parametrize("value", LOCAL, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    ("around", "path"),
    [
        (lambda value: value, "snapshot"),
        (lambda value: {"a": [1, value]}, '["a"][1]'),
        (lambda value: (Row(value),), "[0].value"),
        (lambda value: {value}, "snapshot"),
    ],
)
def test_what_equals_nothing_but_itself_is_refused_with_its_place(fake, value, around, path):
    repeated(fake)
    with pytest.raises(TypeError) as caught:
        fake.assert_idempotent(lambda: around(value))
    text = str(caught.value)
    assert f"compared by value: {path}: " in text
    assert " at 0x" not in text


class Entity:
    """Equal if these attributes are, as in a model of Django's, which compares its key."""

    __slots__ = ()
    by = ("key",)

    def compared(self):
        return [getattr(self, name) for name in self.by]

    def __eq__(self, other):
        return self.compared() == other.compared()

    def __hash__(self):
        return 1


def entity(by="key", **fields):
    kind = type("Entity", (Entity,), {"by": by.split()})
    value = kind()
    vars(value).update(fields)
    return value


@attrs.define
class Order:
    entity: object


@pytest.mark.parametrize(
    ("around", "path"),
    [
        (lambda value: value, "snapshot"),
        (lambda value: {"a": [1, value]}, '["a"][1]'),
        (lambda value: {value}, "snapshot"),
        (lambda value: {value: 2}, "snapshot"),
        (Order, ".entity"),
    ],
)
def test_what_equals_another_one_with_other_values_is_refused(fake, around, path):
    repeated(fake)
    with pytest.raises(TypeError) as caught:
        fake.assert_idempotent(lambda: around(entity(key=1, status="read")))
    assert str(caught.value).endswith(
        f"compared by value: {path}: <tests.unit.test_checks_that_cannot_tell.Entity object>, "
        f"which equals others with another status"
    )


class InSlots(Entity):
    __slots__ = ("key", "status")

    def __init__(self, key, status):
        self.key, self.status = key, status


class ByTwoKeysInSlots(InSlots):
    __slots__ = ("orderId",)
    by = ("key", "orderId")

    def __init__(self, key, status):
        super().__init__(key, status)
        self.orderId = 7


class Hidden(Entity):
    """Shows its state by properties."""

    by = ("_key",)

    def __init__(self, key, status):
        self._key, self.__status = key, status

    @property
    def status(self):
        return self.__status


class Derived(Hidden):
    """Has the same state, under the name of its base class."""


@dataclass(eq=False, frozen=True)
class Named(Entity):
    key: int
    status: str


class Column:
    """A field of a model that keeps its values in a dict of its own, as peewee's do."""

    def __set_name__(self, _, name):
        self.name = name

    def __get__(self, model, _):
        return self if model is None else model.values[self.name]

    def __set__(self, model, value):
        model.values[self.name] = value


class Model(Entity):
    key, status = Column(), Column()

    def __init__(self, *values):
        self.values = dict(zip(("key", "status"), values, strict=True))


@pytest.mark.parametrize(
    "value",
    [kind(1, "read") for kind in (InSlots, ByTwoKeysInSlots, Hidden, Derived, Named, Model)]
    + [entity("tenant_id _id", tenant_id="a", _id=1, status="read")],
)
def test_a_class_that_compares_keys_is_found_however_it_keeps_its_values(fake, value):
    repeated(fake)
    with pytest.raises(TypeError, match=r"which equals others with another status$"):
        fake.assert_idempotent(lambda: [value])


class Lazy(Entity):
    """Keeps what it has computed, and has a method."""

    def __init__(self):
        self.key = 1
        assert self.hash

    def pay(self):
        raise NotImplementedError

    @cached_property
    def hash(self):
        return hash(self)


class Whole(Model):
    """Compares all of its values."""

    by = ("values",)


@dataclass
class Changed:
    """Leaves out of comparisons what it names."""

    key: int
    at: int = field(compare=False)


@pytest.mark.parametrize(
    "value",
    [
        entity(key=1),
        entity(key=1, _cache=object),
        Lazy(),
        entity("key area", key=1, area=2, written="(2) 1"),  # a phone number
        entity("amount currency_id", amount=1, currency_id=2, text="1,00", name="one"),
        entity("paid valid", paid=True, valid=True, note="these are no ids"),
        entity("tenant_id order_id", tenant_id=1, order_id=2, _text="a/b"),
        Changed(1, 2),
        UUID(int=1),
        {Path("a"): hash(Path("a"))},
        ip_interface("10.0.0.1/8"),
        Whole(1, "read"),
    ],
)
def test_equality_may_leave_out_what_is_private_computed_or_chosen(fake, value):
    repeated(fake)
    fake.assert_idempotent(lambda: [value])


@pytest.mark.parametrize("value", [None, ..., Row, len, repeated, [1.5, "nan", {Decimal(1)}]])
def test_values_that_are_the_same_in_each_world_are_taken(fake, value):
    repeated(fake)
    fake.assert_idempotent(lambda: {"a": value})


@contextmanager
def a_thread_of_the_app():
    """While it lives, the app may do something by itself."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("is_older", [False, True])
def test_an_event_that_came_again_is_not_blamed_for_what_a_thread_may_do(is_older):
    replies, seen, sent = [], set(), []

    def app(request):
        sent.extend(replies)  # as if another thread had sent them
        replies.clear()
        if request.id not in seen:
            seen.add(request.id)
            replies.append("pong")

    thread = a_thread_of_the_app()  # a worker may begin with the app's module, before the fake
    with thread if is_older else nullcontext(), ChatFake() as fake:
        fake.webhooks.connect(handler=app)
        fake.send_text()
        with (
            nullcontext() if is_older else thread,
            pytest.raises(ChatFakeError, match=r"can't tell: .*wait_until.* redelivering sent m1"),
        ):
            fake.assert_idempotent(lambda: len(sent))


@pytest.mark.parametrize(("threads", "error"), [(1, AssertionError), (2, ChatFakeError)])
def test_a_change_that_comes_once_proves_nothing_if_a_thread_began(
    fake, monkeypatch, threads, error
):
    ids, again = set(), set()

    def running():
        return [threading.main_thread()] * (threads if again else 1)

    monkeypatch.setattr(threading, "enumerate", running)
    fake.webhooks.connect(handler=lambda one: (again if one.id in ids else ids).add(one.id))
    fake.send_text()
    with pytest.raises(error, match="redelivering sent m1 changed the snapshot"):
        fake.assert_idempotent(lambda: len(again))


def as_asgi(take):
    async def app(scope, receive, send):
        await take(json.loads((await receive())["body"])["id"])
        await respond(send, 204)

    return {"asgi": app}


def as_handler(take):
    async def handler(request):
        await take(request.id)

    return {"handler": handler}


@pytest.mark.parametrize(
    "connected",
    [as_asgi, as_handler, lambda take: {"handler": lambda request: take(request.id)}],
    ids=["ASGI app", "async function", "function that returns a coroutine"],
)
def test_an_event_that_came_again_is_not_blamed_for_what_a_task_may_do(fake, connected):
    tasks, sent = {}, []

    async def reply():
        await asyncio.sleep(0)
        sent.append("pong")

    async def take(id_):
        for _ in range(3):
            await asyncio.sleep(0)
        if id_ not in tasks:
            tasks[id_] = asyncio.create_task(reply())

    fake.webhooks.connect(**connected(take))
    fake.send_text()
    with pytest.raises(ChatFakeError, match=r"can't tell: .*wait_until.* redelivering sent m1"):
        fake.assert_idempotent(lambda: len(sent))


@pytest.mark.parametrize("has_thread", [False, True])
def test_an_app_that_lets_an_old_event_win_is_found_though_it_has_threads(fake, has_thread):
    statuses = {}
    fake.webhooks.connect(
        handler=lambda request: statuses.update({request.event.message_id: request.event.status})
    )
    fake.send_text().deliver()
    with (
        a_thread_of_the_app() if has_thread else nullcontext(),
        pytest.raises(AssertionError, match=r"^redelivering sent m1 changed the snapshot"),
    ):
        fake.assert_idempotent(lambda: dict(statuses))


def test_an_app_is_idempotent_if_everything_again_changes_nothing(fake):
    ids = set()
    fake.webhooks.connect(handler=lambda request: ids.add(request.id))
    fake.send_text().deliver()
    fake.assert_idempotent(lambda: ids)
    assert len(fake.webhooks.attempts) == 4


@pytest.mark.asyncio
async def test_a_check_is_awaited_in_async_mode_with_an_async_snapshot():
    with pytest.raises(NotAwaited), ChatFake(mode="async") as fake:
        ids = repeated(fake)

        async def snapshot():
            return ids

        with pytest.raises(AssertionError, match="redelivering sent m1"):
            await fake.assert_idempotent(snapshot)
        fake.assert_idempotent(list)


def test_outside_an_exploration_there_is_nothing_to_compare():
    with ChatFake() as fake, pytest.raises(ChatFakeError, match="isn't part of one"):
        fake.assert_order_independent(list)
