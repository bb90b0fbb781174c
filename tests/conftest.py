"""What all tests share: golden files, the settings of hypothesis, a real language model."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from tests.servers.llama import LlamaServer, llama
from tests.servers.postgres import postgres_database

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

settings.register_profile(
    "spanwise",
    deadline=None,  # a loaded machine fails no law
    max_examples=50,
)
settings.load_profile("spanwise")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A background job ignores interrupts, and so do the processes that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Without bytecode files, each process that a test starts spends a second on compiling.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ["SPANWISE_DEEP"] = "off"  # the same results with and without MiniLM, and fast
os.environ["SPANWISE_CONFIG"] = "none"  # what is set on this machine steers no test
_user_folder = tempfile.mkdtemp(prefix="spanwise-user-")
atexit.register(shutil.rmtree, _user_folder, ignore_errors=True)
for _name in ("XDG_CONFIG_HOME", "APPDATA"):
    os.environ[_name] = _user_folder  # nor what is trusted, and no test adds to it
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"  # nor do its keys

GoldenCheck = Callable[[str, object], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes the golden files anew."""
    parser.addoption(
        "--golden-rewrite", action="store_true", help="write the golden files instead of comparing"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> GoldenCheck:
    """Return a function that compares a value with the golden file of a name, as JSON.

    The file is `NAME.json` in the folder of the test.
    """
    folder = Path(request.path).parent
    rewrite = bool(request.config.getoption("--golden-rewrite"))

    def check(name: str, value: object) -> None:
        path = folder / f"{name}.json"
        written = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        if rewrite:
            path.write_text(written, encoding="utf-8", newline="\n")
        assert path.read_text(encoding="utf-8") == written

    return check


@pytest.fixture(scope="session")
def llama_server() -> Iterator[LlamaServer]:
    """Return a running server with a small language model; it starts once, when first asked for."""
    with llama() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Return the address of an empty database on a real server; its role is a superuser."""
    with postgres_database() as address:
        yield address


@pytest.fixture(scope="session")
def _exporter() -> InMemorySpanExporter:
    """Return the exporter of the tracer provider, which can be set only once in a process."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(_exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    """Return an exporter with the OpenTelemetry spans of the test."""
    _exporter.clear()
    yield _exporter
    _exporter.clear()
