"""Memories that measure real time, such as a redis server: the test's clock can't age them.

Each one is an entry of :data:`MEMORIES`. A :class:`MemoryWatch` notes which of them an app uses
while it handles an event, in whatever thread: :mod:`.tripwires` report the calls of a library's
functions, and methods that aren't written in Python are shadowed for as long.
"""

from __future__ import annotations

import gc
import inspect
import re
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import partial, wraps
from traceback import walk_stack
from types import FunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any, Final, NamedTuple, TypeAlias

from ..base.views import listed
from ..webhooks.attempts import Attempt
from .tripwires import find_loaded, set_detour
from .undoing import undo_with

#: The arguments of a call by name, if they are known; ``self``, and all of them
#: by position in ``given``.
Arguments: TypeAlias = Mapping[str, Any]

#: The real seconds past which something planned is a memory, and no longer a network timeout.
_LONG: Final = 600

#: The module whose timers close idle connections to aiohttp's server, after an hour.
_KEEP_ALIVE: Final = "aiohttp.web_protocol"

#: In seconds, 30 days: memcached takes a longer time for a moment.
_LONGEST: Final = 30 * 86_400

#: In seconds: a number that is at most this far in the future is a moment.
_FUTURE: Final = 10 * 365 * 86_400

#: Commands and options of redis, packed or not, after which a key may expire; a script may do
#: anything.
_EXPIRY: Final = re.compile(
    r"(?:'|\\n)(?:[EP]X(?:AT)?|H?P?EXPIRE(?:AT)?|[HP]?SETEX|EVAL\w*|FCALL|RESTORE)(?:'|\\r)",
    re.IGNORECASE,
)
_MOMENT: Final = re.compile(r"(?:'|\\n)(?:[EP]XAT|H?P?EXPIREAT)(?:'|\\r)", re.IGNORECASE)

#: A comparison with the moment of the database's own clock, in SQL and its parameters.
_SQL_CLOCK: Final = re.compile(
    r"\bWHERE\b.*?(?:\b(?:CURRENT_(?:TIMESTAMP|DATE|TIME)|LOCALTIMESTAMP|SYSDATE)\b"
    r"|\b(?:NOW|UNIXEPOCH|GETDATE|CURDATE|UTC_TIMESTAMP|\w+_TIMESTAMP)\(\d?\)|'now\b)",
    re.IGNORECASE | re.DOTALL,
)

#: Seconds since 1970, as an item of DynamoDB has them.
_SECONDS: Final = re.compile(r"\b\d{10}\b")


def _always(_: Arguments) -> bool:
    return True


def _never(_: Arguments) -> bool:
    return False


def _has_ttl(call: Arguments) -> bool:
    return bool(call.get("ttl"))


def _is_not_wall(call: Arguments) -> bool | None:
    # The timer is what a pickle would keep.
    _, (timer,) = call["self"].timer.__reduce__()
    return _goes_on(timer) or None


def _goes_on(timer: Callable[[], float]) -> bool:
    # The wall clock stands still between two readings.
    return timer() != timer()


def _has_own_ttl(call: Arguments) -> bool:
    return getattr(call["self"], "_LRUCacheWrapper__ttl", None) is not None


def _asks_for_absence(call: Arguments) -> bool:
    return call.get("exist") is not None


def _is_long(call: Arguments) -> bool | None:
    seconds = call.get("interval", 0)
    if getattr(call.get("callback"), "__module__", "") == _KEEP_ALIVE:
        return None
    if "when" in call:
        seconds = call["when"] - call["self"].time()
    return seconds > _LONG or None


def _is_scheduled(call: Arguments) -> bool | None:
    now = call["self"].timefunc
    return (_goes_on(now) and call["time"] - now() > _LONG) or None


def _is_rarely(call: Arguments) -> bool | None:
    limit = call["self"]
    return (limit.period > _LONG and _goes_on(limit.clock)) or None


