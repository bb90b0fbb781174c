"""What each entry point loads: by list of modules, because clocks lie."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import spanwise

HEAVY = {
    "bpe_openai",
    "charset_normalizer",
    "httpx",
    "markdown_it",
    "numpy",
    "pydantic",
    "pypdfium2",
    "rich",
    "selectolax",
    "simsimd",
    "sqlite3",
    "Stemmer",
    "tokenizers",
    "wordllama",
}
"""Everything that costs time; a part of the program loads what it needs of it, no more."""

APPLICATION = {"fastapi", "mcp", "prometheus_client", "schemathesis"}
"""What the application of a server and its agent interface are made of."""

INGEST = {"spanwise.ingest.pipeline", "spanwise.packs.agreement_covers"}
"""What only ingest needs."""

UNUSED = {
    "asyncio",
    "email",
    "importlib.metadata",
    "importlib.resources",
    "numpy.ma",
    "spanwise.cli.commands.add",
    "spanwise.core.documents.outlines",
    "spanwise.core.documents.splitting",
    "spanwise.core.extraction.bins",
    "spanwise.core.extraction.published",
    "spanwise.core.ranking.collection",
    "spanwise.core.ranking.deep",
    "spanwise.core.ranking.reranking",
    "spanwise.filters.text",
    "spanwise.filters.tree",
    "spanwise.knowledge_base.asynchronous",
    "spanwise.models.contextual_caller",
    "spanwise.models.fallback",
    "spanwise.models.ports",
    "spanwise.models.rerankers",
    "spanwise.options.answers",
    "spanwise.options.crawl",
    "spanwise.packs.known_kinds",
    "spanwise.packs.landmarks",
    "spanwise.search.chunk_weights",
    "spanwise.search.deep",
    "spanwise.search.excerpts",
    "spanwise.search.explain",
    "spanwise.search.explanation",
    "spanwise.search.rerank",
    "spanwise.search.tuned_options",
    "spanwise.stores.backup",
    "spanwise.stores.copy",
    "spanwise.stores.doctor",
    "spanwise.types.answers",
    "spanwise.types.excerpts",
    "spanwise.types.given",
    "spanwise.types.notebook",
    "spanwise.types.reports",
    "spanwise.types.whole_documents",
    "statistics",
    "zipfile",
}
"""What a search does not need: data classes and patterns, which take time to make."""

CALCULATING = {
    "ChunkWeights",
    "ScoredSegment",
    "beta_relevance",
    "chunk_header",
    "chunk_values",
    "document_language",
    "extract_published",
    "extract_segments",
    "render_segments",
    "segments_from_scores",
    "split_chunks",
    "split_sections",
    "weigh_chunks",
}
"""Names of the pure functions, which work without a knowledge base, and of what they return."""

INGESTING = {
    "AsyncKnowledgeBase",
    "KnowledgeBase",
    "ask",
    "ask_each",
    "excerpts",
    "explain",
    "locate",
    "parse",
    "parse_text",
}
"""Names that load the knowledge base."""

CONNECTING = {
    "AsyncRemoteKnowledgeBase",
    "RemoteIngest",
    "RemoteJob",
    "RemoteKnowledgeBase",
    "connect",
    "connect_async",
}
"""Names of the client of a server, which loads no knowledge base."""

REPORT = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"


def loaded_by(code: str, *, folder: Path) -> set[str]:
    """Return the names of the modules that a fresh interpreter holds after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{REPORT}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def loaded_by_command(*arguments: str, folder: Path) -> set[str]:
    """Return the names of the modules that a command line of ours ends with."""
    return loaded_by(
        f"from spanwise.cli.main import main\nassert main({list(arguments)!r}) == 0", folder=folder
    )


