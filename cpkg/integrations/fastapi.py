# SPDX-License-Identifier: Apache-2.0
"""
Receive and return MessagePack in FastAPI: typed bodies, responses without its JSON encoder, and OpenAPI for both.

    from cpkg.integrations.fastapi import Body, MsgpackRoute

    app = FastAPI()
    app.router.route_class = MsgpackRoute

    @app.post("/orders")
    async def create(order: Annotated[Order, Body(Order)]) -> Receipt:
        return Receipt(order.id, at=datetime.now(timezone.utc))

`Order` and `Receipt` are types of `cpkg.typed`, such as dataclasses.
"""

import contextlib
import functools
import inspect
import json
import typing
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import unquote

try:
    from fastapi import Depends, Request, Response
    from fastapi.encoders import ENCODERS_BY_TYPE
    from fastapi.exceptions import RequestValidationError
    from fastapi.params import Depends as Dependency
    from fastapi.routing import APIRoute
except ImportError as exc:
    raise ImportError(f"cpkg.integrations.fastapi needs FastAPI: pip install fastapi ({exc})") from exc

from cpkg import typed
from cpkg.integrations import _messages
from cpkg.integrations._content_coding import MAX_REQUEST_SIZE
from cpkg.integrations.asgi import ZstdMiddleware
from cpkg.integrations.starlette import InvalidBody, MsgpackResponse, read_msgpack

__all__ = ["Body", "MsgpackResponse", "MsgpackRoute", "ZstdMiddleware", "read_msgpack"]

_REFERENCE: Final = "#/$defs/"
_COPIES_MAX: Final = 200
"""The maximum number of schemas of classes to copy into the schema of a type instead of references."""
_INVALID: Final = {"description": "Validation Error"}


class _Result:
    """The result of an endpoint, wrapped so that FastAPI's JSON encoder does not change it."""

    def __init__(self, value: object) -> None:
        self.value = value


ENCODERS_BY_TYPE.update({_Result: lambda result: result})


class _ResultResponse(MsgpackResponse):
    """Respond with the result of an endpoint; MsgpackRoute adds its schema to the OpenAPI document."""

    media_type = None  # type: ignore[assignment]  # with a media type, FastAPI would document a string

    def __init__(self, content: object, status_code: int = 200, **options: Any) -> None:
        value = content.value if isinstance(content, _Result) else content
        super().__init__(value, status_code, media_type=_messages.MEDIA_TYPE, **options)


def Body(type: object, *, max_size: int = MAX_REQUEST_SIZE, **options: Any) -> Any:  # noqa: N802 - as FastAPI's
    """
    Return a dependency that reads the body of a request as an object of a type: `Annotated[Order, Body(Order)]`.

    `type` and `options` are those of `typed.Decoder`, but `all_errors` defaults to True; `max_size` limits the body in
    bytes (default 16 MiB). If the body does not match the type, the endpoint is not called, and FastAPI answers with
    422 and all errors, at most `max_errors` (default 100), each with its location (`loc`) and message (`msg`). Other
    faulty bodies are refused as in `read_msgpack`. A compressed message is refused with 400 if its decompressed content
    is larger than the body, as it nearly always is. So clients send `dumps(..., compress=False)`, or use
    Content-Encoding.

    Raises TypeError for a type that cannot be decoded.
    """
    decoder = typed.Decoder(type, **{"all_errors": True, **options})

    async def read_body(request: Request) -> Any:
        try:
            return await read_msgpack(request, max_size=max_size, type=decoder)
        except InvalidBody as exc:
            raise RequestValidationError(exc.errors) from exc

    read_body.body_type = type  # type: ignore[attr-defined]  # for the OpenAPI document
    return Depends(read_body)