def _refills_slowly(call: Arguments) -> bool | None:
    return call.get("capacity", 0) / call.get("rate", 1) > _LONG or None


def _asks_its_clock(call: Arguments) -> bool:
    # Not _shown(), in which no word begins after an escaped end of a line.
    return bool(_SQL_CLOCK.search(" ".join(map(str, call["given"][1:]))))


def _shown(call: Arguments) -> str:
    named = (value for name, value in call.items() if name not in {"self", "given"})
    return repr([*call["given"][1:], *named])


def _expires_in_redis(call: Arguments) -> bool | None:
    expires = bool(_EXPIRY.search(_shown(call)))
    return None if expires and _is_fakeredis(call["self"]) else expires


def _has_redis_moment(call: Arguments) -> bool:
    return bool(_MOMENT.search(_shown(call)))


def _is_fakeredis(connection: Any) -> bool:
    # A fake server of this process follows the test's clock.
    if any(kind.__module__.startswith("fakeredis") for kind in type(connection).__mro__):
        return True
    server = getattr(sys.modules.get("fakeredis"), "TcpFakeServer", None)
    port = getattr(connection, "port", None)
    return server is not None and any(
        each.server_address[1] == port for each in gc.get_objects() if type(each) is server
    )


def _has_memcached_moment(call: Arguments) -> bool:
    # Of a method without known names, the fourth one: add(self, key, value, time).
    given = (*(call.get(name) for name in ("expire", "exptime", "time")), *call["given"][3:4])
    return any(isinstance(seconds, int) and seconds > _LONGEST for seconds in given)


def _has_datetime(call: Arguments) -> bool:
    return any(isinstance(value, datetime) for value in (*call["given"], *call.values()))


def _expires_in_dynamodb(call: Arguments) -> bool | None:
    # An item expires at a number of its own, in seconds since 1970.
    client = call["self"]
    if client.meta.service_model.service_name != "dynamodb":
        return None
    now, numbers = time.time(), map(int, _SECONDS.findall(_shown(call)))
    return any(now < number <= now + _FUTURE for number in numbers)


class Memory(NamedTuple):
    """Something that keeps what an app stores, and forgets it by a clock of its own.

    Attributes:
        name: Its name in texts.
        places: What an app calls, as ``module:name``: a function, or a class with its methods.
        expires: Whether what a call stores will expire; None: the call has nothing to do with it.
        has_moment: Whether a call says at which moment something expires.
        instead: What to write so that it follows the test's clock.
        except_by: Callers whose calls don't count.
    """

    name: str
    places: tuple[str, ...]
    expires: Callable[[Arguments], bool | None] = _always
    has_moment: Callable[[Arguments], bool] = _never
    instead: str = ""
    except_by: tuple[str, ...] = ()


_FAKEREDIS: Final = "use fakeredis"

_POWERTOOLS: Final = "aws_lambda_powertools.utilities.idempotency."

#: These send moments of Python's clock to redis, or keep them in what they store; or their script
#: only deletes.
_FOLLOWERS: Final = (
    "limits.strategies.MovingWindow",
    "limits.aio.strategies.MovingWindow",
    _POWERTOOLS,
    "redis.lock.Lock.do_release",
    "redis.asyncio.lock.Lock.do_release",
)


def _redis(name: str, *places: str, instead: str = _FAKEREDIS) -> Memory:
    return Memory(name, places, _expires_in_redis, _has_redis_moment, instead, _FOLLOWERS)


def _memcached(*places: str) -> Memory:
    return Memory("memcached", places, has_moment=_has_memcached_moment)


