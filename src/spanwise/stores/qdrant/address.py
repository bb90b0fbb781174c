"""Addresses of knowledge bases on Qdrant: `qdrant://host:6333/reports?shards=6&replicas=2`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from spanwise.errors import OptionError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_REST_PORT = 6333
_GRPC_PORT = 6334
_CONSISTENCIES = ("one", "majority", "quorum", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantAddress:
    """Server, knowledge base and options that an address names. It contains no secrets."""

    host: str
    """Host name or IP address."""
    port: int
    """Port of the REST or gRPC interface."""
    name: str
    """Name of the knowledge base, the prefix of its collections."""
    https: bool = False
    """Whether the connection is encrypted."""
    grpc: bool = False
    """Whether requests use gRPC."""
    shards: int = 0
    """Number of shards of new collections; 0 for one on each node."""
    replicas: int = 1
    """Number of replicas of each shard of new collections."""
    consistency: str = "majority"
    """Replicas that a read asks: "one", "majority", "quorum" or "all"."""
    exact_chunks: int = 20_000
    """Number of chunks up to which searches are exact."""
    timeout_seconds: int = 30
    """Time limit of one request."""
    on_disk: bool = False
    """Whether new collections keep vectors and postings on disk instead of in memory."""
    quantization: str = "none"
    """Compression of the vectors of new collections in memory: "none" or "int8"."""

    def __str__(self) -> str:
        scheme = "qdrants" if self.https else "qdrant"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}/{self.name}"


def read_address(address: str) -> QdrantAddress:
    """Return the parts of an address.

    Raises:
        OptionError: If the address is not valid, or contains a password. The message never contains
            the password.
    """
    parts = urlsplit(address)
    if parts.username is not None or parts.password is not None:
        raise OptionError(
            "the address of a Qdrant server contains a user or password; set QDRANT_API_KEY in the "
            "environment instead"
        )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(options.keys() - _READERS.keys())
    if unknown:
        shown = "a secret" if "api_key" in unknown else repr(unknown[0])
        raise OptionError(
            f"the address of a Qdrant server has {shown} as an option; the options are "
            f"{', '.join(_READERS)}, and the key is read from QDRANT_API_KEY"
        )
    name = parts.path.strip("/")
    if parts.scheme not in ("qdrant", "qdrants") or not parts.hostname or not _NAME.fullmatch(name):
        raise OptionError(
            f"{address!r} is not the address of a knowledge base on Qdrant; give "
            "qdrant://HOST:6333/NAME with a name of letters, digits, '_', '-' and '.'"
        )
    values = {option: _READERS[option](option, text) for option, text in options.items()}
    if parts.scheme == "qdrants":
        values["https"] = True
    timeout = values.pop("timeout", 30)
    port = _port(address)
    values.setdefault("grpc", port == _GRPC_PORT)
    if port is None:
        port = _GRPC_PORT if values["grpc"] else _REST_PORT
    return QdrantAddress(
        host=parts.hostname, port=port, name=name, timeout_seconds=timeout, **values
    )


def _port(address: str) -> int | None:
    try:
        return urlsplit(address).port
    except ValueError:
        raise OptionError(
            f"{address!r} has a port that is not a number from 0 to 65535; Qdrant listens on 6333"
        ) from None


def _flag(option: str, text: str) -> bool:
    if text not in ("", "true", "false", "1", "0"):
        raise OptionError(f"the option {option}={text!r} is not valid; give true or false")
    return text in ("", "true", "1")


def _number(low: int, high: int) -> Callable[[str, str], int]:
    def read(option: str, text: str) -> int:
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise OptionError(
                f"the option {option}={text!r} is not valid; give a number from {low} to {high}"
            )
        return int(text)

    return read


def _choice(*choices: str) -> Callable[[str, str], str]:
    def read(option: str, text: str) -> str:
        if text not in choices:
            raise OptionError(
                f"the option {option}={text!r} is not valid; give {' or '.join(choices)}"
            )
        return text

    return read


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "https": _flag,
    "grpc": _flag,
    "shards": _number(1, 1_000),
    "replicas": _number(1, 20),
    "consistency": _choice(*_CONSISTENCIES),
    "exact_chunks": _number(0, 1_000_000),
    "timeout": _number(1, 600),
    "on_disk": _flag,
    "quantization": _choice("none", "int8"),
}
