"""What other people's retrievers return, read as what is measured.

Only names of attributes are looked at, so that no framework has to be installed: a text with its
metadata is called `page_content` and `metadata` by LangChain, `node` by LlamaIndex, `content` and
`meta` by Haystack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral

from spanwise.errors import OptionError
from spanwise.evaluation.retrieval import Retrieved
from spanwise.plain import shown

__all__ = ["read_found", "read_item"]

_DOCUMENT_KEYS = ("document_id", "doc_id", "file_path", "source", "file_name", "source_id")
"""Where the document of a text is named, the surest first."""

_FORMS = (
    "texts, (document_id, start, end), dicts with document_id, start, end or text, or Retrieved"
)


def read_found(found: object, *, by: str) -> tuple[Retrieved, ...]:
    """Return what a retriever returned, best first.

    Args:
        found: What it returned.
        by: Its name, for messages.

    Raises:
        OptionError: If it is no list, or something in it can be no place and no text.
    """
    if isinstance(found, str | Mapping) or not isinstance(found, Iterable):
        raise OptionError(
            f"the retriever {by!r} returned {shown(found)}; return a list of {_FORMS}"
        )
    return tuple(read_item(item, by=by) for item in found)


def read_item(item: object, *, by: str) -> Retrieved:
    """Return one text that a retriever returned; its document may be unknown yet, "" then.

    Raises:
        OptionError: If it can be no place and no text.
    """
    if isinstance(item, Retrieved):
        return item
    if isinstance(item, str):
        return Retrieved(document_id="", text=item)
    read = (
        _of_mapping(item)
        if isinstance(item, Mapping)
        else _of_range(item)
        if isinstance(item, tuple | list)
        else _of_object(item)
    )
    if read is None:
        raise OptionError(f"the retriever {by!r} returned {shown(item)}; return {_FORMS}")
    return read


def _of_range(item: tuple[object, ...] | list[object]) -> Retrieved | None:
    if len(item) != 3 or not isinstance(item[0], str):
        return None
    start, end = _whole(item[1]), _whole(item[2])
    if start is None or end is None:
        return None
    return Retrieved(document_id=item[0], start=start, end=end)


def _of_mapping(item: Mapping[str, object]) -> Retrieved | None:
    text = next((item[key] for key in ("text", "content", "page_content") if key in item), None)
    return _checked(item, start=item.get("start"), end=item.get("end"), text=text)


def _of_object(item: object) -> Retrieved | None:
    """Return a document or node of a framework."""
    node = getattr(item, "node", item)
    for text_name, metadata_name in (("page_content", "metadata"), ("content", "meta")):
        text = getattr(node, text_name, None)
        if isinstance(text, str):
            metadata = getattr(node, metadata_name, None) or {}
            start = _whole(metadata.get("start_index", metadata.get("split_idx_start")))
            end = None if start is None else start + len(text)
            return _checked(metadata, start=start, end=end, text=text)
    if not hasattr(node, "get_content"):
        return None
    named = {
        "source_id": getattr(node, "ref_doc_id", None),
        **(getattr(node, "metadata", {}) or {}),
    }
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    return _checked(named, start=start, end=end, text=node.get_content())


def _checked(
    named: Mapping[str, object], *, start: object, end: object, text: object
) -> Retrieved | None:
    """Return what was read, None where it is neither a place nor a text."""
    document = next((named[key] for key in _DOCUMENT_KEYS if named.get(key)), "")
    first, last = _whole(start), _whole(end)
    if first is None or last is None:
        first = last = None
    if text is not None and not isinstance(text, str):
        return None
    if text is None and (first is None or not document):
        return None
    return Retrieved(document_id=str(document), start=first, end=last, text=text)


def _whole(value: object) -> int | None:
    """Return a whole number, None for anything else."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    return None
