"""``python -m pytest_chatfake learn``: five accounts that the fake knows nothing of, and doubts."""

import json
import random
import tracemalloc
from base64 import b64encode
from contextlib import chdir
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from pytest_chatfake.__main__ import main
from pytest_chatfake.learning.configuration import learn

WORDS = "Dear Ann, your parcel"
SENDER = "+4930555000"
TIMES = {"createTime": 0, "sendTime": 0, "deliverTime": 4, "readTime": 9}


def account(brand, messages=60, left_out=(), ending="07.250Z", ids="{}id.{:08}", **more):
    """Events as the service of that brand sends them; `more` are fields by a message's number."""
    events = []
    for number in range(messages):
        failed = number % 3 == 2
        for count, status in enumerate(
            ["sent", "failed"] if failed else ["sent", "delivered", "read"]
        ):
            at = {name: moment(90 * number + after, ending) for name, after in TIMES.items()}
            message = {
                "id": f"m{number}",
                f"{brand}Id": ids.format(brand, number),
                "status": status,
                "totalPrice": 0.02,
                "currency": "CHF",
                "bizType": brand,
                "type": "text",
                "text": {"body": WORDS},
                **{name: make(number) for name, make in more.items()},
            }
            if status == "failed":
                error = {"message": WORDS, "code": "1", "type": "E", f"{brand}Ref": WORDS}
                data = {"messaging_product": brand, "details": WORDS}
                message |= {f"{brand}Fault": error | {"error_data": data}, "totalPrice": 0}
                message |= {"errorCode": "1", "errorMessage": WORDS}
            else:
                message |= dict(list(at.items())[: count + 2])
                message["conversation"] = {"id": f"{number:x}", "originType": "utility"}
            for name in left_out:
                message.pop(name, None)
            about = {"id": f"evt_{number}{status}", "type": f"{brand}.status"}
            events.append({**about, "createTime": at["sendTime"], f"{brand}Message": message})
    return events


def moment(minutes, ending):
    return f"{datetime(2026, 3, 1) + timedelta(minutes=minutes):%Y-%m-%dT%H:%M}:{ending}"


def phone(number):
    return f"+49155{number % 5}00{number % 5}471"


def inbound(brand, number):
    return {"type": f"{brand}.inbound", "received": {"from": phone(number), "to": SENDER}}


def shuffled():
    events = account("heron", ending="07Z", to=phone)
    late = [{"at": moment(9000 + n, "01Z"), "body": one} for n, one in enumerate(events)]
    random.Random(1).shuffle(late)
    return [late[0], {"at": moment(1, "59Z"), "body": late[0]["body"]}, *late]


def of_other_types():
    echo = {"id": "e1", "to": phone(1), "status": "sent", "text": {"body": WORDS}}
    echoes = [{"type": "ibis.echo", "ibisMessage": echo}] * 300
    return [inbound("ibis", 1), *echoes, *account("ibis", to=phone)]


def learned(path, entries):
    """What the program prints about a recording, and whether it is content."""
    (path / "r.jsonl").write_text("\n".join(map(json.dumps, entries)))
    with chdir(path):
        return learn(["r.jsonl"])


def config_of(lines):
    scope = {}
    exec("\n".join(lines), scope)
    return scope["CONFIG"]


def settings(lines):
    """The settings that are code, without the evidence."""
    parts = [line.partition(",  # ")[0].strip() for line in lines]
    return " ".join(part for part in parts if part[:1] != "#").partition('price="0.02" ')[2]


def notes(lines, kind="seen, but there is no setting for it"):
    return {line.removeprefix(f"# {kind}: ") for line in lines if line.startswith(f"# {kind}: ")}


