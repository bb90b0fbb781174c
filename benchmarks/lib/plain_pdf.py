"""Words that two PDF readers find in a file: pdfium and poppler."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["distinct_words", "poppler_version", "words_by_pdfium", "words_by_poppler"]

_WORD = re.compile(r"[A-Za-z0-9]{3,}")
_SECONDS = 20
_MEMORY_BYTES = 2_000_000_000
_PDFIUM = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY_BYTES}, {_MEMORY_BYTES}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import pypdfium2
document = pypdfium2.PdfDocument(sys.argv[1])
for number in range(len(document)):
    try:
        text = document[number].get_textpage().get_text_range()
    except pypdfium2.PdfiumError:
        continue
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\\n")
"""


def distinct_words(text: str) -> frozenset[str]:
    """Return the distinct words of a text with at least three letters or digits."""
    return frozenset(_WORD.findall(text))


def words_by_pdfium(path: Path) -> frozenset[str]:
    """Return the words found by pdfium within its limits; empty if it fails."""
    return _words([sys.executable, "-c", _PDFIUM, str(path)])


def words_by_poppler(path: Path) -> frozenset[str]:
    """Return the words found by pdftotext within its time limit; empty if it fails."""
    program = shutil.which("pdftotext")
    return _words([program, "-q", str(path), "-"]) if program else frozenset()


def _words(command: list[str]) -> frozenset[str]:
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return frozenset()
    text = done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
    return distinct_words(text)


def poppler_version() -> str:
    """Return the version of pdftotext, or a note that it is not installed."""
    program = shutil.which("pdftotext")
    if program is None:
        return "no pdftotext"
    done = subprocess.run([program, "-v"], capture_output=True, text=True, check=False)
    return (done.stderr or done.stdout).split("\n")[0]
