"""Packs that come with the package."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from spanwise.packs.pack_file import NamedPack, pack_record, read_pack

SHIPPED = "spanwise"
"""Origin of the packs that come with the package."""


@lru_cache(maxsize=1)
def shipped_packs() -> tuple[NamedPack, ...]:
    """Return the packs that come with the package, by name."""
    files = [
        file
        for file in resources.files("spanwise").joinpath("packs").iterdir()
        if file.name.endswith(".toml")
    ]
    packs = (read_pack(file.read_text("utf-8"), place=file.name) for file in files)
    return tuple(NamedPack(pack, SHIPPED) for pack in sorted(packs, key=lambda pack: pack.name))


def default_record() -> str:
    """Return the record of a new knowledge base: all packs that come with the package."""
    return pack_record(shipped_packs())
