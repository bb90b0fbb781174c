"""Every package that the source imports is declared in pyproject.toml."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "spanwise"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

DISTRIBUTIONS = {
    "PIL": "pillow",
    "Stemmer": "pystemmer",
    "haystack": "haystack-ai",
    "llama_index": "llama-index-core",
    "markdown_it": "markdown-it-py",
    "opentelemetry": "opentelemetry-api",
    "psycopg_pool": "psycopg",
    "pydantic_ai": "pydantic-ai-slim",
    "pydantic_core": "pydantic",  # which requires one exact version of it
    "starlette": "fastapi",  # which requires it
}
"""Distribution of each module whose name differs from it by more than "-" against "_"."""

OF_CLIENTS = {"boto3", "botocore", "cohere", "voyageai"}
"""Clients of vendors, which the extras of pydantic-ai-slim install."""

OF_EXTRAS = {
    "config/settings.py": {"keyring"},
    "ingest/ray_tasks.py": {"ray"},
    "ingest/ray_workers.py": {"ray"},
    "ingest/watch.py": {"watchfiles"},
    "ingest/object_storage.py": {"fsspec"},
    "ingest/tables.py": {"pyarrow"},
    "integrations/haystack.py": {"haystack"},
    "integrations/langchain.py": {"langchain_core"},
    "integrations/llama_index.py": {"llama_index"},
    "mcp/server.py": {"mcp", "uvicorn"},
    "models/providers/bert.py": {"onnxruntime"},
    "models/providers/batches.py": {"pydantic_ai"},
    "models/providers/connections.py": {"boto3", "botocore", "cohere", "pydantic_ai", "voyageai"},
    "models/providers/failures.py": {"pydantic_ai"},
    "models/providers/fastembed.py": {"fastembed"},
    "models/providers/language_model.py": {"pydantic_ai"},
    "models/providers/prices.py": {"genai_prices"},
    "models/providers/remote_embedder.py": {"pydantic_ai"},
    "models/providers/sentence_transformers.py": {"sentence_transformers"},
    "parsers/code.py": {"tree_sitter_language_pack"},
    "parsers/docling.py": {"docling"},
    "parsers/images/pdf_form.py": {"PIL"},
    "parsers/pdf/ocr.py": {"rapidocr"},
    "parsers/unstructured.py": {"unstructured"},
    "search/explanation/explanation.py": {"matplotlib"},
    "server/access.py": {"fastapi"},
    "server/agents.py": {"mcp", "starlette"},
    "server/app.py": {"fastapi", "prometheus_client", "python_multipart"},
    "server/client_connections.py": {"uvicorn"},
    "server/events.py": {"fastapi"},
    "server/limits.py": {"prometheus_client"},
    "server/openapi.py": {"fastapi"},
    "server/postgres_jobs.py": {"psycopg"},
    "server/problems.py": {"fastapi", "starlette"},
    "server/queue_metrics.py": {"prometheus_client"},
    "server/results.py": {"fastapi"},
    "server/routes.py": {"fastapi"},
    "server/routes_evaluations.py": {"fastapi"},
    "server/routes_chunks.py": {"fastapi"},
    "server/routes_jobs.py": {"fastapi", "starlette"},
    "server/routes_packs.py": {"fastapi"},
    "server/routes_queries.py": {"fastapi"},
    "server/routes_threads.py": {"fastapi"},
    "server/routes_several.py": {"fastapi"},
    "server/run.py": {"uvicorn"},
    "server/tracing.py": {"opentelemetry"},
    "server/uploads.py": {"python_multipart"},
    "server/web_page.py": {"fastapi"},
    "stores/postgres/connections.py": {"psycopg", "psycopg_pool"},
    "stores/postgres/filters.py": {"psycopg"},
    "stores/postgres/index.py": {"psycopg"},
    "stores/postgres/rebuild.py": {"psycopg"},
    "stores/postgres/schema.py": {"psycopg"},
    "stores/postgres/values.py": {"psycopg"},
    "stores/postgres/flush_process.py": {"psycopg"},
    "stores/qdrant/approximate.py": {"qdrant_client"},
    "stores/qdrant/collections.py": {"qdrant_client"},
    "stores/qdrant/fields.py": {"qdrant_client"},
    "stores/qdrant/known.py": {"qdrant_client"},
    "stores/qdrant/meta.py": {"qdrant_client"},
    "stores/qdrant/points.py": {"qdrant_client"},
    "stores/qdrant/signals.py": {"qdrant_client"},
    "stores/qdrant/state.py": {"qdrant_client"},
    "stores/qdrant/store.py": {"qdrant_client"},
    "stores/qdrant/writes.py": {"qdrant_client"},
    "stores/dot_products.py": {"simsimd"},
}
"""Modules that only work with an extra, and the optional packages that they import."""

DEVELOPMENT = {f"testing/{path.name}": {"pytest"} for path in (SOURCE / "testing").glob("*.py")}
"""The test suites for implementers, which run under pytest."""


def _name(requirement: str) -> str:
    """Return the normalized name of the distribution that a requirement names."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found.group()).lower()


REQUIRED = {_name(line) for line in PROJECT["dependencies"]}
OPTIONAL = {
    _name(line)
    for extra, lines in PROJECT["optional-dependencies"].items()
    if extra != "dev"
    for line in lines
}


def _imports(node: ast.AST) -> Iterator[str]:
    """Yield the top-level modules that a tree imports at run time."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for statement in node.orelse:
            yield from _imports(statement)
        return
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.partition(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)


def _third_party(path: Path) -> set[str]:
    own = {*sys.stdlib_module_names, "spanwise"}
    return {*_imports(ast.parse(path.read_text(encoding="utf-8")))} - own


def _distribution(module: str) -> str:
    return DISTRIBUTIONS.get(module, module.replace("_", "-").lower())


def test_modules_import_declared_packages_alone() -> None:
    """A package without an extra is a dependency; one of an extra is imported by its module."""
    undeclared = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        optional = OF_EXTRAS.get(name, set()) | DEVELOPMENT.get(name, set())
        modules = {_distribution(module) for module in _third_party(path) - optional}
        if modules - REQUIRED:
            undeclared[name] = modules - REQUIRED
    assert not undeclared


def test_optional_packages_belong_to_an_extra_and_are_imported() -> None:
    for path, modules in OF_EXTRAS.items():
        assert modules <= _third_party(SOURCE / path)
        assert {_distribution(module) for module in modules - OF_CLIENTS} <= OPTIONAL
