"""Hook of mkdocs: adds the pages that are outside of docs, and adapts links to them.

README.md, CHANGELOG.md, CONTRIBUTING.md and SECURITY.md are in the root of the repository. Their
links, and links to them, are written for the repository.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Pages of the site that are made from files in the root of the repository."""
_LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from the root of the repository."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=site_links(text, folder="")))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Adapt the links of a page of docs."""
    name = page.file.src_uri
    if name in PAGES.values():
        return markdown
    return site_links(markdown, folder=posixpath.join("docs", posixpath.dirname(name)))


def site_links(markdown: str, *, folder: str) -> str:
    """Return a page whose links lead to pages of the site.

    A link whose text is the name of a file gets the title of the page as its text. Links to other
    files of the repository, which are not in the site, become plain text.

    Args:
        markdown: Page with links relative to its folder in the repository.
        folder: The folder, relative to the root of the repository; empty for the root.
    """

    def adapted(link: re.Match[str]) -> str:
        mark, text, target = link.groups()
        name, sign, anchor = target.partition("#")
        if not name or "://" in target:
            return link[0]
        path = posixpath.normpath(posixpath.join(folder, name))
        start = posixpath.relpath(folder or "docs", "docs")
        if path in PAGES:
            place = posixpath.relpath(PAGES[path], start)
        elif path.startswith("docs/"):
            place = posixpath.relpath(path.removeprefix("docs/"), start)
        else:
            return text
        shown = _title(path) if text == posixpath.basename(path) else text
        return f"{mark}[{shown}]({place}{sign}{anchor})"

    return _LINK.sub(adapted, markdown)


def _title(path: str) -> str:
    """Return the first heading of a page of the repository."""
    first, _, _ = (ROOT / path).read_text(encoding="utf-8").partition("\n")
    return first.removeprefix("# ")
