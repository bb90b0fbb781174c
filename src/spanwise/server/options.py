"""Options of the server. Importing them loads nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from spanwise.errors import OptionError

NOT_INSTALLED = (
    "the server needs fastapi, uvicorn, python-multipart and prometheus-client: "
    "pip install 'spanwise[serve]'"
)
"""Message of the error if a package is missing."""
_PACKAGES = ("fastapi", "uvicorn", "python_multipart", "prometheus_client")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Values of the Host header for a server on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Limits of requests to one process."""

    body_bytes: int = 1_000_000
    """Maximum size of a body, in bytes."""
    upload_bytes: int = 100_000_000
    """Maximum size of a body with uploaded files, a text or chunks, in bytes. Keys that cannot add
    documents have the smaller limit."""
    concurrent: int = 32
    """Maximum number of concurrent requests; more are refused with status 429."""
    seconds: float = 120.0
    """Maximum time of a request, and maximum time until a client reads a part of its response, in
    seconds."""

    def __post_init__(self) -> None:
        """Check the limits.

        Raises:
            OptionError: If a limit is not positive.
        """
        for name in ("body_bytes", "upload_bytes", "concurrent", "seconds"):
            if not getattr(self, name) > 0:
                raise OptionError(f"{name} is {getattr(self, name)}; give a positive number")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOptions:
    """Options of the ingest queue of each knowledge base."""

    max_waiting: int = 100
    """Maximum number of unfinished jobs; more are refused with status 429."""
    max_uploads: int = 8
    """Maximum number of uploads that one process receives at a time; more are refused with status
    429. Slow uploads therefore leave room for other requests."""
    keep_uploads: bool = True
    """Whether uploaded files are kept while a document comes from them. Without them, there are no
    images of pages and figures."""
    keep_days: float = 7.0
    """Time for which finished jobs are listed, and for which the files of failed and cancelled jobs
    are kept to resume them, in days."""
    allow_generation: bool = False
    """Whether jobs may have parts of documents written by the language model of the server."""
    lease_seconds: float = 15.0
    """Time after which another process takes over the job of a killed process, in seconds."""

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            OptionError: If a number is not positive.
        """
        for name in ("max_waiting", "max_uploads", "keep_days", "lease_seconds"):
            if not getattr(self, name) > 0:
                raise OptionError(f"{name} is {getattr(self, name)}; give a positive number")


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Configuration of a server."""

    knowledge_bases: Mapping[str, str] = field(repr=False)
    """Paths and addresses of the knowledge bases by name; an address may contain a password."""
    keys_file: str = ""
    """Path of the key file; empty if requests need no key."""
    llm: str = ""
    """Language model of answers; empty for none."""
    rerank: str = ""
    """Reranker; empty for none."""
    max_cost: float | None = None
    """Maximum total cost of model calls of each process, in US dollars."""
    hosts: tuple[str, ...] | None = LOOPBACK
    """Accepted values of the Host header; None for all."""
    limits: RequestLimits = field(default_factory=RequestLimits)
    """Limits of requests."""
    queue: QueueOptions = field(default_factory=QueueOptions)
    """Options of the ingest queues."""
    allow_private: bool = False
    """Whether URLs on private networks and on this machine may be added."""
    agents_write: bool = False
    """Whether agents (MCP) with a key of the role "write" may add and remove documents."""
    stopping_file: str = ""
    """Path of a file that exists once the server is stopping; empty for none."""
    runs_jobs: bool = True
    """Whether the process of the application runs ingest jobs, on a thread. Otherwise another
    process runs them."""


def check_packages() -> None:
    """Check that the packages of the server are installed, without loading them.

    Raises:
        OptionError: If one is missing.
    """
    if not all(map(find_spec, _PACKAGES)):
        raise OptionError(NOT_INSTALLED)
