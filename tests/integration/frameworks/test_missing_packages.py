"""A module whose framework is not installed says how to install it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llama_index", "llama_index", "llama-index"),
        ("haystack", "haystack", "haystack"),
    ],
)
def test_a_missing_framework_is_named_with_its_extra(module: str, package: str, extra: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from spanwise.errors import OptionError\n"
        f"try:\n    import spanwise.integrations.{module}\n"
        "except OptionError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"pip install 'spanwise[{extra}]'" in done.stdout


def test_the_tools_for_agents_need_no_package_of_mcp() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "from spanwise.integrations.langchain import spanwise_tools\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
