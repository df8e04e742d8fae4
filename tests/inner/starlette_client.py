import contextlib
import sqlite3

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient


@contextlib.asynccontextmanager
async def lifespan(app):
    app.state.database = sqlite3.connect(":memory:")
    yield
    app.state.database.close()


async def hook(request):
    request.app.state.database.execute("select 1")
    return Response(status_code=204)


def test_it(chat_fake):
    routes = [Route("/hooks", hook, methods=["POST"])]
    app = Starlette(routes=routes, lifespan=lifespan)
    with TestClient(app) as client:
        assert client.post("/hooks").status_code == 204
        chat_fake.webhooks.connect(asgi=app, path="/hooks")
        chat_fake.send_text()
