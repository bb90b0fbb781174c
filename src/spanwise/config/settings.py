"""Settings from the environment and from `spanwise.toml`, and API keys.

No other module reads the environment, a settings file or the keyring.

Rules:
    Precedence: argument, environment, project file, user file, default. An empty variable is
    treated as unset.
    The project file is the nearest `spanwise.toml` from the working folder up to the root of its
    repository; without a repository, only the working folder is searched. Until the user has
    approved it, only its settings that need no trust are used. The user file is in the user's
    configuration folder. `SPANWISE_CONFIG` names one file that replaces both, or is "none".
    An unknown key is an error that names its line. Secrets are never read from a file.
    Only the command line uses the settings, so that the results of the library do not depend on
    the working folder. The library only uses the trust store, which never changes a result: without
    an approval, a call is refused.
    API keys come from the environment or the keyring of the operating system. They are never stored
    or displayed: `Secret` hides its text until `reveal` is called.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple

from spanwise.config.approvals import TrustStore, parse_origins
from spanwise.config.setting_definitions import KEYS, Key, Value
from spanwise.config.store_address import Location, find_location, is_address
from spanwise.errors import OptionError
from spanwise.options import ContextOptions, FetchOptions, ModelOptions, ParseOptions

COMPLETION_VARIABLE = "_SPANWISE_COMPLETE"
"""Environment variable by which a shell requests completions."""
FILE_NAME = "spanwise.toml"
_ADDRESSES = "SPANWISE_TRUSTED_ADDRESSES"

_SECRETS = re.compile("key|token|secret|password|credential", re.IGNORECASE)
_KINDS = {str: "a text", int: "a whole number", float: "a finite number", tuple: "a list of texts"}
_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_QUOTES = "\"' \t"
_PREFIX = "SPANWISE_"
_SECRET_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_OTHER_VARIABLES = frozenset({"SPANWISE_CONFIG", "SPANWISE_DEEP", "SPANWISE_TRACEBACK", _ADDRESSES})
"""Variables that are not settings."""


class Setting(NamedTuple):
    """Value of a setting and its source."""

    name: str
    """Table and name of the setting, such as "search.budget"."""
    value: Value
    origin: Literal["argument", "environment", "file", "default"]
    """Kind of source."""
    place: str = ""
    """Name of the variable, or file and line; empty for a default."""


_BY_NAME = {key.name: key for key in KEYS}


class ProjectFile(NamedTuple):
    """Project file and its approval."""

    path: Path
    is_trusted: bool
    """Whether the user has approved the file with its current content."""
    ignored: tuple[Setting, ...]
    """Settings that are ignored because the file is not trusted."""


def read_settings() -> tuple[Setting, ...]:
    """Return the value of every setting in the order of `KEYS`, without command-line arguments.

    Raises:
        OptionError: If a file cannot be read, a key is unknown, or a value is invalid.
    """
    settings, _ = _read_all()
    return tuple(
        settings.get(key.name) or Setting(name=key.name, value=key.default, origin="default")
        for key in KEYS
    )


def read_project_file() -> ProjectFile | None:
    """Return the project file and its ignored settings; None if there is none.

    Raises:
        OptionError: As `read_settings`.
    """
    return _read_all()[1]


def _read_all() -> tuple[dict[str, Setting], ProjectFile | None]:
    """Return the settings that differ from the default, by name, and the project file."""
    settings: dict[str, Setting] = {}
    for key in KEYS:
        text = os.environ.get(key.variable)
        if text:
            settings[key.name] = _from_environment(key, text)
    project = None
    for path, needs_trust in _sources():
        content = _content(path)
        in_file = [item for item in _read_file(path, content) if item.name not in settings]
        ignored: list[Setting] = []
        if needs_trust:
            is_trusted = trust_store().has_file(path, content)
            if not is_trusted:
                ignored = [item for item in in_file if _BY_NAME[item.name].needs_trust]
            project = ProjectFile(path=path, is_trusted=is_trusted, ignored=tuple(ignored))
        settings |= {item.name: item for item in in_file if item not in ignored}
    return settings, project


def unknown_variables() -> list[str]:
    """Return a warning about each `SPANWISE_` variable that is not known, with similar names.

    Names of secrets are left out: the address of a server can name any variable as its key.
    """
    known = sorted({key.variable for key in KEYS} | _OTHER_VARIABLES)
    names = sorted(
        name
        for name in os.environ
        if name.startswith(_PREFIX) and name not in known and not name.endswith(_SECRET_ENDINGS)
    )
    return [
        f"the environment variable {name} is not known and is ignored; {_similar_variables(name)}"
        for name in names
    ]


def _similar_variables(name: str) -> str:
    """Return a hint with the known variables that are similar, or contain the same words."""
    known = sorted({key.variable for key in KEYS} | _OTHER_VARIABLES)
    words = set(name.removeprefix(_PREFIX).split("_"))
    similar = [other for other in known if words <= set(other.removeprefix(_PREFIX).split("_"))]
    similar = similar[:3] or difflib.get_close_matches(name, known, n=2, cutoff=0.8)
    if similar:
        return f"did you mean {' or '.join(similar)}?"
    return "`spanwise config` lists all variables"


def setting(name: str) -> Value:
    """Return the value of one setting.

    Raises:
        OptionError: As `read_settings`.
    """
    return next(item.value for item in read_settings() if item.name == name)


def settings_files() -> list[Path]:
    """Return the settings files in order of precedence.

    Raises:
        OptionError: If `SPANWISE_CONFIG` names a missing file.
    """
    return [path for path, _ in _sources()]


def _sources() -> list[tuple[Path, bool]]:
    """Return the settings files in order of precedence, and whether each file needs approval.

    Raises:
        OptionError: As `settings_files`.
    """
    named = os.environ.get("SPANWISE_CONFIG")
    if named == "none":
        return []
    if named:
        if not _is_file(Path(named)):
            raise OptionError(
                f'SPANWISE_CONFIG is {named!r}, which is not a file; name a file, or "none"'
            )
        return [(Path(named), False)]
    project, user = _project_file(), _user_file()
    files = [] if project is None or project == user else [(project, True)]
    return files if user is None else [*files, (user, False)]


def approve_file(path: Path) -> tuple[Setting, ...]:
    """Approve a project file with its current content and return its settings.

    Raises:
        OptionError: If the file cannot be read or is invalid, or the approval cannot be recorded.
    """
    content = _content(path)
    settings = tuple(_read_file(path, content))
    trust_store().add_file(path, content)
    return settings


def trust_store() -> TrustStore:
    """Return the approvals of the user and of the environment.

    Raises:
        OptionError: If `SPANWISE_TRUSTED_ADDRESSES` contains an invalid address.
    """
    folder = _user_folder()
    return TrustStore(
        folder=None if folder is None else folder / "trusted",
        origins=parse_origins(os.environ.get(_ADDRESSES, ""), variable=_ADDRESSES),
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # inaccessible folder, or an invalid path
        return False


def _is_root(folder: Path) -> bool:
    """Return whether a folder is the root of a Git repository."""
    try:
        return (folder / ".git").exists()
    except OSError:
        return False


def _project_file() -> Path | None:
    """Return the nearest `spanwise.toml` from the working folder up to the repository root."""
    try:
        working = Path.cwd()
    except FileNotFoundError:  # the working folder was removed
        return None
    folders = [working, *working.parents]
    roots = [depth for depth, folder in enumerate(folders) if _is_root(folder)]
    paths = (folder / FILE_NAME for folder in folders[: roots[0] + 1 if roots else 1])
    return next(filter(_is_file, paths), None)


def _user_folder() -> Path | None:
    """Return the Spanwise folder in the user's configuration folder; None if there is none."""
    folder = _named_folder("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", ".config")
    return None if folder is None else folder / "spanwise"


