"""The only reader of the environment and of `spanwise.toml`.

Rules:
    Precedence: argument, then environment, then the file of the project, then the file of the
    user, then default. An empty variable counts as not given.
    The file of the project is the nearest `spanwise.toml` from the working folder up to the root
    of its repository; without a repository, that of the working folder alone. Until the user has
    approved it, only its settings that need no trust count. The file of the user lies in the folder
    for configuration. `SPANWISE_CONFIG` names one file in place of both, or "none".
    Every key of a file is known, or it is an error that names the line. Secrets are in no file.
    Only the command line asks for settings: a library whose results changed with the working
    folder would surprise. The library does ask the trust store, which can only forbid.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from spanwise.config.keys import KEYS, Key, Value
from spanwise.config.trust import TrustStore, parse_origins
from spanwise.errors import OptionError
from spanwise.options import ContextOptions, FetchOptions, ModelOptions, ParseOptions

COMPLETION_VARIABLE = "_SPANWISE_COMPLETE"
"""How a shell asks for the completion of a command line."""
FILE_NAME = "spanwise.toml"
_ADDRESSES = "SPANWISE_TRUSTED_ADDRESSES"

_SECRETS = re.compile("key|token|secret|password|credential", re.IGNORECASE)
_KINDS = {str: "a text", int: "a whole number", float: "a finite number", tuple: "a list of texts"}
_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_QUOTES = "\"' \t"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A value, and where it came from."""

    name: str
    value: Value
    origin: Literal["argument", "environment", "file", "default"]
    place: str = ""
    """Variable, or file and line."""


