"""Random accounts, written down and learned again: what is printed as code gives the same bytes."""

# Asserts read `expected == actual`.

import random
import re
from contextlib import suppress
from dataclasses import fields

import time_machine

from pytest_chatfake import ChatFake, ChatFakeConfig, IllegalTransition, Naming
from pytest_chatfake.wire.learning import learn

from .required_paths import THOROUGH
from .scripts import START

PEOPLE = [f"+{country}{n}" for country in (49155, 33755) for n in (1004711, 2207342, 9313131)]


def by_country(message):
    return "0.0900" if message.to.startswith("+49") else "0.03"


def by_status(message, status):
    return {"phase": status}


def two_ids(message, status):
    return {"externalId": f"order-{message.id}"}


NAMES = {one.name: [one.default, f"{one.name[:2]}."] for one in fields(Naming)}
POOL = {
    "currency": ["USD", "EUR"],
    "price": ["0.05", "0.07", "0.0700", by_country],
    "charge_per": ["conversation", "message"],
    "origin_type": ["marketing", "utility"],
    "conversation_type": ["REGULAR", "FREE_TIER"],
    "event_ids": ["unique", "per-message"],
    "sender": ["+15550199", "+4930901820"],
    "extra": [None, {"region": "eu", "limits": [0.5, None, {"day": "x"}]}, by_status, two_ids],
    "omit": [(), ("bizType",), ("conversation",)],
    **NAMES,
}


def config_of(account):
    names = {name: account[name] for name in NAMES}
    others = {name: account[name] for name in POOL if name not in NAMES}
    return ChatFakeConfig(seed="account", naming=Naming(**names), **others)


def recorded(account, seed):
    """The events of 200 steps, which are the same whatever the account is."""
    messages = []
    rng = random.Random(seed)
    with time_machine.travel(START, tick=False), ChatFake(config_of(account)) as fake:
        for _ in range(200):
            fake.clock.advance(seconds=rng.randrange(1, 9_000))
            verb = rng.choice(["send"] * 5 + ["deliver"] * 4 + ["read", "fail", "fail"])
            to, which = rng.choice(PEOPLE), rng.randrange(12)
            if verb == "send" or not messages:
                messages.append(fake.send_text("Hello", to=to))
            else:
                with suppress(IllegalTransition):
                    getattr(messages[-1 - which % len(messages)], verb)()
        return b"\n".join(event.body for event in fake.events)


def found(lines):
    """The settings that are code, and those that a comment says to be the default."""
    text = re.sub(r"from pytest_chatfake .*|# (?=\w+=.*# the default)", "", "\n".join(lines))
    scope = {"ChatFakeConfig": dict, "Naming": dict}
    exec(text, scope)
    learned = scope["CONFIG"] | scope["CONFIG"].pop("naming")
    few = {"price"} if '# "+' in text else set()  # a row of the table is a comment
    return {name: value for name, value in learned.items() if value != {} and name not in few}


def test_a_learned_account_writes_the_same_bytes(tmp_path):
    path, shown = tmp_path / "recording.jsonl", set[str]()
    for seed in range(200 if THOROUGH else 16):
        rng = random.Random(seed)
        account = {name: rng.choice(values) for name, values in POOL.items()}
        path.write_bytes(real := recorded(account, seed))

        lines, _ = learn([str(path)])

        learned, text = found(lines), "\n".join(lines)
        assert real == recorded(account | learned, seed), (seed, learned)
        shown |= learned.keys()
        # The page of the program says what is not found although it shows.
        # A sender whom nobody writes to may be the one recipient.
        is_one = account["to_key"] is None and account["from_key"] is not None
        hidden = {
            "omit": is_one,
            "charge_per": account["omit"] == ("conversation",),
            "extra": callable(account["extra"]) or is_one,
            **dict.fromkeys(["id_prefix", "original_id_key"], account["extra"] is two_ids),
            **dict.fromkeys(["from_key", "price", "sender"], account["to_key"] is None),
        }
        for name in POOL.keys() - learned.keys():
            is_few = re.search(rf"# ({name}=|\"\+).*too few", text)
            if not hidden.get(name) and account[name] and not is_few:
                others = {recorded(account | {name: other}, seed) for other in POOL[name]}
                assert {real} == others, (seed, name)
    assert POOL.keys() == shown
