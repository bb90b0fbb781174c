"""Files of a folder, in an order and with ids that do not depend on the machine.

Patterns are those of a .gitignore file, without negation:

    *.pdf           a file or folder of that name at any depth
    drafts/         a folder of that name at any depth, with everything in it
    reports/*.md    a slash before the end binds the pattern to the root; `*` does not match slashes
    a/**/b.txt      `**` matches any number of folders, also none
    [abc] ? [!a-c]  one character

A file is selected if it or a folder around it matches an `include` pattern (or there is none), and
none of them matches an `exclude` pattern. Patterns are case-sensitive. Hidden files and folders
(`.git`) and knowledge bases (`*.kb`, or with a `truth.db`) are always excluded, unless they are the
root.

A container (archive, mailbox, e-mail) is like a folder: `*.pdf` also selects the PDF files in
`a.zip`, `a.zip/b/*.md` some of its members, `a.zip` all of them. A file that `include` does not
match is opened if it has the name of a container; `exclude` prevents that.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from spanwise.core.text.file_names import name_to_id
from spanwise.errors import FetchError, OptionError
from spanwise.parsers.formats import CONTAINER_EXTENSIONS

_KNOWLEDGE_BASE_FILE = "truth.db"
_SPECIAL_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_HIDDEN_FOLDER = re.compile(r".*\.kb|__MACOSX", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """File of a folder."""

    path: Path
    document_id: str
    """POSIX path relative to the root; the file name if the root is a file."""
    members_only: bool = False
    """Whether only its members may be added: it is a container that patterns do not select."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadablePath:
    """File or folder that cannot be read."""

    document_id: str
    """Id of the file, or prefix (without the slash) of the ids below the folder.

    Empty for the root itself.
    """
    error: FetchError


