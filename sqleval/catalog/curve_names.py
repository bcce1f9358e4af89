"""Finds the curve that a name stands for."""

from sqleval.catalog.catalogue import Catalogue
from sqleval.common.names import find_nearest
from sqleval.errors import RequestError


def look_up_curve(name: str, catalogue: Catalogue) -> str | None:
    """Return the full name of a curve: ``roc`` is short for ``roc_curve``. None if unknown."""
    for each in (name, f"{name}_curve"):
        full_name = catalogue.find(each)
        if full_name and catalogue.get(full_name).kind == "curve":
            return full_name
    return None


def find_curve(name: str, catalogue: Catalogue) -> str:
    """Return the full name of a curve; raise `RequestError` if there is none."""
    full = look_up_curve(name, catalogue)
    if full is None:
        names = [each.name for each in catalogue.relations("curve")]
        near = catalogue.describe_kind(name) or find_nearest(f"{name}_curve", names)
        raise RequestError(f"no curve called {name!r}{near} (curves: {', '.join(names)})")
    return full
