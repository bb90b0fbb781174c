"""Images of pages that are tables or scans, for a model that accepts images."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.documents import build_pdf
from tests.integration.commands import read_json
from tests.pictures import shade_of, shaded_pdf
from tests.printed import build_annual_report
from tests.scripted_answers import answer_of, statement
from tests.servers.scripted import Received, Reply, ScriptedServer, chat, failure

from spanwise import AnswerOptions, ContextOptions, KnowledgeBase, ModelOptions
from spanwise.errors import OptionError
from spanwise.knowledge_base.internals import answerer_of, store_of
from spanwise.models.dry_run import dry_run_caller
from spanwise.models.fallback import FallbackModel
from spanwise.models.ports import ModelRequest
from spanwise.models.registry import make_language_model
from spanwise.options import ParseOptions
from spanwise.testing.models import ScriptedModel
from spanwise.types import Answer

QUESTION = "How many ships called in 2021, by the statement of ships?"
ROW = "Ships that called | 1,200 | 1,100 | (900)"
GIVEN = answer_of(statement("1,100.", (1, ROW)))
SHOWN = AnswerOptions(page_images="auto")
_PAGE = re.compile(r"^- page (\d+), of segment (\d+)$", re.MULTILINE)


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    (tmp_path / "report.pdf").write_bytes(build_annual_report())
    with KnowledgeBase(":memory:", embedder=None, parse=ParseOptions(ocr="off")) as made:
        made.add(tmp_path / "report.pdf")
        yield made


def model() -> ScriptedModel:
    """Return a model that answers from the table."""
    return ScriptedModel(lambda _: json.dumps(GIVEN))


def ask(kb: KnowledgeBase, llm: Any, **arguments: Any) -> Answer:
    """Return the answer, without written queries."""
    given: dict[str, Any] = {"options": SHOWN, **arguments}
    return kb.ask(QUESTION, llm=llm, write_queries=False, **given)


def images_of(received: Received) -> list[bytes]:
    """Return the images of a chat request."""
    parts = [
        part
        for message in received.body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    return [base64.b64decode(part["image_url"]["url"].partition(",")[2]) for part in parts]


def seeing(received: Received) -> Reply:
    """Answer from the table."""
    del received
    return chat(json.dumps(GIVEN))


def test_pages_of_tables_reach_the_server(kb: KnowledgeBase) -> None:
    with ScriptedServer(seeing) as server:
        answer = ask(kb, f"compatible:scripted@{server.url}/v1")
        (received,) = server.received
    assert answer.text == "1,100. [1]"
    images = images_of(received)
    named = [(int(page), int(segment)) for page, segment in _PAGE.findall(received.prompt)]
    assert [page for page, _ in named] == [2, 3]  # not the pages of prose
    assert len(images) == len(named)
    first, last = answer.sources[named[0][1] - 1].pages or (0, 0)
    assert first <= 2 <= last
    for image in images:
        width, height = struct.unpack(">II", image[16:24])
        assert height * width <= 1_800_000


def test_images_are_off_by_default(kb: KnowledgeBase) -> None:
    llm = model()
    ask(kb, llm, options=AnswerOptions())
    assert llm.requests[0].images == ()


def test_scans_are_shown(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(shaded_pdf([40, 90, 140, 190]))

    def reply(request: ModelRequest) -> str:
        if request.task == "pages":
            number = shade_of(request.images[0])
            return json.dumps({"blank": False, "text": f"Ships called at the quay: {number}."})
        return json.dumps(answer_of(statement("So.", (1, "Ships called at the quay"))))

    llm = ScriptedModel(reply)
    with KnowledgeBase(":memory:", embedder=None, parse=ParseOptions(ocr="off")) as kb:
        kb.add(tmp_path / "scan.pdf", llm=llm, context=ContextOptions(read_pages=True))
        del llm.requests[:]
        ask(kb, llm)
    (request,) = llm.requests
    pages = [int(page) for page, _ in _PAGE.findall(request.prompt)]
    shades = dict(enumerate([40, 90, 140, 190], start=1))
    assert 1 <= len(pages) == len(request.images) <= 4
    assert all(
        abs(shade_of(image) - shades[page]) < 20
        for image, page in zip(request.images, pages, strict=True)
    )


def test_prose_and_text_files_have_no_images(tmp_path: Path) -> None:
    (tmp_path / "prose.pdf").write_bytes(build_pdf(["Ships that called in 2021 were few."]))
    (tmp_path / "table.md").write_text("| Ships | 2021 |\n|---|---|\n| called | 1,100 |\n")
    with KnowledgeBase(":memory:", embedder=None) as kb:
        kb.add(tmp_path)
        llm = model()
        answer = ask(kb, llm)
    assert (llm.requests[0].images, len(answer.sources)) == ((), 2)
    assert not any("image" in one for one in answer.warnings)


class Blind(ScriptedModel):
    """Model that accepts text only."""

    accepts_images = False


@pytest.mark.parametrize("fallback", [False, True])
def test_a_model_without_vision_gets_no_images(kb: KnowledgeBase, *, fallback: bool) -> None:
    blind = Blind(lambda _: json.dumps(GIVEN))
    llm = FallbackModel(model=model(), second=blind) if fallback else blind
    answer = ask(kb, llm)
    assert answer.text == "1,100. [1]"
    assert any("accepts none" in one for one in answer.warnings)
    assert all(request.images == () for request in blind.requests)


def test_a_client_that_sends_no_images_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_API_KEY", "of-no-use")
    named = make_language_model("cohere:command-r", options=ModelOptions())
    assert getattr(named, "accepts_images") is False  # noqa: B009 - not in the protocol


@pytest.mark.parametrize("streams", [False, True])
def test_a_server_that_refuses_images_is_asked_without(kb: KnowledgeBase, *, streams: bool) -> None:
    def reply(received: Received) -> Reply:
        return failure(400, "no images") if images_of(received) else chat(json.dumps(GIVEN))

    with ScriptedServer(reply) as server:
        llm = f"compatible:scripted@{server.url}/v1"
        if streams:
            stream = kb.ask_stream(QUESTION, llm=llm, write_queries=False, options=SHOWN)
            answer = stream.answer
        else:
            answer = ask(kb, llm)
        assert [bool(images_of(one)) for one in server.received] == [True, False]
    assert answer.text == "1,100. [1]"
    assert any("without images" in one for one in answer.warnings)


def test_a_changed_file_is_a_warning(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(build_pdf(["Another file."] * 4))
    llm = model()
    answer = ask(kb, llm)
    assert (answer.text, llm.requests[0].images) == ("1,100. [1]", ())
    assert any("has changed" in one for one in answer.warnings)


def test_images_are_in_estimates_and_in_the_key(kb: KnowledgeBase) -> None:
    seeing_model = make_language_model("compatible:m@http://localhost:1/v1", options=ModelOptions())

    def foreseen(options: AnswerOptions) -> int:
        planned = answerer_of(kb, llm=seeing_model, options=options, write_queries=False)
        caller = dry_run_caller(seeing_model, cache=store_of(kb))
        replace(planned, caller=caller, is_estimate=True).answer(QUESTION)
        return caller.usage.input_tokens

    assert foreseen(SHOWN) >= foreseen(AnswerOptions()) + 2 * 2_500
    llm = model()
    for options in (AnswerOptions(), SHOWN, AnswerOptions(), SHOWN):
        ask(kb, llm, options=options)
    assert len(llm.requests) == 2


def test_an_unknown_value_is_refused() -> None:
    with pytest.raises(OptionError, match="page_images"):
        AnswerOptions(page_images="always")  # type: ignore[arg-type]


def test_the_command_sends_images(tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(build_annual_report())
    with KnowledgeBase(tmp_path / "spanwise.kb", embedder=None) as made:
        made.add(tmp_path / "report.pdf")
    with ScriptedServer(seeing) as server:
        llm = f"compatible:scripted@{server.url}/v1"
        arguments = ("ask", QUESTION, "--llm", llm, "--no-write-queries", "--send-page-images")
        answer = read_json(*arguments, folder=tmp_path)
        assert len(images_of(server.received[0])) == 2
    assert answer["text"] == "1,100. [1]"
