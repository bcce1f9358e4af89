"""Compares versions of libraries, for tests of features that older ones lack."""

from importlib.metadata import version

import pytest
from packaging.version import Version


def is_older(library: str, least: str) -> bool:
    """Whether the installed version of a library comes before another one."""
    return Version(version(library)) < Version(least)


def needs(reason: str, **least: str) -> pytest.MarkDecorator:
    """Return the mark of a test that needs later versions of some libraries, with the reason."""
    older = any(is_older(library, number) for library, number in least.items())
    versions = ", ".join(f"{library}>={number}" for library, number in least.items())
    return pytest.mark.skipif(older, reason=f"needs {versions}: {reason}")
