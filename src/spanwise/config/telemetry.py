"""Variables that keep libraries from reporting about their users.

ONNX Runtime, for one, makes up an id for the machine, keeps it in the user's cache and reports to a
host of its vendor, from the moment it is imported. It reads its variable once, on import.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

TELEMETRY_OFF: Mapping[str, str] = {
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "SCARF_NO_ANALYTICS": "true",
}
"""Set in every process that runs ONNX Runtime, Hugging Face's libraries or other parsers."""


def disable_telemetry() -> None:
    """Set the variables in this process; call it before such a library is imported."""
    os.environ.update(TELEMETRY_OFF)
