"""Imports at first use, imports without garbage collection, and data files of packages."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package that imports its names when they are first used.

    Args:
        package: Name of the package.
        homes: Module inside the package that defines each name.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


@contextmanager
def fast_imports() -> Iterator[None]:
    """Load modules in a block without garbage collection.

    Modules consist of many objects that stay. Collections during imports look at all of them again
    and again, which takes a third of the time. Later collections do not look at them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def package_text(package: str, name: str) -> str:
    """Return the text of a data file of a package.

    `importlib.resources` would import temporary files and archives, which takes milliseconds.

    Args:
        package: Name of the package.
        name: Path of the file in the folder of the package.
    """
    folder = import_module(package).__path__[0]
    path = f"{folder}/{name}"
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - the core must not import pathlib
        return file.read()
