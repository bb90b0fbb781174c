"""Build the files of a release into `dist/` and check them.

    python .ci/release.py              build, check, write dist/SHA256SUMS
    python .ci/release.py --tag v1.2.0 also require that this tag names the version

The checks: the version is the same everywhere; the metadata are valid; a second build, and a build
from the source archive, give the same bytes; the wheel holds every file of `src/spanwise`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email.parser import BytesParser
from pathlib import Path

from packaging.metadata import Metadata

import spanwise

ROOT = Path(__file__).resolve().parents[1]
SUMS = "SHA256SUMS"
BILL = "spanwise-{}.cdx.json"


class ReleaseError(Exception):
    """The files of the release are wrong."""


def environment() -> dict[str, str]:
    """Return the environment of a build, whose time is that of the last commit.

    A build can therefore be repeated.
    """
    stamp = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    return {**os.environ, "SOURCE_DATE_EPOCH": stamp}


def build(source: Path, folder: Path, *kinds: str) -> list[Path]:
    """Build a source folder into `folder` and return the new files."""
    command = [sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", str(folder)]
    done = subprocess.run(
        [*command, str(source)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ReleaseError(f"the build failed:\n{done.stdout}{done.stderr}")
    return sorted(folder.iterdir())


def digest(file: Path) -> str:
    """Return the SHA-256 checksum of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def check_version(tag: str | None) -> None:
    """Require one version in the tag and the changelog."""
    version = spanwise.__version__
    if tag is not None and tag != f"v{version}":
        raise ReleaseError(f"the tag is {tag}, but the version is {version}: expected v{version}")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if tag is not None and not re.search(rf"^## {re.escape(version)}\b", changelog, re.MULTILINE):
        raise ReleaseError(f"CHANGELOG.md has no section '## {version}': add it")


def check_wheel(wheel: Path) -> None:
    """Require valid metadata and every file of the package."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        text = archive.read(metadata)
    parsed = Metadata.from_email(text, validate=True)
    if str(parsed.version) != spanwise.__version__:
        raise ReleaseError(f"{wheel.name} has version {parsed.version}, not {spanwise.__version__}")
    if not BytesParser().parsebytes(text).get_payload():
        raise ReleaseError(f"{wheel.name} has no description")
    listed = subprocess.run(
        ["git", "ls-files", "src/spanwise"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    missing = {name.removeprefix("src/") for name in listed} - names
    if missing:
        raise ReleaseError(f"{wheel.name} lacks {sorted(missing)[0]} ({len(missing)} files)")


def check_repeatable(built: list[Path], folder: Path) -> None:
    """Build again, from the checkout and from the source archive, and compare the bytes."""
    again = build(ROOT, folder / "again", "--sdist", "--wheel")
    (archive,) = [file for file in built if file.name.endswith(".tar.gz")]
    with tarfile.open(archive) as sources:
        sources.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    from_archive = build(unpacked, folder / "from_archive", "--wheel")
    expected = {file.name: digest(file) for file in built}
    for file in again + from_archive:
        if digest(file) != expected[file.name]:
            raise ReleaseError(f"{file.name} differs in a second build ({file.parent.name})")


def write_bill(folder: Path) -> Path:
    """Check the licences, and write the bill of materials (CycloneDX) of a release."""
    program = str(ROOT / ".ci" / "supply_chain.py")
    bill = folder / BILL.format(spanwise.__version__)
    for arguments in (["licences"], ["sbom", str(bill)]):
        command = [sys.executable, program, *arguments]
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ReleaseError(f"{arguments[0]}:\n{done.stdout}{done.stderr}")
    return bill


def make_release(folder: Path, tag: str | None) -> list[Path]:
    """Build and check the files of a release, and write their checksums beside them."""
    check_version(tag)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ReleaseError(f"{folder} is not empty: remove its files first")
    built = build(ROOT, folder, "--sdist", "--wheel")
    (wheel,) = [file for file in built if file.suffix == ".whl"]
    check_wheel(wheel)
    with tempfile.TemporaryDirectory() as temporary:
        check_repeatable(built, Path(temporary))
    built.append(write_bill(folder))
    lines = [f"{digest(file)}  {file.name}\n" for file in built]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
    return [*built, folder / SUMS]


def main() -> int:
    """Run the program and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tag", help="the tag of the release, for example v1.2.0")
    parser.add_argument("--folder", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    try:
        files = make_release(arguments.folder, arguments.tag)
    except ReleaseError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    for file in files:
        print(f"{digest(file)}  {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
