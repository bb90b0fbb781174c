"""Documents and evaluation reports on the web page, in a real browser; accessibility."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser import (
    accessibility_faults,
    chromium,
    opened_tab,
    overflow,
    small_targets,
    unnamed_controls,
)
from tests.evaluations import made_evaluation, with_unanswerable
from tests.grades import graded, judged
from tests.integration.test_web_page import HOSTILE, QUESTION, REPORTS, Running
from tests.servers.capable import capable_answer

from spanwise import KnowledgeBase
from spanwise.evaluation.report import archive_report, summarise
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys
from spanwise.testing.models import ScriptedModel
from spanwise.threads import sleep_unless_cancelled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FilePayload
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "reports.kb") as made:
        made.add(REPORTS)
        yield made


@pytest.fixture
def url(base: KnowledgeBase, tmp_path: Path) -> Iterator[str]:
    with KnowledgeBase(tmp_path / "empty.kb") as empty:
        bases = {"reports": base, "empty": empty}
        server = Running(app_of(bases, llm=ScriptedModel(capable_answer)))
        yield server.url
        server.stop()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """Browser tab; a test fails if it reports an error."""
    with opened_tab(browser, allowed="status of 422") as page:
        page.on("dialog", lambda one: one.accept())
        yield page


def open_documents(tab: Tab, url: str) -> None:
    tab.goto(f"{url}/#/documents?kb=reports")
    tab.wait_for_selector("table")


def focus_name(tab: Tab) -> str:
    name: str = tab.evaluate(
        "document.activeElement.ariaLabel || document.activeElement.textContent.trim()"
    )
    return name


def test_metadata_is_edited_by_type(tab: Tab, url: str, base: KnowledgeBase) -> None:
    base.update_metadata(["handbook.md"], {"draft": True, "year": 2022})
    open_documents(tab, url)
    edit = tab.get_by_role("button", name="Edit handbook.md")
    edit.click()
    fields = tab.locator(".field-row")
    year = fields.filter(has=tab.locator("input[value=year]"))
    year.get_by_label("Value").fill("twenty")
    tab.click("text=Add a field")
    fields.last.get_by_label("Name").fill("tags")
    fields.last.get_by_label("Type").select_option("list")
    fields.last.get_by_label("Value").fill("staff\nrules")
    tab.click("#dialog-yes")
    assert "twenty" in year.locator(".field-problem").inner_text()
    assert year.get_by_label("Value").get_attribute("aria-invalid") == "true"
    assert tab.evaluate("document.activeElement.value") == "twenty"
    year.get_by_label("Value").fill("2023")
    fields.filter(has=tab.locator("input[value=draft]")).get_by_role("button").click()
    fields.last.get_by_label("Name").fill("title")
    tab.click("#dialog-yes")
    tab.wait_for_selector("dialog .problem:has-text('not a metadata field')")
    fields.last.get_by_label("Name").fill("tags")
    tab.get_by_label("Title", exact=True).fill("Rules of the house")
    tab.click("#dialog-yes")
    tab.wait_for_selector("text=tags: staff, rules")
    record = base.record("handbook.md")
    assert dict(record.metadata) == {"tags": ("staff", "rules"), "year": 2023}
    assert record.title == "Rules of the house"
    assert focus_name(tab) == "Edit handbook.md"


def test_a_document_is_replaced_and_removed(tab: Tab, url: str, base: KnowledgeBase) -> None:
    open_documents(tab, url)
    with tab.expect_file_chooser() as chooser:
        tab.get_by_role("button", name="Replace handbook.md").click()
    chooser.value.set_files(
        {"name": "new.md", "mimeType": "", "buffer": b"# New handbook\n\nThe rules are new."}
    )
    tab.wait_for_selector("td:has-text('New handbook')")
    assert base.record("handbook.md").title == "New handbook"
    tab.get_by_role("button", name="Remove handbook.md").click()
    tab.get_by_role("button", name="Cancel", exact=True).click()
    assert focus_name(tab) == "Remove handbook.md"
    tab.get_by_role("button", name="Remove handbook.md").click()
    tab.click("#dialog-yes")
    tab.wait_for_selector("td:has-text('handbook.md')", state="detached")
    assert "handbook.md" not in {record.id for record in base.list()}


def test_a_text_replaces_another_one_only_after_a_question(
    browser: Browser, url: str, base: KnowledgeBase
) -> None:
    before = base.get("handbook.md").text
    with opened_tab(browser, allowed="status of 404") as tab:  # no document "pier.md" yet
        open_documents(tab, url)
        tab.click("#add-text")
        tab.fill("dialog input", "handbook.md")
        tab.fill("dialog textarea", "# Pier\n\nThe pier is 30 m long.")
        tab.click("#dialog-yes")
        tab.wait_for_selector("#dialog-title:text-is('Replace handbook.md?')")
        tab.get_by_role("button", name="Cancel", exact=True).click()
        tab.wait_for_selector("#dialog-title:text-is('Add a text')")
        assert base.get("handbook.md").text == before
        assert "30 m" in tab.input_value("dialog textarea")
        tab.fill("dialog input", "pier.md")
        tab.click("#dialog-yes")
        tab.wait_for_selector("td:has-text('pier.md')")
        assert base.get("handbook.md").text == before
        tab.click("#add-text")
        tab.fill("dialog input", "handbook.md")
        tab.fill("dialog textarea", "# New handbook\n\nThe rules are new.")
        tab.click("#dialog-yes")
        tab.click("#dialog-yes:text-is('Replace')")
        tab.wait_for_selector("td:has-text('New handbook')")
        assert "rules are new" in base.get("handbook.md").text


def test_many_documents_are_found_sorted_and_paged(tab: Tab, url: str, base: KnowledgeBase) -> None:
    for number in range(60):
        base.add_text(f"Item {number}.", document_id=f"minutes/{number}.md", title=f"Day {number}")
    open_documents(tab, url)
    assert tab.locator("tbody tr").count() == 50
    assert "1–50 of 64 documents" in tab.inner_text(".pager")
    tab.click(".pager >> text=Next")
    tab.wait_for_selector("text=51–64 of 64 documents")
    address = tab.url
    tab.fill("#documents-words", "minutes day")
    tab.wait_for_selector("text=1–50 of 60 documents")
    tab.select_option("#documents-sort", "title-")
    tab.wait_for_selector("tbody tr:first-child :text('Day 59')")
    tab.fill("#documents-words", "nothing at all")
    tab.wait_for_selector("#document-list .empty")
    tab.goto(address)
    tab.wait_for_selector("text=51–64 of 64 documents")


def test_folders_are_added_and_failures_stay(
    tab: Tab, url: str, base: KnowledgeBase, tmp_path: Path
) -> None:
    folder = tmp_path / "harbour"
    (folder / "2023").mkdir(parents=True)
    (folder / "pier.md").write_text("# Pier\n\nThe pier is 30 m long.", encoding="utf-8")
    (folder / "2023" / "quay.md").write_text("# Quay\n\nIt is 9 m wide.", encoding="utf-8")
    (folder / "2023" / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (folder / ".hidden").write_text("hidden", encoding="utf-8")
    open_documents(tab, url)
    tab.set_input_files("#folder", folder)
    tab.wait_for_selector("#upload-list li.failed")
    assert tab.inner_text("#upload-status") == "3 of 3 files finished, 1 failed"
    assert "damaged" in tab.inner_text("#upload-list li.failed")
    assert tab.locator("#upload-list li.done").count() == 2
    tab.wait_for_selector("td:has-text('harbour/2023/quay.md')")
    assert base.record("harbour/pier.md").title == "Pier"
    assert unnamed_controls(tab) == []
    tab.reload()
    tab.wait_for_selector("#upload-list li.failed")
    assert tab.locator("#upload-list li").count() == 1, "finished files are not shown again"
    tab.get_by_role("button", name="Dismiss harbour/2023/broken.pdf").click()
    tab.wait_for_selector("#upload-panel", state="hidden")
    tab.reload()
    tab.wait_for_selector("table")
    assert tab.locator("#upload-list li").count() == 0
    drop(tab, folder / "2023")
    tab.wait_for_selector("#upload-list li.done:has-text('2023/quay.md')")
    assert base.record("2023/quay.md").title == "Quay"
    tab.click("#clear-uploads")
    assert tab.locator("#upload-list li").count() == 0


def drop(tab: Tab, path: Path) -> None:
    """Drop a file or folder on the page, as from a file manager."""
    session = tab.context.new_cdp_session(tab)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 200, "y": 200, "data": data})


def test_names_of_files_are_no_markup(tab: Tab, url: str, tmp_path: Path) -> None:
    open_documents(tab, url)
    files: list[FilePayload] = [
        {"name": "pier.md", "mimeType": "", "buffer": b"# Pier\n\nThe pier is 30 m long."},
        {"name": f"x{HOSTILE.replace('/', '')}.md", "mimeType": "", "buffer": b""},
    ]
    tab.set_input_files("#files", files)
    tab.wait_for_selector("#upload-list li.done:has-text('pier.md')")
    tab.wait_for_selector("#upload-list li.failed")
    failure = tab.inner_text("#upload-list li.failed")
    assert "<img" in failure
    assert str(tmp_path) not in failure
    assert tab.title() == "Documents – Spanwise"


def test_names_with_quotation_marks_are_kept(tab: Tab, url: str, base: KnowledgeBase) -> None:
    names = ['The "new" pier.md', "100%22 pier.md"]
    files: list[FilePayload] = [
        {"name": name, "mimeType": "", "buffer": f"# Pier {number}\n\nText.".encode()}
        for number, name in enumerate(names)
    ]
    open_documents(tab, url)
    tab.set_input_files("#files", files)
    tab.wait_for_selector("text=2 of 2 files finished")
    assert tab.locator("#upload-list .note-text").all_inner_texts() == ["Added", "Added"]
    assert {record.id for record in base.list()} >= set(names)


def test_files_are_dropped_on_any_view(
    tab: Tab, url: str, base: KnowledgeBase, tmp_path: Path
) -> None:
    tab.goto(f"{url}/#/search?kb=reports")
    tab.wait_for_selector("#results .empty")
    file = tmp_path / "quay.md"
    file.write_text("# Quay\n\nThe quay is 9 m wide.", encoding="utf-8")
    drop(tab, file)
    tab.wait_for_selector("#upload-list li.done")
    tab.wait_for_selector("td:has-text('quay.md')")
    assert "#/documents" in tab.url
    assert base.record("quay.md").title == "Quay"


def test_one_file_of_a_job_is_cancelled(
    tab: Tab, url: str, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = KnowledgeBase.add

    def held(*_: object, **__: object) -> None:
        while True:
            sleep_unless_cancelled(1)

    monkeypatch.setattr(KnowledgeBase, "add", held)
    open_documents(tab, url)
    files: list[FilePayload] = [
        {"name": f"{name}.md", "mimeType": "", "buffer": f"# {name}\n\nText.".encode()}
        for name in ("Pier", "Quay")
    ]
    tab.set_input_files("#files", files)
    tab.wait_for_selector("#upload-list li.running:has-text('Pier.md')")
    monkeypatch.setattr(KnowledgeBase, "add", add)
    tab.get_by_role("button", name="Cancel Pier.md").click()
    tab.wait_for_selector("#upload-list li.cancelled:has-text('Pier.md')")
    tab.wait_for_selector("#upload-list li.done:has-text('Quay.md')")
    assert {record.title for record in base.list()} & {"Pier", "Quay"} == {"Quay"}


def test_a_job_of_an_earlier_page_is_cancelled(
    tab: Tab, url: str, base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(*_: object, **__: object) -> None:
        while True:
            sleep_unless_cancelled(1)

    monkeypatch.setattr(KnowledgeBase, "add", held)
    open_documents(tab, url)
    tab.set_input_files("#files", {"name": "pier.md", "mimeType": "", "buffer": b"Pier."})
    tab.wait_for_selector("#upload-list li.running")
    tab.reload()
    tab.get_by_role("button", name="Cancel pier.md").click()
    tab.wait_for_selector("#upload-list li.cancelled")
    assert base.list("title = 'Pier'") == []


def test_a_key_that_reads_changes_nothing(
    browser: Browser, base: KnowledgeBase, tmp_path: Path
) -> None:
    archive_report(base, summarise(made_evaluation(6)))
    base.update_metadata(["handbook.md"], {"team": "hr"})
    file = tmp_path / "keys.json"
    keys = {
        "reader": add_key(file, "reader", role="read"),
        "team": add_key(file, "team", role="write", where='team = "hr"'),
    }
    server = Running(app_of({"reports": base}, keys=KeyRing(read_keys(file))))
    for name, key in keys.items():
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(f"{server.url}/#/documents")
        tab.fill("dialog input", key)
        tab.click("#dialog-yes")
        tab.wait_for_selector("table")
        assert tab.locator("tbody tr").count() == (1 if name == "team" else 4)
        assert tab.is_hidden("#drop")
        assert tab.get_by_role("button", name="Edit handbook.md").count() == 0
        drop(tab, REPORTS / "handbook.md")
        assert tab.is_visible("#evaluation-link") == (name == "reader")
        assert tab.locator("#upload-list li").count() == 0
        tab.click("#change-key")
        tab.wait_for_selector("dialog[open] input[type=password]")
        context.close()
    server.stop()


def test_a_report_leads_to_its_questions(tab: Tab, url: str, base: KnowledgeBase) -> None:
    answers = judged(*(graded(number) for number in range(1, 5)))
    archive_report(base, summarise(made_evaluation(30)), judged=answers)
    tab.goto(f"{url}/#/evaluation?kb=reports")
    tab.click("#report td a")
    tab.wait_for_selector("svg.plot")
    assert "exact+headers" in (tab.locator("svg.plot").first.get_attribute("aria-label") or "")
    assert "Graded answers" in tab.inner_text("#report")
    assert overflow(tab) <= 0
    tab.get_by_label("Show").select_option("all")
    assert tab.locator(".questions li").count() == 30
    tab.get_by_label("Show").select_option("part")
    assert 0 < tab.locator(".questions li").count() < 30
    link = tab.locator(".questions li > a").first
    question = link.inner_text()
    link.click()
    tab.wait_for_selector("#search:not([hidden])")
    assert tab.input_value("#question") == question
    tab.go_back()
    tab.wait_for_selector("svg.plot")
    tab.keyboard.press("Escape")
    tab.wait_for_selector("#report table[aria-label=Reports]")


def test_a_report_says_how_many_questions_are_behind_its_figures(
    tab: Tab, url: str, base: KnowledgeBase
) -> None:
    archive_report(base, summarise(with_unanswerable(made_evaluation(24))))
    tab.goto(f"{url}/#/evaluation?kb=reports")
    tab.click("#report td a")
    tab.wait_for_selector("svg.plot")
    assert "24 questions · 18 of 24 with evidence" in tab.inner_text("#report")
    groups = tab.get_by_label("By kind of question").inner_text()
    assert "filings\t6 of 12" in groups


def test_a_report_of_one_question_shows_no_interval(
    tab: Tab, url: str, base: KnowledgeBase
) -> None:
    archive_report(base, summarise(made_evaluation(1)))
    tab.goto(f"{url}/#/evaluation?kb=reports")
    tab.click("#report td a")
    tab.wait_for_selector("svg.plot")
    label = tab.locator("svg.plot").first.get_attribute("aria-label") or ""
    assert "exact+headers" in label
    assert " to " not in label


def test_the_keyboard_reaches_and_leaves_every_view(tab: Tab, url: str) -> None:
    tab.goto(f"{url}/#/documents?kb=reports")
    tab.wait_for_selector("table")
    tab.keyboard.press("Tab")
    assert focus_name(tab) == "Skip to the content"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"
    assert "#/documents" in tab.url
    edit = tab.get_by_role("button", name="Edit handbook.md")
    edit.focus()
    outline = edit.evaluate("one => getComputedStyle(one).outlineStyle")
    assert outline != "none"
    tab.keyboard.press("Enter")
    tab.wait_for_selector("dialog[open]")
    tab.keyboard.press("Escape")
    tab.wait_for_selector("dialog", state="hidden")
    assert focus_name(tab) == "Edit handbook.md"
    link = tab.locator("td.name a").first
    title = link.inner_text()
    link.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#text:not(:empty)")
    assert tab.evaluate("document.activeElement.id") == "read-title"
    tab.keyboard.press("Escape")
    tab.wait_for_selector("#documents:not([hidden]) table")
    tab.wait_for_selector("td.name a:focus")
    assert focus_name(tab) == title


@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_is_accessible(
    browser: Browser, url: str, base: KnowledgeBase, width: int
) -> None:
    archive_report(base, summarise(made_evaluation(12)))
    context = browser.new_context(viewport={"width": width, "height": 850}, reduced_motion="reduce")
    tab = context.new_page()

    def check(view: str, *, controls: bool = True) -> None:
        for scheme, rules in (("light", ()), ("dark", ("color-contrast",))):
            tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert accessibility_faults(tab, rules=rules) == [], (view, scheme)
        assert overflow(tab) <= 0, view
        if width < 400 and controls:
            assert small_targets(tab) == [], view

    def show(view: str, selector: str) -> None:
        tab.goto(f"{url}/#/{view}")
        tab.wait_for_selector(selector)
        check(view)

    show(f"search?kb=reports&q={QUESTION}", ".strip svg")
    tab.click("#ask")
    tab.wait_for_selector(".answer li")
    check("answer")
    tab.click("text=Open in the document")
    tab.wait_for_selector("mark.place")
    check("reader")
    show("documents?kb=reports", "table")
    files: list[Any] = [{"name": "x.bin", "mimeType": "", "buffer": b"\0\1\2"}]
    tab.set_input_files("#files", files)
    tab.wait_for_selector("#upload-list li.failed")
    check("uploads")
    tab.get_by_role("button", name="Edit handbook.md").click()
    tab.click("text=Add a field")
    check("dialog")
    tab.keyboard.press("Escape")
    show("evaluation?kb=reports", "#report table")
    tab.click("#report td a")
    tab.wait_for_selector("svg.plot")
    check("report")
    for view in ("search", "documents", "evaluation"):
        show(f"{view}?kb=empty", f"#{view} .empty")
    context.close()
