"""Which memories measure real time: what is noted while an app handles an event, and what isn't.

The modules here stand in for libraries, with the same names of modules and classes.
"""

import asyncio
import sched
import sys
import threading
import time
from datetime import UTC, datetime
from types import ModuleType, SimpleNamespace

import pytest
import sqlalchemy as sa
import time_machine
from aiohttp.web_protocol import RequestHandler
from inline_snapshot import snapshot

from pytest_chatfake import explore
from pytest_chatfake.exploring.memories import MemoryWatch, _asks_its_clock

from .cards import card, cards

DAY = 86_400

STAND_INS = {
    "cachetools": """
import time

class _Timer:
    def __init__(self, timer):
        self.timer = timer
    def __call__(self):
        return self.timer()
    def __reduce__(self):
        return _Timer, (self.timer,)

class LRUCache(dict):
    pass

class TTLCache(LRUCache):
    def __init__(self, maxsize, ttl, timer=time.monotonic):
        self.ttl, self.timer = ttl, _Timer(timer)
    def __contains__(self, key):
        return dict.__contains__(self, key) and self.timer() < self[key]
    def add(self, key):
        self[key] = self.timer() + self.ttl
""",
    "cachebox": """
class TTLCache(dict):  # whose methods aren't written in Python
    def __init__(self, maxsize, ttl):
        pass

class VTTLCache(dict):
    insert = str.format  # nor is this one
""",
    "redis": "",
    "redis.connection": """
class AbstractConnection:
    port, sent = 6379, ()
    def send_packed_command(self, command, check_health=True):
        self.sent = (*self.sent, command)
""",
    "redis.lock": """
class Lock:
    def do_release(self, connection):
        connection.send_packed_command([b"EVALSHA\\r\\n"])
""",
    "fakeredis": """
from redis.connection import AbstractConnection

class FakeConnection(AbstractConnection):
    pass

class TcpFakeServer:
    server_address = ("127.0.0.1", 6380)
""",
    "memcache": """
class Client:
    def add(self, key, val, time=0):
        return True
    @staticmethod
    def version():
        return 1
""",
    "async_lru": """
class _LRUCacheWrapper:
    def __init__(self, ttl):
        self.__ttl = ttl
    async def __call__(self, key):
        return key
""",
    "ratelimit.decorators": """
import time

class RateLimitDecorator:
    def __init__(self, period, clock=time.monotonic):
        self.period, self.clock = period, clock
        self.is_new()
    def is_new(self):
        return True
""",
    "token_bucket.storage": """
class MemoryStorage:
    def replenish(self, key, rate, capacity):
        return True
    def consume(self, key, num_tokens):
        return True
""",
    "botocore": "",
    "botocore.client": """
class BaseClient:
    def __init__(self, meta):
        self.meta = meta
    def _make_api_call(self, operation_name, api_params):
        return None
""",
}


@pytest.fixture
def lib(monkeypatch):
    """The modules that stand in for libraries, in a process whose wall clock stands still."""
    made = {name: ModuleType(name) for name in STAND_INS}
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
        exec(STAND_INS[name], vars(module))
    with time_machine.travel(1_767_268_800, tick=False):
        yield SimpleNamespace(**{name.rpartition(".")[2]: made[name] for name in made})


def watched(use, *, before=lambda: None):
    """The watch of an app that uses something between events, and something in one."""
    watch, event = MemoryWatch(), object()
    watch.begin()
    before()
    watch.begins(event)
    use()
    watch.ended(event)
    watch.end()
    return watch


def named(use, **options):
    """The names in the reason why nothing has aged; None: there is no reason."""
    why = watched(use, **options).why_not_aged
    return why and why.removeprefix("your app keeps something in ").partition(",")[0]


def send(connection, *words):
    connection.send_packed_command([b"".join(b"%s\r\n" % word for word in words)])


async def later(seconds, callback=print):
    asyncio.get_running_loop().call_later(seconds, callback).cancel()


def scheduled(seconds, **options):
    sched.scheduler(**options).enter(seconds, 1, print)