def user_cache_folder() -> Path | None:
    """Return the folder for caches of the user; None if there is none."""
    return _named_folder("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", ".cache")


def _named_folder(name: str, below_home: str) -> Path | None:
    """Return the folder that a variable names, or else one in the home folder.

    Relative paths are ignored, as the XDG specification requires.
    """
    home = os.environ.get("HOME") or os.environ.get("USERPROFILE") or ""
    folders = (Path(os.environ.get(name, "")), Path(home, below_home))
    return next((folder for folder in folders if folder.is_absolute()), None)


def _user_file() -> Path | None:
    """Return the settings file in the user's configuration folder; None if there is none."""
    folder = _user_folder()
    return folder / FILE_NAME if folder is not None and _is_file(folder / FILE_NAME) else None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error}; correct or move the file") from error


def _read_file(path: Path, content: bytes) -> Iterator[Setting]:
    """Yield the settings of a file."""
    import tomllib  # imported late: most users have no file

    try:
        text = content.decode("utf-8-sig")  # some editors write a byte order mark
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{path} cannot be read: {error}; correct or move the file") from error
    for name, value in _flat(data):
        place = f"{path}:{_line_of(name, text)}"
        key = _BY_NAME.get(name)
        if key is None:
            raise OptionError(_unknown(name, place))
        checked = _checked(key, tuple(value) if isinstance(value, list) else value, place)
        is_path = name == "kb" and not is_address(str(checked))
        if is_path or (name == "search.tuning" and checked):
            checked = _path_from(path.parent, str(checked), place, name=name)
        if name == "add.packs" and isinstance(checked, tuple):
            checked = tuple(
                _path_from(path.parent, pack, place, name=name) if pack.endswith(".toml") else pack
                for pack in checked
            )
        yield Setting(name=name, value=checked, origin="file", place=place)