class MsgpackRoute(APIRoute):
    """
    A route that sends the result of its endpoint as MessagePack, unless the result is a Response.

    The result may contain any type that `cpkg.dumps` packs.

    To use it for all routes of an app or router, set `app.router.route_class = MsgpackRoute` or create
    `APIRouter(route_class=MsgpackRoute)`. The OpenAPI document contains the return annotation and the types of `Body`.
    FastAPI itself handles routes with a `response_class` or `response_model`, generators, and endpoints that return a
    Response.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        # FastAPI does not resolve annotations of other callables
        hints = typing.get_type_hints(endpoint, include_extras=True) if inspect.isroutine(endpoint) else {}
        extra = dict(options.get("openapi_extra") or {})
        responses = dict(options.get("responses") or {})
        for parameter in inspect.signature(endpoint).parameters.values():
            for found in (parameter.default, *getattr(hints.get(parameter.name), "__metadata__", ())):
                dependency: Any = found.dependency if isinstance(found, Dependency) else None
                if hasattr(dependency, "body_type"):
                    extra.setdefault("requestBody", {"required": True, "content": _content(dependency.body_type)})
                    responses.setdefault(422, _INVALID)
        model, response_class = options.get("response_model"), options.get("response_class")
        is_given = inspect.isclass(response_class) and response_class is not _ResultResponse
        if not is_given and _is_default(model) and not _is_generator(endpoint):
            status = options.get("status_code") or 200
            with contextlib.suppress(TypeError):  # for example, a Response has no schema
                if hints.get("return", type(None)) is not type(None):
                    responses[status] = {"content": _content(hints["return"]), **responses.get(status, {})}
            endpoint = _of_result(endpoint, hints)
            options.update(response_model=None, response_class=_ResultResponse)
        super().__init__(path, endpoint, **{**options, "openapi_extra": extra or None, "responses": responses})


def _is_default(given: object) -> bool:
    """Return whether an option of a route was not given or is None; FastAPI wraps its defaults in an object."""
    return getattr(given, "value", given) is None


def _is_generator(endpoint: Callable[..., Any]) -> bool:
    return inspect.isgeneratorfunction(endpoint) or inspect.isasyncgenfunction(endpoint)


def _of_result(endpoint: Callable[..., Any], hints: dict[str, Any]) -> Callable[..., Any]:
    """
    Return an endpoint whose result FastAPI's JSON encoder does not change; a Response is returned unwrapped.

    An endpoint that was wrapped before is returned as it is.
    """
    if hasattr(endpoint, "__msgpack__"):  # wrapped already, if a router is included in another one
        return endpoint

    def kept(value: object) -> object:
        return value if isinstance(value, Response) else _Result(value)

    if inspect.iscoroutinefunction(endpoint):

        @functools.wraps(endpoint)
        async def call(*arguments: Any, **keywords: Any) -> object:
            return kept(await endpoint(*arguments, **keywords))
    else:

        @functools.wraps(endpoint)
        def call(*arguments: Any, **keywords: Any) -> object:
            return kept(endpoint(*arguments, **keywords))

    signature = inspect.signature(endpoint)
    parameters = [
        each.replace(annotation=hints.get(each.name, each.annotation)) for each in signature.parameters.values()
    ]
    call.__signature__ = signature.replace(parameters=parameters, return_annotation=signature.empty)  # type: ignore[attr-defined]
    call.__msgpack__ = True  # type: ignore[attr-defined]
    return call


def _content(tp: object) -> dict[str, object]:
    """Return the description of a body of a type for the OpenAPI document."""
    schema = typed.schema(tp)
    try:
        found = _inlined(schema, schema.get("$defs", {}), iter(range(_COPIES_MAX)))
    except StopIteration:
        found = _shared(schema)
    return {_messages.MEDIA_TYPE: {"schema": found}}


def _inlined(node: Any, classes: Any, copies: Iterator[int], within: tuple[str, ...] = ()) -> Any:
    """
    Return a schema in which the schemas of classes replace references, which not every tool resolves.

    Where a class refers to itself, its title replaces the reference. Raises StopIteration if more schemas are copied
    than `copies` has items.
    """
    if isinstance(node, list):
        return [_inlined(item, classes, copies, within) for item in node]
    if not isinstance(node, dict):
        return node
    found = {
        key: _inlined(value, classes, copies, within) for key, value in node.items() if key not in ("$defs", "$schema")
    }
    reference = found.pop("$ref", None)
    if not isinstance(reference, str):
        return found
    next(copies)
    name = unquote(reference[len(_REFERENCE) :])
    if name in within:  # a recursive class
        return {"title": name, **found}
    return {**_inlined(classes[name], classes, copies, (*within, name)), **found}


def _shared(schema: dict[str, object]) -> Any:
    """
    Return a schema with one schema for each class, and with an `$id`, with which the references to classes begin.

    Other references would need the schema's position in the OpenAPI document, which only the application knows.
    """
    text = json.dumps(schema)
    name = uuid.uuid5(uuid.NAMESPACE_OID, text).urn
    return {"$id": name, **json.loads(text.replace(f'"$ref": "{_REFERENCE}', f'"$ref": "{name}{_REFERENCE}'))}
