"""The headers of an attempt: what is added, and what is refused."""

from __future__ import annotations

import pytest

from pytest_chatfake.transport.client.headers import complete_headers


def test_host_comes_first_and_nothing_else_is_added():
    assert (
        ("Host", "testserver"),
        ("Content-Type", "application/json"),
    ) == complete_headers([("Content-Type", "application/json")], "testserver")


@pytest.mark.parametrize("name", ["Host", "host", "HOST"])
def test_a_host_among_the_headers_replaces_ours_in_any_case(name):
    assert ((name, "shop.example"),) == complete_headers([(name, "shop.example")], "testserver")


@pytest.mark.parametrize("name", ["Content-Length", "content-length", "Transfer-Encoding"])
def test_what_the_body_decides_is_refused(name):
    with pytest.raises(ValueError, match=f"leave {name} out of the headers"):
        complete_headers([(name, "12")], "testserver")


@pytest.mark.parametrize("name", ["", "X Y", "X:", "X\n", "Ümlaut", " X"])
def test_a_name_that_http_does_not_allow_is_refused(name):
    with pytest.raises(ValueError, match="HTTP does not allow"):
        complete_headers([(name, "1")], "testserver")


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\r\nX-Injected: 1", "a\x00b", "a\n"])
def test_a_value_that_would_end_its_line_is_refused(value):
    with pytest.raises(ValueError, match="the header X-Note has a line break or a NUL"):
        complete_headers([("X-Note", value)], "testserver")


def test_a_value_of_latin_1_is_kept():
    assert ("X-Note", "café") in complete_headers([("X-Note", "café")], "h")


def test_a_value_beyond_latin_1_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"X-Note has letters that HTTP can't carry.*quote\(\)"):
        complete_headers([("X-Note", "☕")], "testserver")


@pytest.mark.parametrize(("name", "value"), [("X-Number", 1), (b"X-Bytes", "1"), ("X", b"1")])
def test_a_header_that_is_not_text_is_refused(name, value):
    with pytest.raises(TypeError, match="a header is a pair of str"):
        complete_headers([(name, value)], "testserver")
