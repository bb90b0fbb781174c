"""What can be set, and how it is: in the environment and in `spanwise.toml`."""

from spanwise.config.keys import KEYS, Key, Value
from spanwise.config.secrets import Secret, find_secret
from spanwise.config.settings import (
    COMPLETION_VARIABLE,
    FILE_NAME,
    Setting,
    completion_request,
    context_options,
    fetch_options,
    knowledge_base_path,
    model_options,
    parse_options,
    read_settings,
    setting,
    settings_files,
    variable,
    wants_colour,
    wants_traceback,
)

__all__ = [
    "COMPLETION_VARIABLE",
    "FILE_NAME",
    "KEYS",
    "Key",
    "Secret",
    "Setting",
    "Value",
    "completion_request",
    "context_options",
    "fetch_options",
    "find_secret",
    "knowledge_base_path",
    "model_options",
    "parse_options",
    "read_settings",
    "setting",
    "settings_files",
    "variable",
    "wants_colour",
    "wants_traceback",
]
