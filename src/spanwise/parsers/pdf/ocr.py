"""OCR engines: RapidOCR (models in its package, ONNX Runtime) and Tesseract (a program).

Nothing is downloaded: RapidOCR would download a model whose file is missing or damaged, so its
models are checked by their SHA-256 before it is loaded, and named by their paths. Tesseract runs as
one process per image and returns a table of words.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from spanwise.config import disable_telemetry
from spanwise.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class OcrWord:
    """Word of an image, without white space; positions are in pixels from the left."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OcrLine:
    """Words of one line, from left to right; positions are in pixels from the top."""

    words: tuple[OcrWord, ...]
    top: float
    bottom: float


class OcrEngine(Protocol):
    """Interface of an OCR engine."""

    @property
    def name(self) -> str:
        """Name for users."""

    @property
    def dots_per_inch(self) -> int:
        """Resolution of the images of pages."""

    def read(self, picture: NDArray[np.uint8]) -> Sequence[OcrLine]:
        """Return the lines of an image (height, width), black is 0; none if it has no text.

        Raises:
            OSError: If the engine fails.
        """


def check_engine(name: str) -> None:
    """Check that an engine is installed.

    Args:
        name: Name as in `ParseOptions.ocr`.

    Raises:
        OptionError: If it is not installed.
    """
    if name in ("auto", "off") or has_engine(name):
        return
    if name == "rapidocr":
        raise OptionError("ocr is 'rapidocr', which is not installed; pip install 'spanwise[ocr]'")
    raise OptionError(f"ocr is {name!r}, which is not on the PATH; install tesseract-ocr")


def has_engine(name: str) -> bool:
    """Return whether an engine is installed, without loading it.

    Args:
        name: Name as in `ParseOptions.ocr`.
    """
    program = name.partition(":")[0]
    if program in ("rapidocr", "auto") and _has_rapidocr():
        return True
    return program in ("tesseract", "auto") and shutil.which("tesseract") is not None


def ocr_advice(name: str) -> str:
    """Return the advice for pages that were not read.

    Args:
        name: Name as in `ParseOptions.ocr`.
    """
    if name == "off":
        return "OCR is off (ocr, --ocr); switch it on, or run OCR on it first"
    if has_engine(name):
        return "run OCR on it first"
    return "install spanwise[ocr] or Tesseract, or run OCR on it first"


def open_engine(name: str) -> OcrEngine | None:
    """Return the named engine, or with "auto" the first that is installed.

    Args:
        name: Name as in `ParseOptions.ocr`.

    Returns:
        The engine; None with "off", or if none is installed.
    """
    program, _, languages = name.partition(":")
    if program in ("rapidocr", "auto") and _has_rapidocr():
        return RapidOcr()
    if program in ("tesseract", "auto") and (path := shutil.which("tesseract")):
        return Tesseract(path, languages=languages)
    return None


def _has_rapidocr() -> bool:
    return find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None


_Word = tuple[str, float, list[list[int]] | None]
"""Text, score and four corners of a word."""


RAPIDOCR_MODELS: Mapping[str, tuple[str, str]] = {
    "Det": (
        "PP-OCRv6_det_small.onnx",
        "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
    ),
    "Cls": (
        "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
    ),
    "Rec": (
        "PP-OCRv6_rec_small.onnx",
        "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
    ),
}
"""File in the package, and its SHA-256, of the model of each step of RapidOCR 3.10."""


def check_models(folder: Path) -> dict[str, Path]:
    """Return the path of the model of each step of RapidOCR, after a check of its SHA-256.

    Args:
        folder: Folder of the models.

    Raises:
        OSError: If a file is missing or has another checksum.
    """
    paths = {}
    for step, (name, expected) in RAPIDOCR_MODELS.items():
        paths[step] = folder / name
        with paths[step].open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
        if checksum != expected:
            raise OSError(
                f"{paths[step]} is not the expected model (SHA-256 {checksum}, expected "
                f"{expected}): install rapidocr 3.10 again, or use Tesseract"
            )
    return paths


class RapidOcr:
    """RapidOCR with the models of its package, for Latin letters and Chinese."""

    name = "rapidocr"
    dots_per_inch = 200

    def __init__(self) -> None:
        self._engine: Callable[..., object] | None = None

    def _load(self) -> Callable[..., object]:
        """Return the engine, loaded with models whose checksums are those expected.

        Raises:
            OSError: If a model is missing or damaged.
        """
        disable_telemetry()
        package = find_spec("rapidocr")
        assert package is not None  # noqa: S101 - see `open_engine`
        assert package.origin is not None  # noqa: S101 - it is a package of files
        models = check_models(Path(package.origin).parent / "models")
        from rapidocr import RapidOCR

        given = {f"{step}.model_path": str(path) for step, path in models.items()}
        return RapidOCR(params={"Global.log_level": "error", **given})

    def read(self, picture: NDArray[np.uint8]) -> Sequence[OcrLine]:
        """Return the lines of an image: runs of text without wide gaps.

        Raises:
            OSError: If the engine fails.
        """
        import numpy as np
        from rapidocr.utils.output import RapidOCROutput

        if self._engine is None:
            self._engine = self._load()
        colours = np.repeat(picture[:, :, None], 3, axis=2)
        try:
            found = self._engine(colours, return_word_box=True)
        except Exception as error:  # errors of ONNX Runtime have no common class
            raise OSError(f"rapidocr failed: {error}") from error
        if not isinstance(found, RapidOCROutput) or found.boxes is None:
            return []
        lines = []
        read = cast("Sequence[Sequence[_Word]]", found.word_results)  # declared one level too flat
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


_WORD_LEVEL = 5
_COLUMNS = 12
_ERROR_CHARS = 300


class Tesseract:
    """Tesseract with the configured languages, English by default."""

    name = "tesseract"
    dots_per_inch = 300

    def __init__(self, program: str, *, languages: str) -> None:
        self._command = [program, "stdin", "stdout", "--dpi", str(self.dots_per_inch)]
        self._command += (["-l", languages] if languages else []) + ["tsv"]

    def read(self, picture: NDArray[np.uint8]) -> Sequence[OcrLine]:
        """Return the lines of an image.

        Raises:
            OSError: If the program fails, for example because a language is missing.
        """
        height, width = picture.shape
        image = b"P5 %d %d 255\n" % (width, height) + picture.tobytes()
        # The time limit of the parent process ends this process and the program together.
        done = subprocess.run(  # noqa: S603 - a program by its full path, no shell
            self._command, input=image, capture_output=True, check=False
        )
        if done.returncode:
            message = done.stderr.decode("utf-8", "replace").strip()
            raise OSError(
                f"tesseract ended with status {done.returncode}: {message[:_ERROR_CHARS]}"
            )
        return _read_table(done.stdout.decode("utf-8", "replace"))


def _read_table(table: str) -> list[OcrLine]:
    """Return the lines of the table of Tesseract (a row per page, block, line and word)."""
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
