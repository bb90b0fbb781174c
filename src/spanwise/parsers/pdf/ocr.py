"""Reading pictures of text: which engine does it, and what it gives."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from spanwise.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "OcrEngine",
    "OcrLine",
    "OcrWord",
    "check_engine",
    "has_engine",
    "ocr_advice",
    "open_engine",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OcrWord:
    """A word of a picture, without white space; places are in dots from the left."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OcrLine:
    """Words that stand on one line, from left to right; places are in dots from the top."""

    words: tuple[OcrWord, ...]
    top: float
    bottom: float


class OcrEngine(Protocol):
    """Reads pictures of text."""

    @property
    def name(self) -> str:
        """What people are told."""

    @property
    def dots_per_inch(self) -> int:
        """How finely pages are drawn for it."""

    def read(self, picture: NDArray[np.uint8]) -> Sequence[OcrLine]:
        """Return the lines of a picture (height, width), black is 0; none where it has no text.

        Raises:
            OSError: If the engine fails.
        """


def check_engine(name: str) -> None:
    """Check that an engine that was asked for by name is there.

    Args:
        name: As `ParseOptions.ocr`.

    Raises:
        OptionError: If it is not installed.
    """
    if name in ("auto", "off") or has_engine(name):
        return
    if name == "rapidocr":
        raise OptionError("ocr is 'rapidocr', which is not installed; pip install 'spanwise[ocr]'")
    raise OptionError(f"ocr is {name!r}, which is not on the PATH; install tesseract-ocr")


def has_engine(name: str) -> bool:
    """Return whether an engine is there, none of which is loaded.

    Args:
        name: As `ParseOptions.ocr`.
    """
    program = name.partition(":")[0]
    if program in ("rapidocr", "auto") and _has_rapidocr():
        return True
    return program in ("tesseract", "auto") and shutil.which("tesseract") is not None


def ocr_advice(name: str) -> str:
    """Return what to do about pages that nobody read.

    Args:
        name: As `ParseOptions.ocr`.
    """
    if name == "off":
        return "OCR is off (ocr, --ocr); switch it on, or run OCR on it first"
    if has_engine(name):
        return "run OCR on it first"
    return "install spanwise[ocr] or Tesseract, or run OCR on it first"


def open_engine(name: str) -> OcrEngine | None:
    """Return the engine that is asked for, or with "auto" the first that is there.

    Args:
        name: As `ParseOptions.ocr`.

    Returns:
        None with "off", and where there is none.
    """
    program, _, languages = name.partition(":")
    if program in ("rapidocr", "auto") and _has_rapidocr():
        from spanwise.parsers.pdf.ocr_rapidocr import RapidOcr

        return RapidOcr()
    if program in ("tesseract", "auto") and (path := shutil.which("tesseract")):
        from spanwise.parsers.pdf.ocr_tesseract import Tesseract

        return Tesseract(path, languages=languages)
    return None


def _has_rapidocr() -> bool:
    return find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None