_BY_NAME = {key.name: key for key in KEYS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFile:
    """The file of the project, and whether it counts."""

    path: Path
    is_trusted: bool
    """Whether the user has approved it as it is now."""
    ignored: tuple[Setting, ...]
    """Settings that would count if it were trusted."""


def read_settings() -> tuple[Setting, ...]:
    """Return every setting in the order of `KEYS`, without arguments.

    Raises:
        OptionError: If a file cannot be read, or a key or a value in it or in a variable is not
            usable.
    """
    found, _ = _read_all()
    return tuple(
        found.get(key.name) or Setting(name=key.name, value=key.default, origin="default")
        for key in KEYS
    )


def read_project_file() -> ProjectFile | None:
    """Return the file of the project with what it would set; None where there is none.

    Raises:
        OptionError: As `read_settings`.
    """
    return _read_all()[1]


def _read_all() -> tuple[dict[str, Setting], ProjectFile | None]:
    """Return the settings that are set, by name, and the file of the project."""
    found: dict[str, Setting] = {}
    for key in KEYS:
        given = os.environ.get(key.variable)
        if given:
            found[key.name] = _from_environment(key, given)
    project = None
    for path, needs_trust in _sources():
        content = _content(path)
        settings = [one for one in _read_file(path, content) if one.name not in found]
        ignored: list[Setting] = []
        if needs_trust:
            is_trusted = trust_store().has_file(path, content)
            if not is_trusted:
                ignored = [one for one in settings if _BY_NAME[one.name].needs_trust]
            project = ProjectFile(path=path, is_trusted=is_trusted, ignored=tuple(ignored))
        found |= {one.name: one for one in settings if one not in ignored}
    return found, project


def setting(name: str) -> Value:
    """Return the value of one setting.

    Raises:
        OptionError: As `read_settings`.
    """
    return next(one.value for one in read_settings() if one.name == name)


def settings_files() -> list[Path]:
    """Return the files that are read, the one that counts first; none where there is none.

    Raises:
        OptionError: If `SPANWISE_CONFIG` names a file that is not there.
    """
    return [path for path, _ in _sources()]


def _sources() -> list[tuple[Path, bool]]:
    """Return the files that are read, each with whether it needs the user's trust.

    Raises:
        OptionError: As `settings_files`.
    """
    named = os.environ.get("SPANWISE_CONFIG")
    if named == "none":
        return []
    if named:
        if not _is_file(Path(named)):
            raise OptionError(
                f'SPANWISE_CONFIG is {named!r}, which is no file; name one, or "none"'
            )
        return [(Path(named), False)]
    project, user = _project_file(), _user_file()
    files = [] if project is None or project == user else [(project, True)]
    return files if user is None else [*files, (user, False)]


def approve_file(path: Path) -> tuple[Setting, ...]:
    """Approve a project file as it is now, and return the settings that count from now on.

    Raises:
        OptionError: If it cannot be read or is not usable, or the approval cannot be recorded.
    """
    content = _content(path)
    settings = tuple(_read_file(path, content))
    trust_store().add_file(path, content)
    return settings


def trust_store() -> TrustStore:
    """Return the approvals of the user, and those of the environment.

    Raises:
        OptionError: If `SPANWISE_TRUSTED_ADDRESSES` holds something else than addresses.
    """
    folder = _user_folder()
    return TrustStore(
        folder=None if folder is None else folder / "trusted",
        origins=parse_origins(os.environ.get(_ADDRESSES, ""), variable=_ADDRESSES),
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # its folder cannot be looked into, or it is no path at all
        return False


def _is_root(folder: Path) -> bool:
    """Return whether a folder is the root of a repository."""
    try:
        return (folder / ".git").exists()
    except OSError:
        return False


def _project_file() -> Path | None:
    """Return the nearest file up to the root of the repository."""
    try:
        working = Path.cwd()
    except FileNotFoundError:  # the working folder was removed
        return None
    folders = [working, *working.parents]
    roots = [at for at, folder in enumerate(folders) if _is_root(folder)]
    paths = (folder / FILE_NAME for folder in folders[: roots[0] + 1 if roots else 1])
    return next(filter(_is_file, paths), None)


def _user_folder() -> Path | None:
    """Return our folder in the user's folder for configuration.

    One that is relative does not count, as the XDG specification says: it would be another one in
    each working folder.
    """
    named = os.environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", "")
    home = os.environ.get("HOME") or os.environ.get("USERPROFILE") or ""
    for folder in (Path(named), Path(home, ".config")):
        if folder.is_absolute():
            return folder / "spanwise"
    return None


def _user_file() -> Path | None:
    """Return the file in the user's folder for configuration."""
    folder = _user_folder()
    return folder / FILE_NAME if folder is not None and _is_file(folder / FILE_NAME) else None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error}; correct it, or move it away") from error


def _read_file(path: Path, content: bytes) -> Iterator[Setting]:
    """Yield the settings of a file."""
    import tomllib  # most command lines find no file

    try:
        text = content.decode("utf-8-sig")  # some editors write a byte order mark
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{path} cannot be read: {error}; correct it, or move it away") from error
    for name, value in _flat(data):
        place = f"{path}:{_line_of(name, text)}"
        key = _BY_NAME.get(name)
        if key is None:
            raise OptionError(_unknown(name, place))
        checked = _checked(key, tuple(value) if isinstance(value, list) else value, place)
        if name == "kb" or (name == "search.tuning" and checked):
            checked = _path_from(path.parent, str(checked), place, name=name)
        if name == "add.packs" and isinstance(checked, tuple):
            checked = tuple(
                _path_from(path.parent, one, place, name=name) if one.endswith(".toml") else one
                for one in checked
            )
        yield Setting(name=name, value=checked, origin="file", place=place)


def _path_from(base: Path, named: str, place: str, *, name: str) -> str:
    """Return a path that a file names: from the folder of the file, or from "~"."""
    try:
        return str(base / Path(named).expanduser())
    except RuntimeError as error:  # no such user, or no home
        raise OptionError(f"{place}: {name} is {named!r}; {error}: write the whole path") from error


def _flat(data: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the keys of a file with their tables; an unknown table as a key."""
    tables = {key.name.partition(".")[0] for key in KEYS if "." in key.name}
    for name, value in data.items():
        if isinstance(value, Mapping) and name in tables:
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())
        else:
            yield name, value


def _unknown(name: str, place: str) -> str:
    """Return what is said of a key that is not known; never its value."""
    last = name.rpartition(".")[2]
    by_last = {key.name.rpartition(".")[2]: key.name for key in KEYS}
    near = difflib.get_close_matches(name, _BY_NAME) or [
        by_last[one] for one in difflib.get_close_matches(last, by_last)
    ]
    if _SECRETS.search(last) and not near:
        return f"{place}: {name!r} is no setting; secrets belong into the environment, into no file"
    known = " or ".join(near) or ", ".join(_BY_NAME)
    asked = f"did you mean {known}?" if near else f"the settings are {known}"
    return f"{place}: {name!r} is no setting; {asked}"


def _checked(key: Key, value: object, place: str) -> Value:
    """Return the value of a key, if its type and range are right."""
    kind = type(key.default)
    fits = isinstance(value, kind) and not isinstance(value, bool)
    if kind is float and type(value) is int:
        value, fits = float(value), True
    if isinstance(value, float):
        fits = fits and isfinite(value)  # JSON has no other numbers
    if isinstance(value, tuple):
        fits = fits and all(isinstance(one, str) for one in value)
    if not fits or not isinstance(value, str | int | float | tuple):
        raise OptionError(f"{place}: {key.name} is {value!r}; it must be {_KINDS[kind]}")
    try:
        key.check(value)
    except OptionError as error:
        raise OptionError(f"{place}: {key.name}: {error}") from error
    return value


def _from_environment(key: Key, given: str) -> Setting:
    """Return the setting of a variable; a list has commas between its texts."""
    value: object = given
    kind = type(key.default)
    if kind is tuple:
        value = tuple(part.strip() for part in given.split(",") if part.strip())
    elif kind is not str:
        try:
            value = kind(given)
        except ValueError as error:
            raise OptionError(f"{key.variable} is {given!r}; it must be {_KINDS[kind]}") from error
    return Setting(
        name=key.name,
        value=_checked(key, value, key.variable),
        origin="environment",
        place=key.variable,
    )


def _line_of(name: str, text: str) -> int:
    """Return the line of a key, from 1; the line of its table where it stands in no line alone."""
    table, _, last = name.rpartition(".")
    current, best = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        header = _TABLE.match(line)
        if header is not None:
            current = header.group(1).strip(_QUOTES)
            best = number if current == table else best
            continue
        written = line.partition("=")[0].strip(_QUOTES).replace('"', "").replace("'", "")
        if (written == name and not current) or (written == last and current == table):
            return number
        if table and not current and written == table:
            best = number
    return best


def knowledge_base_path(argument: str | None = None) -> Path:
    """Return the folder of the knowledge base: the argument, or what is set.

    An empty value counts as not given.

    Raises:
        OptionError: As `read_settings`.
    """
    return Path(argument or str(setting("kb")))


def parse_options(**given: float | str) -> ParseOptions:
    """Return the options for parsing as they are set, but for those that are given.

    Raises:
        OptionError: As `read_settings`.
    """
    return ParseOptions(**{**_table("parse"), **given})


def model_options(**given: float | str | None) -> ModelOptions:
    """Return how models are called, as it is set, but for what is given; None is not given.

    Raises:
        OptionError: As `read_settings`.
    """
    table = _table("llm")
    del table["model"]
    # A setting has a number in place of "no limit".
    for name in ("requests_per_minute", "tokens_per_minute", "max_cost"):
        table[name] = table[name] or None
    table.update({name: value for name, value in given.items() if value is not None})
    return ModelOptions(**table)


def context_options(**parts: bool) -> ContextOptions:
    """Return what a language model makes of documents: these parts, by the words that are set.

    Raises:
        OptionError: As `read_settings`.
    """
    return ContextOptions(**_table("context") | parts)


def variable(name: str) -> str:
    """Return what a variable of a provider holds, such as an address; empty where it is not set."""
    return os.environ.get(name, "")


def fetch_options(**given: bool) -> FetchOptions:
    """Return the limits for fetching as they are set; what is allowed is given by hand alone.

    Raises:
        OptionError: As `read_settings`.
    """
    return FetchOptions(**_table("fetch"), **given)


def _table(name: str) -> dict[str, Any]:
    return {
        one.name.removeprefix(f"{name}."): one.value
        for one in read_settings()
        if one.name.startswith(f"{name}.")
    }


def wants_colour() -> bool:
    """Return whether a terminal may be coloured: not if `NO_COLOR` is set or `TERM` is dumb."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wants_traceback() -> bool:
    """Return whether `SPANWISE_TRACEBACK` asks for the traceback of an unexpected error."""
    return os.environ.get("SPANWISE_TRACEBACK", "") not in ("", "0")


def completion_request() -> str:
    """Return what a shell wants to complete, such as "bash_complete"; empty in a plain run."""
    return os.environ.get(COMPLETION_VARIABLE, "")
