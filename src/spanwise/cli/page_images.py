"""The pages of segments as pictures: `search --page-images FOLDER`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from spanwise.errors import DocumentError

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import Segment

__all__ = ["PageImageArguments", "WrittenImages", "page_images_option", "write_page_images"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


class PageImageArguments(TypedDict):
    """What a command line says of pictures of pages."""

    page_images: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenImages:
    """The pictures that were written, and what could not be drawn."""

    paths: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Of each segment, by its rank, in the order of pages."""
    warnings: tuple[str, ...] = ()


def page_images_option(command: _Command) -> _Command:
    """Add `--page-images`."""
    return click.option(
        "--page-images",
        metavar="FOLDER",
        type=click.Path(file_okay=False),
        help="Write the pages of PDFs that the segments stand on into this folder, as PNG files.",
    )(command)


def write_page_images(
    knowledge_base: KnowledgeBase, segments: Sequence[Segment], *, folder: str | None
) -> WrittenImages:
    """Write the pages that segments stand on, and return what was written.

    Args:
        knowledge_base: Holds the segments.
        segments: Each is written as "segment-1-page-12.png", 1 being worth most.
        folder: Is made where it is missing; None to write nothing.

    Raises:
        FileError: If a file cannot be written.
    """
    paths: dict[int, Sequence[str]] = {}
    warnings = []
    for segment in segments if folder is not None else ():
        pages = segment.citation.pages
        if pages is None:
            continue
        try:
            images = knowledge_base.segment_images(segment)
        except DocumentError as error:
            warnings.append(f"no picture of {segment.citation.page_range}: {error}")
            continue
        names = [
            f"segment-{segment.rank + 1}-page-{pages[0] + at}.png" for at in range(len(images))
        ]
        files = [Path(folder or "", name) for name in names]
        for file, image in zip(files, images, strict=True):
            _write(file, image)
        paths[segment.rank] = [str(file) for file in files]
    return WrittenImages(paths=paths, warnings=tuple(warnings))


def _write(file: Path, image: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(image)
    except OSError as error:
        raise click.FileError(str(file), hint=error.strerror) from error
