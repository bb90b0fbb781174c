"""Tesseract, the program: a process for each picture, whose answer is a table of words."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.parsers.pdf.ocr import OcrLine, OcrWord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Tesseract"]

_WORD_LEVEL = 5
_COLUMNS = 12
_ERROR_CHARS = 300


class Tesseract:
    """Reads with the languages that are named, English where none is."""

    name = "tesseract"
    dots_per_inch = 300

    def __init__(self, program: str, *, languages: str) -> None:
        self._command = [program, "stdin", "stdout", "--dpi", str(self.dots_per_inch)]
        self._command += (["-l", languages] if languages else []) + ["tsv"]

    def read(self, picture: NDArray[np.uint8]) -> Sequence[OcrLine]:
        """Return the lines of a picture.

        Raises:
            OSError: If the program fails, for want of a language perhaps.
        """
        height, width = picture.shape
        image = b"P5 %d %d 255\n" % (width, height) + picture.tobytes()
        # The parent's time limit ends this process and the program together.
        done = subprocess.run(  # noqa: S603 - a program by its full path, no shell
            self._command, input=image, capture_output=True, check=False
        )
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise OSError(f"tesseract ended with status {done.returncode}: {said[:_ERROR_CHARS]}")
        return _read_table(done.stdout.decode("utf-8", "replace"))


def _read_table(table: str) -> list[OcrLine]:
    """Return the lines of Tesseract's table: a row for each page, block, paragraph, line, word."""
    lines: dict[tuple[str, ...], list[tuple[OcrWord, float, float]]] = {}
    for row in table.split("\n")[1:]:
        cells = row.rstrip("\r").split("\t", _COLUMNS - 1)
        if len(cells) < _COLUMNS or int(cells[0]) != _WORD_LEVEL or not cells[-1].strip():
            continue
        left, top, width, height = map(float, cells[6:10])
        word = OcrWord(text=cells[-1].strip(), left=left, right=left + width)
        lines.setdefault(tuple(cells[1:5]), []).append((word, top, top + height))
    return [
        OcrLine(
            words=tuple(word for word, _, _ in words),
            top=min(top for _, top, _ in words),
            bottom=max(bottom for _, _, bottom in words),
        )
        for words in lines.values()
    ]
