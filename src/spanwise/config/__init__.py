"""What can be set, and how it is: in the environment and in `spanwise.toml`."""

from spanwise.config.keys import KEYS, Key, Value
from spanwise.config.reading import (
    COMPLETION_VARIABLE,
    FILE_NAME,
    Setting,
    completion_request,
    fetch_options,
    knowledge_base_path,
    parse_options,
    read_settings,
    setting,
    settings_files,
    wants_colour,
    wants_traceback,
)

__all__ = [
    "COMPLETION_VARIABLE",
    "FILE_NAME",
    "KEYS",
    "Key",
    "Setting",
    "Value",
    "completion_request",
    "fetch_options",
    "knowledge_base_path",
    "parse_options",
    "read_settings",
    "setting",
    "settings_files",
    "wants_colour",
    "wants_traceback",
]
