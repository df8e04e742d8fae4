"""Are the memories of real libraries still seen? In an environment of its own, with the newest::

    pip install -e . aiocache async-lru cachebox cachelib cachetools cashews coredis diskcache \
        dogpile.cache expiringdict fakeredis limits moka-py mongomock pymemcache pyrate-limiter \
        python-memcached redis theine throttled-py valkey
    redis-server & memcached & python tests/by_hand/memories.py

The table of memories names what is called by its name in the library, and some of these names are
private. Prints each library with which it is wrong: one was renamed, or moved.
"""

import asyncio
import tempfile
import time
import traceback
from datetime import timedelta
from importlib import import_module

import time_machine

from pytest_chatfake.exploring.memories import MemoryWatch

DAY = 86_400
ONE_DAY = timedelta(days=1)


def library(name):
    """Import a library when it is used: an app has done so before its first event."""
    return import_module(name)


async def aiocache_adds():
    await library("aiocache").SimpleMemoryCache().add(str(time.perf_counter()), 1, ttl=DAY)


async def async_lru_wraps():
    await library("async_lru").alru_cache(ttl=DAY)(asyncio.sleep)(0)


async def cashews_locks():
    cache = library("cashews").Cache()
    cache.setup("mem://")
    await cache.set("id", 1, expire=DAY, exist=False)
    await cache.close()


async def coredis_sets():
    async with library("coredis").Redis() as redis:
        await redis.set("id", 1, ex=60)


async def redis_sets():
    async with library("redis.asyncio").Redis() as redis:
        await redis.set("id", 1, ex=60)


def limit(storage, strategy):
    limits = library("limits")
    limiter = getattr(limits.strategies, strategy)(limits.storage.storage_from_string(storage))
    limiter.hit(limits.parse("1/day"), strategy)


def throttle(kind):
    throttled = library("throttled")
    options = {"quota": throttled.per_day(1), "store": throttled.MemoryStore()}
    throttled.Throttled(using=kind, **options).limit("id")


def rate_limit():
    rates = library("pyrate_limiter")
    rates.Limiter(rates.Rate(1, DAY * 1000)).try_acquire("id", blocking=False)


#: What an app does, and the memory's name; empty: it follows the clock, or never forgets.
USES = [
    (lambda: library("cachetools").TTLCache(9, DAY).update(id=1), "cachetools"),
    (lambda: library("cachetools").TTLCache(9, DAY, timer=time.time).update(id=1), ""),
    (lambda: library("cachetools").LRUCache(9).update(id=1), ""),
    (lambda: "id" in library("cachebox").TTLCache(9, DAY), "cachebox"),
    (lambda: library("cachebox").VTTLCache(9).insert("id", 1, ttl=DAY), "cachebox"),
    (lambda: library("moka_py").Moka(9, ttl=DAY).set("id", 1), "moka-py"),
    (lambda: library("theine").Cache(9).set("id", 1, ttl=ONE_DAY), "theine"),
    (lambda: asyncio.run(aiocache_adds()), "aiocache"),
    (lambda: asyncio.run(async_lru_wraps()), "async-lru"),
    (lambda: asyncio.run(cashews_locks()), "cashews"),
    (rate_limit, "pyrate-limiter"),
    (lambda: throttle("gcra"), "throttled-py"),
    (lambda: throttle("fixed_window"), ""),
    (lambda: library("redis").Redis().set("id", 1, ex=60), "redis"),
    (lambda: library("redis").Redis().sadd("ids", 1), ""),
    (lambda: asyncio.run(redis_sets()), "redis"),
    (lambda: asyncio.run(coredis_sets()), "redis"),
    (lambda: limit("redis://localhost", "FixedWindowRateLimiter"), "redis"),
    (lambda: limit("redis://localhost", "MovingWindowRateLimiter"), ""),
    (lambda: limit("memory://", "FixedWindowRateLimiter"), ""),
    (lambda: library("valkey").Valkey().set("id", 1, ex=60), "valkey"),
    (lambda: library("fakeredis").FakeRedis().set("id", 1, ex=60), ""),
    (lambda: library("pymemcache").Client("localhost").add("id", 1, expire=60), "memcached"),
    (lambda: library("memcache").Client(["localhost:11211"]).add("id", 1, time=60), "memcached"),
    (lambda: library("diskcache").Cache(tempfile.mkdtemp()).add("id", 1, expire=DAY), ""),
    (lambda: library("cachelib").SimpleCache().add("id", 1, timeout=DAY), ""),
    (lambda: library("expiringdict").ExpiringDict(9, DAY).update(id=1), ""),
    (lambda: library("mongomock").MongoClient().db.seen.insert_one({"_id": "id"}), ""),
]


def check(number, use, expected):
    """Use a memory twice, as it may be imported only now; print what is wrong."""
    watch = MemoryWatch()
    try:
        with time_machine.travel(1_767_268_800, tick=False):
            for _ in range(2):
                watch.begins(object())
                use()
    except Exception:
        traceback.print_exc(limit=1)
    finally:
        watch.end()
    why = watch.why_not_aged
    got = why and why.removeprefix("your app keeps something in ").partition(",")[0]
    if got != expected:
        print(f"use {number}: expected {expected!r}, got {got!r}")


if __name__ == "__main__":
    for number, (use, expected) in enumerate(USES, 1):
        check(number, use, expected)
    print(f"{len(USES)} uses")
