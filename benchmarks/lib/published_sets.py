"""Readers of published datasets, from local copies.

Layouts:
    spanwise: documents.jsonl, queries.jsonl, pages.jsonl and the documents.
    chroma (github.com/brandonstarxel/chunking_evaluation; `general_evaluation.py`,
        `base_evaluation.py`): general_evaluation_data/questions_df.csv has the columns `question`,
        `references` and `corpus_id`; references are JSON with `content`, `start_index` and
        `end_index`. general_evaluation_data/corpora/ has one text for each corpus, named by its id.
        Its own loader opens them as text: every line end counts as one character.
    contextual-retrieval (github.com/anthropics/anthropic-cookbook; guide.ipynb of the folder
        contextual-embeddings): data/codebase_chunks.json is a list of files with `doc_id`,
        `original_uuid`, `content`, and `chunks` with `original_index` and `content`.
        data/evaluation_set.jsonl has `query`, mostly `answer`, and `golden_chunk_uuids`, pairs of
        the uuid of a file and the index of a chunk.
    cuad (github.com/TheAtticusProject/cuad, data.zip or CUAD_v1.zip; the layout of SQuAD 2.0):
        `data` has contracts with `title` and `paragraphs`, which is one with the whole `context`;
        its `qas` have `id`, `question` and `answers`, each with `text` and `answer_start`. A clause
        that the contract does not have has no answers; refusing to answer is right then.
    financebench (github.com/patronus-ai/financebench, the open sample, for evaluation only):
        data/financebench_open_source.jsonl has `financebench_id`, `question`, `answer`, `doc_name`,
        `question_type` and `evidence`, a list with `evidence_text`, `evidence_page_num` and
        `doc_name` (`evidence_doc_name` in later copies). Pages are from 0.
        data/financebench_document_information.jsonl has `doc_name`, `company`, `doc_type` and
        `doc_period`. pdfs/ has a file for each `doc_name`.
    kite (github.com/D-Star-AI/KITE; `grade_responses.py`, `create_kb.py`): queries/*.json are lists
        with `query`, `gt_answer` and `rubric`. knowledge-base-content/ has a folder of documents
        for each of these files, which is searched alone. Both are in Git LFS.
    legalbench-rag (github.com/zeroentropy-ai/legalbenchrag, the data of its release;
        `benchmark_types.py`, `benchmark.py`): benchmarks/*.json have `tests` with a `query` and
        `snippets`, each with `file_path`, `span` (half-open characters) and mostly `answer`, the
        text. corpus/ has the texts by `file_path`. Its own loader opens them as text: every line
        end counts as one character. It searches the texts that some snippet names.
    qmsum (github.com/Yale-LILY/QMSum; its README): data/ALL/{train,val,test}/*.json are meetings
        with `meeting_transcripts` (`speaker`, `content`), `specific_query_list` with `query`,
        `answer` and `relevant_text_span` (first and last turn, from 0, as texts), and
        `general_query_list` with `query` and `answer`. data/ALL/jsonl has the same meetings without
        names, one per line. The text of a meeting has one turn per line, "speaker: content".
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from benchmarks.lib.checkout import Checkout, csv_rows, json_value
from spanwise.errors import OptionError
from spanwise.evaluation.dataset import (
    Dataset,
    DatasetDocument,
    DocumentText,
    Evidence,
    LabelledQuestion,
    LeftOut,
)
from spanwise.evaluation.datasets.evidence_checks import usable_questions
from spanwise.evaluation.datasets.json_lines import (
    FaultError,
    Faults,
    Row,
    json_lines,
    row_of,
    shown,
)
from spanwise.evaluation.datasets.question_reader import read_questions
from spanwise.types import Page

_TEXTS = {".txt", ".md"}


def read_benchmark_folder(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the dataset of a folder; texts keep every character, other files are parsed later."""
    questions = read_questions(checkout.find("queries.jsonl"))
    pages = _pages(checkout, faults)
    documents = []
    for row in json_lines(checkout.find("documents.jsonl"), faults):
        with faults.gathered():
            documents.append(_document(row, checkout, pages))
    return Dataset(
        name=checkout.folder.resolve().name, questions=questions, documents=tuple(documents)
    )


