"""Routes of domain packs. Requests name packs that are shipped with Spanwise, never files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from spanwise.errors import PackError
from spanwise.packs.pack_file import SHIPPED, shipped_packs
from spanwise.server.access import Access, access_for
from spanwise.server.openapi import object_of
from spanwise.server.problems import Problem
from spanwise.server.requests import PacksBody
from spanwise.server.results import json_response
from spanwise.types import PackInfo, PackPlace

if TYPE_CHECKING:
    from collections.abc import Sequence

router = APIRouter(prefix="/v1", tags=["packs"])

Reader = Annotated[Access, access_for("read")]
Writer = Annotated[Access, access_for("write")]
_KB = "/knowledge-bases/{kb}"
_RESTRICTED = "a key with a filter has no access to packs, which are found in all documents"


@router.get(f"{_KB}/packs", responses=object_of(packs=list[PackInfo]))
async def list_packs(kb: str, access: Reader) -> JSONResponse:
    """List the packs in use, and the shipped packs that are not in use."""
    access.require_unrestricted(_RESTRICTED)
    return _listed(await access.run(access.base(kb).packs.list))


@router.post(f"{_KB}/packs", responses=object_of(packs=list[PackInfo]))
async def change_packs(kb: str, body: PacksBody, access: Writer) -> JSONResponse:
    """Use shipped packs, or stop using packs."""
    access.require_unrestricted(_RESTRICTED)
    packs = access.base(kb).packs

    def change() -> tuple[PackInfo, ...]:
        if not body.in_use:
            return packs.remove(*body.names)
        return packs.use(*map(_shipped, body.names))

    return _listed(await access.run(change))


@router.get(f"{_KB}/packs/{{name:path}}", responses=object_of(places=list[PackPlace]))
async def find_landmarks(kb: str, name: str, access: Reader) -> JSONResponse:
    """Return the best place of each landmark of a shipped pack in each document."""
    access.require_unrestricted(_RESTRICTED)
    packs = access.base(kb).packs
    try:
        shipped = _shipped(name)
    except PackError as error:
        raise Problem(404, "pack_not_found", str(error)) from error
    return json_response({"places": await access.run(lambda: packs.find(shipped))})


def _shipped(name: str) -> str:
    """Return the name of a shipped pack.

    Raises:
        PackError: If there is none with this name; a path of the server is not read.
    """
    names = [named.pack.name for named in shipped_packs()]
    if name not in names:
        raise PackError(f"no shipped pack is named {name[:80]!r}; there are {', '.join(names)}")
    return name


def _listed(packs: Sequence[PackInfo]) -> JSONResponse:
    """Return the response with packs; the paths of pack files are left out."""
    shown = [pack if pack.origin == SHIPPED else replace(pack, origin="") for pack in packs]
    return json_response({"packs": shown})
