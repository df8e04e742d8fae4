import requests

from pytest_chatfake import ChatFake


def get(fake, path):
    headers = {"X-API-Key": fake.api_key}
    return requests.get(fake.base_url + path, headers=headers, timeout=60).status_code


def test_own_handler(chat_fake):
    chat_fake.http.expect_request("/own").respond_with_data("x")
    with ChatFake() as second:
        assert second.http is chat_fake.http
    assert get(chat_fake, "/own") == 200


def test_gone(chat_fake):
    assert get(chat_fake, "/own") == 404
    assert chat_fake.http.log == []


def test_assertion_in_a_handler(chat_fake):
    def handler(request):
        assert request.headers.get("X-Tenant") == "7"

    chat_fake.http.expect_request("/own").respond_with_handler(handler)
    assert get(chat_fake, "/own") == 500


def test_error_in_a_handler(chat_fake):
    def handler(request):
        raise LookupError("from a handler")

    chat_fake.http.expect_request("/own").respond_with_handler(handler)
    assert get(chat_fake, "/own") == 500


def test_failed_anyway(chat_fake):
    def handler(request):
        raise LookupError("from another handler")

    chat_fake.http.expect_request("/own").respond_with_handler(handler)
    get(chat_fake, "/own")
    assert "mine" == "shown"


def test_unmatched_is_no_failure(chat_fake):
    assert get(chat_fake, "/nowhere") == 404


def test_httpserver_of_the_user_is_another(chat_fake, httpserver):
    httpserver.expect_request("/own").respond_with_data("theirs")
    assert httpserver is not chat_fake.http
    assert requests.get(httpserver.url_for("/own"), timeout=60).text == "theirs"
    assert get(chat_fake, "/own") == 404