def _document(row: Row, checkout: Checkout, pages: Mapping[str, Sequence[Page]]) -> DatasetDocument:
    path = checkout.inside(checkout.folder, row.text("path"), place=row.place)
    document = DatasetDocument(id=row.word("doc_id"), title=row.text("title", default=""))
    if path.suffix.lower() not in _TEXTS:
        return replace(document, path=path)
    read = checkout.text_document(path, document_id=document.id, title=document.title)
    if row.has("chars") and read.text is not None and row.whole("chars") != len(read.text):
        raise row.fault(
            f"the text has {len(read.text):,} characters, and {row.whole('chars'):,} are stated; "
            "a copy may have changed its line ends: get it anew"
        )
    own = tuple(pages.get(document.id, ()))
    if own and read.text is not None and own[-1].end > len(read.text):
        raise row.fault(
            f"the last page of {document.id!r} ends at {own[-1].end}, and its text has "
            f"{len(read.text):,} characters; correct pages.jsonl"
        )
    return replace(read, pages=own)


def _pages(checkout: Checkout, faults: Faults) -> Mapping[str, Sequence[Page]]:
    """Return the pages of texts; pages of files are known after parsing."""
    pages: dict[str, list[Page]] = defaultdict(list)
    path = checkout.folder / "pages.jsonl"
    if not path.exists():
        return pages
    for row in json_lines(path, faults):
        if not row.has("start"):
            continue
        with faults.gathered():
            before = pages[row.word("doc_id")]
            if row.whole("page") != len(before):
                raise row.fault(f"'page' is {row.whole('page')}, and the next is {len(before)}")
            page = Page(start=row.whole("start"), end=row.whole("end"))
            ended = before[-1].end if before else 0
            if not ended <= page.start <= page.end:
                raise row.fault(
                    f"page {len(before)} is at {page.start}-{page.end}, and the one before ends at "
                    f"{ended}; pages follow each other"
                )
            before.append(page)
    return pages


_DATA = "evaluation_framework/general_evaluation_data"
_COLUMNS = ("question", "references", "corpus_id")


