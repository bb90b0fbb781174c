"""Local copies of datasets, made up in the layout in which each is published."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

__all__ = ["MADE", "write"]

Make = Callable[[Path], None]


def write(path: Path, *values: object) -> None:
    """Write text as it is, one value as JSON, or several as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [one if isinstance(one, str) else json.dumps(one) for one in values]
    path.write_text("\n".join(lines), encoding="utf-8", newline="")


def _make_spanwise(folder: Path) -> None:
    write(folder / "documents/a.txt", "First line\r\nsecond line")
    write(folder / "documents/b.pdf", "%PDF-")
    write(
        folder / "documents.jsonl",
        {"doc_id": "a", "path": "documents/a.txt", "title": "Letter A", "chars": 23},
        {"doc_id": "b", "path": "documents/b.pdf", "title": "Filing B", "bytes": 5, "pages": 9},
    )
    write(
        folder / "pages.jsonl",
        {"doc_id": "a", "page": 0, "start": 0, "end": 10},
        {"doc_id": "a", "page": 1, "start": 12, "end": 23},
        {"doc_id": "b", "page": 0, "n_chars": 4},
    )
    write(
        folder / "queries.jsonl",
        {
            "query_id": "0",
            "query": "What comes second?",
            "answer": "a line",
            "evidence": [{"doc_id": "a", "start": 12, "end": 18, "text": "second", "page": 1}],
            "scope": None,
            "meta": {"kind": "order"},
        },
        {
            "query_id": "1",
            "query": "What is filed?",
            "evidence": [{"doc_id": "b", "page": 0}],
            "scope": ["b"],
        },
    )


def _make_chroma(folder: Path) -> None:
    data = folder / "src/chunking_evaluation/evaluation_framework/general_evaluation_data"
    write(data / "corpora/tides.md", "The moon pulls.\r\nThe sea, it follows.")
    write(data / "corpora/winds.md", "Winds blow.")
    references = [{"content": "The sea, it follows.", "start_index": 16, "end_index": 36}]
    with (data / "questions_df.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["question", "references", "corpus_id"])
        writer.writerow(["What follows,\nand why?", json.dumps(references), "tides"])


def _make_financebench(folder: Path) -> None:
    write(folder / "pdfs/ACME_2020_10K.pdf", "%PDF-")
    write(folder / "pdfs/OTHER_2020_10K.pdf", "%PDF-")
    write(
        folder / "data/financebench_document_information.jsonl",
        {"doc_name": "ACME_2020_10K", "company": "Acme", "doc_type": "10k", "doc_period": 2020},
        {"doc_name": "OTHER_2020_10K", "company": "Other", "doc_type": "10k", "doc_period": 2020},
    )
    write(
        folder / "data/financebench_open_source.jsonl",
        {
            "financebench_id": "financebench_id_1",
            "company": "Acme",
            "doc_name": "ACME_2020_10K",
            "question_type": "metrics-generated",
            "question_reasoning": None,
            "question": "What are the sales?",
            "answer": "$3",
            "evidence": [
                {
                    "evidence_text": "Sales 3",
                    "doc_name": "ACME_2020_10K",
                    "evidence_page_num": 0,
                    "evidence_text_full_page": "Sales 3 Costs 2",
                }
            ],
        },
    )


def _make_legalbench_rag(folder: Path) -> None:
    write(folder / "data/corpus/nda/one.txt", "Terms.\r\nEach party shall keep it.")
    write(folder / "data/corpus/nda/unused.txt", "Nothing.")
    write(
        folder / "data/benchmarks/nda.json",
        {
            "tests": [
                {
                    "query": "Consider the agreement of one; Who keeps it?",
                    "snippets": [
                        {"file_path": "nda/one.txt", "span": [7, 17], "answer": "Each party"}
                    ],
                }
            ]
        },
    )


def _make_cuad(folder: Path) -> None:
    answers = [{"text": "ten days", "answer_start": 10}]
    write(
        folder / "data/CUADv1.json",
        {
            "version": "aok_v1.0",
            "data": [
                {
                    "title": "ACME_LEASE",
                    "paragraphs": [
                        {
                            "context": "It ends in ten days.".replace("in", "  "),
                            "qas": [
                                {
                                    "id": "ACME_LEASE__Term",
                                    "question": "Highlight the term.",
                                    "answers": [{**answers[0], "answer_start": 11}],
                                    "is_impossible": False,
                                },
                                {
                                    "id": "ACME_LEASE__Audit",
                                    "question": "Highlight audits.",
                                    "answers": [],
                                    "is_impossible": True,
                                },
                            ],
                        }
                    ],
                }
            ],
        },
    )


def _make_qmsum(folder: Path) -> None:
    write(
        folder / "data/ALL/val/Meet1.json",
        {
            "topic_list": [],
            "general_query_list": [{"query": "Summarise.", "answer": "They met."}],
            "specific_query_list": [
                {
                    "query": "What of the lamp?",
                    "answer": "It glows.",
                    "relevant_text_span": [["1", "2"], ["0", "0"]],
                }
            ],
            "meeting_transcripts": [
                {"speaker": "Ann", "content": "Hello ."},
                {"speaker": "Bo", "content": "The lamp\nglows ."},
                {"speaker": "Ann", "content": "Good ."},
            ],
        },
    )


def _make_contextual_retrieval(folder: Path) -> None:
    data = folder / "skills/contextual-embeddings/data"
    content = "fn a() {}\nfn b() {}\nfn a() {}\n"
    write(
        data / "codebase_chunks.json",
        [
            {
                "doc_id": "doc_1",
                "original_uuid": "u1",
                "content": content,
                "chunks": [
                    {"chunk_id": "c0", "original_index": 0, "content": "fn a() {}\n"},
                    {"chunk_id": "c1", "original_index": 1, "content": "fn b() {}\n"},
                    {"chunk_id": "c2", "original_index": 2, "content": "fn a() {}\n"},
                ],
            }
        ],
    )
    write(
        data / "evaluation_set.jsonl",
        {
            "query": "Where is a again?",
            "answer": "At the end.",
            "golden_doc_uuids": ["u1"],
            "golden_chunk_uuids": [["u1", 2]],
            "golden_documents": [],
        },
    )


def _make_kite(folder: Path) -> None:
    content = folder / "knowledge-base-content"
    write(content / "sourcegraph-company-handbook/team/who.md", "# Who")
    write(content / "sourcegraph-company-handbook/.DS_Store", "x")
    write(content / "ai-papers/base/one.pdf", "%PDF-")
    write(
        folder / "queries/sourcegraph.json",
        [{"query": "Who is there?", "gt_answer": "A team.", "rubric": "Name the team."}],
    )


MADE: dict[str, Make] = {
    "spanwise": _make_spanwise,
    "chroma": _make_chroma,
    "financebench": _make_financebench,
    "legalbench-rag": _make_legalbench_rag,
    "cuad": _make_cuad,
    "qmsum": _make_qmsum,
    "contextual-retrieval": _make_contextual_retrieval,
    "kite": _make_kite,
}
