"""Checks the arguments of a request against the parameters that its files declare."""

from collections.abc import Mapping

from sqleval.catalog.catalogue import Catalogue
from sqleval.common.names import find_nearest
from sqleval.common.sql_text import Value
from sqleval.errors import RequestError


def check_parameters(
    name: str, values: Mapping[str, object], catalogue: Catalogue
) -> tuple[tuple[str, Value], ...]:
    """Check parameters against the declarations of the file and its steps."""
    tables = {param for file in catalogue.files(name) for param in file.tables}
    if not values and not tables:
        return ()
    declared = catalogue.parameters(name)
    for key in tables - values.keys():
        if declared[key].default is None:
            raise RequestError(f"{name} needs {key}=, a table ({declared[key].columns})")
    for key in values:
        if key not in declared:
            near = find_nearest(key, declared) or f"; it takes {', '.join(declared) or 'none'}"
            raise RequestError(f"{name} has no parameter {key!r}{near}")
    return tuple((k, declared[k].check(f"{name}({k}=)", v)) for k, v in sorted(values.items()))