def read_chroma(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions over all corpora, which the published search has in one collection."""
    table = checkout.find(
        "questions_df.csv",
        f"src/chunking_evaluation/{_DATA}/questions_df.csv",
        f"chunking_evaluation/{_DATA}/questions_df.csv",
    )
    corpora = {
        path.stem: path
        for path in sorted((table.parent / "corpora").glob("*"))
        if path.suffix in {".md", ".txt"}
    }
    questions = []
    with faults.gathered():
        for number, row in enumerate(csv_rows(table, columns=_COLUMNS)):
            with faults.gathered(questions=1):
                questions.append(_question(row, number, corpora))
    documents = []
    for corpus_id, path in corpora.items():
        with faults.gathered():
            inside = checkout.inside(path.parent, path.name, place="corpora")
            documents.append(checkout.text_document(inside, document_id=corpus_id, translates=True))
    return Dataset(name=checkout.name, questions=tuple(questions), documents=tuple(documents))


def _question(row: Row, number: int, corpora: Mapping[str, Path]) -> LabelledQuestion:
    corpus_id = row.text("corpus_id")
    if corpus_id not in corpora:
        raise row.fault(f"the corpus {shown(corpus_id)} is not among {sorted(corpora)}")
    return LabelledQuestion(
        id=f"chroma-{number:05d}",
        text=row.text("question"),
        evidence=tuple(_references(row, corpus_id)),
        metadata={"corpus": corpus_id},
    )


def _references(row: Row, corpus_id: str) -> Iterator[Evidence]:
    try:
        references = json.loads(row.text("references"))
    except (ValueError, RecursionError) as error:
        raise row.fault(f"'references' is no JSON: {error}") from error
    for reference in Row({"references": references}, row.place).rows("references"):
        yield Evidence(
            document_id=corpus_id,
            start=reference.whole("start_index"),
            end=reference.whole("end_index"),
            text=reference.text("content", default=""),
        )


_FOLDERS = (
    "",
    "data/",
    "skills/contextual-embeddings/data/",
    "capabilities/contextual-embeddings/data/",
)


@dataclass(frozen=True, slots=True)
class _File:
    """A file with the place of each chunk in its text; None for a chunk that does not occur."""

    id: str
    text: str
    chunks: Mapping[int, tuple[int, int] | None]


def read_contextual_retrieval(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions over all files; the evidence is the places of their golden chunks."""
    chunks = checkout.find(*(f"{folder}codebase_chunks.json" for folder in _FOLDERS))
    questions_path = checkout.find(*(f"{folder}evaluation_set.jsonl" for folder in _FOLDERS))
    files: dict[str, _File] = {}
    with faults.gathered():
        for row in Row({"files": json_value(chunks)}, chunks.name).rows("files"):
            with faults.gathered():
                files[row.text("original_uuid")] = _file(row)
    questions = []
    for number, row in enumerate(json_lines(questions_path, faults, questions=1)):
        with faults.gathered(questions=1):
            questions.append(_contextual_retrieval_question(row, number, files))
    return Dataset(
        name=checkout.name,
        questions=tuple(questions),
        documents=tuple(DatasetDocument(id=file.id, text=file.text) for file in files.values()),
    )


def _file(row: Row) -> _File:
    text = row.text("content")
    places: dict[int, tuple[int, int] | None] = {}
    after = 0
    for chunk in sorted(row.rows("chunks"), key=lambda one: one.whole("original_index")):
        content = chunk.text("content")
        # Of chunks with one text, the later one stands behind the earlier one.
        start = text.find(content, after)
        places[chunk.whole("original_index")] = None if start < 0 else (start, start + len(content))
        after = max(after, start + 1)
    return _File(row.word("doc_id"), text, places)


def _contextual_retrieval_question(
    row: Row, number: int, files: Mapping[str, _File]
) -> LabelledQuestion:
    return LabelledQuestion(
        id=f"contextual-retrieval-{number:05d}",
        text=row.text("query"),
        evidence=tuple(_evidence(pair, files, row) for pair in row.items("golden_chunk_uuids")),
        answer=row.text("answer", default=""),
    )


def _evidence(pair: object, files: Mapping[str, _File], row: Row) -> Evidence:
    match pair:
        case [str(uuid), int(index)] if uuid in files:
            file = files[uuid]
        case _:
            raise row.fault(f"a golden chunk is {shown(pair)}; there is no file of that uuid")
    place = file.chunks.get(index)
    if place is None:
        raise FaultError(
            f"{row.place}: chunk {index} of {shown(file.id)} is golden, and is not a part of its "
            "content"
        )
    return Evidence(
        document_id=file.id, start=place[0], end=place[1], text=file.text[slice(*place)]
    )


_CATEGORY_MARK = "__"  # of an id, between the contract and the category


def read_cuad(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions, each with its contract as scope, because the text does not name it."""
    path = checkout.folder
    if not path.is_file():
        path = checkout.find(
            "CUADv1.json", "data/CUADv1.json", "CUAD_v1.json", "CUAD_v1/CUAD_v1.json"
        )
    questions: list[LabelledQuestion] = []
    documents: list[DatasetDocument] = []
    with faults.gathered():
        for contract in row_of(json_value(path), path.name).rows("data"):
            with faults.gathered():
                for document, asked in _contract(contract):
                    documents.append(document)
                    for one in asked:
                        with faults.gathered(questions=1):
                            questions.append(_cuad_question(one, document.id))
    return Dataset(name=checkout.name, questions=tuple(questions), documents=tuple(documents))


def _contract(row: Row) -> Iterator[tuple[DatasetDocument, list[Row]]]:
    title = row.text("title")
    paragraphs = row.rows("paragraphs")
    for number, paragraph in enumerate(paragraphs, start=1):
        document_id = title if len(paragraphs) == 1 else f"{title}-{number}"
        document = DatasetDocument(id=document_id, title=title, text=paragraph.text("context"))
        yield document, paragraph.rows("qas")


def _cuad_question(row: Row, document_id: str) -> LabelledQuestion:
    question_id = row.text("id")
    _, mark, category = question_id.rpartition(_CATEGORY_MARK)
    evidence = tuple(_cuad_evidence(answer, document_id) for answer in row.rows("answers"))
    return LabelledQuestion(
        id=question_id,
        text=row.text("question"),
        evidence=evidence,
        answer="\n".join(dict.fromkeys(one.text for one in evidence)),
        scope=(document_id,),
        metadata={
            **({"category": category} if mark else {}),
            **({} if evidence else {"answerable": False}),
        },
    )


def _cuad_evidence(answer: Row, document_id: str) -> Evidence:
    start, text = answer.whole("answer_start"), answer.text("text")
    return Evidence(document_id=document_id, start=start, end=start + len(text), text=text)


_METADATA = ("question_type", "question_reasoning", "company", "doc_name")


def read_financebench(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions and their filings."""
    path = checkout.find("data/financebench_open_source.jsonl")
    titles = _titles(checkout, faults)
    pdfs = checkout.find("pdfs")
    questions = []
    documents: dict[str, DatasetDocument] = {}
    for row in json_lines(path, faults, questions=1):
        with faults.gathered(questions=1):
            question = _financebench_question(row)
            for document_id in {one.document_id for one in question.evidence} - documents.keys():
                documents[document_id] = DatasetDocument(
                    id=document_id,
                    title=titles.get(document_id, ""),
                    path=checkout.inside(pdfs, f"{document_id}.pdf", place=row.place),
                )
            questions.append(question)
    return Dataset(
        name=checkout.name,
        questions=tuple(questions),
        documents=tuple(documents[document_id] for document_id in sorted(documents)),
    )


def _titles(checkout: Checkout, faults: Faults) -> Mapping[str, str]:
    titles: dict[str, str] = {}
    for row in json_lines(checkout.find("data/financebench_document_information.jsonl"), faults):
        with faults.gathered():
            words = [row.word(key, default="") for key in ("company", "doc_type", "doc_period")]
            titles[row.text("doc_name")] = " ".join(filter(None, words))
    return titles


def _financebench_question(row: Row) -> LabelledQuestion:
    return LabelledQuestion(
        id=row.text("financebench_id"),
        text=row.text("question"),
        evidence=tuple(_financebench_evidence(piece, row) for piece in row.rows("evidence")),
        answer=row.text("answer", default=""),
        metadata={key: row.text(key) for key in _METADATA if row.has(key)},
    )


def _financebench_evidence(piece: Row, question: Row) -> Evidence:
    """Return the page of the evidence; its text has another extraction and no place in ours."""
    named = piece.text("evidence_doc_name", default="") or piece.text("doc_name", default="")
    return Evidence(
        document_id=named or question.text("doc_name"),
        page=piece.whole("evidence_page_num") + 1,
        text=piece.text("evidence_text", default=""),
    )


_KITE_FOLDERS = {
    "ai_papers": "ai-papers",
    "bvp_cloud": "bvp-cloud-index-10k",
    "sourcegraph": "sourcegraph-company-handbook",
    "supreme_court_opinions": "supreme-court-opinions-2023",
}
_FORMATS = {".docx", ".md", ".pdf", ".txt"}


def read_kite(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions of the sets that exist, each about the documents of its set.

    They have no evidence.
    """
    queries, content = checkout.find("queries"), checkout.find("knowledge-base-content")
    questions: list[LabelledQuestion] = []
    documents: list[DatasetDocument] = []
    for name, folder in _KITE_FOLDERS.items():
        path = queries / f"{name}.json"
        if not path.exists():
            continue
        with faults.gathered():
            found = _documents(checkout, checkout.find(f"{content.name}/{folder}").name)
            scope = tuple(document.id for document in found)
            documents += found
            rows = Row({name: json_value(path)}, path.name).rows(name)
            for number, row in enumerate(rows):
                with faults.gathered(questions=1):
                    questions.append(_kite_question(row, f"{name}-{number:03d}", name, scope))
    return Dataset(name=checkout.name, questions=tuple(questions), documents=tuple(documents))


def _documents(checkout: Checkout, folder: str) -> list[DatasetDocument]:
    base = checkout.folder / "knowledge-base-content"
    names = sorted(
        path.relative_to(base).as_posix()
        for path in (base / folder).rglob("*")
        if path.suffix.lower() in _FORMATS
    )
    return [
        DatasetDocument(id=name, path=checkout.inside(base, name, place=folder)) for name in names
    ]


def _kite_question(
    row: Row, question_id: str, name: str, scope: tuple[str, ...]
) -> LabelledQuestion:
    return LabelledQuestion(
        id=question_id,
        text=row.text("query"),
        answer=row.text("gt_answer", default=""),
        rubric=row.text("rubric", default=""),
        scope=scope,
        metadata={"set": name},
    )


def read_legalbench_rag(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions of all benchmarks and the texts that they name."""
    folder = checkout.find("benchmarks", "data/benchmarks")
    corpus = checkout.find("corpus", "data/corpus")
    questions = []
    documents: dict[str, DatasetDocument] = {}
    for path in sorted(folder.glob("*.json")):
        with faults.gathered():
            for number, row in enumerate(row_of(json_value(path), path.name).rows("tests")):
                with faults.gathered(questions=1):
                    question = _legalbench_rag_question(row, path.stem, number)
                    _add_documents(question, documents, checkout, corpus)
                    questions.append(question)
    return Dataset(
        name=checkout.name,
        questions=tuple(questions),
        documents=tuple(documents[document_id] for document_id in sorted(documents)),
    )


def _legalbench_rag_question(row: Row, benchmark: str, number: int) -> LabelledQuestion:
    return LabelledQuestion(
        id=f"{benchmark}-{number:05d}",
        text=row.text("query"),
        evidence=tuple(map(_legalbench_rag_evidence, row.rows("snippets"))),
        metadata={"benchmark": benchmark},
    )


def _legalbench_rag_evidence(snippet: Row) -> Evidence:
    span = snippet.items("span")
    if len(span) != 2:
        raise snippet.fault(f"'span' is {shown(span)}; give two characters, [start, end]")
    ends = Row(dict(zip(("start", "end"), span, strict=True)), snippet.place)
    return Evidence(
        document_id=snippet.text("file_path"),
        start=ends.whole("start"),
        end=ends.whole("end"),
        text=snippet.text("answer", default=""),
    )


def _add_documents(
    question: LabelledQuestion,
    documents: dict[str, DatasetDocument],
    checkout: Checkout,
    corpus: Path,
) -> None:
    """Read the texts that a question names, unless they are read already."""
    for document_id in {one.document_id for one in question.evidence} - documents.keys():
        path = checkout.inside(corpus, document_id, place=f"question {question.id}")
        documents[document_id] = checkout.text_document(
            path, document_id=document_id, translates=True
        )


_SPLITS = ("train", "val", "test")


def read_qmsum(checkout: Checkout, faults: Faults) -> Dataset:
    """Return the questions, each with its meeting as scope, because the text does not name it."""
    questions: list[LabelledQuestion] = []
    documents: list[DatasetDocument] = []
    for meeting_id, row in _meetings(checkout, faults):
        with faults.gathered():
            general, specific = row.rows("general_query_list"), row.rows("specific_query_list")
            with faults.gathered(questions=len(general) + len(specific)):
                document, lines = _transcript(row, meeting_id)
                documents.append(document)
                questions += _questions(general, f"{meeting_id}-general", meeting_id, (), faults)
                questions += _questions(
                    specific, f"{meeting_id}-specific", meeting_id, lines, faults
                )
    return Dataset(name=checkout.name, questions=tuple(questions), documents=tuple(documents))


def _meetings(checkout: Checkout, faults: Faults) -> Iterator[tuple[str, Row]]:
    """Yield the meetings with their names: of all splits, or of the named file or folder."""
    if checkout.folder.suffix == ".jsonl" and checkout.folder.is_file():
        for number, row in enumerate(json_lines(checkout.folder, faults)):
            yield f"{checkout.folder.stem}-{number:03d}", row
        return
    for path in _files(checkout):
        with faults.gathered():
            yield path.stem, row_of(json_value(path), path.name)


def _files(checkout: Checkout) -> list[Path]:
    own = sorted(checkout.folder.glob("*.json"))
    if own:
        return own
    folder = checkout.find("data/ALL")
    return [path for split in _SPLITS for path in sorted((folder / split).glob("*.json"))]


def _transcript(row: Row, meeting_id: str) -> tuple[DatasetDocument, list[tuple[int, int]]]:
    """Return a meeting as a text, and the place of each turn in it."""
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    start = 0
    for turn in row.rows("meeting_transcripts"):
        said = f"{turn.text('speaker', default='')}: {turn.text('content', default='')}"
        line = " ".join(said.splitlines())
        lines.append(line)
        places.append((start, start + len(line)))
        start += len(line) + 1
    if not lines:
        raise row.fault("'meeting_transcripts' is missing or empty; there is no text")
    return DatasetDocument(id=meeting_id, text="\n".join(lines)), places


def _questions(
    rows: Sequence[Row],
    named: str,
    meeting_id: str,
    lines: Sequence[tuple[int, int]],
    faults: Faults,
) -> Iterator[LabelledQuestion]:
    """Yield questions; without lines, those about the whole meeting, which have no evidence."""
    for number, row in enumerate(rows):
        with faults.gathered(questions=1):
            yield _qmsum_question(row, f"{named}-{number}", meeting_id, lines)


def _qmsum_question(
    row: Row, question_id: str, meeting_id: str, lines: Sequence[tuple[int, int]]
) -> LabelledQuestion:
    return LabelledQuestion(
        id=question_id,
        text=row.text("query"),
        evidence=tuple(
            _qmsum_evidence(span, meeting_id, lines, row.place)
            for span in (row.items("relevant_text_span") if lines else ())
        ),
        answer=row.text("answer", default=""),
        scope=(meeting_id,),
        metadata={"kind": "specific" if lines else "general"},
    )


def _qmsum_evidence(
    span: object, meeting_id: str, lines: Sequence[tuple[int, int]], place: str
) -> Evidence:
    """Return the characters of a range of turns, the last one included."""
    try:
        # The digits of a text are no turns.
        first, last = sorted(map(int, span if isinstance(span, list) else ()))
    except (TypeError, ValueError) as error:
        raise FaultError(
            f"{place}: a span is {shown(span)}; give the first and the last turn"
        ) from error
    if not 0 <= first <= last < len(lines):
        raise FaultError(
            f"{place}: a span is {shown(span)}, and the meeting has {len(lines)} turns"
        )
    return Evidence(document_id=meeting_id, start=lines[first][0], end=lines[last][1])


Store = Literal["shared", "single"]
"""Whether a question is asked of all documents, or only of those with its evidence."""


@dataclass(frozen=True, slots=True)
class _Source:
    words: str
    read: Callable[[Checkout, Faults], Dataset]
    is_published: bool = True
    """Whether the dataset tolerates unusable questions, because its user cannot correct them."""


_SOURCES = {
    "spanwise": _Source(
        "a folder with documents.jsonl and queries.jsonl, as benchmarks of Spanwise are kept",
        read_benchmark_folder,
        is_published=False,
    ),
    "chroma": _Source("Chroma's chunking evaluation: excerpts in five long texts", read_chroma),
    "financebench": _Source("FinanceBench: figures in the pages of filings", read_financebench),
    "legalbench-rag": _Source(
        "LegalBench-RAG: clauses in contracts and policies", read_legalbench_rag
    ),
    "cuad": _Source("CUAD: 41 kinds of clauses in contracts", read_cuad),
    "qmsum": _Source("QMSum: turns of long meetings", read_qmsum),
    "contextual-retrieval": _Source(
        "the set of Anthropic's contextual retrieval: chunks of source code",
        read_contextual_retrieval,
    ),
    "kite": _Source(
        "KITE: questions with rubrics about papers, filings, a handbook and opinions", read_kite
    ),
}

DATASETS: Mapping[str, str] = MappingProxyType(
    {name: source.words for name, source in _SOURCES.items()}
)
"""Names of the datasets, in words."""


def read_dataset(name: str, path: str | Path, *, store: Store = "shared") -> Dataset:
    """Return a checked dataset from a local copy. Nothing is downloaded.

    Args:
        name: One of `DATASETS`.
        path: Folder of the local copy.
        store: "shared" to ask every question of all documents, unless the dataset gives it a scope;
            "single" to ask it only of the documents with its evidence.

    Returns:
        The questions in the order of their files. A scope of the dataset stays in both stores.

    Raises:
        OptionError: If there is no such dataset or folder, the folder is no copy of it, or its
            content is faulty; the message has the first 20 faults. In a published dataset, up to a
            tenth of the questions may be unusable; they are left out (`left_out`).
    """
    if name not in _SOURCES:
        raise OptionError(f"dataset is {name!r}; the datasets are {', '.join(_SOURCES)}")
    if store not in get_args(Store):
        raise OptionError(f'store is {store!r}; give "shared" or "single"')
    folder = Path(path)
    if not folder.exists():
        raise OptionError(
            f"there is no {folder}; name the folder that {name} was cloned or unpacked to"
        )
    source = _SOURCES[name]
    faults = Faults(left_out=LeftOut() if source.is_published else None)
    dataset = source.read(Checkout(name, folder), faults)
    _check_ids(dataset, faults)
    faults.raise_any(str(folder), questions=len(dataset.questions))
    if not dataset.questions:
        raise OptionError(f"{folder} has no questions of {name}; name a whole copy of it")
    dataset = usable_questions(
        replace(dataset, left_out=faults.left_out if source.is_published else None),
        {
            document.id: None
            if document.text is None
            else DocumentText(text=document.text, pages=document.pages)
            for document in dataset.documents
        },
        called=str(folder),
    )
    if store == "single":
        return replace(dataset, questions=tuple(map(_alone, dataset.questions)))
    return dataset


def _check_ids(dataset: Dataset, faults: Faults) -> None:
    for what, ids in (
        ("documents", Counter(document.id for document in dataset.documents)),
        ("questions", Counter(question.id for question in dataset.questions)),
    ):
        for one, count in ids.items():
            if count > 1:
                with faults.gathered():
                    raise FaultError(f"{count} {what} have the id {shown(one)}")


def _alone(question: LabelledQuestion) -> LabelledQuestion:
    """Return a question that is asked only of the documents with its evidence."""
    own = tuple(dict.fromkeys(one.document_id for one in question.evidence))
    return replace(question, scope=question.scope or own or None)
