"""`spanwise threads`: list, show and remove stored conversations."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from spanwise.cli.answer_layout import draw_thread, draw_threads
from spanwise.cli.arguments import json_option, knowledge_base_option
from spanwise.cli.command_classes import ExampleCommand, ExampleGroup
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, count
from spanwise.config import knowledge_base_path

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase


@click.group(
    cls=ExampleGroup,
    short_help="List, show and remove conversations.",
    examples=[
        ("list all conversations", "spanwise threads list"),
        ("show one conversation with its answers", "spanwise threads show 20260301-091500-4f2a9c"),
    ],
)
def threads() -> None:
    """Manage the conversations of `spanwise ask --chat` and `--thread`."""


@threads.command(
    "list",
    cls=ExampleCommand,
    short_help="List the conversations.",
    examples=[
        ("list the conversations of a knowledge base", "spanwise threads list --kb reports.kb")
    ],
)
@knowledge_base_option
@json_option
def list_threads(*, kb: str | None, as_json: bool) -> ExitCode:
    """List the conversations, most recent first."""
    with _open(kb) as knowledge_base:
        infos = knowledge_base.threads.list()
    if as_json:
        write_json({"threads": infos}, sys.stdout)
        return ExitCode.OK
    page = Page()
    draw_threads(infos, page)
    if not infos:
        page.line("no conversations; start one with `spanwise ask --chat`")
    return ExitCode.OK


@threads.command(
    cls=ExampleCommand,
    short_help="Show a conversation.",
    examples=[
        ("show questions, answers and citations", "spanwise threads show 20260301-091500-4f2a9c"),
        ("write JSON", "spanwise threads show 20260301-091500-4f2a9c --json"),
    ],
    exit_codes=(ExitCode.NOTHING_FOUND,),
)
@click.argument("thread_id", metavar="ID")
@knowledge_base_option
@json_option
def show(*, thread_id: str, kb: str | None, as_json: bool) -> ExitCode:
    """Show each turn of a conversation: question, answer, citations and usage."""
    with _open(kb) as knowledge_base:
        thread = knowledge_base.threads.get(thread_id)
    if as_json:
        write_json(thread, sys.stdout)
    else:
        draw_thread(thread, Page())
    return ExitCode.OK


@threads.command(
    cls=ExampleCommand,
    short_help="Remove conversations.",
    examples=[("remove one conversation", "spanwise threads remove 20260301-091500-4f2a9c")],
    exit_codes=(ExitCode.NOTHING_FOUND,),
)
@click.argument("thread_ids", metavar="ID...", nargs=-1, required=True)
@knowledge_base_option
@json_option
def remove(*, thread_ids: tuple[str, ...], kb: str | None, as_json: bool) -> ExitCode:
    """Remove conversations with all their turns. Documents are not changed."""
    removed: list[str] = []
    not_found: list[str] = []
    with _open(kb) as knowledge_base:
        for thread_id in dict.fromkeys(thread_ids):
            existed = knowledge_base.threads.delete(thread_id)
            (removed if existed else not_found).append(thread_id)
    if as_json:
        write_json({"removed": removed, "not_found": not_found}, sys.stdout)
    else:
        Page().line(f"{count(len(removed), 'conversation')} removed")
        errors = Page(sys.stderr)
        for thread_id in not_found:
            errors.message("not found: ", thread_id, "red")
    return ExitCode.NOTHING_FOUND if not_found else ExitCode.OK


def _open(kb: str | None) -> KnowledgeBase:
    from spanwise.knowledge_base import KnowledgeBase

    return KnowledgeBase(knowledge_base_path(kb), create=False)
