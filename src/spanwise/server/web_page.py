"""The web page: its files, and the headers that protect it.

The page loads files of this server only. Text of documents is put into text nodes, and the content
security policy forbids scripts and styles inside the page.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from spanwise.server.problems import Problem

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_HEADERS = {
    "Cache-Control": "no-cache",  # the browser asks with the ETag each time
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_EXPLANATION = files("spanwise.search.explanation")
_SHARED = (
    "choice.js",
    "contributions.js",
    "selection.css",
    "settings.js",
    "solver.js",
    "strip.js",
)
"""Files of the page of an explanation that this page also uses."""


@dataclass(frozen=True, slots=True)
class _Asset:
    content: bytes
    media_type: str
    tag: str


def _assets() -> dict[str, _Asset]:
    found = {}
    own = (files("spanwise.server") / "page").iterdir()
    for file in (*own, *(_EXPLANATION / name for name in _SHARED)):
        media_type = _TYPES.get(file.name.rsplit(".", maxsplit=1)[-1])
        if media_type is not None:
            content = file.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            found[file.name] = _Asset(content, media_type, tag)
    return found


_ASSETS = _assets()

router = APIRouter(include_in_schema=False)


@router.get("/")
async def index(request: Request) -> Response:
    """Return the page."""
    return _file("index.html", request)


@router.get("/{name}")
async def asset(name: str, request: Request) -> Response:
    """Return a file of the page.

    Raises:
        Problem: If the page has no such file.
    """
    return _file(name, request)


def _file(name: str, request: Request) -> Response:
    found = _ASSETS.get(name)
    if found is None:
        raise Problem(404, "not_found", f"the web page has no file {name[:80]!r}")
    headers = {**_HEADERS, "ETag": found.tag}
    given = request.headers.get("if-none-match", "")
    if found.tag in (tag.strip().removeprefix("W/") for tag in given.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)
