"""Files of a folder that patterns select, with the same order and ids on every machine.

Patterns have the syntax of a .gitignore file, without negation:

    *.pdf           a file or folder of that name at any depth
    drafts/         a folder of that name at any depth, with everything in it
    reports/*.md    a slash before the end binds the pattern to the root; `*` does not match slashes
    a/**/b.txt      `**` matches any number of folders, also none
    [abc] ? [!a-c]  one character

A file is selected if an `include` pattern matches it or an enclosing folder (or there are no such
patterns), and no `exclude` pattern does. Patterns are case-sensitive. Hidden files and folders
(`.git`), knowledge bases (`*.kb`, or with a `truth.db`) and sidecar files are always excluded,
unless they are the root.

For patterns, a container (archive, mailbox, e-mail) is a folder: `*.pdf` also selects the PDF files
in `a.zip`, `a.zip/b/*.md` selects some of its members, and `a.zip` selects all of them. A file with
the extension of a container is opened even if `include` does not match it; `exclude` prevents that.
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
from spanwise.ingest.locations import fetch_error
from spanwise.parsers.formats import CONTAINER_EXTENSIONS

SIDECAR_NAMES = ("spanwise.metadata.csv", "spanwise.metadata.jsonl")
"""Names of files with the metadata of other files, which are never documents."""
_KNOWLEDGE_BASE_FILE = "truth.db"
_SPECIAL_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_SHOWN_NAMES = 3
_MAX_PATTERNS = 1_000
_MAX_PATTERN_CHARS = 1_000
_HIDDEN_FOLDER = re.compile(r".*\.kb|__MACOSX", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """Selected file, or possible container of selected members."""

    path: Path
    document_id: str
    """POSIX path relative to the root; the file name if the root is a file."""
    members_only: bool = False
    """Whether the file itself is not selected, so that only members of it may be added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadablePath:
    """File or folder that cannot be read."""

    document_id: str
    """Id of the file, or prefix (without the slash) of the ids of the files in the folder; empty
    for the root."""
    error: FetchError


def walk(
    root: Path,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    follow_links: bool = False,
) -> Iterator[FoundFile | UnreadablePath]:
    """Yield the regular files below a folder, ordered by id; the root itself if it is a file.

    Symbolic links to targets below the root are followed. Each real file is yielded once, even if
    links form a loop: under its own path if that is below the root, otherwise under the first link
    to it. An unreadable path (a folder, a broken link, a missing root) is yielded as an error in
    its place, and the walk continues. The code "unsupported" marks a FIFO, socket or device, or a
    link to one, because opening it could block forever; a link that leads out of the root, unless
    such links are followed; and one error at the end that names the hidden files and folders.

    Args:
        root: Folder or file.
        include: Patterns of files to include; all files if empty.
        exclude: Patterns of files to exclude; they override `include`.
        follow_links: Whether symbolic links that lead out of the root are followed.

    Raises:
        OptionError: If a pattern is empty, begins with "!" or has a range like [z-a].
    """
    patterns = PathPatterns.of(include, exclude)
    if _is_file(root):
        yield FoundFile(path=root, document_id=name_to_id(root.name))
        return
    search = _Search(root, patterns, follows_out=follow_links)
    search.visit(root, "")
    search.follow_links()
    last = None
    names = sorted((name_to_id(path), path) for path in search.files)
    for identifier, path in names:
        result = search.files[path]
        if isinstance(result, FetchError):
            yield UnreadablePath(document_id=identifier, error=result)
        elif identifier == last:
            cause = "two files have this id, because their names are not valid UTF-8; rename one"
            error = fetch_error(identifier, "conflict", cause)
            yield UnreadablePath(document_id=identifier, error=error)
        else:
            members_only = not patterns.takes(path)
            yield FoundFile(path=result, document_id=identifier, members_only=members_only)
            last = identifier
    if search.hidden:
        yield _hidden_paths(root, search.hidden)


def _hidden_paths(root: Path, hidden: Sequence[str]) -> UnreadablePath:
    """Return the error that names the hidden files and folders of a folder."""
    names = sorted(map(name_to_id, hidden))
    more = f" and {len(names) - _SHOWN_NAMES:,} more" if len(names) > _SHOWN_NAMES else ""
    error = fetch_error(
        name_to_id(str(root)),
        "unsupported",
        f"hidden files and folders: {', '.join(names[:_SHOWN_NAMES])}{more}; add them by their "
        "names, or exclude them to suppress this line",
    )
    return UnreadablePath(document_id=names[0], error=error)


