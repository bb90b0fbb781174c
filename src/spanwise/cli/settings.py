"""Default values of command-line options from the settings."""

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
"""Parameter of each command whose default is a setting, by setting and command."""


class CreationKeywords(TypedDict, total=False):
    """Arguments of `KnowledgeBase` that apply only to a new one."""

    embedder: str | None
    tokenizer: str
    packs: tuple[str, ...]


def command_defaults(settings: Iterable[Setting]) -> dict[str, dict[str, Value]]:
    """Return option defaults by command and parameter, for settings with a value."""
    defaults: dict[str, dict[str, Value]] = {}
    for setting in settings:
        if setting.origin == "default":
            continue
        for command, parameter in _OPTIONS.get(setting.name, {}).items():
            defaults.setdefault(command, {})[parameter] = setting.value
    return defaults


def untrusted_warning(project: ProjectFile | None) -> str:
    """Return a warning if settings of the project file are ignored; else an empty string."""
    if project is None or not project.ignored:
        return ""
    names = ", ".join(setting.name for setting in project.ignored)
    return (
        f"{project.path} is not trusted, so its settings {names} are ignored; read the file, then "
        "run `spanwise config trust`"
    )


def creation_keywords(path: Path) -> CreationKeywords:
    """Return the settings for a new knowledge base; empty if the folder holds one."""
    from spanwise.config import read_settings

    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        return {}
    keywords: CreationKeywords = {}
    for setting in read_settings():
        name, value = setting.name, setting.value
        if name == "add.embedder" and setting.origin != "default":
            keywords["embedder"] = None if value == "none" else str(value)
        if name == "add.tokenizer" and setting.origin != "default":
            keywords["tokenizer"] = str(value)
        if name == "add.packs" and isinstance(value, tuple) and value:
            keywords["packs"] = () if value == ("none",) else value
    return keywords
