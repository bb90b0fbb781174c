"""The web page: its files, and the headers that protect it.

The page loads files of this server only. Text of documents is put into text nodes, and the content
security policy forbids scripts and styles inside the page.
"""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Response

from spanwise.server.problems import Problem

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_FOLDER = files("spanwise.server") / "page"
_NAMES = frozenset(file.name for file in _FOLDER.iterdir() if file.name.rsplit(".")[-1] in _TYPES)

router = APIRouter(include_in_schema=False)


@router.get("/")
async def index() -> Response:
    """Return the page."""
    return _file("index.html")


@router.get("/{name}")
async def asset(name: str) -> Response:
    """Return a file of the page.

    Raises:
        Problem: If the page has no such file.
    """
    return _file(name)


def _file(name: str) -> Response:
    if name not in _NAMES:
        raise Problem(404, "not_found", f"the web page has no file {name[:80]!r}")
    content = (_FOLDER / name).read_bytes()
    return Response(content, media_type=_TYPES[name.rsplit(".", maxsplit=1)[-1]], headers=_HEADERS)
