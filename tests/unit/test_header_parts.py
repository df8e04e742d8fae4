"""The parts of headers: where they are, which ones differ, and how they are replaced."""

import base64

import pytest

from pytest_chatfake.webhooks.header_parts import (
    differing,
    json_in,
    part_at,
    relabelled,
    with_another_end,
    with_parts,
    without_its_end,
)

HEADERS = {"X-Sig": "t=17, v1=ab+/c==", "X-Key": "Bearer 0123456789", "X-Empty": ""}


@pytest.mark.parametrize(
    ("name", "number", "part"),
    [
        ("X-Sig", 0, "t"),
        ("X-Sig", 1, "17"),
        ("X-Sig", 3, "ab+/c=="),
        ("X-Sig", 4, ""),
        ("X-Sig", -1, ""),
        ("X-Empty", 0, ""),
        ("X-Gone", 0, ""),
    ],
)
def test_a_part_is_found_by_its_place(name, number, part):
    assert part_at(HEADERS, (name, number)) == part


@pytest.mark.parametrize("text", ['{"a":1}', '{"a":12}', '{"a":123}', '{"a":1234}'])
def test_json_is_read_from_base64_of_any_length_and_without_padding(text):
    part = base64.urlsafe_b64encode(text.encode()).decode()

    assert [json_in(part), json_in(part.rstrip("="))] == [text, text]


@pytest.mark.parametrize(
    ("other", "numbers"),
    [
        ("t=17, v1=ab+/c==", set()),
        ("t=18, v1=ab+/c==", {1}),
        ("t=17, v1=xy", {3}),
        ("t=17", {0, 1, 2, 3}),
        ("", {0, 1, 2, 3}),
    ],
)
def test_parts_differ_by_place_unless_there_are_fewer(other, numbers):
    found = differing({"X-Sig": HEADERS["X-Sig"]}, {"X-Sig": other})

    assert found == {("X-Sig", number) for number in numbers}


@pytest.mark.parametrize(
    ("value", "parts", "changed"),
    [
        ("t=17, v1=abc", {1: "18"}, "t=18, v1=abc"),
        ("t=17, v1=abc", {3: "d", 0: "at"}, "at=17, v1=d"),
        ("t=17, v1=abc", {4: "d", -1: "e"}, "t=17, v1=abc"),
        ("", {0: "d"}, ""),
    ],
)
def test_parts_are_replaced_by_their_numbers(value, parts, changed):
    assert with_parts(value, parts) == changed


@pytest.mark.parametrize(
    ("value", "numbers", "labelled"),
    [
        ("sha256=ab", [1], "sha1=ab"),
        ("sha1=ab", [1], "md5=ab"),
        ("Bearer ab", [1], "sha1 ab"),
        ("v1=ab,v1=cd", [1, 3], "sha1=ab,sha1=cd"),
        ("t=1,v1=ab", [3], "t=1,sha1=ab"),
        ("ab", [0], "sha1=ab"),
        ("", [0], "sha1="),
    ],
)
def test_the_label_before_a_signature_becomes_that_of_another_scheme(value, numbers, labelled):
    assert relabelled(value, numbers) == labelled


@pytest.mark.parametrize(
    ("signature", "wrong"),
    [
        ("abcdefgh", "FEDCBAGH"),
        ("abcdefgha", "FEDCBAGHa"),
        ("abcdefgha==", "FEDCBAGHa=="),
        ("0" * 20, "000" + "9" * 16 + "0"),
    ],
)
def test_a_wrong_signature_keeps_its_beginning_and_what_may_have_unused_bits(signature, wrong):
    assert len(with_another_end(signature)) == len(signature)
    assert with_another_end(signature).lower() == wrong.lower()


@pytest.mark.parametrize(("signature", "cut"), [("12345678", "12345678"), ("123456789", "12345")])
def test_the_end_of_a_signature_is_cut_off_unless_it_is_short(signature, cut):
    assert without_its_end(signature) == cut