def special_kind(mode: int) -> str:
    """Return the kind of the special file with a file mode; "" for files, folders and links."""
    return next((kind for is_kind, kind in _SPECIAL_KINDS if is_kind(mode)), "")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # not reachable, which the search reports
        return False


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Compiled pattern of relative paths."""

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
            OptionError: If a pattern is invalid, or there are too many.
        """
        if max(len(include), len(exclude)) > _MAX_PATTERNS:
            raise OptionError(f"there are more than {_MAX_PATTERNS:,} patterns; give fewer")
        return cls(tuple(map(_compile, include)), tuple(map(_compile, exclude)))

    def reaches(self, path: str) -> bool:
        """Return whether a container member and the folders around it are not excluded."""
        folders = [str(folder) for folder in PurePosixPath(path).parents][:-1]
        return not self.leaves_out(path, is_folder=False) and not any(
            self.leaves_out(folder, is_folder=True) for folder in folders
        )

    def opens(self, path: str) -> bool:
        """Return whether a file has the extension of a container."""
        return PurePosixPath(path.lower()).suffix in CONTAINER_EXTENSIONS

    def leaves_out(self, path: str, *, is_folder: bool) -> bool:
        """Return whether a file or folder is hidden, a knowledge base, a sidecar or excluded."""
        name = path.rpartition("/")[2]
        if name.startswith(".") or (is_folder and _HIDDEN_FOLDER.fullmatch(name)):
            return True
        if name in SIDECAR_NAMES and not is_folder:
            return True
        return self.excludes(path, is_folder=is_folder)

    def excludes(self, path: str, *, is_folder: bool) -> bool:
        """Return whether an exclude pattern matches a file or folder."""
        return any(pattern.matches(path, is_folder=is_folder) for pattern in self.exclude)

    def takes(self, path: str) -> bool:
        """Return whether the include patterns select a file that is not excluded."""
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
    if len(pattern) > _MAX_PATTERN_CHARS:
        raise OptionError(
            f"a pattern has {len(pattern):,} characters, and at most {_MAX_PATTERN_CHARS:,} are "
            "allowed"
        )
    if not body or body.startswith("!"):
        raise OptionError(
            f"pattern is {pattern!r}; it must name files or folders, and cannot be negated: "
            "use include and exclude"
        )
    if "/" not in body:
        body = f"**/{body}"
    parts = body.removeprefix("/").split("/")
    try:
        names = re.compile(_expression(parts), re.DOTALL)
    except re.error as exc:
        raise OptionError(f"pattern {pattern!r} is invalid: {exc}; fix its brackets") from exc
    return _Pattern(names, folders_only)


def _expression(parts: Sequence[str]) -> str:
    """Return the regular expression of the parts of a pattern.

    The shortest match of `*` and `**` leaves the most text to the rest. It is therefore not tried
    again (an atomic group), except for the last one: the time of a match is not exponential.
    """
    groups = [""]
    for number, part in enumerate(parts):
        if part == "**":
            groups.append("")
        else:
            groups[-1] += _translate(part) + ("/" if number < len(parts) - 1 else "")
    first, *rest = groups
    if not rest:
        return first
    middle = "".join(f"(?>(?:[^/]+/)*?{group})" for group in rest[:-1] if group)
    return first + middle + (".+" if parts[-1] == "**" else f"(?:[^/]+/)*{rest[-1]}")


def _translate(part: str) -> str:
    """Return the regular expression of a pattern between two slashes."""
    first, *rest = _between_stars(part)
    if not rest:
        return first
    middle = "".join(f"(?>[^/]*?{piece})" for piece in rest[:-1] if piece)
    return f"{first}{middle}[^/]*{rest[-1]}"


def _between_stars(part: str) -> list[str]:
    """Return the regular expressions of the pieces of a pattern between its stars."""
    result = [""]
    position = 0
    while position < len(part):
        sign = part[position]
        close = part.find("]", position + 2) if sign == "[" else -1
        if sign == "*":
            result.append("")
        elif sign == "?":
            result[-1] += "[^/]"
        elif close > 0:
            members = part[position + 1 : close]
            negated = members.startswith("!")
            members = re.sub(r"([\\\[\]^&~|])", r"\\\1", members.removeprefix("!"))
            result[-1] += f"(?!/)[{'^' if negated else ''}{members}]"
            position = close
        else:
            result[-1] += re.escape(sign)
        position += 1
    return result