@pytest.fixture(scope="module")
def knowledge_base_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a knowledge base of one note."""
    folder = tmp_path_factory.mktemp("budget")
    with spanwise.KnowledgeBase(folder / "spanwise.kb") as knowledge_base:
        knowledge_base.add_text("Margins fell because freight cost more.", document_id="note")
    return folder


def test_import_of_the_package_loads_nothing_but_itself(tmp_path: Path) -> None:
    before = loaded_by("import importlib", folder=tmp_path)
    loaded = loaded_by("import importlib, spanwise", folder=tmp_path) - before
    others = {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names}
    # `spanwise.search` is the package that can be called; `loading` imports names at first use.
    assert others == {"spanwise", "spanwise.loading", "spanwise.search"}


@pytest.mark.parametrize("name", sorted(CALCULATING))
def test_a_pure_function_loads_what_it_calculates_with(name: str, tmp_path: Path) -> None:
    loaded = loaded_by(f"from spanwise import {name}", folder=tmp_path)
    assert loaded & HEAVY <= {"numpy", "Stemmer"}


def test_options_and_filters_load_nothing_heavy(tmp_path: Path) -> None:
    names = sorted(set(spanwise.__all__) - INGESTING - CALCULATING - CONNECTING)
    loaded = loaded_by(f"from spanwise import {', '.join(names)}", folder=tmp_path)
    assert loaded & HEAVY == set()


def test_the_client_loads_no_knowledge_base(tmp_path: Path) -> None:
    loaded = loaded_by("from spanwise import connect", folder=tmp_path)
    assert loaded & HEAVY == {"httpx", "rich"}, "httpx imports rich"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["search", "--help"], ["add", "--help"]]
)
def test_help_loads_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    assert loaded_by_command(*arguments, folder=tmp_path) & HEAVY == set()


def test_a_command_loads_no_other_command(knowledge_base_folder: Path) -> None:
    loaded = loaded_by_command("list", folder=knowledge_base_folder)
    commands = {name for name in loaded if name.startswith("spanwise.cli.commands.")}
    assert commands == {"spanwise.cli.commands.documents"}


def test_search_loads_no_parser_no_network_and_nothing_that_draws(
    knowledge_base_folder: Path,
) -> None:
    loaded = loaded_by_command("search", "Why did margins fall?", folder=knowledge_base_folder)
    assert loaded & (HEAVY | UNUSED) <= {"numpy", "simsimd", "sqlite3", "Stemmer"}


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads as on Linux")
def test_search_starts_no_thread(knowledge_base_folder: Path) -> None:
    code = (
        "import os, sys\n"
        "from spanwise.cli.main import main\n"
        "assert main(['search', 'Why did margins fall?']) == 0\n"
        "sys.exit(len(os.listdir('/proc/self/task')) - 1)"
    )
    environment = {name: value for name, value in os.environ.items() if "_NUM_THREADS" not in name}
    subprocess.run(
        [sys.executable, "-c", code], cwd=knowledge_base_folder, env=environment, check=True
    )


def test_list_loads_no_embedder(knowledge_base_folder: Path) -> None:
    loaded = loaded_by_command("list", folder=knowledge_base_folder)
    assert loaded & HEAVY <= {"numpy", "simsimd", "sqlite3", "Stemmer"}


def test_the_parent_of_server_processes_loads_no_application(tmp_path: Path) -> None:
    loaded = loaded_by("import spanwise.server.run", folder=tmp_path)
    assert loaded & (HEAVY | APPLICATION) <= {"sqlite3"}


def test_the_server_loads_no_parser_and_no_agent_interface(knowledge_base_folder: Path) -> None:
    code = (
        "from spanwise.server.app import make_app\n"
        "from spanwise.server.options import ServerOptions\n"
        "make_app(ServerOptions(knowledge_bases={'notes': 'spanwise.kb'}))"
    )
    loaded = loaded_by(code, folder=knowledge_base_folder)
    assert loaded & (HEAVY | APPLICATION | INGEST) <= {
        "fastapi", "numpy", "prometheus_client", "pydantic", "simsimd", "sqlite3", "Stemmer",
    }  # fmt: skip
