"""Build docs/python.md, the reference of the Python API, from signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import spanwise
from spanwise import evaluation, types
from spanwise.knowledge_base import several
from spanwise.models import ports
from spanwise.types import listener

_HEAD = """\
# Python reference

Generated from the docstrings by `make docs`; do not edit. See also:

- [How-to guides](how-to.md): examples
- [extending.md](extending.md): examples of your own models, parsers, stores and listeners
- [options.md](options.md): classes of options
- [errors.md](errors.md): exceptions

"""
_MODEL_PORTS = (
    "Embedder",
    "ContextualEmbedder",
    "EmbedReply",
    "Reranker",
    "GroupReranker",
    "RerankReply",
    "LanguageModel",
    "ModelRequest",
    "ModelReply",
    "Tokenizer",
)
_STORE_PORTS = ("Store", "Searchable", "Snapshot", "DocumentEntry")
_SCAN_TYPES = ("ScanQuery", "Scan", "PassageRange", "Passages")
_SECTION = re.compile(r"^(Args|Returns|Raises|Yields):$", re.MULTILINE)
_ITEM = re.compile(r"^(\*{0,2}[\w\[\]]+)(?: \(.*?\))?: ")


def python_reference() -> str:
    """Return docs/python.md: every public class, function, method and field."""
    names = [name for name in spanwise.__all__ if not name.endswith("Options")]
    objects = {name: getattr(spanwise, name) for name in names}
    objects |= {name: getattr(types, name) for name in types.__all__}
    names = sorted(name for name in objects if callable(objects[name]) and name != "SpanwiseError")
    functions = [
        name
        for name in names
        if inspect.isfunction(objects[name]) and not hasattr(spanwise.KnowledgeBase, name)
    ]
    documented = {"KnowledgeBase", "RemoteKnowledgeBase"}
    classes = [name for name in names if inspect.isclass(objects[name]) and name not in documented]
    parts = [_HEAD, "## KnowledgeBase\n\n", _class("KnowledgeBase", spanwise.KnowledgeBase)]
    packs = import_module("spanwise.packs.pack_manager").Packs
    parts += ["## KnowledgeBase.packs\n\n", _class("Packs", packs)]
    threads = import_module("spanwise.answers.stored_threads").Threads
    parts += ["## KnowledgeBase.threads\n\n", _class("Threads", threads)]
    parts += ["## RemoteKnowledgeBase\n\n", *_remote()]
    parts += ["## Several knowledge bases\n\n", _prose(several.__doc__ or "")]
    parts += ["## Functions\n\n", *(_function(name, objects[name]) for name in functions)]
    parts += ["## Results and inputs\n\n"]
    parts += [f"### {name}\n\n{_class(name, objects[name])}" for name in classes]
    parts += ["## Protocols of models\n\nIn `spanwise.models.ports`.\n\n"]
    parts += [f"### {name}\n\n{_class(name, getattr(ports, name))}" for name in _MODEL_PORTS]
    parts += [f"### Listener\n\n{_class('Listener', listener.Listener)}"]
    parts += ["## Protocols of stores\n\nIn `spanwise.stores.port`.\n\n", *_stores()]
    parts += ["## Evaluation\n\nIn `spanwise.evaluation`.\n\n", *_evaluation()]
    return "".join(parts).rstrip() + "\n"


def _remote() -> Iterator[str]:
    """Yield the methods of the client, from the requests that both of its forms send."""
    yield _class("RemoteKnowledgeBase", spanwise.RemoteKnowledgeBase)
    yield _methods("RemoteKnowledgeBase", import_module("spanwise.client.methods").Requests)
    yield "## RemoteKnowledgeBase.jobs\n\n"
    yield _methods("RemoteJobs", import_module("spanwise.client.jobs").JobRequests)


def _stores() -> Iterator[str]:
    port = import_module("spanwise.stores.port")
    for name in _STORE_PORTS:
        yield f"### {name}\n\n{_class(name, getattr(port, name))}"
        if name == "Store":
            yield _class(name, import_module("spanwise.types.output_cache").OutputCache)
    scan = import_module("spanwise.core.ranking.scan")
    for name in _SCAN_TYPES:
        yield f"### {name}\n\nIn `spanwise.core.ranking.scan`. {_class(name, getattr(scan, name))}"


def _evaluation() -> Iterator[str]:
    for name in evaluation.__all__:
        value = getattr(evaluation, name)
        if inspect.isclass(value):
            yield f"### {name}\n\n{_class(name, value)}"
        elif inspect.isfunction(value):
            yield _function(name, value)


def _class(name: str, kind: type) -> str:
    """Return description, constructor, fields and public methods of a class."""
    node = _definition(kind)
    parts = [_prose(inspect.getdoc(kind) or "")]
    constructor = next((part for part in node.body if _is_function(part, "__init__")), None)
    if isinstance(constructor, ast.FunctionDef):
        parts.append(_signature(name, constructor) + _prose(ast.get_docstring(constructor) or ""))
    rows = list(_field_rows(node))
    if rows:
        parts.append("| field | type | meaning |\n|---|---|---|\n" + "".join(rows) + "\n")
    return "".join(parts) + _methods(name, kind)


def _methods(name: str, kind: type) -> str:
    """Return the public methods of a class."""
    functions = [part for part in _definition(kind).body if isinstance(part, ast.FunctionDef)]
    shown = [part for part in functions if not part.name.startswith("_")]
    return "".join(_method(name, part) for part in shown if not _is_overload(part))


def _is_overload(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list)


def _definition(value: Any) -> Any:
    """Return the syntax tree of a class or function."""
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def _is_function(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == name


def _method(class_name: str, node: ast.FunctionDef) -> str:
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    description = _prose(ast.get_docstring(node) or "")
    if decorators & {"property", "cached_property"}:
        kind = ast.unparse(node.returns) if node.returns else ""
        return f"#### {class_name}.{node.name}\n\n`{kind}`. {description}"
    return f"#### {class_name}.{node.name}\n\n{_signature(node.name, node)}{description}"


def _function(name: str, value: object) -> str:
    node = _definition(value)
    return f"### {name}\n\n{_signature(name, node)}{_prose(ast.get_docstring(node) or '')}"


def _signature(name: str, node: ast.FunctionDef) -> str:
    """Return the signature of a function; a long one has one argument per line."""
    arguments = [part for part in _arguments(node.args) if part not in ("self", "cls")]
    returns = f" -> {_returned(node.returns)}" if node.returns and name != "__init__" else ""
    line = f"{name}({', '.join(arguments)}){returns}"
    if len(line) > 96:
        line = f"{name}(\n    " + ",\n    ".join(arguments) + f",\n){returns}"
    return f"```text\n{line}\n```\n\n"


def _returned(annotation: ast.expr) -> str:
    """Return the type of a result; steps of the client have the type to which they lead."""
    text = ast.unparse(annotation)
    return text.removeprefix("Steps[").removesuffix("]") if text.startswith("Steps[") else text


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    for at, argument in enumerate(positional):
        default = arguments.defaults[at - first_default] if at >= first_default else None
        yield _argument(argument, default)
    if arguments.vararg:
        yield "*" + _argument(arguments.vararg, None)
    elif arguments.kwonlyargs:
        yield "*"
    for argument, keyword_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _argument(argument, keyword_default)
    if arguments.kwarg:
        yield "**" + _argument(arguments.kwarg, None)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg
    if argument.annotation is not None:
        text += f": {ast.unparse(argument.annotation)}"
    if default is not None:
        text += f" = {ast.unparse(default)}" if argument.annotation else f"={ast.unparse(default)}"
    return text


def _field_rows(node: ast.ClassDef) -> Iterator[str]:
    """Yield a table row for each public field, with the docstring that follows it."""
    for part, following in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(part, ast.AnnAssign) or "ClassVar" in ast.unparse(part.annotation):
            continue
        name = ast.unparse(part.target)
        if name.startswith("_"):
            continue
        meaning = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            meaning = inspect.cleandoc(str(following.value.value)).replace("\n", " ")
        kind = ast.unparse(part.annotation).replace("|", "\\|")
        yield f"| `{name}` | `{kind}` | {meaning.replace('|', chr(92) + '|')} |\n"


def _prose(docstring: str) -> str:
    """Return a Google docstring as Markdown: its sections as lists."""
    lines: list[str] = []
    in_section = False
    for line in inspect.cleandoc(docstring).splitlines():
        if line.startswith(">>>"):
            break  # examples are in docs/how-to
        if _SECTION.match(line):
            in_section = True
            lines += [f"**{line.rstrip(':')}**", ""]
        elif in_section and line.startswith("    "):
            text = line[4:]
            item = _ITEM.match(text)
            lines.append(f"- `{item[1]}`: {text[item.end() :]}" if item else f"  {text.strip()}")
        else:
            in_section = in_section and not line
            lines.append(line)
    return "\n".join(lines).rstrip() + "\n\n" if lines else ""