def filled(lib, capacity):
    bucket = lib.storage.MemoryStorage()
    bucket.replenish("id", 1, capacity)
    bucket.consume("id", 1)


def asked(*clauses):
    engine, seen = sa.create_engine("sqlite://"), sa.table("seen", sa.column("at"))
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE seen (at TEXT)"))
        connection.execute(sa.select(seen).where(*(clause(seen.c.at) for clause in clauses)))


def dynamodb(lib, service="dynamodb"):
    model = SimpleNamespace(service_name=service)
    return lib.client.BaseClient(SimpleNamespace(service_model=model))


#: How an app uses a memory, and its name.
USES = {
    "cachetools": lambda lib: lib.cachetools.TTLCache(9, DAY).add("id"),
    "cachebox": lambda lib: "id" in lib.cachebox.TTLCache(9, DAY),
    "redis": lambda lib: send(lib.connection.AbstractConnection(), b"SET", b"id", b"EX", b"60"),
    "memcached": lambda lib: lib.memcache.Client().add("id", 1, time=DAY),
    "async-lru": lambda lib: asyncio.run(lib.async_lru._LRUCacheWrapper(DAY)("id")),
    "a timer of the event loop": lambda _: asyncio.run(later(DAY)),
    "a threading.Timer": lambda _: threading.Timer(DAY, print),
    "a sched.scheduler": lambda _: scheduled(DAY),
    "ratelimit": lambda lib: lib.decorators.RateLimitDecorator(DAY),
    "token-bucket": lambda lib: filled(lib, DAY),
    "a database that compares with its own clock": lambda _: asked(lambda at: at < sa.func.now()),
    "DynamoDB": lambda lib: dynamodb(lib)._make_api_call(
        "PutItem", {"Item": {"id": "evt_1", "expires": {"N": str(int(time.time()) + DAY)}}}
    ),
}

#: How an app uses something that follows the test's clock, or that keeps what it knows for ever.
FOLLOWS = {
    "cachetools with a wall clock": lambda lib: lib.cachetools.TTLCache(
        9, DAY, timer=time.time
    ).add("id"),
    "cachetools without a ttl": lambda lib: lib.cachetools.LRUCache().update(id=1),
    "redis without an expiry": lambda lib: send(
        lib.connection.AbstractConnection(), b"SADD", b"seen", b"ex-1"
    ),
    "a lock that is released": lambda lib: lib.lock.Lock().do_release(
        lib.connection.AbstractConnection()
    ),
    "fakeredis": lambda lib: send(lib.fakeredis.FakeConnection(), b"SET", b"id", b"EX", b"60"),
    "async-lru without a ttl": lambda lib: asyncio.run(lib.async_lru._LRUCacheWrapper(None)("id")),
    "a scheduler with a wall clock": lambda _: scheduled(DAY, timefunc=time.time),
    "a scheduler for a moment": lambda _: scheduled(60),
    "a rate limit with a wall clock": lambda lib: lib.decorators.RateLimitDecorator(DAY, time.time),
    "a short rate limit": lambda lib: lib.decorators.RateLimitDecorator(60),
    "a small bucket": lambda lib: filled(lib, 60),
    "a time from Python": lambda _: asked(lambda at: at < datetime.now(UTC).isoformat()),
    "a time stamp of the database": lambda _: asked(),
    "a timeout": lambda _: asyncio.run(later(300)),
    "the keep-alive of aiohttp's server": lambda _: asyncio.run(
        later(3630, RequestHandler._process_keepalive)
    ),
    "DynamoDB without an expiry": lambda lib: dynamodb(lib)._make_api_call(
        "PutItem", {"Item": {"id": "evt_1", "at": int(time.time())}}
    ),
    "another service": lambda lib: dynamodb(lib, "sqs")._make_api_call(
        "SendMessage", {"DelaySeconds": int(time.time()) + DAY}
    ),
    "a set": lambda _: {1}.add(2),
}

