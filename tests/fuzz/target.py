"""Fuzzing target: a function that reads untrusted bytes, and what it may do with them."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanwise.errors import SpanwiseError

__all__ = [
    "BETWEEN", "CORPUS", "JSON_VALUES", "Finding", "Target", "check", "kept_inputs", "run_input",
]  # fmt: skip

CORPUS = Path(__file__).parent / "corpus"
"""Folder of the inputs that once found a defect, by target."""

BETWEEN = b"\n%%\n"
"""Separator of the parts of an input."""
JSON_VALUES = (b"null", b"[]", b"{}", b'"\\ud800"', b"1e999", b"NaN", b"-1", b"true")
"""Values that JSON allows where others are expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A function that reads untrusted bytes."""

    name: str
    run: Callable[[bytes], object]
    """Function that reads one input."""
    seeds: Callable[[], Sequence[bytes]]
    """Function that returns valid inputs, from which others are made."""
    allowed: tuple[type[Exception], ...] = (SpanwiseError,)
    """Errors that the function may raise."""
    cpu_seconds: float = 10.0
    """Maximum CPU time of one input."""
    max_bytes: int = 20_000
    """Maximum size of one input."""
    tokens: tuple[bytes, ...] = ()
    """Words of the format, which the fuzzer inserts."""
    is_zip: bool = False
    """Whether the inputs are ZIP files, whose members are changed instead of the packed bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Defect that an input showed."""

    kind: str
    """Name of the exception, or "slow"."""
    place: str
    """Innermost function of the project in the traceback, as "file:function"."""
    report: str
    """Traceback or measured time."""

    @property
    def key(self) -> str:
        """File name without an extension; findings of one cause share it."""
        return f"{self.kind}-{self.place.replace('/', '.').replace(':', '-')}"


def run_input(target: Target, data: bytes) -> Finding | None:
    """Run a target on one input.

    Returns:
        The defect that it showed; None if it behaved as documented.
    """
    began = time.process_time()
    try:
        target.run(data)
    except target.allowed:
        pass
    except Exception as error:  # noqa: BLE001 - every other error is a finding
        report = "".join(traceback.format_exception(error))
        return Finding(kind=type(error).__name__, place=_place(error), report=report)
    seconds = time.process_time() - began
    if seconds > target.cpu_seconds:
        report = f"{seconds:.1f} seconds of CPU time for {len(data):,} bytes\n"
        return Finding(kind="slow", place=target.name, report=report)
    return None


def _place(error: BaseException) -> str:
    """Return the innermost function of the project in a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/spanwise/" in frame.filename] or frames
    file = own[-1].filename.rpartition("/spanwise/")[2].removesuffix(".py")
    return f"{Path(file).name if file.startswith('/') else file}:{own[-1].name}"


def check(condition: object, message: str) -> None:
    """Raise if a law does not hold.

    Raises:
        AssertionError: If the condition is false.
    """
    if not condition:
        raise AssertionError(message)


def kept_inputs(name: str) -> list[Path]:
    """Return the kept inputs of a target."""
    return sorted((CORPUS / name).glob("*.bin"))
