"""Environment variables that disable the telemetry of third-party libraries.

ONNX Runtime, for example, creates a machine id, stores it in the user's cache and reports to its
vendor as soon as it is imported. It reads its variable once, on import.
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
"""Variables set in every process that loads ONNX Runtime, Hugging Face libraries or parsers."""


def disable_telemetry() -> None:
    """Set the variables in this process; must be called before such a library is imported."""
    os.environ.update(TELEMETRY_OFF)