#: How SQL asks the database for its time, and where a time of Python's stands in its place.
OWN_CLOCK = [
    "DELETE FROM seen WHERE at < CURRENT_TIMESTAMP",
    "DELETE FROM seen WHERE at < datetime('now', '-1 day')",
    "select 1 from seen where id = %s and at > now() - interval '1 day'",
    "SELECT 1 FROM seen WHERE at > unixepoch() - 86400",
    "SELECT 1 FROM seen\nWHERE at > clock_timestamp()",
    "SELECT 1 FROM seen WHERE at > STRFTIME('%Y-%m-%d', 'NOW')",
]
NO_CLOCK = [
    "INSERT INTO seen (id, at) VALUES (?, CURRENT_TIMESTAMP)",
    "UPDATE seen SET at = now() WHERE id = ?",
    "SELECT 1 FROM seen WHERE is_known_now = ? AND knows_now(id)",
    "SELECT 1 FROM seen WHERE to_timestamp(at) > ?",
]


@pytest.mark.parametrize("sql", OWN_CLOCK + NO_CLOCK)
def test_sql_that_compares_with_the_database_s_clock_is_known(sql):
    call = {"given": (None, sql, ("evt_1",))}
    assert _asks_its_clock(call) == (sql in OWN_CLOCK)


@pytest.mark.parametrize("name", USES)
def test_a_memory_that_measures_real_time_is_named(lib, name):
    assert named(lambda: USES[name](lib)) == name


@pytest.mark.parametrize("name", FOLLOWS)
def test_what_follows_or_never_forgets_is_not_named(lib, name):
    assert named(lambda: FOLLOWS[name](lib)) == ""


def test_a_fake_server_of_this_process_follows(lib):
    connection, server = lib.connection.AbstractConnection(), lib.fakeredis.TcpFakeServer()
    connection.port = server.server_address[1]

    assert named(lambda: send(connection, b"SETEX", b"id", b"60")) == ""


def test_a_memory_that_no_event_uses_is_not_named(lib):
    cache = lib.cachetools.TTLCache(9, DAY)

    assert named(lambda: None, before=lambda: cache.add("id")) == ""


def test_what_an_event_only_looks_for_is_named_if_it_expires(lib):
    redis = lib.connection.AbstractConnection()
    store = [b"SETEX", b"id", b"60"]

    assert named(lambda: send(redis, b"GET", b"id"), before=lambda: send(redis, *store)) == "redis"


def test_use_in_a_thread_that_ran_before_is_seen(lib):
    cache, begin = lib.cachetools.TTLCache(9, DAY), threading.Event()

    def work():
        begin.wait(10)
        cache.add("id")

    thread = threading.Thread(target=work)
    thread.start()

    def use():
        begin.set()
        thread.join(10)

    assert named(use) == "cachetools"


def test_a_library_imported_by_the_first_event_is_seen_in_the_next(lib, monkeypatch):
    cachetools = sys.modules.pop("cachetools")
    watch = MemoryWatch()
    watch.begin()
    monkeypatch.setitem(sys.modules, "cachetools", cachetools)
    watch.begins(object())
    cachetools.TTLCache(9, DAY).add("id")
    watch.end()

    assert "cachetools" in watch.why_not_aged


def test_several_memories_are_named_with_what_each_can_do_instead(lib):
    uses = [USES[name] for name in ("cachetools", "redis", "memcached")]
    why = watched(lambda: [use(lib) for use in uses]).why_not_aged

    assert why == snapshot(
        "your app keeps something in cachetools, redis and memcached, which the test's clock can't "
        "age: pass timer=time.time, or use fakeredis, or "
    )


def test_after_the_watch_a_library_is_as_it_was(lib):
    kinds = lib.cachetools.TTLCache, lib.cachebox.TTLCache, lib.cachebox.VTTLCache
    functions = [lib.cachetools.TTLCache.add, lib.connection.AbstractConnection.send_packed_command]
    before = [dict(vars(kind)) for kind in kinds], [each.__code__ for each in functions]
    watched(lambda: [use(lib) for use in USES.values()])

    assert ([dict(vars(kind)) for kind in kinds], [each.__code__ for each in functions]) == before


