"""Under which key an output of a model is kept: a hash of all that it depends on."""

from __future__ import annotations

import hashlib
import json

from spanwise.ports import ModelRequest

__all__ = ["request_key"]


def request_key(model: str, request: ModelRequest) -> str:
    """Return the key of the answer to a request, 64 hex digits; `task` and `typical` do not count.

    Args:
        model: Vendor and model.
        request: The request.
    """
    parts = [
        model,
        request.instructions,
        request.shared,
        request.prompt,
        request.schema,
        [hashlib.sha256(image).hexdigest() for image in request.images],
        request.max_output_tokens,
    ]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True, sort_keys=True).encode()).hexdigest()