@pytest.mark.parametrize(
    ("events", "expected", "told"),
    [
        (
            shuffled(),
            (
                'origin_type="utility" naming=Naming( event_type="heron.status" '
                'message_key="heronMessage" original_id_key="heronId" '
                'error_key="heronFault" trace_key="heronRef" '
                'biz_type="heron" messaging_product="heron" id_prefix="heronid." to_key="to" ), )'
            ),
            {
                "out of order: 42",
                "redelivered: 1",
                "twice at the same instant, from two devices or as duplicates: 1",
            },
        ),
        (
            of_other_types(),
            (
                'origin_type="utility" naming=Naming( event_type="ibis.status" '
                'message_key="ibisMessage" original_id_key="ibisId" '
                'error_key="ibisFault" trace_key="ibisRef" '
                'biz_type="ibis" messaging_product="ibis" id_prefix="ibisid." to_key="to" ), )'
            ),
            {'events of type "ibis.inbound": 1', 'events of type "ibis.echo": 300'},
        ),
        (
            account("stork", to=lambda n: phone(n)[1:], owner=lambda n: f"4930555000{n % 2}"),
            (
                'origin_type="utility" naming=Naming( event_type="stork.status" '
                'message_key="storkMessage" original_id_key="storkId" '
                'error_key="storkFault" trace_key="storkRef" '
                'biz_type="stork" '
                'messaging_product="stork" id_prefix="storkid." to_key="to" from_key="owner" ), )'
            ),
            {"sender varies: pass it to each call"},
        ),
        (
            [
                inbound("egret", 1),
                *account(
                    "egret",
                    ids="{1:08}",
                    line=lambda n: SENDER,
                    hash=lambda n: b64encode(b"%d" % n).decode(),
                ),
            ],
            (
                'origin_type="utility" sender="+4930555000" '
                'naming=Naming( event_type="egret.status" '
                'message_key="egretMessage" '
                'error_key="egretFault" trace_key="egretRef" '
                'biz_type="egret" messaging_product="egret" from_key="line" ), )'
            ),
            {
                'events of type "egret.inbound": 1',
                "egretId varies: pass it to each call",
                "hash varies: pass it to each call",
            },
        ),
        (
            account(
                "crane", left_out=("conversation",), plan=lambda n: None, tier=lambda n: "acct-7"
            ),
            (
                'naming=Naming( event_type="crane.status" '
                'message_key="craneMessage" original_id_key="craneId" '
                'error_key="craneFault" trace_key="craneRef" '
                'biz_type="crane" messaging_product="crane" id_prefix="craneid." ), '
                'omit=( "conversation" ), extra={ "plan": None "tier": "acct-7" }, )'
            ),
            set(),
        ),
    ],
    ids=["late, whole seconds, twice", "echoes", "two senders", "base64", "no conversation"],
)
def test_an_account_with_a_brand_of_its_own(events, expected, told, tmp_path):
    lines, is_fine = learned(tmp_path, events)

    assert settings(lines) == expected
    assert notes(lines) == told
    assert is_fine
    config_of(lines)
    assert not any(private in "\n".join(lines) for private in (WORDS, "471", "m1", "id.0"))


@pytest.mark.parametrize(
    ("count", "to", "few"),
    [
        (19, {"to": phone}, "messages"),
        (60, {"to": lambda n: f"+4915510047{n % 2}"}, "recipients"),
        *(
            (60, {"to": lambda n, plus=plus: f"{plus}49155004711", **line}, "recipients")
            for plus in ("+", "")
            for line in ({}, {"line": lambda n: SENDER})
        ),
        (20, {"to": phone}, ""),
        (20, {}, ""),
    ],
)
def test_what_few_messages_or_few_people_show_is_a_comment(tmp_path, count, to, few):
    lines, _ = learned(tmp_path, account("egret", count, name=lambda n: WORDS, **to))

    text = "\n".join(lines)
    assert (f'        # "name": ...,  # too few {few}: ' in text) == bool(few)
    assert lines[3].startswith(f'    # currency="CHF",  # too few {few}: ') == bool(few)
    assert "471" not in text


def test_a_contradiction_is_no_code_and_exit_status_1(tmp_path):
    events = account("egret", to=phone)
    learned(tmp_path, events)
    assert main(["learn", str(tmp_path / "r.jsonl")]) == 0

    events[8]["egretMessage"] |= {"currency": "EUR", "totalPrice": -0.5}
    lines, is_fine = learned(tmp_path, [*events, 3])

    assert not is_fine
    assert notes(lines, "contradicted") == {
        'price: "0.02" 139, "-0.5" 1; not set; 1 of 140 events; first at r.jsonl:9',
        'currency: "CHF" 159, "EUR" 1; not set; 1 of 160 events; first at r.jsonl:9',
        "r.jsonl:161: expected an object, got 3",
    }
    assert config_of(lines).currency == "USD"
    assert main(["learn", str(tmp_path / "r.jsonl")]) == 1


