"""One self-contained page of its parts: it asks nothing of any network, and works from disk."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.plain import Plain

__all__ = ["SingleFile", "asset"]


@dataclass(frozen=True, slots=True)
class SingleFile:
    """A page that lacks its data alone."""

    before: str
    after: str

    @classmethod
    def of(cls, page: str, *, styles: Sequence[str], scripts: Sequence[str]) -> SingleFile:
        """Return a page whose policy allows its own style and script, and nothing else.

        Args:
            page: HTML with `{{style}}`, `{{style_hash}}`, `{{script}}`, `{{script_hash}}` and
                `{{data}}` where these belong.
            styles: Style sheets, joined in this order.
            scripts: Scripts, joined to one module in this order.
        """
        style, script = "\n".join(styles), "\n".join(scripts)
        for name, text in (
            ("{{style_hash}}", _hash(style)),
            ("{{script_hash}}", _hash(script)),
            ("{{style}}", style),
            ("{{script}}", script),
        ):
            page = page.replace(name, text)
        before, _, after = page.partition("{{data}}")
        return cls(before, after)

    def with_data(self, data: Plain) -> str:
        """Return the page with its data as JSON that ends no element and opens none."""
        return self.before + _encoded(data) + self.after


def asset(package: str, name: str) -> str:
    """Return the text of a file that comes with a package."""
    return resources.files(package).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    """Return what a content security policy names a text by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def _encoded(value: Plain) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
