"""Random accounts, written down and learned again: what is printed as code gives the same bytes."""

import random
import re
from contextlib import suppress
from dataclasses import fields
from string import ascii_lowercase

import time_machine

from pytest_chatfake import ChatFake, ChatFakeConfig, IllegalTransition, Naming
from pytest_chatfake.learning.configuration import learn

from ..property.calls import START
from ..property.scripts import THOROUGH

ORIGINS = [[None], ["marketing", "utility"]]
PEOPLE = [f"+{country}{n}" for country in (49155, 33755) for n in (1004711, 2207342, 9313131)]


def by_country(message):
    return "0.0900" if message.to.startswith("+49") else "0.03"


def by_origin(message):
    return {"marketing": "0.0900", "utility": "0.03"}[message.origin_type]


# What a field of an account's own has that differs from event to event.
def a_status(message, status):
    return status


def an_order(message, status):
    return f"order-{message.id}"


def a_number(message, status):
    return f"{int(message.id, 16) % 10**14:015}"


def a_list(message, status):
    return [message.to[-4:], {"status": status}]


def shaped(message):
    """An inbound event of the account's own shape."""
    resource = {"sender": "a person", "from": message.from_, "to": message.to}
    return {"type": "post", "key": "inbound", "resource": resource}


def word(rng):
    return "".join(rng.choices(ascii_lowercase, k=rng.randrange(4, 9)))


def key(rng):
    return word(rng) + rng.choice(["", *"AZ09_-./:~{}"]) + word(rng)


def value(rng, depth=2):
    if depth and rng.random() < 0.3:
        return [value(rng, depth - 1) for _ in range(rng.randrange(3))]
    if depth and rng.random() < 0.3:
        return {key(rng): value(rng, depth - 1) for _ in range(rng.randrange(3))}
    texts = [word(rng), 'Grüße\n"\u2028', "20260301", "111122223333444"]
    return rng.choice([None, True, rng.randrange(9**9), -0.5, rng.choice(texts)])


def fields_of(rng, draw):
    return {key(rng): draw(rng) for _ in range(rng.randrange(3))}


NAMES = {
    field.name: lambda rng, default=field.default: rng.choice([default, key(rng)])
    for field in fields(Naming)
} | {"id_prefix": lambda rng: rng.choice(["wamid.", f"{word(rng)}:", "a:b_", "hrn"])}


def any_of(*values):
    return lambda rng: rng.choice(values)


#: A function that draws the value of each setting.
POOL = {
    "currency": any_of("USD", "EUR"),
    "price": any_of("0.05", "0.07", "0.0700", by_country, by_origin),
    "charge_per": any_of("conversation", "message"),
    "origin_type": any_of("marketing", "utility"),
    "conversation_type": any_of("REGULAR", "FREE_TIER"),
    "event_ids": any_of("unique", "per-message"),
    "sender": any_of("+15550199", "+4930901820"),
    "extra": lambda rng: fields_of(rng, value),
    "inbound": any_of(None, shaped),
    "varying": lambda rng: fields_of(rng, any_of(a_status, an_order, a_number, a_list)),
    "omit": lambda rng: tuple(
        rng.sample(["bizType", "conversation", "currency", "sendTime"], rng.choice([0, 0, 1, 2]))
    ),
    **NAMES,
}


def config_of(account):
    def extra(message, status):
        differing = {name: make(message, status) for name, make in varying.items()}
        return settings["extra"] | differing

    names = {name: account[name] for name in NAMES}
    settings = {name: account[name] for name in POOL if name not in NAMES}
    varying = settings.pop("varying")
    own = extra if varying else settings["extra"]
    return ChatFakeConfig(seed="account", naming=Naming(**names), **settings | {"extra": own})


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
                send = fake.send_text if which else lambda **to: fake.send("image", {"n": 1}, **to)
                messages.append(send(to=to, origin_type=origin))
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


def accounts():
    for seed in range(200 if THOROUGH else 16):
        rng = random.Random(seed)
        yield seed, rng, {name: draw(rng) for name, draw in POOL.items()}


def test_a_learned_account_writes_the_same_bytes(tmp_path):
    path, shown = tmp_path / "recording.jsonl", set[str]()
    for seed, rng, account in accounts():
        path.write_bytes(real := recorded(account, seed))

        lines, _ = learn([str(path)])

        learned, text = found(lines), "\n".join(lines)
        assert recorded(account | learned, seed) == real, (seed, learned)
        shown |= learned.keys()
        # The page of the program says what is not found although it shows.
        # A number that is always the same may be the one recipient.
        has_to, omit = account["to_key"] is not None, account["omit"]
        numbers = {"20260301", "111122223333444"} & {*map(str, account["extra"].values())}
        is_one = not has_to and (account["from_key"] is not None or numbers)
        is_price_hidden = {by_country: not has_to, by_origin: "conversation" in omit}
        other_ids = {an_order, a_number}.intersection(account["varying"].values())
        is_id_hidden = account["id_prefix"] == "hrn" or other_ids
        hidden = {
            "inbound": True,
            "varying": True,
            "omit": is_one,
            "charge_per": not {"conversation", "sendTime"}.isdisjoint(omit),
            "origin_type": "conversation" in omit,
            "extra": is_one,
            "price": is_price_hidden.get(account["price"]),
            "sender": account["from_key"] is None or not has_to,
            "from_key": not has_to,
            "id_prefix": is_id_hidden,
            "original_id_key": is_id_hidden,
        }
        for name in POOL.keys() - learned.keys():
            is_few = re.search(rf"# ({name}=|\"\+).*too few", text)
            if not hidden.get(name) and account[name] and not is_few:
                while (other := POOL[name](rng)) == account[name]:
                    pass
                assert recorded(account | {name: other}, seed) == real, (seed, name)
    assert shown == POOL.keys() - {"inbound", "varying"}


def test_what_too_few_messages_show_is_never_code(tmp_path):
    path = tmp_path / "recording.jsonl"
    for seed, _, account in accounts():
        path.write_bytes(recorded(account, seed, steps=19))

        scope = {}
        exec("\n".join(learn([str(path)])[0]), scope)

        assert scope["CONFIG"] == ChatFakeConfig(), seed
