# SPDX-License-Identifier: Apache-2.0
"""The page on FastAPI and Starlette, run unchanged; what routes return, refuse and document."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import sys
from dataclasses import dataclass, make_dataclass
from decimal import Decimal
from types import ModuleType
from typing import Annotated, Any, Optional

import httpx
import pytest
from asgi_server import serving_asgi
from documents import blocks, section
from fastapi import APIRouter, BackgroundTasks, FastAPI, Response

import cpkg
from cpkg.integrations.fastapi import Body, MsgpackResponse, MsgpackRoute

KIND = "application/vnd.msgpack"
MOMENT = dt.datetime(2024, 6, 1, tzinfo=dt.timezone.utc)
RESULT = {"at": MOMENT, "price": Decimal("1.50"), "data": b"\xff", 1: None}
"""Values that FastAPI's JSON encoder changes or refuses."""


@dataclass
class Node:
    id: int
    next: Optional[Node] = None  # noqa: UP045 - as Python 3.9 reads it


def asked(app: Any, *requests: tuple[str, str, Any]) -> list[httpx.Response]:
    """Return the responses to requests: each has a method, a path and an object to pack as the body."""
    headers = {"content-type": KIND}

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
            return [
                await client.request(method, path, content=body and cpkg.dumps(body, compress=False))
                for method, path, body in requests
            ]

    return asyncio.run(ask())


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service serves the client, and the example for Starlette returns the same errors."""

    def run(name: str, source: str) -> ModuleType:
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(source, module.__dict__)
        return module

    service, client = blocks(section("fastapi.md", "A complete service"), "python")
    with serving_asgi(run("service", service).app) as port:
        exec(client.replace(":8000", f":{port}"), {})
    (example,) = blocks(section("fastapi.md", "Starlette"), "python")
    order = {"id": 1, "price": Decimal(2)}
    found, refused = asked(
        run("starlette_service", example).app, ("POST", "/orders", order), ("POST", "/orders", {**order, "id": "1"})
    )
    assert (found.status_code, refused.status_code) == (201, 422)
    assert [error["loc"] for error in refused.json()["detail"]] == [["body", "id"]]


def app_of(included: bool) -> FastAPI:
    """Return an app with its own routes, or with those of a router."""
    app = FastAPI()
    router: Any = APIRouter(route_class=MsgpackRoute) if included else app
    app.router.route_class = MsgpackRoute
    done: list[int] = []

    @router.post("/node", status_code=201)
    async def node(node: Annotated[Node, Body(Node)], response: Response, tasks: BackgroundTasks, q: int = 0) -> Node:
        response.headers["x-query"] = str(q)
        tasks.add_task(done.append, node.id)
        return node

    @router.get("/result")
    def result() -> Any:
        return RESULT

    @router.get("/done")
    def get_done() -> list[int]:
        return done

    @router.get("/own")
    def own() -> MsgpackResponse:
        return MsgpackResponse(RESULT, headers={"x-own": "1"})

    @router.get("/json", response_model=list[int])
    def json() -> Any:
        return [1]

    if included:
        app.include_router(router)
    return app


@pytest.mark.parametrize("included", [False, True])
def test_results_are_packed_unchanged(included: bool) -> None:
    gets = (("GET", path, None) for path in ("/result", "/done", "/own", "/json"))
    node, result, done, own, json = asked(app_of(included), ("POST", "/node?q=5", Node(1, Node(2))), *gets)
    assert (node.status_code, node.headers["x-query"]) == (201, "5")
    assert cpkg.loads(node.content, type=Node) == Node(1, Node(2))
    assert cpkg.loads(done.content) == [1]
    assert own.headers["x-own"] == "1"
    for response in (result, own):
        assert response.headers["content-type"] == KIND
        assert cpkg.loads(response.content) == RESULT
    assert json.json() == [1]


@pytest.mark.parametrize("included", [False, True])
def test_refused_bodies(included: bool) -> None:
    bad = {"id": "x", "next": {"id": None, "next": {}}}
    wrong, query, damaged = asked(
        app_of(included), ("POST", "/node", bad), ("POST", "/node?q=x", Node(1)), ("POST", "/node", None)
    )
    assert wrong.status_code == query.status_code == 422
    assert [(error["type"], error["loc"], error["msg"]) for error in wrong.json()["detail"]] == [
        ("validation_error", ["body", "id"], "expected int, found str"),
        ("validation_error", ["body", "next", "id"], "expected int, found None"),
        ("validation_error", ["body", "next", "next"], "missing key 'id' in Node"),
    ]
    assert damaged.status_code == 400


@pytest.mark.parametrize("included", [False, True])
def test_the_openapi_document(included: bool) -> None:
    paths = app_of(included).openapi()["paths"]
    operation = paths["/node"]["post"]
    request, answer = operation["requestBody"], operation["responses"]["201"]
    node = request["content"][KIND]["schema"]
    assert answer["content"][KIND]["schema"] == node
    assert node["properties"]["id"] == {"type": "integer"}
    assert node["properties"]["next"]["anyOf"] == [{"title": "Node"}, {"type": "null"}]  # a class that holds itself
    assert "422" in operation["responses"]
    assert paths["/done"]["get"]["responses"]["200"]["content"][KIND]["schema"]["type"] == "array"


def diamond(depth: int) -> Any:
    """Return a class with two fields of a class with two fields, and so on."""
    made: Any = int
    for level in range(depth):
        made = make_dataclass(f"Level{level}", [("left", made), ("right", made)])
    return made


def test_the_schema_of_a_type_grows_with_the_number_of_its_classes() -> None:
    """Small types are inlined. Of 100 classes that are each used twice, inlining would need 2**100 copies."""
    app = FastAPI()
    app.router.route_class = MsgpackRoute

    for depth in (3, 50, 100):

        @app.post(f"/{depth}")
        def endpoint(body: Any = Body(diamond(depth))) -> None:  # noqa: B008 - as FastAPI reads it
            pass

    paths = app.openapi()["paths"]
    found = [paths[f"/{depth}"]["post"]["requestBody"]["content"][KIND]["schema"] for depth in (3, 50, 100)]
    small, half, whole = found
    assert small["properties"]["left"]["properties"]["right"]["properties"]["left"] == {"type": "integer"}
    assert len(json.dumps(whole)) < 2.1 * len(json.dumps(half))
    assert whole["$ref"] == f"{whole['$id']}#/$defs/Level99"
    assert sorted(whole["$defs"]) == sorted(f"Level{level}" for level in range(100))
    assert whole["$defs"]["Level99"]["properties"]["left"]["$ref"] == f"{whole['$id']}#/$defs/Level98"


def test_a_type_that_cannot_be_decoded_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"cannot decode .*: expected a type"):
        Body(object())
