"""The trust store: project files and addresses that the user has approved.

Rules
    Each approval is one small JSON file of mode 0600, written under another name and then renamed.
    Two programs that approve at once therefore lose nothing, and need no lock.
    A project file is approved with its folder and the SHA-256 of its content: a file that changes,
    or a copy in another folder, needs another approval. The folder counts with links resolved, the
    file itself without: what is relative in a file starts at the folder in which the file is found.
    An address is approved by its origin: scheme, host and port.
    A store that cannot be read holds nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from spanwise.errors import OptionError

_NAME_DIGITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustStore:
    """Approvals of one user."""

    folder: Path | None
    """Folder of the approvals; None where the user has no folder for configuration."""
    origins: frozenset[str] = frozenset()
    """Origins that the environment approves."""

    def has_file(self, path: Path, content: bytes) -> bool:
        """Return whether a file with this content is approved."""
        return self._read(_file_name(path)) == _file_approval(path, content)

    def add_file(self, path: Path, content: bytes) -> None:
        """Approve a file with this content.

        Raises:
            OptionError: If the approval cannot be written.
        """
        self._write(_file_name(path), _file_approval(path, content))

    def remove_file(self, path: Path) -> bool:
        """Withdraw the approval of a file, and return whether there was one.

        Raises:
            OptionError: If it cannot be removed.
        """
        return self._remove(_file_name(path))

    def has_origin(self, origin: str) -> bool:
        """Return whether an origin is approved, by the user or by the environment."""
        return origin in self.origins or self._read(_name("address", origin)) == {"address": origin}

    def add_origin(self, origin: str) -> None:
        """Approve an origin, as `canonical_origin` returns it.

        Raises:
            OptionError: If the approval cannot be written.
        """
        self._write(_name("address", origin), {"address": origin})

    def remove_origin(self, origin: str) -> bool:
        """Withdraw the approval of an origin, and return whether there was one.

        Raises:
            OptionError: If it cannot be removed.
        """
        return self._remove(_name("address", origin))

    def approved_origins(self) -> list[str]:
        """Return all approved origins in order."""
        found = set(self.origins)
        for path in self.folder.glob("*.json") if self.folder is not None else ():
            address = self._read(path.name).get("address", "")
            if path.name == _name("address", address):
                found.add(address)
        return sorted(found)

    def _read(self, name: str) -> dict[str, str]:
        """Return an approval; empty where there is none that can be read."""
        if self.folder is None:
            return {}
        try:
            found = json.loads((self.folder / name).read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        is_usable = isinstance(found, dict) and all(isinstance(one, str) for one in found.values())
        return found if is_usable else {}

    def _write(self, name: str, approval: Mapping[str, str]) -> None:
        if self.folder is None:
            raise OptionError(
                "the approval cannot be recorded: there is no folder for configuration; set HOME "
                "or XDG_CONFIG_HOME (APPDATA on Windows), name the file in SPANWISE_CONFIG, or the "
                "address in SPANWISE_TRUSTED_ADDRESSES"
            )
        import tempfile  # nothing but an approval needs it

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.folder)  # of mode 0600
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as stream:
                    json.dump(approval, stream)
                Path(temporary).replace(self.folder / name)
            except BaseException:
                with suppress(OSError):
                    Path(temporary).unlink()
                raise
        except OSError as error:
            raise OptionError(
                f"the approval cannot be recorded in {self.folder} ({error.strerror}); make that "
                "folder writable, name the file in SPANWISE_CONFIG, or the address in "
                "SPANWISE_TRUSTED_ADDRESSES"
            ) from error

    def _remove(self, name: str) -> bool:
        if self.folder is None:
            return False
        try:
            (self.folder / name).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise OptionError(
                f"the approval {self.folder / name} cannot be removed ({error.strerror}); make "
                "that folder writable"
            ) from error
        return True


def parse_origins(text: str, *, variable: str) -> frozenset[str]:
    """Return the origins of a list of addresses with commas between them.

    Raises:
        OptionError: If one of them is no address.
    """
    if not text:
        return frozenset()
    from spanwise.config.network_addresses import canonical_origin

    found = set()
    for one in filter(None, map(str.strip, text.split(","))):
        try:
            found.add(canonical_origin(one))
        except ValueError as error:
            raise OptionError(
                f"{variable} holds {one!r}, which is no address ({error}); write addresses such as "
                "http://gpu:8000, with commas between them"
            ) from error
    return frozenset(found)


def _place(path: Path) -> str:
    """Return the folder of a file, links resolved, with the name of the file."""
    return str(path.parent.resolve() / path.name)


def _file_approval(path: Path, content: bytes) -> dict[str, str]:
    return {"file": _place(path), "sha256": hashlib.sha256(content).hexdigest()}


def _file_name(path: Path) -> str:
    return _name("file", _place(path))


def _name(kind: str, subject: str) -> str:
    """Return the file name of an approval; it is of one length and safe on every system."""
    said = f"{kind}\0{subject}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(said).hexdigest()[:_NAME_DIGITS] + ".json"