def test_the_app_gets_what_the_library_returns_and_raises(lib):
    def use():
        found.append((lib.memcache.Client().add("id", 1), lib.memcache.Client.version()))
        with pytest.raises(KeyError):
            lib.cachebox.TTLCache(9, DAY)["missing"]
        found.append(lib.cachebox.VTTLCache.fromkeys(["id"]))

    found = []
    watched(use)

    assert found == [(True, 1), {"id": None}]


#: How an app says at which moment something expires.
MOMENTS = {
    "redis": lambda lib: send(
        lib.connection.AbstractConnection(), b"SET", b"id", b"EXAT", b"1767355200"
    ),
    "memcached": lambda lib: lib.memcache.Client().add("id", 1, int(time.time()) + 31 * DAY),
    "cachebox": lambda lib: lib.cachebox.VTTLCache.insert("{}", datetime(2026, 1, 2, tzinfo=UTC)),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_a_moment_given_to_what_measures_real_time_is_hinted_at(lib, name):
    assert f"Hint: the app told {name} at which moment" in watched(lambda: MOMENTS[name](lib)).hint


@pytest.mark.parametrize("name", ["redis", "memcached", "cachebox"])
def test_a_duration_is_not(lib, name):
    assert watched(lambda: USES[name](lib)).hint == ""


# -- in tests --------------------------------------------------------------------------------------

#: An app that forgets ids after a day, in real time, and then counts them again if it is wrong.
SHOP = """
    import cachetools
    from pytest_chatfake import WebhookTests

    class OfAShop(WebhookTests):
        __test__ = False
        wrong = True

        def connect(self, chat_fake):
            self.seen, self.counts = cachetools.TTLCache(9, 86_400), {}
            chat_fake.webhooks.connect(handler=self.take)
            return lambda: dict(self.counts)

        def take(self, request):
            if request.id not in self.seen:
                self.seen.add(request.id)
                status = request.event.status
                self.counts[status] = self.counts.get(status, 0) + 1 if self.wrong else 1
"""

#: The app in two classes: one is wrong, the other is not.
FORGETS = """
    class TestForgets(OfAShop):
        __test__ = True
        def forget(self):
            self.seen.clear()

    class TestForgetsRightly(TestForgets):
        wrong = False
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run the rows of days later of a test module, and return the result."""
    monkeypatch.setenv("COLUMNS", "80")
    pytester.makepyfile(cachetools=STAND_INS["cachetools"])

    def run(code):
        pytester.makepyfile(test_shop=SHOP + code)
        return pytester.runpytest("-p", "no:inline_snapshot", "-k", "days_later")

    return run


def test_the_row_of_days_later_is_skipped_and_says_what_to_write(run):
    result = run("""
    class TestShop(OfAShop):
        __test__ = True
    """)

    assert cards(result) == snapshot("""\
TestShop
skipped  duplicates_days_later
           your app keeps something in cachetools, which the test's clock can't
           age: pass timer=time.time, or write a method forget(self) that
           deletes what has expired by then (def forget(self): pass if nothing
           expires)
""")


@pytest.fixture
def idle_thread():
    is_over = threading.Event()
    thread = threading.Thread(target=is_over.wait)
    thread.start()
    yield
    is_over.set()
    thread.join()


def test_an_idle_thread_does_not_hide_what_was_forgotten(run, idle_thread):
    result = run(FORGETS)

    assert cards(result) == snapshot("""\
TestForgets
FAILED   duplicates_days_later
           redelivering sent m1 changed the snapshot; ["sent"]: 3; before: 2
TestForgetsRightly
ok       duplicates_days_later: 6 events\
""")


def test_a_slow_worker_is_not_taken_for_a_wrong_app(run, idle_thread):
    result = run("""
    class TestWorksLater(OfAShop):
        __test__ = True

        def take(self, request):  # as a worker that is one event behind
            behind, self.behind = getattr(self, "behind", None), request
            if behind:
                super().take(behind)

        def forget(self):
            pass
    """)

    assert cards(result) == snapshot("""\
TestWorksLater
FAILED   duplicates_days_later
           ChatFakeError: assert_idempotent() can't tell: redelivering all
           events again changed nothing, so the app may have made this change in
           the background, for an earlier event. Wait for it first, as in
           chat_fake.wait_until(lambda: app.is_idle()). redelivering sent m1
           changed the snapshot; ["failed"]: 1; before: missing\
""")


def test_with_forget_the_row_judges(run):
    result = run(
        FORGETS
        + """
    class TestForgetsNothing(OfAShop):
        __test__ = True
        def forget(self):
            pass
    """
    )

    assert cards(result) == snapshot("""\
TestForgets
FAILED   duplicates_days_later
           redelivering sent m1 changed the snapshot; ["sent"]: 3; before: 2
TestForgetsNothing
ok       duplicates_days_later: 6 events
TestForgetsRightly
ok       duplicates_days_later: 6 events\
""")


def test_in_an_async_class_forget_may_be_async(run):
    result = run("""
    class TestShop(OfAShop):
        __test__ = True
        async def connect(self, chat_fake):
            return super().connect(chat_fake)
        async def forget(self):
            self.seen.clear()
    """)

    assert card(result) == {"duplicates_days_later": "FAILED"}


def test_a_forget_of_another_form_is_refused(run):
    result = run("""
    class TestAsync(OfAShop):
        __test__ = True
        async def forget(self):
            pass

    class TestYields(OfAShop):
        __test__ = True
        def forget(self):
            yield

    class TestTakesMore(OfAShop):
        __test__ = True
        def forget(self, chat_fake):
            pass
    """)

    assert cards(result) == snapshot("""\
TestAsync
FAILED   duplicates_days_later
           TypeError: forget(): expected a plain function, as connect() and
           scenario() are, got an async def
TestTakesMore
FAILED   duplicates_days_later
           TypeError: TestTakesMore: expected forget(self), got other parameters
           (missing a required argument: 'chat_fake'); connect() can set what it
           needs, as in self.cache = ...
TestYields
FAILED   duplicates_days_later
           TypeError: forget(): expected a function without yield\
""")


def world_of(lib):
    """A body whose app forgets ids after a day, in real time."""

    def world(chat_fake):
        seen, counts = lib.cachetools.TTLCache(9, DAY), {}

        def take(request):
            if request.id not in seen:
                seen.add(request.id)
                counts[request.id] = counts.get(request.id, 0) + 1

        chat_fake.webhooks.connect(handler=take)
        chat_fake.send_text().deliver()
        chat_fake.assert_order_independent(lambda: dict(counts))

    return world


def test_an_exploration_does_not_count_duplicate_later_as_tried(lib):
    explored = explore(world_of(lib), deviations=["duplicate_later"], depth=1)

    assert explored.complete is False
    assert str(explored) == snapshot(
        "3 worlds; duplicate_later was not tried: your app keeps something in cachetools, which "
        "the test's clock can't age: pass timer=time.time, or write a test that moves the clock, "
        "deletes what has expired by then, and calls assert_idempotent()"
    )


def test_one_requested_world_does_not_count_duplicate_later_as_tried(lib):
    only = ["webhooks.duplicate(pause=90000, start=1)"]

    assert str(explore(world_of(lib), only=only)) == snapshot(
        "1 world, only ['webhooks.duplicate(pause=90000, start=1)']; it proves nothing, as your "
        "app keeps something in cachetools, which the test's clock can't age: pass "
        "timer=time.time, or write a test that moves the clock, deletes what has expired by then, "
        "and calls assert_idempotent()"
    )


def test_a_failure_says_which_moment_the_clock_could_not_move(lib):
    def world(chat_fake):
        taken = []

        def take(request):
            lib.memcache.Client().add(request.id, 1, int(time.time()) + 31 * DAY)
            taken.append(request.id)

        chat_fake.webhooks.connect(handler=take)
        chat_fake.send_text().deliver()
        chat_fake.assert_order_independent(lambda: len(taken))

    with pytest.raises(AssertionError) as raised:
        explore(world, deviations=["duplicate"], depth=1)

    (hint,) = [note for note in raised.value.__notes__ if note.startswith("Hint")]
    assert hint == snapshot(
        "Hint: the app told memcached at which moment something expires. It computed the moment "
        "from the test's clock, but memcached compares it with real time, so it may expire at "
        "once. Give a duration of at most 30 days."
    )
