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

ORIGINS = [[None], ["marketing", "utility"]]
PEOPLE = [f"+{country}{n}" for country in (49155, 33755) for n in (1004711, 2207342, 9313131)]


def by_country(message):
    return "0.0900" if message.to.startswith("+49") else "0.03"


def by_origin(message):
    return {"marketing": "0.0900", "utility": "0.03"}[message.origin_type]


def by_status(message, status):
    return {"phase": status}


def two_ids(message, status):
    return {"externalId": f"order-{message.id}"}


NAMES = {
    field.name: [field.default, f"{field.name[:2]}.", f"heron{field.name.title()}_"]
    for field in fields(Naming)
} | {"id_prefix": ["wamid.", "id.", "a:b_", "hrn"], "to_key": [None, "to"]}
ACCOUNT = {"account": "111122223333444"}  # which looks like a telephone number
POOL = {
    "currency": ["USD", "EUR"],
    "price": ["0.05", "0.07", "0.0700", by_country, by_origin],
    "charge_per": ["conversation", "message"],
    "origin_type": ["marketing", "utility"],
    "conversation_type": ["REGULAR", "FREE_TIER"],
    "event_ids": ["unique", "per-message"],
    "sender": ["+15550199", "+4930901820"],
    "extra": [
        None,
        {"region": "eu", "limits": [0.5, None, {"day": "x"}]},
        by_status,
        two_ids,
        ACCOUNT,
    ],
    "omit": [(), ("bizType",), ("conversation",)],
    **NAMES,
}


def config_of(account):
    names = {name: account[name] for name in NAMES}
    others = {name: account[name] for name in POOL if name not in NAMES}
    return ChatFakeConfig(seed="account", naming=Naming(**names), **others)


def recorded(account, seed, steps=200):
    """The events of random steps, which are the same whatever the account is."""
    messages = []
    rng = random.Random(seed)
    with time_machine.travel(START, tick=False), ChatFake(config_of(account)) as fake:
        fake.webhooks.connect(handler=lambda request: None, events="*")
        for _ in range(steps):
            fake.clock.advance(seconds=rng.randrange(1, 9_000))
            verb = rng.choice(["send"] * 5 + ["deliver"] * 4 + ["read", "fail", "fail", "writes"])
            to, which = rng.choice(PEOPLE), rng.randrange(12)
            if verb == "send" or not messages:
                origin = rng.choice(ORIGINS[seed % 2])
                messages.append(fake.send_text("Hello", to=to, origin_type=origin))
            elif verb == "writes":
                fake.recipient(to).writes("Hi")
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
        # A number that is always the same may be the one recipient.
        has_to, extra = account["to_key"] is not None, account["extra"]
        is_one = not has_to and (account["from_key"] is not None or extra is ACCOUNT)
        is_price_hidden = {by_country: not has_to, by_origin: "conversation" in account["omit"]}
        is_id_hidden = account["id_prefix"] == "hrn"
        hidden = {
            "omit": is_one,
            "charge_per": account["omit"] == ("conversation",),
            "origin_type": account["omit"] == ("conversation",),
            "extra": callable(extra) or is_one,
            "price": is_price_hidden.get(account["price"]),
            "sender": account["from_key"] is None or not has_to,
            "from_key": not has_to,
            "id_prefix": is_id_hidden,
            "original_id_key": is_id_hidden,
        }
        for name in POOL.keys() - learned.keys():
            is_few = re.search(rf"# ({name}=|\"\+).*too few", text)
            if not hidden.get(name) and account[name] and not is_few:
                others = {recorded(account | {name: other}, seed) for other in POOL[name]}
                assert {real} == others, (seed, name)
    assert POOL.keys() == shown


def test_what_too_few_messages_show_is_never_code(tmp_path):
    path = tmp_path / "recording.jsonl"
    for seed in range(200 if THOROUGH else 16):
        rng = random.Random(seed)
        account = {name: rng.choice(values) for name, values in POOL.items()}
        path.write_bytes(recorded(account, seed, steps=19))

        scope: dict[str, ChatFakeConfig] = {}
        exec("\n".join(learn([str(path)])[0]), scope)

        assert ChatFakeConfig() == scope["CONFIG"], seed
