"""Trust store: project files and server addresses that the user has approved.

Rules
    Each approval is a small JSON file of mode 0600, written to a temporary name and then renamed.
    Concurrent approvals therefore need no lock.
    A project file is identified by its folder and the SHA-256 of its content: a changed file, or a
    copy in another folder, must be approved again. Symbolic links in the path of the folder are
    resolved. A link at the file itself is not, because relative paths in the file start at the
    folder of the link.
    A server address is identified by its origin: scheme, host and port.
    An unreadable approval is ignored, so its file or address is not approved.
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
    """Folder of the approval files; None if the user has no configuration folder."""
    origins: frozenset[str] = frozenset()
    """Origins approved by an environment variable."""

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
        """Withdraw the approval of a file; return whether it was approved.

        Raises:
            OptionError: If the approval cannot be deleted.
        """
        return self._remove(_file_name(path))

    def has_origin(self, origin: str) -> bool:
        """Return whether an origin is approved by the user or the environment."""
        return origin in self.origins or self._read(_name("address", origin)) == {"address": origin}

    def add_origin(self, origin: str) -> None:
        """Approve an origin, as returned by `canonical_origin`.

        Raises:
            OptionError: If the approval cannot be written.
        """
        self._write(_name("address", origin), {"address": origin})

    def remove_origin(self, origin: str) -> bool:
        """Withdraw the approval of an origin; return whether it was approved.

        Raises:
            OptionError: If the approval cannot be deleted.
        """
        return self._remove(_name("address", origin))

    def approved_origins(self) -> list[str]:
        """Return all approved origins, sorted."""
        origins = set(self.origins)
        for path in self.folder.glob("*.json") if self.folder is not None else ():
            address = self._read(path.name).get("address", "")
            if path.name == _name("address", address):
                origins.add(address)
        return sorted(origins)

    def _read(self, name: str) -> dict[str, str]:
        """Return an approval; empty if it is missing or unreadable."""
        if self.folder is None:
            return {}
        try:
            approval = json.loads((self.folder / name).read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        is_valid = isinstance(approval, dict) and all(
            isinstance(value, str) for value in approval.values()
        )
        return approval if is_valid else {}

    def _write(self, name: str, approval: Mapping[str, str]) -> None:
        if self.folder is None:
            raise OptionError(
                "the approval cannot be recorded: there is no configuration folder; set HOME "
                "or XDG_CONFIG_HOME (APPDATA on Windows), name the file in SPANWISE_CONFIG, or the "
                "address in SPANWISE_TRUSTED_ADDRESSES"
            )
        import tempfile  # imported late: only approvals need it

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.folder)  # mode 0600
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
    """Return the origins of comma-separated addresses.

    Args:
        text: Addresses, or an empty string.
        variable: Name of the environment variable, for the error message.

    Raises:
        OptionError: If an entry is not an address.
    """
    if not text:
        return frozenset()
    from spanwise.config.network_addresses import canonical_origin

    origins = set()
    for address in filter(None, map(str.strip, text.split(","))):
        try:
            origins.add(canonical_origin(address))
        except ValueError as error:
            raise OptionError(
                f"{variable} contains {address!r}, which is not an address ({error}); write "
                "addresses such as http://gpu:8000, separated by commas"
            ) from error
    return frozenset(origins)


def _location(path: Path) -> str:
    """Return the path of a file, with symbolic links resolved in the path of its folder."""
    return str(path.parent.resolve() / path.name)


def _file_approval(path: Path, content: bytes) -> dict[str, str]:
    return {"file": _location(path), "sha256": hashlib.sha256(content).hexdigest()}


def _file_name(path: Path) -> str:
    return _name("file", _location(path))


def _name(kind: str, subject: str) -> str:
    """Return the file name of an approval, a hash that is a valid name on every system."""
    key = f"{kind}\0{subject}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(key).hexdigest()[:_NAME_DIGITS] + ".json"