@dataclass(slots=True)
class _Search:
    """State of a walk: first through the folder tree, then through the targets of its links."""

    root: Path
    patterns: PathPatterns
    files: dict[str, Path | FetchError] = field(default_factory=dict)
    """Files and errors by path relative to the root."""
    real_files: set[str] = field(default_factory=set)
    """Paths, without links, of the files that were found."""
    real_folders: set[str] = field(default_factory=set)
    """Paths, without links, of the folders that were read."""
    links: list[tuple[str, Path]] = field(default_factory=list)
    """Links to follow, with their paths relative to the root."""
    follows_out: bool = False
    """Whether links that lead out of the root are followed."""
    hidden: list[str] = field(default_factory=list)
    """Paths of hidden files and folders that only their names exclude."""

    def visit(self, folder: Path, prefix: str) -> None:
        """Collect the files and links below a folder.

        Args:
            folder: Folder to read.
            prefix: Path of the folder relative to the root, with a slash at its end.
        """
        pending = [(folder, prefix)]
        while pending:
            current, prefix = pending.pop()
            real = os.path.realpath(current)
            if real in self.real_folders:
                continue
            self.real_folders.add(real)
            try:
                with os.scandir(current) as entries:
                    pending += self._collect(current, prefix, real=real, entries=list(entries))
            except OSError as exc:
                self._add_error(prefix.rstrip("/"), exc)

    def _collect(
        self, folder: Path, prefix: str, *, real: str, entries: Sequence[os.DirEntry[str]]
    ) -> list[tuple[Path, str]]:
        """Collect the files and links of one folder, and return its subfolders."""
        folders: list[tuple[Path, str]] = []
        if prefix and any(entry.name == _KNOWLEDGE_BASE_FILE for entry in entries):
            return folders
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = prefix + entry.name
            if entry.name.startswith("."):
                self._note_hidden(path, is_folder=entry.is_dir(follow_symlinks=False))
            elif entry.is_symlink():
                self.links.append((path, folder / entry.name))
            elif entry.is_dir():
                if not self.patterns.leaves_out(path, is_folder=True):
                    folders.append((folder / entry.name, f"{path}/"))
            elif entry.is_file():
                self._add(path, folder / entry.name, real=os.path.join(real, entry.name))  # noqa: PTH118
            else:
                with suppress(FileNotFoundError):  # deleted meanwhile
                    self._add_special(path, entry.stat(follow_symlinks=False).st_mode)
        return folders

    def follow_links(self) -> None:
        """Follow the links in the order of their paths, and then the links that this finds."""
        while self.links:
            links, self.links = sorted(self.links), []
            for path, link in links:
                try:
                    mode = link.stat().st_mode
                except OSError as exc:
                    self._add_broken_link(path, exc)
                    continue
                is_folder = stat.S_ISDIR(mode)
                leads_out = not self.follows_out and self._leads_out(link)
                if leads_out and (is_folder or stat.S_ISREG(mode)):
                    self._add_outside(path, link, is_folder=is_folder)
                elif stat.S_ISREG(mode):
                    self._add(path, link, real=os.path.realpath(link))
                elif is_folder and not self.patterns.leaves_out(path, is_folder=True):
                    self.visit(link, f"{path}/")
                else:
                    self._add_special(path, mode)

    def _note_hidden(self, path: str, *, is_folder: bool) -> None:
        """Record a hidden path, unless patterns exclude it too."""
        is_selected = not self.patterns.include if is_folder else self.patterns.takes(path)
        if is_selected and not self.patterns.excludes(path, is_folder=is_folder):
            self.hidden.append(path)

    def _leads_out(self, link: Path) -> bool:
        root = os.path.realpath(self.root)
        return Path(root) not in (target := Path(os.path.realpath(link))).parents and (
            str(target) != root
        )

    def _add_outside(self, path: str, link: Path, *, is_folder: bool) -> None:
        """Add the error of a link out of the root, if its target would be selected."""
        if self.patterns.leaves_out(path, is_folder=is_folder):
            return
        if is_folder or self._is_selected(path):
            target = name_to_id(os.path.realpath(link))
            self.files[path] = fetch_error(
                name_to_id(str(self.root / path)),
                "unsupported",
                f"it is a link to {target}, outside of the folder; add the target itself, or "
                "follow such links (follow_links=True, --follow-links)",
            )

    def _add(self, path: str, file: Path, *, real: str) -> None:
        if self._is_selected(path) and real not in self.real_files:
            self.real_files.add(real)
            self.files[path] = file

    def _is_selected(self, path: str) -> bool:
        if self.patterns.leaves_out(path, is_folder=False):
            return False
        return self.patterns.takes(path) or self.patterns.opens(path)

    def _add_broken_link(self, path: str, exc: OSError) -> None:
        """Add the error of a link that cannot be followed, if it may lead to a selected file."""
        is_excluded = self.patterns.leaves_out(path, is_folder=False)
        if self._is_selected(path) or (isinstance(exc, PermissionError) and not is_excluded):
            self._add_error(path, exc)

    def _add_special(self, path: str, mode: int) -> None:
        """Add the error of a special file, if a regular file with its name would be selected."""
        kind = special_kind(mode)
        if kind and self._is_selected(path):
            name = name_to_id(str(self.root / path))
            error = fetch_error(name, "unsupported", f"it is {kind}, not a regular file")
            self.files[path] = error

    def _add_error(self, path: str, exc: OSError) -> None:
        name = name_to_id(str(self.root / path))
        cause = f"cannot be read: {exc.strerror or exc}; check path and permissions"
        self.files[path] = fetch_error(name, "unreadable", cause)
