"""Programming languages by file extension, and the syntax nodes of definitions.

Names of languages are those of tree-sitter.
"""

from __future__ import annotations

from collections.abc import Mapping

LANGUAGES: Mapping[str, str] = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".java": "java",
    ".kt": "kotlin",
    ".kts": "kotlin",
    ".scala": "scala",
    ".go": "go",
    ".rs": "rust",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".cs": "csharp",
    ".rb": "ruby",
    ".php": "php",
    ".swift": "swift",
    ".lua": "lua",
    ".sh": "bash",
    ".bash": "bash",
}

INTERPRETERS: Mapping[str, str] = {
    "python": "python",
    "bash": "bash",
    "sh": "bash",
    "node": "javascript",
    "ruby": "ruby",
}
"""Interpreters in the first line of a script (`#!/usr/bin/env python3`), without a version."""

TYPES = frozenset(
    "class_declaration class_definition class_specifier abstract_class_declaration class module "
    "internal_module interface_declaration protocol_declaration trait_declaration trait_definition "
    "trait_item enum_declaration enum_definition enum_item enum_specifier record_declaration "
    "annotation_type_declaration type_alias_declaration type_spec struct_declaration struct_item "
    "struct_specifier union_item union_specifier impl_item object_declaration object_definition "
    "namespace_declaration namespace_definition mod_item".split()
)
"""Syntax nodes that contain definitions, in any of the languages."""

FUNCTIONS = frozenset(
    "function_declaration function_definition function_item function_signature_item "
    "generator_function_declaration method_declaration method_definition method singleton_method "
    "constructor_declaration macro_definition variable_declarator".split()
)
"""Syntax nodes of functions; a variable is one if its value is a function."""

BODIED = frozenset(
    "class_specifier enum_specifier struct_specifier union_specifier mod_item "
    "namespace_definition".split()
)
"""Syntax nodes that are no definition without a body: `struct point p;`, `mod tests;`."""

OUTER = frozenset(
    "decorated_definition export_statement template_declaration lexical_declaration "
    "type_declaration type_definition".split()
)
"""Syntax nodes that wrap a definition with its prefix, such as decorators."""
