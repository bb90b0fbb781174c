"""The web page of the server in a real browser, with real documents."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn
from tests.browser import chromium, opened_tab, shade, unnamed_controls
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.testing.models import ScriptedModel

if TYPE_CHECKING:
    from fastapi import FastAPI
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

REPORTS = Path(__file__).resolve().parents[2] / "examples" / "reports"
QUESTION = "Why did the margin fall in 2023?"
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
MAX_BYTES = 250_000


class Running:
    """A server on a thread of this process."""

    def __init__(self, app: FastAPI) -> None:
        """Start the server at a free port."""
        self._server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.02)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        """Stop the server."""
        self._server.should_exit = True
        self._thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "reports.kb") as made:
        made.add(REPORTS)
        made.add_text(
            f"# Hostile {HOSTILE}\n\n## {HOSTILE}\n\nThe pier of hostility is 30 m long. {HOSTILE}",
            document_id=f"hostile{HOSTILE.replace('/', '')}.md",
            media_type="text/markdown",
        )
        yield made


@pytest.fixture
def url(base: KnowledgeBase) -> Iterator[str]:
    server = Running(app_of({"reports": base}, llm=ScriptedModel(capable_answer)))
    yield server.url
    server.stop()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """Browser tab; a test fails if it reports an error."""
    with opened_tab(browser) as page:
        yield page


def search(tab: Tab, url: str, question: str = QUESTION) -> None:
    tab.goto(url)
    tab.wait_for_selector("#base option", state="attached")
    tab.fill("#question", question)
    tab.keyboard.press("Enter")
    tab.wait_for_selector("article.segment")


def test_a_question_is_answered_with_places(tab: Tab, url: str) -> None:
    search(tab, url)
    assert "Gross margin fell to 23.1 per cent" in tab.inner_text("#results")
    assert "margin" in {one.lower() for one in tab.locator("mark").all_inner_texts()}
    tab.wait_for_selector(".strip svg")
    address = tab.url
    tab.click("text=Open in the document")
    tab.wait_for_selector("mark.place")
    assert "Gross margin fell to 23.1 per cent" in tab.inner_text("mark.place")
    assert tab.locator("#outline [aria-current]").count() >= 1
    tab.goto(address)
    tab.wait_for_selector("article.segment")
    assert tab.input_value("#question") == QUESTION


def test_a_long_segment_shows_its_best_place(tab: Tab, url: str) -> None:
    search(tab, url)
    body = tab.locator("article.segment .body").first
    assert body.evaluate("body => body.scrollHeight > body.clientHeight")
    assert body.evaluate(
        """body => {
          const frame = body.getBoundingClientRect();
          return [...body.querySelectorAll("mark")].some((mark) => {
            const place = mark.getBoundingClientRect();
            const isShown = place.top >= frame.top && place.bottom <= frame.bottom;
            return isShown && mark.textContent === "margin";
          });
        }"""
    )


def test_a_long_place_is_shown_from_its_start(tab: Tab, url: str, base: KnowledgeBase) -> None:
    length = base.record("annual-report-2023.md").chars
    tab.set_viewport_size({"width": 500, "height": 400})
    tab.goto(f"{url}/#/read?kb=reports&id=annual-report-2023.md&at=100-{length}")
    tab.wait_for_selector("mark.place")
    top = "mark => mark.getBoundingClientRect().top"
    for _ in range(100):  # the page scrolls smoothly
        if abs(tab.locator("mark.place").evaluate(top)) < 40:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the start of the place is not at the top")


def test_an_unknown_document_does_not_leave_another_one_on_the_page(
    browser: Browser, url: str
) -> None:
    with opened_tab(browser, allowed="status of 404") as tab:
        tab.goto(f"{url}/#/read?kb=reports&id=annual-report-2023.md")
        tab.wait_for_selector("#outline a")
        for place in ("kb=reports&id=nope", "kb=nope&id=annual-report-2023.md"):
            tab.goto(f"{url}/#/read?{place}")
            tab.wait_for_selector("#problem:has-text('nope')")
            assert not tab.is_visible("#read")
            top = "problem => problem.getBoundingClientRect().top"
            assert tab.locator("#problem").evaluate(top) < 400
        tab.goto(f"{url}/#/read?kb=reports&id=annual-report-2023.md")
        tab.wait_for_selector("#outline a")
        assert tab.is_visible("#read")
        assert not tab.is_visible("#problem")


def test_the_model_answers_while_it_writes(tab: Tab, url: str) -> None:
    search(tab, url)
    tab.click("#ask")
    tab.wait_for_selector(".answer li")
    assert "[1]" in tab.inner_text(".answer .body")
    assert "Gross margin" in tab.locator(".answer li a").first.inner_text()
    tab.locator(".answer li a").first.click()
    tab.wait_for_selector("mark.place")
    assert "Gross margin fell to 23.1 per cent" in tab.inner_text("mark.place")


def test_text_of_documents_is_no_markup(tab: Tab, url: str) -> None:
    search(tab, url, "How long is the pier of hostility?")
    assert "<script>" in tab.inner_text("#results")
    tab.click("text=Open in the document")
    tab.wait_for_selector("mark.place")
    assert tab.locator("#read img[src='x']").count() == 0
    tab.goto(f"{url}/#/documents")
    tab.wait_for_selector("table")
    assert tab.title() == "Documents – Spanwise"


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "light"), (390, "dark")])
def test_the_page_fits_and_is_named(browser: Browser, url: str, width: int, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab = context.new_page()
    loaded: list[int] = []
    tab.on("response", lambda one: loaded.append(len(one.body())))
    requested: list[str] = []
    tab.on("request", lambda one: requested.append(one.url))
    tab.goto(url)
    tab.wait_for_selector("#base option", state="attached")
    assert sum(loaded) < MAX_BYTES
    page = resources.files("spanwise.server") / "page"
    assert sum(len(file.read_bytes()) for file in page.iterdir() if file.is_file()) < MAX_BYTES
    search(tab, url)
    assert unnamed_controls(tab) == []
    too_wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    tab.click("#more summary")
    assert tab.evaluate(too_wide) <= 0
    tab.click("text=Open in the document")
    tab.wait_for_selector("mark.place")
    assert tab.evaluate(too_wide) <= 0
    tab.goto(f"{url}/#/documents")
    tab.wait_for_selector("table")
    assert tab.evaluate(too_wide) <= 0
    assert (shade(tab) < 200) == (scheme == "dark")
    assert all(one.startswith((url, "blob:")) for one in requested)
    context.close()


def test_the_keyboard_is_enough(tab: Tab, url: str) -> None:
    tab.goto(url)
    tab.wait_for_selector("#question:focus")
    tab.keyboard.type(QUESTION)
    tab.keyboard.press("Enter")
    tab.wait_for_selector("article.segment")
    for _ in range(20):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.textContent") == "Open in the document":
            break
    tab.keyboard.press("Enter")
    tab.wait_for_selector("mark.place")
    tab.keyboard.press("/")
    tab.wait_for_selector("#question:focus")


def test_empty_states_say_what_to_do(tab: Tab, tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "empty.kb") as empty:
        server = Running(app_of({"empty": empty}))
        tab.goto(server.url)
        tab.wait_for_selector(".empty")
        tab.wait_for_selector("#results :text('spanwise add')")
        assert tab.is_hidden("#ask"), "there is no model"
        tab.click("#more summary")
        assert "--llm" in tab.inner_text("#more")
        tab.goto(f"{server.url}/#/documents")
        tab.wait_for_selector("#document-list .empty")
        assert "spanwise add" in tab.inner_text("#document-list")
        server.stop()


def test_a_key_is_asked_for(browser: Browser, base: KnowledgeBase, tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys.json", "page", role="read")
    server = Running(app_of({"reports": base}, keys=KeyRing(read_keys(tmp_path / "keys.json"))))
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(server.url)
    tab.wait_for_selector("dialog[open]")
    tab.fill("dialog input", key)
    tab.click("#dialog-yes")
    tab.wait_for_selector("#base option", state="attached")
    context.close()
    server.stop()


def test_a_server_that_is_gone_is_reported(browser: Browser, base: KnowledgeBase) -> None:
    server = Running(app_of({"reports": base}))
    context = browser.new_context()
    tab = context.new_page()
    search(tab, server.url)
    server.stop()
    tab.fill("#question", "What is the notice period?")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#problem:not([hidden])")
    assert "cannot be reached" in tab.inner_text("#problem")
    context.close()


def test_headers_protect_the_page(url: str) -> None:
    response = httpx.get(url)
    policy = response.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    for name in ("../app.py", "%2e%2e%2fapp.py", "app.py", "__init__.py"):
        assert httpx.get(f"{url}/{name}").status_code == 404