def walk(
    root: Path, *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Iterator[FoundFile | UnreadablePath]:
    """Yield the regular files below a folder, ordered by id; the root itself if it is a file.

    Symbolic links are followed, but each real file is yielded once, under its own path if that is
    below the root too, and loops end. An unreadable path (a folder, a broken link, a missing root)
    is yielded as an error in its place, so the rest is still read. A FIFO, socket or device, or a
    link to one, is an error with the code "unsupported", because opening it could block forever.

    Args:
        root: Folder or file.
        include: Patterns of files to include; all files if empty.
        exclude: Patterns of files to exclude; they override `include`.

    Raises:
        OptionError: If a pattern is empty, begins with "!" or has a range like [z-a].
    """
    patterns = PathPatterns.of(include, exclude)
    if _is_file(root):
        yield FoundFile(path=root, document_id=name_to_id(root.name))
        return
    search = _Search(root, patterns)
    search.visit(root, "")
    search.follow_links()
    last = None
    names = sorted((name_to_id(path), path) for path in search.found)
    for identifier, path in names:
        result = search.found[path]
        if isinstance(result, FetchError):
            yield UnreadablePath(document_id=identifier, error=result)
        elif identifier == last:
            error = FetchError(
                f"{identifier}: two files have this id, because their names are not valid UTF-8; "
                "rename one",
                source=identifier,
                code="conflict",
            )
            yield UnreadablePath(document_id=identifier, error=error)
        else:
            members_only = not patterns.takes(path)
            yield FoundFile(path=result, document_id=identifier, members_only=members_only)
            last = identifier


def special_kind(mode: int) -> str:
    """Return the kind of a special file with this mode; "" for files, folders and links."""
    return next((kind for is_kind, kind in _SPECIAL_KINDS if is_kind(mode)), "")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # not reachable, which the search reports
        return False


@dataclass(frozen=True, slots=True)
class _Pattern:
    names: re.Pattern[str]
    folders_only: bool

    def matches(self, path: str, *, is_folder: bool) -> bool:
        return (is_folder or not self.folders_only) and self.names.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class PathPatterns:
    """Compiled include and exclude patterns."""

    include: tuple[_Pattern, ...] = ()
    exclude: tuple[_Pattern, ...] = ()

    @classmethod
    def of(cls, include: Sequence[str], exclude: Sequence[str]) -> PathPatterns:
        """Compile patterns.

        Raises:
            OptionError: If a pattern is invalid.
        """
        return cls(tuple(map(_compile, include)), tuple(map(_compile, exclude)))

    def reaches(self, path: str) -> bool:
        """Return whether neither a container member nor a folder around it is excluded."""
        folders = [str(folder) for folder in PurePosixPath(path).parents][:-1]
        return not self.leaves_out(path, is_folder=False) and not any(
            self.leaves_out(folder, is_folder=True) for folder in folders
        )

    def opens(self, path: str) -> bool:
        """Return whether an unselected file may be a container of selected members."""
        return PurePosixPath(path.lower()).suffix in CONTAINER_EXTENSIONS

    def leaves_out(self, path: str, *, is_folder: bool) -> bool:
        """Return whether a file or folder is hidden, a knowledge base or excluded."""
        name = path.rpartition("/")[2]
        if name.startswith(".") or (is_folder and _HIDDEN_FOLDER.fullmatch(name)):
            return True
        return any(pattern.matches(path, is_folder=is_folder) for pattern in self.exclude)

    def takes(self, path: str) -> bool:
        """Return whether a file that is not left out matches the include patterns."""
        if not self.include:
            return True
        folders = [str(folder) for folder in PurePosixPath(path).parents][:-1]
        return any(
            pattern.matches(path, is_folder=False)
            or any(pattern.matches(folder, is_folder=True) for folder in folders)
            for pattern in self.include
        )


def _compile(pattern: str) -> _Pattern:
    folders_only = pattern.endswith("/")
    body = pattern.rstrip("/")
    if not body or body.startswith("!"):
        raise OptionError(
            f"pattern is {pattern!r}; it must name files or folders, and cannot be negated: "
            "use include and exclude"
        )
    if "/" not in body:
        body = f"**/{body}"
    parts = body.removeprefix("/").split("/")
    pieces = []
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            pieces.append(".+" if last else "(?:[^/]+/)*")
        else:
            pieces.append(_translate(part) + ("" if last else "/"))
    try:
        names = re.compile("".join(pieces), re.DOTALL)
    except re.error as exc:
        raise OptionError(f"pattern {pattern!r} is invalid: {exc}; fix its brackets") from exc
    return _Pattern(names, folders_only)


def _translate(part: str) -> str:
    """Return the regular expression of a pattern between two slashes."""
    result = []
    position = 0
    while position < len(part):
        sign = part[position]
        close = part.find("]", position + 2) if sign == "[" else -1
        if sign == "*":
            result.append("[^/]*")
        elif sign == "?":
            result.append("[^/]")
        elif close > 0:
            members = part[position + 1 : close]
            negated = members.startswith("!")
            members = re.sub(r"([\\\[\]^&~|])", r"\\\1", members.removeprefix("!"))
            result.append(f"(?!/)[{'^' if negated else ''}{members}]")
            position = close
        else:
            result.append(re.escape(sign))
        position += 1
    return "".join(result)


@dataclass(slots=True)
class _Search:
    """State of a walk: first the tree itself, then the targets of its links."""

    root: Path
    patterns: PathPatterns
    found: dict[str, Path | FetchError] = field(default_factory=dict)
    real_files: set[str] = field(default_factory=set)
    real_folders: set[str] = field(default_factory=set)
    links: list[tuple[str, Path]] = field(default_factory=list)

    def visit(self, folder: Path, prefix: str) -> None:
        """Collect the files and links below a folder; `prefix` is its path with a slash."""
        pending = [(folder, prefix)]
        while pending:
            current, place = pending.pop()
            real = os.path.realpath(current)
            if real in self.real_folders:
                continue
            self.real_folders.add(real)
            try:
                with os.scandir(current) as entries:
                    pending += self._sort_out(current, place, real=real, entries=list(entries))
            except OSError as exc:
                self._note(place.rstrip("/"), exc)

    def _sort_out(
        self, folder: Path, place: str, *, real: str, entries: Sequence[os.DirEntry[str]]
    ) -> list[tuple[Path, str]]:
        """Collect the files and links of one folder, and return its subfolders."""
        folders: list[tuple[Path, str]] = []
        if place and any(entry.name == _KNOWLEDGE_BASE_FILE for entry in entries):
            return folders
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = place + entry.name
            if entry.is_symlink():
                self.links.append((path, folder / entry.name))
            elif entry.is_dir():
                if not self.patterns.leaves_out(path, is_folder=True):
                    folders.append((folder / entry.name, f"{path}/"))
            elif entry.is_file():
                self._take(path, folder / entry.name, real=os.path.join(real, entry.name))  # noqa: PTH118
            else:
                with suppress(FileNotFoundError):  # deleted meanwhile
                    self._note_special(path, entry.stat(follow_symlinks=False).st_mode)
        return folders

    def follow_links(self) -> None:
        """Follow links in the order of their paths, including links found on the way."""
        while self.links:
            links, self.links = sorted(self.links), []
            for path, link in links:
                try:
                    mode = link.stat().st_mode
                except OSError as exc:
                    self._note_link(path, exc)
                    continue
                if stat.S_ISREG(mode):
                    self._take(path, link, real=os.path.realpath(link))
                elif stat.S_ISDIR(mode) and not self.patterns.leaves_out(path, is_folder=True):
                    self.visit(link, f"{path}/")
                else:
                    self._note_special(path, mode)

    def _take(self, path: str, file: Path, *, real: str) -> None:
        if self.patterns.leaves_out(path, is_folder=False):
            return
        if not self._is_selected(path):
            return
        if real not in self.real_files:
            self.real_files.add(real)
            self.found[path] = file

    def _is_selected(self, path: str) -> bool:
        return self.patterns.takes(path) or self.patterns.opens(path)

    def _note_link(self, path: str, exc: OSError) -> None:
        """Record a link that cannot be followed, unless no file of its name would be selected."""
        if self.patterns.leaves_out(path, is_folder=False):
            return
        if isinstance(exc, PermissionError) or self._is_selected(path):
            self._note(path, exc)

    def _note_special(self, path: str, mode: int) -> None:
        """Record a special file if a file of its name would be selected."""
        kind = special_kind(mode)
        if kind and self._is_selected(path) and not self.patterns.leaves_out(path, is_folder=False):
            name = name_to_id(str(self.root / path))
            self.found[path] = FetchError(
                f"{name}: it is {kind}, not a regular file", source=name, code="unsupported"
            )

    def _note(self, path: str, exc: OSError) -> None:
        reason = exc.strerror or str(exc)
        name = name_to_id(str(self.root / path))
        self.found[path] = FetchError(
            f"{name}: cannot be read: {reason}; check path and permissions",
            source=name,
            code="unreadable",
        )