def test_a_failure_in_an_open_session_does_not_show_what_is_charged(tmp_path):
    events = account("egret", to=phone)
    for event in events[6:8]:  # the third message is sent into the first one's session, and fails
        sent = events[6]["egretMessage"]["sendTime"]
        event["egretMessage"] |= {"conversation": {"id": "0"}, "sendTime": sent}

    lines, is_fine = learned(tmp_path, events)

    assert is_fine
    assert [line.split(",")[0].strip() for line in lines if "charge_per" in line] == [
        '# charge_per="message"'
    ]


def test_no_text_of_a_recording_becomes_code(tmp_path):
    evil = '"}); import os\n\u2028 \\'
    events = account("egret", **{evil: lambda n: evil, "plan\n}": lambda n: n})

    lines, _ = learned(tmp_path, [*events, {"type": evil}])

    assert config_of(lines).extra == {evil: evil}


@pytest.mark.parametrize("price", [-0.07, True, "0.07"])
def test_a_price_that_no_configuration_takes_is_unknown(tmp_path, price):
    events = account("egret")
    for event in events:
        event["egretMessage"]["totalPrice"] = price
    lines, _ = learned(tmp_path, events)

    config_of(lines)
    (said,) = [line for line in lines if line.startswith("# unknown: price ")]
    assert str(price).lower() in said


def each(number):
    """An address of which each gets one message."""
    return f"+4915{number:08}"


@pytest.mark.parametrize(
    ("fields", "others", "expected"),
    [
        ({"to": each}, [], 'to_key="to"'),
        ({"line": lambda n: SENDER, "to": each}, [], 'to_key="to" from_key="line"'),
        ({"batch": lambda n: f"{n:015}", "to": each}, [], 'to_key="to"'),
        ({"day": lambda n: f"202603{n % 30:02}", "to": phone}, [], 'to_key="to"'),
        (
            {"to": lambda n: phone(n)[1:]},
            [{"type": "kite.inbound", "kite": {"from": phone(1)[1:]}}],
            'to_key="to"',
        ),
        (
            {"owner": lambda n: "1" * 15, "line": lambda n: SENDER, "to": phone},
            [],
            'to_key="to" from_key="line"',
        ),
        (
            {
                "owner": lambda n: "1" * 15,
                "line": lambda n: SENDER[1:],
                "to": lambda n: each(n)[1:],
            },
            [
                {"type": "kite.inbound", "kite": {"from": each(1)[1:], "to": SENDER[1:]}},
            ],
            'to_key="to" from_key="line"',
        ),
        ({"line": lambda n: SENDER}, [inbound("kite", 1)], 'from_key="line"'),
        ({"line": lambda n: SENDER, "hook": lambda n: "+4980000", "to": phone}, [], 'to_key="to"'),
    ],
)
def test_addresses_have_a_plus_or_are_those_of_inbound_events(tmp_path, fields, others, expected):
    lines, _ = learned(tmp_path, [*others, *account("kite", **fields)])

    keys = [part for part in settings(lines).split() if part.startswith(("to_key", "from_key"))]
    assert " ".join(keys) == expected


@pytest.mark.parametrize(
    ("ids", "key", "expected"),
    [
        ("{}id.{:08}", "externalId", 'original_id_key="koiId" id_prefix="koiid."'),
        ("{}:a.{:08}", "externalId", 'original_id_key="koiId" id_prefix="koi:a."'),
        ("wamid.{1:08}", "koiOrder", 'original_id_key="koiId"'),
        ("{1:08}", "externalId", ""),
    ],
)
def test_an_order_number_hides_no_id_of_the_platform(tmp_path, ids, key, expected):
    events = account("koi", to=phone, ids=ids, **{key: lambda n: f"order-{n}"})

    lines, _ = learned(tmp_path, events)

    words = [part for part in settings(lines).split() if part[:9] in {"original_", "id_prefix"}]
    assert " ".join(words) == expected
    assert f"{key} varies: pass it to each call" in notes(lines)


