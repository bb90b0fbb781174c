"""A real browser for tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = [
    "accessibility_faults",
    "chromium",
    "opened_tab",
    "overflow",
    "shade",
    "small_targets",
    "unnamed_controls",
]

REQUIRED = "REQUIRE_BROWSER"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Open the Chromium that is in PATH; without one the test is skipped, or fails if required."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        reason = f"no browser: none of {', '.join(_NAMES)} is in PATH"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{reason}, and {REQUIRED} is set")
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened_tab(
    browser: Browser, *, allowed: str | None = None, width: int = 1200
) -> Iterator[Page]:
    """Open a tab. Errors of scripts and on the console fail the test.

    Args:
        browser: Browser.
        allowed: Text of errors that are expected; empty for any error, None for none.
        width: Width of the window.
    """
    context = browser.new_context(viewport={"width": width, "height": 850})
    tab = context.new_page()
    messages: list[str] = []
    tab.on("pageerror", lambda error: messages.append(str(error)))
    tab.on("console", lambda one: messages.append(one.text) if one.type == "error" else None)
    yield tab
    context.close()
    assert [one for one in messages if allowed is None or allowed not in one] == []


def unnamed_controls(page: Page) -> list[str]:
    """Return the controls of a page that a screen reader has no name for."""
    found: list[str] = page.eval_on_selector_all(
        "input, select, button",
        "all => all.filter(one => !(one.labels?.length || one.ariaLabel || one.textContent.trim()))"
        ".map(one => one.outerHTML)",
    )
    return found


def shade(page: Page) -> int:
    """Return how light the ground of a page is, from 0 to 765."""
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, colour.strip("rgb()").split(",")))


def accessibility_faults(page: Page, *, rules: Sequence[str] = ()) -> list[str]:
    """Return the serious and critical findings of axe-core on a page.

    Args:
        page: Page; its security policy stays in force.
        rules: Rules to run; empty for all.
    """
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    options: dict[str, object] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    found: list[str] = page.evaluate(
        """async (options) => (await axe.run(document, options)).violations
          .filter(({ impact }) => ["serious", "critical"].includes(impact))
          .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("  ")}`)""",
        options,
    )
    return found


def overflow(page: Page) -> int:
    """Return by how many pixels a page is wider than its window."""
    width: int = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return width


def small_targets(page: Page, *, pixels: int = 40) -> list[str]:
    """Return the visible controls of a page that are lower than a number of pixels."""
    found: list[str] = page.eval_on_selector_all(
        "button, input, select, summary, nav a, .back, td.name > a",
        """(all, least) => all.filter((one) => one.checkVisibility()
          && one.getBoundingClientRect().height < least).map((one) => one.outerHTML)""",
        pixels,
    )
    return found
