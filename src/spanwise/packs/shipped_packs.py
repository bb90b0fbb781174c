"""Packs shipped with Spanwise, and packs read from files."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import PackError
from spanwise.packs.pack_file import MAX_BYTES, NamedPack, pack_record, read_pack

if TYPE_CHECKING:
    from collections.abc import Sequence

SHIPPED = "spanwise"
"""Origin of packs shipped with Spanwise."""


@lru_cache(maxsize=1)
def shipped_packs() -> tuple[NamedPack, ...]:
    """Return the packs shipped with Spanwise, ordered by name."""
    files = [
        file
        for file in resources.files("spanwise").joinpath("packs").iterdir()
        if file.name.endswith(".toml")
    ]
    packs = (read_pack(file.read_text("utf-8"), place=file.name) for file in files)
    return tuple(NamedPack(pack, SHIPPED) for pack in sorted(packs, key=lambda pack: pack.name))


def default_record() -> str:
    """Return the record of a new knowledge base: all packs shipped with Spanwise."""
    return pack_record(shipped_packs())


def open_pack(name: str | Path) -> NamedPack:
    """Return a shipped pack by its name, or the pack of a file by its path.

    Raises:
        PackError: If there is no such pack, or it cannot be read.
    """
    shipped = {named.pack.name: named for named in shipped_packs()}
    if isinstance(name, str) and name in shipped:
        return shipped[name]
    path = Path(name)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise PackError(
            f"the pack {str(name)!r} cannot be read: {error}; name a file, or one of those that "
            f"come with Spanwise: {', '.join(shipped)}"
        ) from error
    return NamedPack(read_pack(text, place=str(path)), str(path.absolute()))


def record_of(names: Sequence[str | Path]) -> str:
    """Return the record of a knowledge base for packs given by name or path.

    Raises:
        PackError: If a pack cannot be read, two packs have the same name, or there are too many.
    """
    if isinstance(names, str | Path):
        raise PackError(f"packs is {names!r}; give a list of names and paths")
    return pack_record([open_pack(name) for name in names])
