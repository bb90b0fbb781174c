"""`spanwise packs`: what is known of kinds of documents, and where it is on."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import resources
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, count, one_line, shortened
from spanwise.cli.usage_errors import TeachingCommand, TeachingGroup
from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.packs.pack_file import Pack
    from spanwise.types import PackInfo, PackPlace


_SHOWN_PLACES = 3


@click.group(
    cls=TeachingGroup,
    short_help="Say what is known of kinds of documents.",
    examples=[
        ("which packs there are, and in how many documents each is on", "spanwise packs list"),
        ("write one of your own, and try it", "spanwise packs new leases.toml"),
    ],
)
def packs() -> None:
    """Packs: what is known of a kind of document before any question is asked.

    A pack names places that such documents have, words of questions that point to them, and a
    glossary. It switches itself on in the documents in which its places are found, and changes
    nothing elsewhere. A knowledge base keeps its packs with their content.
    """


@packs.command(
    "list",
    cls=TeachingCommand,
    short_help="List the packs, and where they are on.",
    examples=[("those of a knowledge base", "spanwise packs list --kb reports.kb")],
)
@knowledge_base_option
@json_option
def list_packs(*, kb: str | None, as_json: bool) -> ExitCode:
    """List the packs that are in use, then those that come with Spanwise and are not."""
    with _opened(kb) as knowledge_base:
        _tell(knowledge_base.packs.list(), knowledge_base, as_json=as_json)
    return ExitCode.OK


@packs.command(
    cls=TeachingCommand,
    short_help="Write a pack to start from.",
    examples=[("every key explained, ready to be changed", "spanwise packs new leases.toml")],
)
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
def new(*, path: Path) -> ExitCode:
    """Write a pack to start from: a small one that works, with every key explained."""
    name = re.sub(r"^[^a-z]+|[^a-z0-9_-]+", "", path.stem.lower().replace(" ", "-"))
    text = resources.files("spanwise").joinpath("packs/template/pack.toml").read_text("utf-8")
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text.replace("NAME", name[:40] or "mine", 1))
    except FileExistsError as error:
        raise click.UsageError(f"{path} is there already; name another file") from error
    except OSError as error:
        raise click.UsageError(
            f"{path} cannot be written ({error.strerror}); name a file in a folder that is there"
        ) from error
    Page().line(f"{path} is written; `spanwise packs check {quote(str(path))}` checks it")
    return ExitCode.OK


@packs.command(
    cls=TeachingCommand,
    short_help="Check a pack, and say what it finds.",
    examples=[
        ("whether a file is right", "spanwise packs check leases.toml"),
        ("and where its places are found", "spanwise packs check leases.toml --kb leases.kb"),
    ],
    exit_codes=(ExitCode.OK, ExitCode.ERROR, ExitCode.USAGE, ExitCode.NOTHING_FOUND),
)
@click.argument("pack", metavar="PACK")
@knowledge_base_option
@json_option
def check(*, pack: str, kb: str | None, as_json: bool) -> ExitCode:
    """Check a pack, and say where it finds its places in a knowledge base, if there is one.

    PACK is a file, or the name of a pack that comes with Spanwise. Nothing is changed.
    """
    from spanwise.packs.shipped_packs import open_pack

    opened = open_pack(pack).pack
    path = knowledge_base_path(kb)
    if kb is None and not path.exists():
        if as_json:
            write_json({"pack": opened.name, "places": None}, sys.stdout)
        else:
            _draw_pack(opened, Page())
        return ExitCode.OK
    with _opened(kb) as knowledge_base:
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
    cls=TeachingCommand,
    short_help="Use packs in a knowledge base.",
    examples=[
        ("one of your own", "spanwise packs use leases.toml --kb leases.kb"),
        ("the one that comes with Spanwise, as this version has it", "spanwise packs use filings"),
    ],
)
@click.argument("names", metavar="PACK...", nargs=-1, required=True)
@knowledge_base_option
@json_option
def use(*, names: tuple[str, ...], kb: str | None, as_json: bool) -> ExitCode:
    """Use packs, in place of those with the same names; each PACK is a file, or a known name.

    The documents are looked through anew, without being parsed or embedded again; the knowledge
    base keeps the content of the file.
    """
    from spanwise.knowledge_base import KnowledgeBase

    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        _tell(knowledge_base.packs.use(*names), knowledge_base, as_json=as_json)
    return ExitCode.OK


@packs.command(
    cls=TeachingCommand,
    short_help="Use packs no longer.",
    examples=[("search without it", "spanwise packs remove filings")],
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@knowledge_base_option
@json_option
def remove(*, names: tuple[str, ...], kb: str | None, as_json: bool) -> ExitCode:
    """Use packs no longer; files on disk stay."""
    from spanwise.knowledge_base import KnowledgeBase

    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        _tell(knowledge_base.packs.remove(*names), knowledge_base, as_json=as_json)
    return ExitCode.OK


def _opened(kb: str | None) -> KnowledgeBase:
    """Return the knowledge base that is named or set; a new one where there is none yet."""
    from spanwise.knowledge_base import KnowledgeBase

    path = knowledge_base_path(kb)
    if kb is None and not path.exists():
        return KnowledgeBase(":memory:")
    return KnowledgeBase(path, create=False)


def _tell(infos: Sequence[PackInfo], knowledge_base: KnowledgeBase, *, as_json: bool) -> None:
    if as_json:
        write_json(infos, sys.stdout)
        return
    documents = len(knowledge_base.list())
    page = Page()
    for info in infos:
        state = f"on in {info.documents:,} of {count(documents, 'document')}"
        page.line(f"{page.paint(info.name, 'bold')}  {state if info.in_use else 'not in use'}")
        page.wrapped(info.description, indent="  ")
        page.wrapped(
            page.joined(
                [
                    ", ".join(info.landmarks),
                    count(info.phrases, "phrase"),
                    f"{count(info.glossary, 'word')} in its glossary",
                    "comes with Spanwise" if info.origin == "spanwise" else info.origin,
                ]
            ),
            "dim",
            indent="  ",
        )
        if info.outdated:
            page.wrapped(
                f"another version comes with this program: spanwise packs use {info.name}",
                "yellow",
                indent="  ",
            )


def _draw_pack(pack: Pack, page: Page) -> None:
    page.line(f"{page.paint(pack.name, 'bold')} is right: {one_line(pack.description)}")
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
                            else "no question points to it",
                        ]
                    ),
                )
                for landmark in pack.landmarks
            ),
            ("glossary", count(len(pack.glossary), "word")),
        ]
    )


def _phrases(phrases: Sequence[str]) -> str:
    return f"{count(len(phrases), 'phrase')} of questions"


def _draw_places(pack: Pack, places: Sequence[PackPlace], documents: int, page: Page) -> None:
    """Write in how many documents each landmark is found, and the first of its places."""
    order = [landmark.key for landmark in pack.landmarks]
    found = {
        key: list(group)
        for key, group in groupby(
            sorted(places, key=lambda place: order.index(place.landmark)),
            key=lambda place: place.landmark,
        )
    }
    for landmark in pack.landmarks:
        here = found.get(landmark.key, [])
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
            "nothing is found: a place is a line that reads like one of the titles, with some of "
            "the items near, in a document of several chunks"
        )
