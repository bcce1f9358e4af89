"""Imports: the many at the start, so that the first metric comes sooner, and those of extras."""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from sqleval.errors import MissingExtra


@contextmanager
def importing() -> Generator[None]:
    """Hold the garbage collector while libraries are imported.

    They make a hundred thousand objects that all stay; looking through them again and again
    takes a tenth of the time to the first metric.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():
                # Into the oldest generation, where they belong, without looking through them.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def optional(module: str, extra: str, needs: str) -> Any:
    """Return a module of an extra.

    Raises
    ------
    MissingExtra
        If it is not installed; the message says what ``needs`` it, and how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{needs} the extra: pip install 'sqleval[{extra}]'") from error
