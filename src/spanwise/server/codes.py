"""Codes of the problems that the server itself raises: status, cause and what to do.

Errors of the library have the codes of `spanwise.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Code(NamedTuple):
    """Description of a code, for documentation."""

    status: int
    cause: str
    remedy: str


CODES: Mapping[str, Code] = {
    "key_missing_or_wrong": Code(
        401,
        "The request has no key of this server.",
        "Send `Authorization: Bearer KEY`; create a key with `spanwise keys add`.",
    ),
    "role": Code(
        403, "The role of the key does not allow the request.", "Use a key of the named role."
    ),
    "restricted": Code(
        403,
        "The key has a filter or a list of knowledge bases, and the request needs more.",
        "Use a key without restrictions.",
    ),
    "other_site": Code(
        403,
        "A web page of another site sent the request to a server without keys.",
        "Use the page of the server, or start it with `--keys`.",
    ),
    "generation_not_allowed": Code(
        403,
        "The options of a job name parts that a language model writes, and the server does not "
        "allow it.",
        "Leave `context` out, or start the server with `--llm MODEL --allow-generation`.",
    ),
    "knowledge_base_not_found": Code(
        404,
        "No knowledge base has this name, or the key does not allow it.",
        "Use a name from `GET /v1/knowledge-bases`.",
    ),
    "no_documents": Code(
        404,
        "The filter of the key includes no document.",
        "Add documents with the fields of the filter, or change the key.",
    ),
    "job_not_found": Code(
        404,
        "No job has this id; finished jobs are kept for seven days by default, and at most "
        "1,000 of them.",
        "Use an id from `GET .../jobs`.",
    ),
    "evaluation_not_found": Code(
        404,
        "No evaluation report has this name.",
        "Use a name from `GET .../evaluations`; `spanwise eval --keep` adds reports.",
    ),
    "page_not_found": Code(
        404, "The document has no page with this number.", "Use a number from 1 to its `pages`."
    ),
    "figure_not_found": Code(
        404,
        "The document has no figure with this number.",
        "Use a position in `figures` of `GET .../content/{document_id}`, from 0.",
    ),
    "pack_not_found": Code(
        404, "No shipped pack has this name.", "Use a name from `GET .../packs`."
    ),
    "not_found": Code(404, "The address does not exist.", "Use a path from `/v1/openapi.json`."),
    "method_not_allowed": Code(
        405,
        "The address does not accept this method.",
        "Use a method that the header `Allow` lists.",
    ),
    "not_resumable": Code(
        409,
        "The job has not ended, has succeeded, or its files or URL are no longer kept.",
        "Send the files or the URL again.",
    ),
    "slow_body": Code(
        408,
        "The body did not arrive within the time limit.",
        "Send the request again, or a smaller one.",
    ),
    "upload_stalled": Code(408, "An upload sent no data for a minute.", "Upload again."),
    "too_large": Code(
        413,
        "The body or the number of its files exceeds the limit.",
        "Send less at once; raise `--max-upload-mb` for files.",
    ),
    "unsupported_media_type": Code(
        415,
        "The body is neither a form with files nor JSON.",
        "Send `multipart/form-data` or `application/json`.",
    ),
    "wrong_host": Code(
        421,
        "The `Host` header is not a name of the server.",
        "Use the address of the server, or add the name with `--name`.",
    ),
    "invalid_request": Code(
        422,
        "A field of the request is unknown, missing or of the wrong type.",
        "Correct the field that `detail` names.",
    ),
    "invalid_url": Code(422, "The URL cannot be added.", "Give an http or https address."),
    "invalid_name": Code(
        422,
        "The name of an uploaded file is hidden, too long or leaves the folder.",
        "Rename the file, or change `prefix`.",
    ),
    "invalid_upload": Code(
        422, "The form with files is damaged or has no file.", "Send each file as the field `file`."
    ),
    "no_queue": Code(
        422,
        "The knowledge base is not in a folder or PostgreSQL, so it accepts no files.",
        "Add texts instead, or add the files with `spanwise add`.",
    ),
    "no_language_model": Code(
        422, "The server has no language model.", "Start it with `--llm`, or search instead."
    ),
    "no_document_passes": Code(
        422, "No document of the key passes the filter of the request.", "Change the filter."
    ),
    "too_many_requests": Code(
        429,
        "The limit of concurrent requests is reached.",
        "Try again after the seconds in `Retry-After`.",
    ),
    "queue_full": Code(
        429, "Too many jobs are waiting.", "Try again after the seconds in `Retry-After`."
    ),
    "too_many_uploads": Code(
        429, "Too many uploads are being received.", "Try again after the seconds in `Retry-After`."
    ),
    "client_closed": Code(
        499,
        "The client disconnected; its work was stopped.",
        "Nothing; the code appears in logs only.",
    ),
    "internal": Code(
        500,
        "The server failed unexpectedly; its log has the traceback.",
        "Report the defect with the traceback.",
    ),
    "mcp_missing": Code(
        501,
        "The server lacks the package for agents.",
        "Install it: `pip install 'spanwise[serve]'`.",
    ),
    "not_ready": Code(
        503,
        "`/readyz`: the server is stopping, or a knowledge base cannot be searched.",
        "Send requests to another server; see the log.",
    ),
    "timeout": Code(
        504, "The request exceeded the time limit, and was stopped.", "Ask for less, or try again."
    ),
}
"""Descriptions by code, ordered by status."""