def _path_from(base: Path, path: str, place: str, *, name: str) -> str:
    """Return a path from a settings file, relative to its folder, with "~" expanded."""
    try:
        return str(base / Path(path).expanduser())
    except RuntimeError as error:  # no such user, or no home
        raise OptionError(f"{place}: {name} is {path!r}; {error}: write the full path") from error


def _flat(data: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield name ("table.key") and value of each setting; an unknown table counts as a setting."""
    tables = {key.name.partition(".")[0] for key in KEYS if "." in key.name}
    for name, value in data.items():
        if isinstance(value, Mapping) and name in tables:
            yield from ((f"{name}.{inner}", item) for inner, item in value.items())
        else:
            yield name, value


def _unknown(name: str, place: str) -> str:
    """Return the error message for an unknown key; it never contains the value."""
    last = name.rpartition(".")[2]
    by_last = {key.name.rpartition(".")[2]: key.name for key in KEYS}
    similar = difflib.get_close_matches(name, _BY_NAME) or [
        by_last[match] for match in difflib.get_close_matches(last, by_last)
    ]
    if similar:
        hint = f"did you mean {' or '.join(similar)}?"
    elif _SECRETS.search(last):
        hint = "put secrets into environment variables, never into a file"
    else:
        hint = f"the settings are {', '.join(_BY_NAME)}"
    return f"{place}: {name!r} is not a setting; {hint}"


def _checked(key: Key, value: object, place: str) -> Value:
    """Return a value after checking its type and range.

    Raises:
        OptionError: If the type or the range is wrong.
    """
    kind = type(key.default)
    fits = isinstance(value, kind) and not isinstance(value, bool)
    if kind is float and type(value) is int:
        value, fits = float(value), True
    if isinstance(value, float):
        fits = fits and isfinite(value)  # JSON has no infinity and no NaN
    if isinstance(value, tuple):
        fits = fits and all(isinstance(item, str) for item in value)
    if not fits or not isinstance(value, str | int | float | tuple):
        raise OptionError(f"{place}: {key.name} is {value!r}; it must be {_KINDS[kind]}")
    try:
        key.check(value)
    except OptionError as error:
        raise OptionError(f"{place}: {key.name}: {error}") from error
    return value


def _from_environment(key: Key, text: str) -> Setting:
    """Return a setting from its environment variable; commas separate the items of a list."""
    value: object = text
    kind = type(key.default)
    if kind is tuple:
        value = tuple(part.strip() for part in text.split(",") if part.strip())
    elif kind is not str:
        try:
            value = kind(text)
        except ValueError as error:
            raise OptionError(f"{key.variable} is {text!r}; it must be {_KINDS[kind]}") from error
    return Setting(
        name=key.name,
        value=_checked(key, value, key.variable),
        origin="environment",
        place=key.variable,
    )


def _line_of(name: str, text: str) -> int:
    """Return the line number, from 1, of a key in a settings file, or else of its table."""
    table, _, last = name.rpartition(".")
    current, best = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        header = _TABLE.match(line)
        if header is not None:
            current = header.group(1).strip(_QUOTES)
            best = number if current == table else best
            continue
        key = line.partition("=")[0].strip(_QUOTES).replace('"', "").replace("'", "")
        if (key == name and not current) or (key == last and current == table):
            return number
        if table and not current and key == table:
            best = number
    return best


def knowledge_base_path(argument: str | None = None) -> Location:
    """Return the place of a knowledge base: the argument, or the setting `kb` if it is empty.

    Raises:
        OptionError: See `read_settings` and `find_location`.
    """
    return find_location(argument or str(setting("kb")))


def parse_options(**overrides: float | str) -> ParseOptions:
    """Return the parsing options from the settings, with overrides.

    Raises:
        OptionError: As `read_settings`.
    """
    return ParseOptions(**{**_table("parse"), **overrides})


def model_options(**overrides: float | str | None) -> ModelOptions:
    """Return the model options from the settings, with overrides other than None.

    Raises:
        OptionError: As `read_settings`.
    """
    table = _table("llm")
    del table["model"]
    # Settings use 0 for "no limit", ModelOptions uses None.
    for name in ("requests_per_minute", "tokens_per_minute", "max_cost"):
        table[name] = table[name] or None
    table.update({name: value for name, value in overrides.items() if value is not None})
    return ModelOptions(**table)


def context_options(**parts: bool) -> ContextOptions:
    """Return the context options: the parts requested by arguments, other options from settings.

    Raises:
        OptionError: As `read_settings`.
    """
    return ContextOptions(**_table("context") | parts)


def variable(name: str) -> str:
    """Return the value of an environment variable of a provider; empty if it is not set."""
    return os.environ.get(name, "")


def fetch_options(**permissions: bool) -> FetchOptions:
    """Return the fetch options, with limits from the settings and permissions from arguments.

    Raises:
        OptionError: As `read_settings`.
    """
    return FetchOptions(**_table("fetch"), **permissions)


def _table(name: str) -> dict[str, Any]:
    return {
        item.name.removeprefix(f"{name}."): item.value
        for item in read_settings()
        if item.name.startswith(f"{name}.")
    }


def wants_colour() -> bool:
    """Return whether colours are allowed: False if `NO_COLOR` is set or `TERM` is "dumb"."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def disable_blas_threads() -> None:
    """Let numpy calculate in one thread, unless it is loaded or the user has set a number.

    OpenBLAS starts a thread for each core when numpy is loaded, and these threads wait busily. That
    takes more processor time than a search, which does not use them.
    """
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def wants_traceback() -> bool:
    """Return whether `SPANWISE_TRACEBACK` requests the traceback of an internal error."""
    return os.environ.get("SPANWISE_TRACEBACK", "") not in ("", "0")


def completion_request() -> str:
    """Return the completion request of a shell, such as "bash_complete"; empty in a normal run."""
    return os.environ.get(COMPLETION_VARIABLE, "")


KEYRING_SERVICE = "spanwise"
"""Service name of the keys in the keyring; the user name is that of the environment variable."""


class Secret:
    """Text whose `repr` is "***"."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Create a secret with this text."""
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def hide_in(self, text: str) -> str:
        """Return a text with each occurrence of the secret replaced by "***"."""
        return text.replace(self._text, "***")

    def __repr__(self) -> str:
        """Return "***"."""
        return "***"


def find_secret(name: str) -> Secret | None:
    """Return an API key; None if it is not set.

    The environment takes precedence over the keyring, which is read if the package `keyring` is
    installed: `keyring set spanwise OPENAI_API_KEY` stores a key there.

    Args:
        name: Name of the environment variable, such as "OPENAI_API_KEY".

    Raises:
        OptionError: If the key contains a space, a control character or non-ASCII text. HTTP
            clients would show such a key in error messages in an escaped form, which `hide_in`
            does not find.
    """
    key = variable(name).strip() or _from_keyring(name)
    if not key:
        return None
    invalid = (number for number, character in enumerate(key, 1) if not "!" <= character <= "~")
    position = next(invalid, None)
    if position is not None:
        raise OptionError(
            f"character {position} of {name} is not valid in a key (it is a space, a line break or "
            "not an ASCII character); set the key again"
        )
    return Secret(key)


def _from_keyring(name: str) -> str:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return ""
    try:
        return (keyring.get_password(KEYRING_SERVICE, name) or "").strip()
    except KeyringError:  # no keyring, as on servers, or a locked one: treated as no key
        return ""


METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Variable with the folder of metrics, as prometheus-client names it."""
TELEMETRY_OFF: Mapping[str, str] = {
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "SCARF_NO_ANALYTICS": "true",
}
"""Environment variables that disable the telemetry of third-party libraries.

They are set in every process that loads ONNX Runtime, Hugging Face libraries or parsers. ONNX
Runtime, for example, creates a machine id and reports to its vendor as soon as it is imported.
"""


def share_metrics(folder: str) -> None:
    """Make the processes that this one starts collect their metrics in a folder."""
    os.environ[METRICS_FOLDER] = folder


def disable_telemetry() -> None:
    """Set `TELEMETRY_OFF` in this process; must be called before such a library is imported."""
    os.environ.update(TELEMETRY_OFF)
