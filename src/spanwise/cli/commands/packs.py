"""`spanwise packs`: manage domain packs."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.command_classes import ExampleCommand, ExampleGroup
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, count, one_line, shortened
from spanwise.cli.output import write_json
from spanwise.config import knowledge_base_path
from spanwise.loading import package_text

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.packs.pack_file import Pack
    from spanwise.types import PackInfo, PackPlace


_SHOWN_PLACES = 3


@click.group(
    cls=ExampleGroup,
    short_help="Manage domain packs.",
    examples=[
        ("list the packs and how many documents use each", "spanwise packs list"),
        ("create a pack of your own", "spanwise packs new leases.toml"),
    ],
)
def packs() -> None:
    """Manage domain packs: landmarks and vocabulary for kinds of documents.

    A pack describes the landmarks of a kind of document (such as the balance sheet of an annual
    report), the words of questions that point to each landmark, and a glossary. It is active only
    in documents that contain its landmarks. A knowledge base stores a copy of its packs.
    """


@packs.command(
    "list",
    cls=ExampleCommand,
    short_help="List the packs and their documents.",
    examples=[("list the packs of a knowledge base", "spanwise packs list --kb reports.kb")],
)
@knowledge_base_option
@json_option
def list_packs(*, kb: str | None, as_json: bool) -> ExitCode:
    """List the packs in use, then the built-in packs that are not in use."""
    with _open(kb) as knowledge_base:
        _write_packs(knowledge_base.packs.list(), knowledge_base, as_json=as_json)
    return ExitCode.OK


@packs.command(
    cls=ExampleCommand,
    short_help="Create a pack file from a template.",
    examples=[("create leases.toml", "spanwise packs new leases.toml")],
)
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
def new(*, path: Path) -> ExitCode:
    """Create a pack file from a template: a small working pack with comments on every key."""
    name = re.sub(r"^[^a-z]+|[^a-z0-9_-]+", "", path.stem.lower().replace(" ", "-"))
    text = package_text("spanwise.packs", "template/pack.toml")
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text.replace("NAME", name[:40] or "mine", 1))
    except FileExistsError as error:
        raise click.UsageError(f"{path} exists already; name another file") from error
    except OSError as error:
        raise click.UsageError(
            f"{path} cannot be written ({error.strerror}); name a file in an existing folder"
        ) from error
    Page().line(f"{path} created; check it with `spanwise packs check {quote(str(path))}`")
    return ExitCode.OK


@packs.command(
    cls=ExampleCommand,
    short_help="Check a pack and list the landmarks it finds.",
    examples=[
        ("check a pack file", "spanwise packs check leases.toml"),
        (
            "also list its landmarks in a knowledge base",
            "spanwise packs check leases.toml --kb leases.kb",
        ),
    ],
    exit_codes={ExitCode.NOTHING_FOUND: "no document contains a landmark of the pack"},
)
@click.argument("pack", metavar="PACK")
@knowledge_base_option
@json_option
def check(*, pack: str, kb: str | None, as_json: bool) -> ExitCode:
    """Check a pack and, if there is a knowledge base, list the landmarks found in it.

    PACK is a file or the name of a built-in pack. Nothing is changed.
    """
    from spanwise.knowledge_base.components import is_vacant
    from spanwise.packs.pack_file import open_pack

    opened = open_pack(pack).pack
    path = knowledge_base_path(kb)
    if kb is None and is_vacant(path):
        if as_json:
            write_json({"pack": opened.name, "places": None}, sys.stdout)
        else:
            _draw_pack(opened, Page())
        return ExitCode.OK
    with _open(kb) as knowledge_base:
        places = knowledge_base.packs.find(pack)
        documents = len(knowledge_base.list())
    if as_json:
        write_json({"pack": opened.name, "places": places}, sys.stdout)
    else:
        page = Page()
        _draw_pack(opened, page)
        _draw_places(opened, places, documents, page)
    return ExitCode.OK if places else ExitCode.NOTHING_FOUND


@packs.command(
    cls=ExampleCommand,
    short_help="Add packs to a knowledge base.",
    examples=[
        ("add a pack of your own", "spanwise packs use leases.toml --kb leases.kb"),
        ("add or update a built-in pack", "spanwise packs use filings"),
    ],
)
@click.argument("names", metavar="PACK...", nargs=-1, required=True)
@knowledge_base_option
@json_option
def use(*, names: tuple[str, ...], kb: str | None, as_json: bool) -> ExitCode:
    """Add packs to a knowledge base, replacing packs of the same name.

    PACK is a file or the name of a built-in pack. The documents are scanned for its landmarks;
    they are not parsed or embedded again. The knowledge base stores a copy of the file.
    """
    from spanwise.knowledge_base import KnowledgeBase

    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        _write_packs(knowledge_base.packs.use(*names), knowledge_base, as_json=as_json)
    return ExitCode.OK


@packs.command(
    cls=ExampleCommand,
    short_help="Remove packs from a knowledge base.",
    examples=[("remove a pack", "spanwise packs remove filings")],
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@knowledge_base_option
@json_option
def remove(*, names: tuple[str, ...], kb: str | None, as_json: bool) -> ExitCode:
    """Remove packs from a knowledge base. Pack files are not deleted."""
    from spanwise.knowledge_base import KnowledgeBase

    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        _write_packs(knowledge_base.packs.remove(*names), knowledge_base, as_json=as_json)
    return ExitCode.OK


def _open(kb: str | None) -> KnowledgeBase:
    """Open the knowledge base given as argument or by `--kb`; by default an empty one in memory."""
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.knowledge_base.components import is_vacant

    path = knowledge_base_path(kb)
    if kb is None and is_vacant(path):
        return KnowledgeBase(":memory:")
    return KnowledgeBase(path, create=False)


def _write_packs(
    infos: Sequence[PackInfo], knowledge_base: KnowledgeBase, *, as_json: bool
) -> None:
    if as_json:
        write_json(infos, sys.stdout)
        return
    documents = len(knowledge_base.list())
    page = Page()
    for info in infos:
        state = f"active in {info.documents:,} of {count(documents, 'document')}"
        page.line(f"{page.paint(info.name, 'bold')}  {state if info.in_use else 'not in use'}")
        page.wrapped(info.description, indent="  ")
        page.wrapped(
            page.joined(
                [
                    ", ".join(info.landmarks),
                    count(info.phrases, "phrase"),
                    f"{count(info.glossary, 'word')} in its glossary",
                    "built-in" if info.origin == "spanwise" else info.origin,
                ]
            ),
            "dim",
            indent="  ",
        )
        if info.outdated:
            page.wrapped(
                f"Spanwise has another version of this pack: spanwise packs use {info.name}",
                "yellow",
                indent="  ",
            )


def _draw_pack(pack: Pack, page: Page) -> None:
    page.line(f"{page.paint(pack.name, 'bold')} is valid: {one_line(pack.description)}")
    intents = {intent.landmark: intent for intent in pack.intents}
    page.facts(
        [
            *(
                (
                    landmark.key,
                    page.joined(
                        [
                            landmark.name,
                            count(len(landmark.titles), "title"),
                            count(len(landmark.items), "item"),
                            _phrases(intents[landmark.key].names + intents[landmark.key].words)
                            if landmark.key in intents
                            else "no question words",
                        ]
                    ),
                )
                for landmark in pack.landmarks
            ),
            ("glossary", count(len(pack.glossary), "word")),
        ]
    )


def _phrases(phrases: Sequence[str]) -> str:
    return f"{count(len(phrases), 'question phrase')}"


def _draw_places(pack: Pack, places: Sequence[PackPlace], documents: int, page: Page) -> None:
    """Write the number of documents with each landmark, and its first occurrences."""
    order = [landmark.key for landmark in pack.landmarks]
    places_by_landmark = {
        key: list(group)
        for key, group in groupby(
            sorted(places, key=lambda place: order.index(place.landmark)),
            key=lambda place: place.landmark,
        )
    }
    for landmark in pack.landmarks:
        here = places_by_landmark.get(landmark.key, [])
        page.line()
        page.line(f"{one_line(landmark.name)}: in {len(here):,} of {count(documents, 'document')}")
        for place in here[:_SHOWN_PLACES]:
            name = one_line(place.document_id)
            line = f"  {name} {place.start}-{place.end}: {one_line(place.text)}"
            page.line(page.paint(shortened(line, page.width), "dim"))
        if len(here) > _SHOWN_PLACES:
            page.line(page.paint(f"  and {len(here) - _SHOWN_PLACES:,} more", "dim"))
    if not places:
        page.line()
        page.wrapped(
            "no landmark found; a landmark is a line similar to one of its titles, with "
            "some of its "
            "items nearby, in a document of several chunks"
        )
