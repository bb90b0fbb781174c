"""RapidOCR: models in its own package, run by ONNX Runtime; nothing is fetched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from spanwise.config import disable_telemetry
from spanwise.parsers.pdf.ocr import OcrLine, OcrWord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["RapidOcr"]

_Word = tuple[str, float, list[list[int]] | None]
"""Text, score and four corners."""


class RapidOcr:
    """Reads Latin letters and Chinese with the models of the package."""

    name = "rapidocr"
    dots_per_inch = 200

    def __init__(self) -> None:
        disable_telemetry()
        from rapidocr import RapidOCR

        self._engine = RapidOCR(params={"Global.log_level": "error"})

    def read(self, picture: NDArray[np.uint8]) -> Sequence[OcrLine]:
        """Return the lines of a picture: pieces of text without wide gaps.

        Raises:
            OSError: If the engine fails.
        """
        import numpy as np
        from rapidocr.utils.output import RapidOCROutput

        colours = np.repeat(picture[:, :, None], 3, axis=2)
        try:
            found = self._engine(colours, return_word_box=True)
        except Exception as error:  # ONNX Runtime's own have no common class
            raise OSError(f"rapidocr failed: {error}") from error
        if not isinstance(found, RapidOCROutput) or found.boxes is None:
            return []
        lines = []
        read = cast("Sequence[Sequence[_Word]]", found.word_results)  # its own type is one too flat
        for box, words in zip(found.boxes, read, strict=True):
            heights = [float(corner[1]) for corner in box]
            top, bottom = sum(heights[:2]) / 2, sum(heights[2:]) / 2
            lines.append(OcrLine(words=_read_words(words), top=top, bottom=bottom))
        return [line for line in lines if line.words]


def _read_words(words: Sequence[_Word]) -> tuple[OcrWord, ...]:
    return tuple(
        OcrWord(
            text="".join(text.split()),
            left=min(corner[0] for corner in corners),
            right=max(corner[0] for corner in corners),
        )
        for text, _, corners in words
        if corners and text.strip()
    )
