"""Write the knowledge bases of earlier versions that the tests open: python -m tests.formats.build.

Each is written by the package as it was at a commit, in a temporary work tree of this repository,
with the libraries of today. Its folder is packed as the version left it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VERSIONS = {
    "8": "f937f8d",
    "9": "4f88b67",
    "9-words": "187b90c",
    "10": "9b44c54",
    "11": "081ebc7",
    "11-stores": "3d82079",
}
"""Commit of each version: the format of `truth.db`, and a word where formats of the index or of
stored answers changed within it."""


def build(name: str, commit: str) -> None:
    """Write one knowledge base and the record of its contents next to this file."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, tree = Path(temporary), Path(temporary) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            shutil.copytree(HERE / "documents", folder / "documents")
            _write_metadata(tree)
            subprocess.run(
                [sys.executable, str(HERE / "write_base.py"), str(folder)],
                env={**os.environ, "PYTHONPATH": str(tree / "src")},
                cwd=folder,
                check=True,
            )
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
        with tarfile.open(HERE / f"{name}.tar.xz", "w:xz", preset=9) as archive:
            archive.add(folder / "base.kb", "base.kb", filter=_anonymous)
        shutil.copyfile(folder / "recorded.json", HERE / f"{name}.json")


def _write_metadata(tree: Path) -> None:
    """Write the metadata of the package next to its source, so that its plugins are found."""
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = tree / "src" / f"spanwise-{project['version']}.dist-info"
    folder.mkdir()
    described = f"Metadata-Version: 2.1\nName: spanwise\nVersion: {project['version']}\n"
    (folder / "METADATA").write_text(described, encoding="utf-8")
    lines = [
        line
        for group, plugins in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {place}" for name, place in plugins.items()))
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def main() -> None:
    """Run the program with names of versions, by default all."""
    for name in sys.argv[1:] or VERSIONS:
        build(name, VERSIONS[name])


if __name__ == "__main__":
    main()
