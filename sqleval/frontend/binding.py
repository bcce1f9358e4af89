"""Binds a source to its roles, and returns predictions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from sqleval.binding.binding import Binding
from sqleval.binding.roles import take_common_rows
from sqleval.binding.where import check_condition, find_partition_conditions, keep_nan
from sqleval.binding.whole_numbers import read_numbers_exactly
from sqleval.catalog.catalogue import Catalogue, builtin
from sqleval.catalog.roles import name_argument
from sqleval.common.columns import Column
from sqleval.dialects import portable
from sqleval.engines.base import Engine
from sqleval.engines.embedded import embedded
from sqleval.engines.types import find_key_types
from sqleval.errors import DataError, EngineError, RequestError, SourceError
from sqleval.frontend.computing import (
    Described,
    compute_roles,
    compute_slice_keys,
    describe,
    find_reason,
)
from sqleval.frontend.first_values import FirstValues
from sqleval.frontend.long_rows import pivot_long
from sqleval.frontend.many_labels import expand_labels
from sqleval.frontend.predictions import Predictions
from sqleval.frontend.texts import advise_on_texts
from sqleval.frontend.vectors import expand_vectors
from sqleval.sources.frames import load_relation
from sqleval.sources.order import PLACE, number_rows, take_order
from sqleval.sources.source import Source


def bind_source(
    source: Source,
    labels: Source | None,
    roles: Mapping[str, Any],
    catalogue: Catalogue | None = None,
    engine: Engine | None = None,
    *,
    is_provisional: bool = False,
) -> Predictions:
    """Return the predictions of a source and the roles of `sqleval.scan`.

    For provisional predictions, not all roles are known yet, so types of CSV files stay guesses.
    """
    _check_catalogue(catalogue)
    engine = engine or embedded()
    is_common = roles.get("common", False)
    is_by_position = roles.get("by_position", False)
    own = ("common", "by_position")
    roles = {name: value for name, value in roles.items() if name not in own}
    if is_by_position:
        if roles.get("long"):
            raise RequestError("by_position=True does not go with long=, whose rows have a key=")
        source, labels = _take_orders(source, labels, roles.get("on"), engine)
        roles["on"] = PLACE
    if engine.dialect != "duckdb" and roles.get("where") is not None:
        portable.check_condition(roles["where"], engine.dialect)
    where, expressions = roles.get("where"), ()
    if labels is None:
        source = _choose_files(source, where, engine)
    described = describe(source, labels, engine)
    if described.labels is not None:
        source, labels = load_relation(described.source), load_relation(described.labels)
        described = described._replace(source=source, labels=labels)
    if is_by_position:
        assert described.labels is not None
        rows, late = number_rows(described.source), number_rows(described.labels)
        described = describe(rows, late, engine)
    if "long" in roles:
        described, roles = pivot_long(described, roles, engine)
        where = roles["where"]
    try:
        if isinstance(by := roles.get("by"), Mapping):
            names = cast("Mapping[str, str]", by)
            described, expressions = compute_slice_keys(described, names, where, engine)
            roles = {**roles, "by": list(names)}
        described = compute_roles(described, roles, engine)
        described, roles = expand_labels(described, roles, engine)
        described, roles, notice = expand_vectors(described, roles, engine)
        roles = {**roles, "look": FirstValues(described.source, described.labels, engine).read}
        binding = described.bind(roles)
        exact = described if is_provisional else _read_exactly(described, binding, engine)
        if exact is not described:
            described, first = exact, binding
            again = described.bind({**roles, "task": first.task})
            binding = replace(
                again, is_inferred=first.is_inferred, is_settled=first.is_settled,
                notice=first.notice,
            )  # fmt: skip
    except RequestError as error:
        check_has_rows(described.source, engine)
        check_readable(described.source, roles)
        if error.texts is not None and error.texts in described.columns:
            advice = advise_on_texts(described.source, error.texts, engine)
            raise RequestError(f"{error}{advice}") from None
        raise
    notice = notice or binding.notice
    binding = replace(binding, dialect=engine.dialect, expressions=expressions, notice=notice)
    binding = take_common_rows(binding) if is_common else binding
    if binding.where is not None:
        described, binding = _apply_condition(described, binding, roles["where"], engine)
    return create_predictions(binding, described.source, described.labels, catalogue, engine)


def _take_orders(
    source: Source, labels: Source | None, on: object, engine: Engine
) -> tuple[Source, Source]:
    """Return rows and labels that are read in their order, to be joined by position.

    Raises
    ------
    RequestError
        If there are no labels, or also a key, or one of them has no order.
    """
    if labels is None or on:
        raise RequestError(
            "by_position=True (--by-position) goes with labels= (--labels), and without on= (--on)"
        )
    if engine.dialect != "duckdb":
        raise RequestError(
            f"by_position=True needs rows in a stated order, and those of {engine.dialect} have "
            "none; join by a key, on="
        )
    return take_order(source), take_order(labels)


def _check_catalogue(catalogue: object) -> None:
    """Raise `RequestError` unless it is a catalogue, or None."""
    if catalogue is not None and not isinstance(catalogue, Catalogue):
        raise RequestError(
            f"catalogue={catalogue!r} must be a Catalogue: Catalogue(find_sql_folder(), FOLDER) "
            "of sqleval.catalog"
        )


def _read_exactly(described: Described, binding: Binding, engine: Engine) -> Described:
    """Return sources that read numbers as they are; the same ones where they do."""
    source, columns, labels, late, computed = described
    exact = read_numbers_exactly(source, columns, binding, computed)
    exact_labels = labels and read_numbers_exactly(labels, late or {}, binding, computed)
    if (exact, exact_labels) == (source, labels):
        return described
    return describe(exact, exact_labels, engine)._replace(computed=computed)


def _apply_condition(
    described: Described, binding: Binding, written: str, engine: Engine
) -> tuple[Described, Binding]:
    """Let the engine check the condition, and let the source read only the rows that it keeps."""
    source, where = described.source, binding.where
    assert where is not None
    try:
        engine.check_condition(source, where)
    except EngineError as error:
        raise RequestError(f"where={written!r}: {find_reason(error)}") from error
    # With labels all rows are read, else labels of skipped rows would count as unmatched.
    if source.select is not None and described.labels is None:
        source = replace(source, make=source.select(where).make)
    if engine.dialect == "duckdb":
        binding = replace(binding, where=keep_nan(where, described.columns))
    return described._replace(source=source), binding


def _choose_files(source: Source, where: str | None, engine: Engine) -> Source:
    """Return a source without the files that a condition on partition keys excludes."""
    if source.partitions is None or not where:
        return source
    keys, table, select = source.partitions
    columns = {key: Column(key, "VARCHAR") for key in keys}
    parts = find_partition_conditions(where, keys)
    if not parts:
        return source
    conditions = [f"({check_condition(part, columns, source.label)[0]})" for part in parts]
    paths = Source("_sqleval_paths", "_sqleval_paths", label=source.label)
    statement = f"SELECT s._sqleval_place FROM _sqleval_paths AS s WHERE {' AND '.join(conditions)}"
    try:
        places = engine.rows(statement, {}, [paths], {paths.name: table})
    except (EngineError, DataError) as error:
        raise RequestError(f"where={where!r}: {find_reason(error)}") from error
    return select([place for (place,) in places])


def check_has_rows(source: Source, engine: Engine) -> None:
    """Raise `SourceError` if a file is empty, because all columns of an empty CSV are texts."""
    if source.files and source.bytes < 10_000 and _is_empty(source, engine):
        what = "a header and no rows" if source.bytes else "no rows, and no header"
        raise SourceError(f"{source.label} has {what}")


def check_readable(source: Source, roles: Mapping[str, Any]) -> None:
    """Raise `RequestError` if a role names a column whose type DuckDB does not read."""
    for role, value in roles.items():
        names: list[object] = [value]
        if isinstance(value, (list, tuple, Mapping)):
            several = cast("Mapping[object, object]", value)
            names = list(several.values()) if isinstance(value, Mapping) else list(several)
        for name in names:
            if isinstance(name, str) and name in source.unreadable:
                raise RequestError(
                    f"{name_argument(role)}={name!r} is {source.unreadable[name]}, which DuckDB "
                    "does not read; convert it to numbers, texts or times"
                )


def _is_empty(source: Source, engine: Engine) -> bool:
    statement = f"SELECT 1 FROM {source.relation} AS s LIMIT 1"
    return source.relation.startswith("read_csv") and not engine.rows(statement, {}, [source], {})


def create_predictions(
    binding: Binding,
    source: Source,
    labels: Source | None,
    catalogue: Catalogue | None = None,
    engine: Engine | None = None,
) -> Predictions:
    """Return the predictions of a binding."""
    engine = engine or embedded()
    types = find_key_types(binding, engine)
    return Predictions(binding, source, labels, engine, types, catalogue or builtin())


def add_reference(predictions: Predictions, reference: object) -> Predictions:
    """Return predictions whose expected metrics note the calibration of labelled predictions.

    Raises
    ------
    RequestError
        If ``reference`` is not labelled predictions of two classes with a score.
    """
    if not isinstance(reference, Predictions):
        raise RequestError(
            f"expected={reference!r} must be True, or the labelled predictions of sqleval.scan"
        )
    binding = reference.binding
    if binding.is_expected or not binding.has_two_classes or "score" not in binding.role:
        raise RequestError("expected= needs labelled predictions of two classes, with a score")
    if [name for name, _ in binding.models] != [name for name, _ in predictions.binding.models]:
        raise RequestError("expected= needs labelled predictions of the same models")
    if "role" in binding.role or binding.over:
        raise RequestError("expected= needs labelled predictions without role= and over=")
    return replace(predictions, labelled=reference)
