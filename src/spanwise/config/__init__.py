"""Settings from the environment and from `spanwise.toml`."""

from spanwise.config.keys import KEYS, Key, Value
from spanwise.config.secrets import Secret, find_secret
from spanwise.config.settings import (
    COMPLETION_VARIABLE,
    FILE_NAME,
    ProjectFile,
    Setting,
    approve_file,
    completion_request,
    context_options,
    fetch_options,
    knowledge_base_path,
    local_folder,
    model_options,
    parse_options,
    read_project_file,
    read_settings,
    setting,
    settings_files,
    trust_store,
    variable,
    wants_colour,
    wants_traceback,
)
from spanwise.config.telemetry import TELEMETRY_OFF, disable_telemetry
from spanwise.config.trust import TrustStore

__all__ = [
    "COMPLETION_VARIABLE",
    "FILE_NAME",
    "KEYS",
    "TELEMETRY_OFF",
    "Key",
    "ProjectFile",
    "Secret",
    "Setting",
    "TrustStore",
    "Value",
    "approve_file",
    "completion_request",
    "context_options",
    "disable_telemetry",
    "fetch_options",
    "find_secret",
    "knowledge_base_path",
    "local_folder",
    "model_options",
    "parse_options",
    "read_project_file",
    "read_settings",
    "setting",
    "settings_files",
    "trust_store",
    "variable",
    "wants_colour",
    "wants_traceback",
]