@pytest.mark.parametrize("ids", ["swm.{1:08}", "{1:08}"])
def test_an_order_number_with_a_prefix_may_be_the_platforms_id(tmp_path, ids):
    events = account("koi", to=phone, ids=ids, externalId=lambda n: f"order-{n}")
    text = json.dumps(events).replace('"koiId"', '"reference"')

    lines, _ = learned(tmp_path, json.loads(text))

    assert 'original_id_key "reference or externalId"' in notes(lines, "unknown")
    assert "original_id_key" not in settings(lines)


def two_countries(number):
    return f"+{33 + number % 2 * 16}705{number % 6}004711"


def priced(to, origin_type, messages=90):
    """Each second message is of this origin type, and costs twice as much."""
    events = account("koi", messages, to=to)
    for message in (event["koiMessage"] for event in events):
        if int(message["id"][1:]) % 2 == 0 and message["totalPrice"]:
            message["totalPrice"] = 0.04
            message["conversation"]["originType"] = origin_type
    return events


@pytest.mark.parametrize(
    ("events", "field", "values", "unknown"),
    [
        (priced(two_countries, "utility"), "to", ("+331", "+491"), "+41550100"),
        *(
            (
                priced(lambda n, people=people: f"+49155{n % people}004711", "marketing"),
                *("origin_type", ("marketing", "utility"), "service"),
            )
            for people in (5, 6)
        ),
    ],
    ids=["by recipient", "by origin type", "by origin type, not by recipient"],
)
def test_two_prices_are_a_table_that_knows_no_other_value(events, field, values, unknown, tmp_path):
    lines, is_fine = learned(tmp_path, events)

    assert is_fine
    price = config_of(lines).price
    assert [price(SimpleNamespace(**{field: value})) for value in values] == ["0.04", "0.02"]
    with pytest.raises(ValueError, match=r"for this (address|origin type): extend PRICES"):
        price(SimpleNamespace(**{field: unknown}))


@pytest.mark.parametrize("begin", ["+49155", "+491550"])
def test_a_row_of_a_table_has_up_to_seven_characters_and_tells_no_person(begin, tmp_path):
    lines, is_fine = learned(tmp_path, priced(lambda n: f"{begin}{n % 2}{n % 6}4711", "utility"))

    is_short = len(begin) < 7
    assert is_fine == is_short
    assert (f'"{begin}1": ' in "\n".join(lines)) == is_short


def test_what_origin_types_and_addresses_explain_alike_is_unknown(tmp_path):
    lines, is_fine = learned(tmp_path, priced(two_countries, "marketing"))

    assert is_fine
    assert "price by origin type or by recipient" in notes(lines, "unknown")
    assert "PRICES" not in "\n".join(lines)


def test_a_table_without_a_row_is_no_code(tmp_path):
    lines, _ = learned(tmp_path, priced(two_countries, "utility", 24))

    assert config_of(lines).price == "0.05"
    assert any(line.startswith("    # price=price,  # too few messages: ") for line in lines)
    code = [line for line in lines if line and not line.lstrip().startswith("#")]
    assert code[1] == "CONFIG = ChatFakeConfig("


def test_a_file_that_is_no_text_is_named_with_the_reason(tmp_path):
    path = tmp_path / "bodies"
    path.write_bytes("{}".encode("utf-16"))

    with pytest.raises(ValueError, match="bodies: expected UTF-8 text, got UTF-16"):
        learn([str(path)])


OWN = {"to": each, "line": lambda n: SENDER, "account": lambda n: "111122223333444"}


@pytest.mark.parametrize(
    "make_events",
    [
        lambda: account("koi", 500, to=each, tags=lambda n: ["a", "b", {"c": "d" * 99}]),
        lambda: account("koi", 3_000, ids="{}id.7F3A{:08}", **OWN)[::3],
    ],
    ids=["of some messages", "each of a message of its own"],
)
def test_an_event_takes_little_memory(tmp_path, make_events):
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(map(json.dumps, make_events())))
    learn([str(path)])  # what is imported and cached

    tracemalloc.start()
    learn([str(path)])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1.4 * path.stat().st_size, most / path.stat().st_size


def test_a_recording_without_a_message_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no event has a message"):
        learned(tmp_path, [{"chatMessage": {"id": "m1", "status": "queued", "totalPrice": 0}}])
