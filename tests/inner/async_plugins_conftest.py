import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from pytest_chatfake import ChatFakeConfig


@pytest.fixture
def chat_fake_config():
    return ChatFakeConfig(api_key="our-key")


def make_app(url):
    async def hook(request):
        message = (await request.json())["chatMessage"]
        # Without certificates: they take longer to load than all the rest.
        async with httpx.AsyncClient(verify=False, timeout=60) as client:
            response = await client.get(f"{url}/v2/balance", headers={"X-API-Key": "our-key"})
        app.state.seen.append((message["status"], response.json()["amount"]))
        return Response()

    app = Starlette(routes=[Route("/hooks/chat", hook, methods=["POST"])])
    app.state.seen = []
    return app


@pytest.fixture
def app(chat_fake):
    app = make_app(chat_fake.base_url)
    chat_fake.webhooks.connect(asgi=app, path="/hooks/chat")
    return app


@pytest.fixture(scope="session")
def session_app(chat_fake_url):
    return make_app(chat_fake_url)


@pytest.fixture
def sent_before(chat_fake, app):
    return chat_fake.send_text("sent by a fixture")