#: The memories that we know.
MEMORIES: Final = (
    Memory(
        "cachetools",
        ("cachetools:_TimedCache", "cachetools:TTLCache", "cachetools:TLRUCache"),
        _is_not_wall,
        instead="pass timer=time.time",
    ),
    Memory("theine", ("theine.theine:Shard",), _has_ttl),
    Memory("aiocache", ("aiocache.backends.memory:SimpleMemoryBackend",), _has_ttl),
    Memory("async-lru", ("async_lru:_LRUCacheWrapper.__call__",), _has_own_ttl),
    Memory("cashews", ("cashews.backends.memory:Memory",), _asks_for_absence),
    Memory(
        "pyrate-limiter",
        ("pyrate_limiter.clocks:MonotonicClock", "pyrate_limiter.clocks:MonotonicAsyncClock"),
    ),
    Memory(
        "throttled-py",
        tuple(
            f"throttled.rate_limiter.gcra:Memory{action}{kind}"
            for action in ("Limit", "Peek")
            for kind in ("ActionLogic", "AtomicAction")
        ),
    ),
    Memory("cachebox", ("cachebox:TTLCache", "cachebox:VTTLCache"), has_moment=_has_datetime),
    Memory("moka-py", ("moka_py:Moka",)),
    Memory(
        "a timer of the event loop",
        ("asyncio:BaseEventLoop.call_at",),  # which call_later() and sleep() call
        _is_long,
        except_by=("aiocache.", "async_lru."),
    ),
    Memory("a threading.Timer", ("threading:Timer.__init__",), _is_long),
    Memory(
        "a sched.scheduler",
        ("sched:scheduler.enterabs",),
        _is_scheduled,
        instead="pass timefunc=time.time",
    ),
    Memory("ratelimit", ("ratelimit.decorators:RateLimitDecorator",), _is_rarely),
    Memory("token-bucket", ("token_bucket.storage:MemoryStorage",), _refills_slowly),
    Memory(
        "a database that compares with its own clock",
        (
            "sqlalchemy.engine.default:DefaultDialect.do_execute",
            "sqlalchemy.engine.default:DefaultDialect.do_execute_no_params",
            "django.db.backends.utils:CursorWrapper.execute",
            "peewee:Database.execute_sql",
            "pony.orm.dbapiprovider:DBAPIProvider.execute",
            "aiosqlite.core:Connection.execute",
            "aiosqlite.cursor:Cursor.execute",
            "psycopg.cursor:Cursor.execute",
            "psycopg.cursor_async:AsyncCursor.execute",
            "pymysql.cursors:Cursor.execute",
            "asyncpg.connection:Connection._execute",
        ),
        _asks_its_clock,
        instead="compare with a time from Python",
    ),
    _redis(
        "redis",
        "redis.connection:AbstractConnection.send_packed_command",
        "redis.asyncio.connection:AbstractConnection.send_packed_command",
        "aioredis.connection:Connection.send_packed_command",
    ),
    _redis(
        "valkey",
        "valkey.connection:AbstractConnection.send_packed_command",
        "valkey.asyncio.connection:AbstractConnection.send_packed_command",
    ),
    _redis(
        "redis",
        "coredis.connection:BaseConnection.create_request",
        "coredis.connection:BaseConnection.create_request_batch",
        instead="",
    ),
    Memory("valkey", ("glide.glide_client:BaseClient",)),
    _memcached(
        "pymemcache.client.base:Client",
        "memcache:Client",
        "pylibmc:Client",
        "aiomcache.client:FlagClient",
        "emcache.client:_Client",
        "bmemcached.protocol:Protocol",
    ),
    Memory(
        "DynamoDB",
        (
            "botocore.client:BaseClient._make_api_call",
            "aiobotocore.client:AioBaseClient._make_api_call",
        ),
        _expires_in_dynamodb,
        except_by=(_POWERTOOLS,),
    ),
)


