"""Requests and results of worker processes pass through frames unchanged."""

import json
from dataclasses import fields, replace
from typing import Literal

import numpy as np
import pytest

from spanwise.ingest.fields import FieldChanges
from spanwise.ingest.sidecar import SidecarRow
from spanwise.ingest.worker_frames import (
    decode_prepared,
    decode_request,
    encode_prepared,
    encode_request,
)
from spanwise.ingest.workers import (
    KnownVectors,
    Prepared,
    PrepareRequest,
    WorkerSettings,
    prepare,
)
from spanwise.options import ChunkOptions, HeaderOptions, SectionOptions
from spanwise.packs.pack_file import record_of
from spanwise.types import (
    Block,
    Document,
    DocumentRecord,
    FieldOrigins,
    Figure,
    Heading,
    Page,
)

TEXT = (
    "# Größe 🙂\n\nThe rotor of plant 7 turns.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    "It broke \ud800.\n"
)
SETTINGS = WorkerSettings(
    tokenizer="chars:4",
    embedder="wordllama",
    sections=SectionOptions(min_chars=100, max_chars=900),
    chunks=ChunkOptions(target=100, max=150, paragraph_min=50),
    headers=HeaderOptions(max_chars=200),
)
DOCUMENT = Document(
    id="a/b.md",
    text=TEXT,
    title="Größe",
    pages=(Page(start=0, end=20, label="ii"), Page(start=20, end=len(TEXT))),
    headings=(Heading(start=0, end=9, level=1, title="Größe 🙂"),),
    blocks=(Block(start=40, end=69, kind="table"),),
    figures=(Figure(start=0, end=0, page=2, box=(0.0, 1.5, 2.0, 3.0), caption="Rotor"),),
    metadata={"year": 2023, "share": 0.5, "open": True, "tags": ("x", 1, 2.5)},
    source="/a/b.md",
    source_root="/a",
    content_hash="ff",
    status="partial",
    warnings=("page 3 was not read",),
)
RECORD = DocumentRecord(
    id="a/b.md",
    title="Größe",
    summary="",
    metadata={"tags": ("x",)},
    media_type="text/markdown",
    source="/a/b.md",
    source_root="/a",
    content_hash="fe",
    chars=3,
    chunks=1,
    tokens=1,
    pages=0,
    origins=FieldOrigins(sidecar={"year": 1}, edited={"gone": None}),
)
REQUEST = PrepareRequest(
    settings=SETTINGS,
    document=DOCUMENT,
    changes=FieldChanges(
        sidecar=SidecarRow({"team": ("north", "east")}, "Title"),
        given={"tags": ("y",)},
        edited={"old": None},
        title="",
    ),
    before=FieldOrigins(file={"a": 1}, edited={"b": None}, base_title="Base"),
    record=RECORD,
    recipe={"parser": "own"},
    packs="",
    warnings=("remark",),
)


def through_frame(request: PrepareRequest) -> PrepareRequest:
    header, payload = encode_request(request, DOCUMENT)
    return decode_request(json.loads(json.dumps(header)), payload)


def test_a_request_stays_the_same() -> None:
    assert through_frame(REQUEST) == REQUEST


@pytest.mark.parametrize("known", [None, "", "a record", "another"])
def test_packs_that_the_other_side_knows_are_left_out(known: str | None) -> None:
    request = replace(REQUEST, packs="a record")
    header, payload = encode_request(request, DOCUMENT, known_packs=known)
    assert ("a record" in json.dumps(header)) == (known != "a record")
    assert decode_request(header, payload, known_packs=known or "") == request


@pytest.mark.parametrize("kind", ["<f2", "<f4"])
def test_known_vectors_stay_the_same(kind: str) -> None:
    vectors = np.arange(6, dtype=kind).reshape(2, 3)
    known = KnownVectors(texts=("a", "b"), vectors=vectors)
    found = through_frame(replace(REQUEST, known=known)).known
    assert found is not None
    assert found.texts == known.texts
    assert found.vectors.dtype == vectors.dtype
    assert found.vectors.tolist() == vectors.tolist()


@pytest.mark.parametrize("embedder", ["wordllama", "none", ""])
@pytest.mark.parametrize("packs", [(), ("filings", "contracts")])
def test_a_result_stays_the_same(
    embedder: Literal["wordllama", "none", ""], packs: tuple[str, ...]
) -> None:
    settings = replace(SETTINGS, embedder=embedder)
    text = TEXT.replace("\ud800", "today. Item 1A. Risk Factors. " * 40)
    document = replace(DOCUMENT, text=text, pages=(), blocks=(), figures=())
    request = replace(
        REQUEST, settings=settings, document=document, packs=record_of(packs) if packs else ""
    )
    prepared = prepare(request)
    header, payload = encode_prepared(prepared, known_packs=request.packs)
    assert "landmarks" not in json.dumps(header)  # the text of the packs
    found = decode_prepared(
        json.loads(json.dumps(header)), payload, document, known_packs=request.packs
    )
    assert prepared.draft is not None
    assert found.draft is not None
    assert tuple(found.draft.entry.chunks) == tuple(prepared.draft.entry.chunks)
    expected, entry = prepared.draft.entry, found.draft.entry
    assert (entry.vectors is None) == (embedder != "wordllama")
    if expected.vectors is not None and entry.vectors is not None:
        assert entry.vectors.dtype == expected.vectors.dtype
        assert entry.vectors.tobytes() == expected.vectors.tobytes()
    assert {name: signal.tolist() for name, signal in entry.signals.items()} == {
        name: signal.tolist() for name, signal in expected.signals.items()
    }
    arrays = {"chunks", "vectors", "signals"}
    for name in {item.name for item in fields(entry)} - arrays:
        assert getattr(entry, name) == getattr(expected, name)
    assert replace(found.draft, entry=expected) == prepared.draft


@pytest.mark.parametrize("outcome", ["unchanged", "refused", "lost"])
def test_a_result_without_a_draft_stays_the_same(outcome: str) -> None:
    prepared = Prepared(outcome=outcome)  # type: ignore[arg-type]
    assert decode_prepared(*encode_prepared(prepared), DOCUMENT) == prepared
