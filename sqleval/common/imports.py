"""Imports large libraries faster, and libraries of optional extras with a helpful error."""

import gc
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from sqleval.errors import MissingExtra

#: The name under which this package is installed. On PyPI `sqleval` is another project.
DISTRIBUTION = "sqleval-engine"


@contextmanager
def pause_garbage_collector(module: str) -> Generator[None]:
    """Pause the garbage collector while a module is imported for the first time.

    Imports create about a hundred thousand objects that all stay alive. Scanning them repeatedly
    takes a tenth of the time to the first metric.
    """
    if module in sys.modules:
        yield
        return
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():
                # Move the objects to the oldest generation without a scan.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def advise_install(extra: str) -> str:
    """Return the command that installs the libraries of an extra.

    It names the libraries that the installed package requires. It does not name this package,
    which an index may lack, or have from somebody else.
    """
    from importlib.metadata import requires  # late, as few messages need it

    libraries: list[str] = []
    for requirement in requires(DISTRIBUTION) or []:
        library, _, marker = requirement.partition(";")
        if re.search(rf"""extra == (['"]){re.escape(extra)}\1""", marker):
            libraries.append(f"'{library.strip()}'")
    return f"pip install {' '.join(libraries)}"


def import_optional(module: str, extra: str, feature: str) -> Any:
    """Import a module that an optional extra installs.

    Parameters
    ----------
    module : str
        The module.
    extra : str
        The extra that installs it.
    feature : str
        The feature that needs the module, for the message.

    Raises
    ------
    MissingExtra
        If the module cannot be imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"{feature}: cannot import {package!r}; run {advise_install(extra)}"
        ) from error
