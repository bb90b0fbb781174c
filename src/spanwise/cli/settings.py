"""What settings mean to the commands: defaults of their options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.config import ProjectFile, Setting, Value


_OPTIONS = {
    "search.budget": {"search": "budget", "explain": "budget"},
    "search.preset": {"search": "preset", "explain": "preset", "excerpts": "preset"},
    "search.tokenizer": {"search": "tokenizer", "explain": "tokenizer", "excerpts": "tokenizer"},
    "search.tuning": dict.fromkeys(("search", "explain", "excerpts", "ask"), "tuning"),
    "llm.model": dict.fromkeys(
        ("add", "sync", "search", "explain", "excerpts", "ask", "eval"), "llm"
    ),
    "excerpts.excerpts": {"excerpts": "excerpts"},
    "excerpts.excerpt_tokens": {"excerpts": "excerpt_tokens"},
    "add.include": {"add": "include", "sync": "include"},
    "add.exclude": {"add": "exclude", "sync": "exclude"},
    "add.durability": {"add": "durability", "sync": "durability"},
    "rerank.model": dict.fromkeys(("search", "explain", "excerpts", "ask"), "rerank"),
    "parse.timeout_seconds": {"add": "timeout", "sync": "timeout"},
    "parse.parser": {"add": "parser", "sync": "parser"},
    "parse.ocr": {"add": "ocr", "sync": "ocr"},
}
"""Parameters of commands that a setting is the default of, by command."""


class MakingKeywords(TypedDict, total=False):
    """What a new knowledge base is made with."""

    embedder: str | None
    tokenizer: str
    packs: tuple[str, ...]


def command_defaults(settings: Iterable[Setting]) -> dict[str, dict[str, Value]]:
    """Return the defaults of options that are set, by command and parameter."""
    defaults: dict[str, dict[str, Value]] = {}
    for one in settings:
        if one.origin == "default":
            continue
        for command, parameter in _OPTIONS.get(one.name, {}).items():
            defaults.setdefault(command, {})[parameter] = one.value
    return defaults


def untrusted_warning(project: ProjectFile | None) -> str:
    """Return what is said of a project file whose settings do not all count; else nothing."""
    if project is None or not project.ignored:
        return ""
    names = ", ".join(one.name for one in project.ignored)
    return (
        f"{project.path} is not trusted, so what it sets for {names} does not count; read it, then "
        "run `spanwise config trust`"
    )


def making_keywords(path: Path) -> MakingKeywords:
    """Return what is set for new knowledge bases, nothing for one that is there."""
    from spanwise.config import read_settings

    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        return {}
    wanted: MakingKeywords = {}
    for one in read_settings():
        if one.name == "add.embedder" and one.origin != "default":
            wanted["embedder"] = None if one.value == "none" else str(one.value)
        if one.name == "add.tokenizer" and one.origin != "default":
            wanted["tokenizer"] = str(one.value)
        if one.name == "add.packs" and isinstance(one.value, tuple) and one.value:
            wanted["packs"] = () if one.value == ("none",) else one.value
    return wanted
