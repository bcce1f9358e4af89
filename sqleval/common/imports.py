"""Imports: a faster first import of large libraries, and the libraries of optional extras."""

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from sqleval.errors import MissingExtra


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


def import_optional(module: str, extra: str, feature: str) -> Any:
    """Import a module that an optional extra installs.

    Parameters
    ----------
    module : str
        The module.
    extra : str
        The extra of sqleval that installs it.
    feature : str
        What needs the module, for the message.

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
            f"{feature}: cannot import {package!r}; run pip install 'sqleval[{extra}]'"
        ) from error
