"""Kept prompts and answers: sections as a capable model would make them.

`NAME.reader.json` holds what such a model would say of a document: how the first line of each
section begins, and its title. From it each call is answered, whatever lines it shows. The golden
files hold the prompts, the answers and the sections; of texts that are not our own, the sections.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from importlib import metadata
from pathlib import Path

import pytest
from tests.conftest import GoldenCheck

from spanwise.core.text.languages import document_language
from spanwise.models.caller import ModelCaller
from spanwise.models.ports import ModelRequest
from spanwise.models.prompts.prompt_context import PromptContext
from spanwise.models.prompts.sections import ModelSections, make_sections
from spanwise.models.providers.tokenizer import VocabularyTokenizer
from spanwise.options import ContextOptions, SectionOptions
from spanwise.packs.known_kinds import document_headings, document_title, split_sections
from spanwise.parsers.markup.markdown import parse_markdown
from spanwise.parsers.parsed import Source
from spanwise.testing.models import ScriptedModel
from spanwise.types import Document

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[3]
NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


class Reader:
    """Answers as one who has read the whole document."""

    def __init__(self, name: str, text: str) -> None:
        self.text = " ".join(text.split())
        self.said: list[tuple[ModelRequest, str]] = []
        self.titles: dict[int, str] = {}
        place = 0
        for begin, title in json.loads((FOLDER / f"{name}.reader.json").read_text("utf-8")):
            place = self.text.find(begin, place)
            assert place >= 0, f"{begin!r} stands in {name} no more: write its sections anew"
            self.titles[place] = title

    def answer(self, request: ModelRequest) -> str:
        """Return the sections of the lines that a request shows."""
        lines = [line for _, line in NUMBERED.findall(request.prompt)]
        start = self.text.index(" ".join(lines))
        places = [place for place in self.titles if place <= start]
        named = [(1, self.titles[places[-1]])]
        for number, line in enumerate(lines, start=1):
            inside = range(max(start, places[-1] + 1), start + len(line))
            named += [(number, title) for place, title in self.titles.items() if place in inside]
            start += len(line) + 1
        sections = [{"first_line": number, "title": title} for number, title in named]
        reply = json.dumps({"sections": sections}, ensure_ascii=False)
        self.said.append((request, reply))
        return reply


def make(document: Document, reader: Reader, *, window_tokens: int) -> ModelSections:
    """Return what is made of a document that a reader has read."""
    tokenizer = VocabularyTokenizer("o200k_base")
    limits = SectionOptions(min_chars=300, max_chars=8_000)
    return make_sections(
        document,
        title=document_title(document),
        headings=document_headings(document),
        context=PromptContext(
            caller=ModelCaller(model=ScriptedModel(reader.answer, concurrency=1)),
            options=ContextOptions(window_tokens=window_tokens),
            language=document_language(document.text, metadata=document.metadata),
            count_tokens=tokenizer.count,
        ),
        limits=limits,
        fallback=split_sections(document, options=limits),
    )


def shown(made: ModelSections) -> list[list[object]]:
    """Return the sections as the golden files hold them."""
    assert made.warnings == ()
    return [[section.start, section.end, *section.path] for section in made.sections]


@pytest.mark.parametrize(
    ("path", "window_tokens"),
    [
        ("tests/golden/core/manual.md", 5_000),
        ("tests/golden/core/filing.txt", 400),
        ("tests/golden/prompts/sections/lecture.txt", 400),
    ],
)
def test_documents_of_our_own(path: str, window_tokens: int, golden: GoldenCheck) -> None:
    """Prompts, answers and sections are what they were when the golden file was last reviewed."""
    document = read(ROOT / path)
    reader = Reader(document.id, document.text)
    made = make(document, reader, window_tokens=window_tokens)
    golden(
        document.id,
        {
            "instructions": {
                request.task: request.instructions.split("\n") for request, _ in reader.said
            },
            "calls": [
                {"task": request.task, "prompt": request.prompt.split("\n"), "answer": reply}
                for request, reply in reader.said
            ],
            "sections": shown(made),
        },
    )


def test_a_text_of_an_installed_package(golden: GoldenCheck) -> None:
    """A licence of 16,000 characters in windows of 1,500 tokens."""
    licence = metadata.distribution("hypothesis").read_text("licenses/LICENSE.txt")
    assert licence is not None
    text = licence[licence.index("Mozilla Public License Version 2.0") :]
    document = Document(id="MPL-2.0", text=text)
    reader = Reader("MPL-2.0", text)
    sections = shown(make(document, reader, window_tokens=1_500))
    prompts = "\n".join(request.prompt for request, _ in reader.said)
    golden(
        "MPL-2.0",
        {
            "tasks": [request.task for request, _ in reader.said],
            "answers": [reply for _, reply in reader.said],
            "prompts_sha256": sha256(prompts.encode()).hexdigest(),
            "sections": sections,
        },
    )


def test_the_readme() -> None:
    """Its sections begin where the reader says, under the headings that stand there."""
    document = read(ROOT / "README.md")
    reader = Reader(document.id, document.text)
    made = make(document, reader, window_tokens=600)
    assert made.warnings == ()
    assert {request.task for request, _ in reader.said} >= {"sections"}
    titles = set(reader.titles.values())
    found = [section for section in made.sections if titles & set(section.path)]
    assert titles <= {title for section in found for title in section.path}
    for section in found:
        assert document.text[section.start : section.end].startswith("#")
        assert section.path[0] == "Spanwise"


def read(path: Path) -> Document:
    """Return a document of this repository; its id is its name."""
    if path.suffix != ".md":
        return Document(id=path.name, text=path.read_text("utf-8"))
    parsed = parse_markdown(Source(data=path.read_bytes(), name=path.name))
    return Document(id=path.name, text=parsed.text, headings=parsed.headings, blocks=parsed.blocks)