class MemoryWatch:
    """Notes which memories an app uses while it handles an event.

    An app may store something in between that it only looks for when an event arrives, so calls at
    other times count as well if they say that something expires.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._set = set[str]()  # the places with tripwires
        self._handled = set[Attempt]()  # the attempts that have begun and not ended
        self._used = set[Memory]()
        self._expiring = set[Memory]()
        self._given_moments = set[Memory]()

    def begin(self) -> None:
        """Watch the libraries that the process has imported by now; called again, later ones."""
        for memory in MEMORIES:
            for place in memory.places:
                if place not in self._set and (found := find_loaded(place)) is not None:
                    self._set.add(place)
                    self._watch(found, memory)

    def end(self) -> None:
        """Stop watching."""
        self._stack.close()

    def begins(self, attempt: Attempt) -> None:
        self.begin()
        self._handled.add(attempt)

    def ended(self, attempt: Attempt) -> None:
        self._handled.discard(attempt)

    # What was seen

    @property
    def why_not_aged(self) -> str:
        """Why a move of the clock proves nothing, up to what to write; empty: it does."""
        seen = [memory for memory in MEMORIES if memory in self._used & self._expiring]
        if not seen:
            return ""
        names = listed(dict.fromkeys(memory.name for memory in seen))
        instead = dict.fromkeys(f"{memory.instead}, or " for memory in seen if memory.instead)
        why = f"your app keeps something in {names}, which the test's clock can't age: "
        return why + "".join(instead)

    @property
    def hint(self) -> str:
        """What may be wrong if the app fails; empty if nothing is known."""
        if not self._given_moments:
            return ""
        names = listed(dict.fromkeys(m.name for m in MEMORIES if m in self._given_moments))
        return (
            f"Hint: the app told {names} at which moment something expires. It computed the moment "
            f"from the test's clock, but {names} compares it with real time, so it may expire at "
            f"once. Give a duration of at most 30 days."
        )

    # Watching

    def _watch(self, found: Any, memory: Memory) -> None:
        if isinstance(found, FunctionType):
            self._set_tripwire(found, memory)
        if not isinstance(found, type):
            return
        for name in dir(found):
            if hasattr(object, name):
                continue
            static = inspect.getattr_static(found, name)
            function = getattr(static, "__func__", static)  # a class method's
            if isinstance(function, FunctionType):
                if name in vars(found) and not inspect.isgeneratorfunction(function):
                    self._set_tripwire(function, memory)
            elif isinstance(static, MethodDescriptorType | WrapperDescriptorType):
                self._shadow(found, name, static, memory)

    def _set_tripwire(self, function: FunctionType, memory: Memory) -> None:
        if inspect.isasyncgenfunction(function):
            return
        signature = inspect.signature(function)  # of the function that a decorator wraps

        def call(original: Any, *args: Any, **kwargs: Any) -> Any:
            self._note_call(memory, args, kwargs, signature)
            return original(*args, **kwargs)

        set_detour(function, call, self._stack)

    def _shadow(self, owner: type, name: str, method: Any, memory: Memory) -> None:
        @wraps(method)
        def shadow(*args: Any, **kwargs: Any) -> Any:
            self._note_call(memory, args, kwargs)
            return method(*args, **kwargs)

        is_own = name in vars(owner)
        undo = partial(setattr, owner, name, method) if is_own else partial(delattr, owner, name)
        undo_with(self._stack, undo)
        setattr(owner, name, shadow)

    def _note_call(
        self,
        memory: Memory,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        signature: inspect.Signature | None = None,
    ) -> None:
        # Nothing here may fail, because the app would.
        is_known = memory in self._used and memory in self._expiring
        if is_known and (memory.has_moment is _never or memory in self._given_moments):
            return
        with suppress(Exception):
            call: dict[str, Any] = {**kwargs, "self": args[0] if args else None, "given": args}
            if signature is not None:
                with suppress(TypeError):  # a decorator passes other arguments on
                    call |= signature.bind(*args, **kwargs).arguments
            expires = memory.expires(call)
            if expires is None or (memory.except_by and _has_caller(memory.except_by)):
                return
            if expires:
                self._expiring.add(memory)
            if self._handled:
                self._used.add(memory)
            if memory.has_moment(call):
                self._given_moments.add(memory)


def _has_caller(names: tuple[str, ...]) -> bool:
    # This thread's own frames.
    return any(
        f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}".startswith(names)
        for frame, _ in walk_stack(sys._getframe())
    )
