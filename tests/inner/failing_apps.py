import pytest
from fastapi import FastAPI, Request
from flask import Flask
from sqlalchemy import create_engine, text


def a_fastapi_app(wrong):
    app = FastAPI()

    @app.middleware("http")
    async def pass_on(request: Request, call_next):
        return await call_next(request)

    @app.post("/hooks")
    async def receive(request: Request):
        return wrong()

    return {"asgi": app}


def a_flask_app(wrong):
    app = Flask("shop")
    app.testing = True

    @app.post("/hooks")
    def receive():
        return wrong()

    return {"wsgi": app}


def mistake():
    return {}["campaign"]


def in_sqlalchemy():
    with create_engine("sqlite://").connect() as connection:
        connection.execute(text("select * from campaigns"))


@pytest.mark.parametrize("make", [a_fastapi_app, a_flask_app])
@pytest.mark.parametrize("wrong", [mistake, in_sqlalchemy])
def test_it(chat_fake, make, wrong):
    chat_fake.webhooks.connect(**make(wrong), path="/hooks")
    chat_fake.send_text()


def test_the_framework_s_own(chat_fake):
    app = FastAPI()

    @app.post("/hooks")
    async def receive() -> int:
        return "no number"

    chat_fake.webhooks.connect(asgi=app, path="/hooks")
    chat_fake.send_text()


def test_without_a_fake(chat_fake):
    with a_flask_app(mistake)["wsgi"].test_client() as client:
        client.post("/hooks")


def test_last():
    import sys

    tops = ("asyncio", "contextlib", "fastapi", "flask", "pytest_chatfake", "werkzeug")
    for name, module in list(sys.modules.items()):
        assert not (name.startswith(tops) and "__tracebackhide__" in vars(module))
