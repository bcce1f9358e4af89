"""Replaces rows of many labels, in columns, lists or arrays, by one row per label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from sqleval.binding.binding import Binding
from sqleval.binding.lookup import find_column, list_unique_names
from sqleval.binding.many_labels import (
    LABEL,
    ROW,
    ManyLabels,
    Part,
    find_element,
    is_flag,
    write_extremes,
    write_labels,
    write_names,
)
from sqleval.binding.model_columns import merge_columns
from sqleval.binding.whole_numbers import read_numbers_exactly
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import TEXTS, Column
from sqleval.common.sql_text import Scalar
from sqleval.engines.base import Engine
from sqleval.errors import RequestError
from sqleval.frontend.computing import Described
from sqleval.sources.order import PLACE
from sqleval.sources.source import Source

#: The roles whose values differ between the labels of a row.
_ROLES = ("label", "score", "prediction")
_FORM = "label={'a': column, 'b': column} (--label a=COLUMN --label b=COLUMN)"
#: The most labels that are not lists, because each is a branch of a CASE.
_MOST_COLUMNS = 1000


def has_many_labels(described: Described, roles: Mapping[str, Any]) -> bool:
    """Whether rows have many labels: by the task, or because the label is a mapping or a list."""
    task, label = roles.get("task"), roles.get("label")
    if task is not None:
        return task in TASKS and TASKS[task].has_many_labels
    if isinstance(label, Mapping):
        return True
    _, columns = _find_home(described, "label")
    column = columns.get(label) if isinstance(label, str) else None
    return column is not None and find_element(column) is not None


def _find_home(described: Described, role: str) -> tuple[Source, Mapping[str, Column]]:
    """Return the source that holds a role, and its columns: late labels have their own."""
    if role == "label" and described.labels is not None:
        return described.labels, described.late or {}
    return described.source, described.columns


def expand_labels(
    described: Described, roles: Mapping[str, Any], engine: Engine
) -> tuple[Described, dict[str, Any]]:
    """Return the input with one row per row and label, and the roles that bind it.

    An input of another task is returned unchanged.

    Raises
    ------
    RequestError
        If the columns of label, score and prediction do not fit together.
    """
    if not has_many_labels(described, roles):
        if isinstance(roles.get("label"), Mapping):
            raise RequestError(
                f"label= is a mapping, whose task is multilabel, and task={roles.get('task')!r} is "
                "given"
            )
        return described, dict(roles)
    _check_roles(described, roles)
    described = _read_exactly(described, roles, engine)
    labelled = _Labelled(described, dict(roles), engine)
    names = labelled.find_names()
    parts = [part for role in _ROLES for part in labelled.list_parts(role, names)]
    late = [part for part in parts if described.labels is not None and part.role == "label"]
    ours = [part for part in parts if part not in late]
    row = "ROW_NUMBER() OVER ()" if engine.dialect == "duckdb" else None
    source, columns = _expand(described.source, ours, names, row, engine)
    many = ManyLabels(names, columns[LABEL], columns.get(ROW))
    bound = {**labelled.name_roles(parts), "many": many}
    described = described._replace(source=source, columns=columns)
    if described.labels is not None:
        labels, columns = _expand(described.labels, late, names, None, engine)
        described = described._replace(labels=labels, late=columns)
        bound["on"] = [*list_unique_names(roles["on"], "on"), LABEL]
    return described, bound


def _expand(
    source: Source, parts: Sequence[Part], names: Sequence[Scalar], row: str | None, engine: Engine
) -> tuple[Source, dict[str, Column]]:
    """Return a source with one row per row and label, and its columns."""
    relation = write_labels(source.relation, parts, names, row)
    read = [column.name for part in parts for column in part.columns]
    added = [LABEL, *([ROW] if row else []), *(part.name for part in parts)]
    expanded = replace(source.add_columns(relation, added, read), select=None, text_reader="")
    expanded, found = engine.describe(replace(expanded, look=None))
    return expanded, {**found, **{part.name: _merge(part, found[part.name]) for part in parts}}


def _check_roles(described: Described, roles: Mapping[str, Any]) -> None:
    """Raise `RequestError` for a role or option that many labels do not go with."""
    if described.labels is not None and roles.get("on") == PLACE:
        raise RequestError(
            "by_position=True joins one label to a row; many labels are joined by a key, on="
        )
    for argument in ("value", "qid", "role", "counts"):
        if roles.get(argument) is not None:
            raise RequestError(f"task='multilabel' goes without {argument}=")
    if roles.get("expected"):
        raise RequestError("expected= is for two classes, and the task is multilabel")


def _read_exactly(described: Described, roles: Mapping[str, Any], engine: Engine) -> Described:
    """Return sources that read the numbers of CSV and JSON files as they are."""
    source, columns, labels, late, computed = described
    source, columns = _read_numbers(source, columns, roles, computed, engine)
    if labels is not None:
        labels, late = _read_numbers(labels, late or {}, roles, computed, engine)
    return Described(source, columns, labels, late, computed)


def _read_numbers(
    source: Source,
    columns: Mapping[str, Column],
    roles: Mapping[str, Any],
    computed: Mapping[str, tuple[str, ...]],
    engine: Engine,
) -> tuple[Source, Mapping[str, Column]]:
    named = [
        (role, columns[text]) for role in _ROLES for text in _list_leaves(roles.get(role))
        if text in columns
    ]  # fmt: skip
    used = {column.name for _, column in named}
    others = tuple(column for name, column in columns.items() if name not in used)
    binding = Binding(source.relation, "binary", tuple(named), by=others)
    exact = read_numbers_exactly(source, columns, binding, computed)
    return (source, columns) if exact is source else engine.describe(exact)


def _list_leaves(value: object) -> list[str]:
    if isinstance(value, Mapping):
        named = cast("Mapping[object, object]", value)
        return [text for each in named.values() for text in _list_leaves(each)]
    return [value] if isinstance(value, str) else []


def _merge(part: Part, column: Column) -> Column:
    """Return the column of a part, which says whether some of its numbers were FLOAT."""
    if part.thresholds or part.form != "columns":
        return column
    return column._replace(has_singles=merge_columns(part.columns).has_singles)


class _Labelled(NamedTuple):
    """An input whose rows have many labels, and its arguments."""

    described: Described
    roles: dict[str, Any]
    engine: Engine

    def find_names(self) -> tuple[Scalar, ...]:
        """Return the labels, in the order of their columns or places."""
        classes, label = self.roles.get("classes"), self.roles.get("label")
        if classes is not None:
            names = tuple(cast("Sequence[Scalar]", classes))
        elif isinstance(label, Mapping):
            names = tuple(cast("Mapping[Scalar, str]", label))
        else:
            names = self._read_names()
        texts = [*map(str, names)]
        if twice := next((each for each in texts if texts.count(each) > 1), None):
            raise RequestError(f"classes= (--classes) names the label {twice!r} twice")
        if len(names) < 2:
            raise RequestError(
                f"task='multilabel' needs two labels or more, and there is {len(names)}; "
                "classes= (--classes A,B) names them"
            )
        is_whole = all(isinstance(name, int) and not isinstance(name, bool) for name in names)
        return names if is_whole else tuple(texts)

    def _read_names(self) -> tuple[Scalar, ...]:
        """Return the labels that lists hold, or the places of lists of 0 and 1."""
        text = self.roles.get("label")
        if not isinstance(text, str):
            raise RequestError(f"task='multilabel' needs label=, a list in each row, or {_FORM}")
        column = self._find("label", text)
        if find_element(column) is None:
            raise RequestError(
                f"label={text!r} is {column.type}; many labels are a list in each row, or a column "
                f"for each label, {_FORM}"
            )
        score = self.roles.get("score")
        if isinstance(score, Mapping) and not self._is_by_model("score"):
            return tuple(cast("Mapping[Scalar, str]", score))
        if self._find_form("label", column) == "values":
            return tuple(range(self._read_extremes("label", column)[1]))
        homes = [(*_find_home(self.described, "label"), [text])]
        homes.append(
            (*_find_home(self.described, "prediction"), _list_leaves(self.roles.get("prediction")))
        )
        for source, _, _ in homes:
            if source.once:
                raise RequestError(
                    f"classes= (--classes) names the labels: {source.label} can be read only once"
                )
        lists = [
            (source, columns[name]) for source, columns, texts in homes for name in texts
            if name in columns and find_element(columns[name])
        ]  # fmt: skip
        listed = [(column, source.relation) for source, column in lists]
        names = self._run(write_names(listed), lists)
        is_whole = all(isinstance(name, float) and name.is_integer() for (name,) in names)
        return tuple(int(name) if is_whole else name for (name,) in names)

    def _find(self, role: str, text: str) -> Column:
        """Return the column of a role, in the rows or in the late labels."""
        source, columns = _find_home(self.described, role)
        return find_column(columns, text, role, source.label)

    def _run(
        self, statement: str, read: Sequence[tuple[Source, Column]]
    ) -> Sequence[tuple[Any, ...]]:
        """Return the rows of a statement that reads these columns."""
        sources = list({source.name: source for source, _ in read}.values())
        objects: dict[str, object] = {}
        for each in sources:
            objects |= each.objects([column.name for source, column in read if source is each])
        return self.engine.rows(statement, {}, sources, objects)

    def _read_extremes(
        self, role: str, column: Column
    ) -> tuple[int, int, float | None, float | None]:
        source, _ = _find_home(self.described, role)
        if source.once:
            raise RequestError(
                f"{column.name!r} is {column.type}: classes= (--classes) names the label of each "
                f"place, because {source.label} can be read only once"
            )
        statement = write_extremes(column, source.relation)
        ((least, most, low, high),) = self._run(statement, [(source, column)])
        return int(least or 0), int(most or 0), low, high

    def _is_by_model(self, role: str) -> bool:
        """Whether a mapping names models, each with a list, or with a column per label."""
        named = self.roles.get(role)
        if not isinstance(named, Mapping):
            return False
        values = [*cast("Mapping[object, object]", named).values()]
        if any(isinstance(value, Mapping) for value in values):
            return True
        _, found = _find_home(self.described, role)
        columns = [found.get(str(value)) for value in values]
        return all(each is not None and find_element(each) is not None for each in columns)

    def _find_form(self, role: str, column: Column) -> str:
        """Return whether a list holds the values of all labels, or the names of a row's labels."""
        element = find_element(column) or ""
        if role == "score" or element == "BOOLEAN":
            return "values"
        if not is_flag(element):
            return "names"
        if (classes := self.roles.get("classes")) is not None:
            texts = {*map(str, cast("Sequence[Scalar]", classes))}
            if _find_home(self.described, role)[0].once:
                return "names" if all(text.isdigit() for text in texts) else "values"
        least, most, low, high = self._read_extremes(role, column)
        is_flags = least == most and least > 1 and (low or 0) >= 0 and (high or 0) <= 1
        return "values" if is_flags else "names"

    def list_parts(self, role: str, names: Sequence[Scalar]) -> list[Part]:
        """Return the parts of a role, one per model."""
        named = self.roles.get(role)
        if named is None:
            return []
        if not self._is_by_model(role):
            return [self._create_part(role, named, names), *self._list_decided(role, named, names)]
        by_model = cast("Mapping[object, object]", named)
        if isinstance(self.roles.get("threshold"), Mapping) and role == "score":
            self._check_thresholds(by_model)
        return [self._create_part(role, each, names) for each in by_model.values()]

    def _check_thresholds(self, models: Mapping[object, object]) -> None:
        if {*map(str, self.roles["threshold"])} != {*map(str, models)}:
            raise RequestError(
                "threshold= of several models maps each model to one threshold for all labels"
            )

    def _list_decided(self, role: str, named: object, names: Sequence[Scalar]) -> list[Part]:
        """Return the part of the prediction at the threshold of each label, if there are any."""
        threshold = self.roles.get("threshold")
        if role != "score" or not isinstance(threshold, Mapping):
            return []
        if self.roles.get("prediction") is not None:
            raise RequestError("threshold= cannot change a prediction= that is given")
        by_name = {str(k): v for k, v in cast("Mapping[object, float]", threshold).items()}
        self._check_names("threshold", by_name, names)
        part = self._create_part("score", named, names)
        limits = tuple(float(by_name[str(name)]) for name in names)
        return [
            part._replace(name=f"{part.name} >= threshold", role="threshold", thresholds=limits)
        ]

    def _check_names(self, role: str, given: Mapping[str, object], names: Sequence[Scalar]) -> None:
        """Raise `RequestError` unless a mapping names all labels."""
        texts = [*map(str, names)]
        for each, where, other in (
            *((text, given, f"{role}= has no column for the label") for text in texts),
            *((text, texts, f"{role}= names {{}}, and it is none of the labels") for text in given),
        ):
            if each not in where:
                listed = ", ".join(texts[:10])
                told = other.format(repr(each)) if "{}" in other else f"{other} {each!r}"
                raise RequestError(f"{told}; the labels are {listed}")

    def _create_part(self, role: str, named: object, names: Sequence[Scalar]) -> Part:
        """Return how the values of a role are read: from a column per label, or from a list."""
        if isinstance(named, Mapping):
            by_name = {str(k): str(v) for k, v in cast("Mapping[object, str]", named).items()}
            self._check_names(role, by_name, names)
            if len(names) > _MOST_COLUMNS:
                raise RequestError(
                    f"{role}= names {len(names):,} columns; up to {_MOST_COLUMNS:,} labels can "
                    "have a column each, and more be lists"
                )
            found = [self._find(role, by_name[str(n)]) for n in names]
            for each in found:
                if each.kind in TEXTS or each.kind == "nested":
                    raise RequestError(
                        f"{role}={each.name!r} is {each.type}; each label has a column of 0 and 1, "
                        "or of a score"
                    )
            return Part(self._name(role, found), role, tuple(found), "columns")
        column = self._find(role, str(named))
        if find_element(column) is None:
            raise RequestError(
                f"{role}={column.name!r} is {column.type}, and the task is multilabel: it needs a "
                f"list in each row, or a column for each label, {_FORM.replace('label', role)}"
            )
        form = self._find_form(role, column)
        if form == "values" and not is_flag(find_element(column) or ""):
            raise RequestError(
                f"{role}={column.name!r} is {column.type}, and must be a list of numbers"
            )
        is_checked = self.roles.get("classes") is not None or isinstance(
            self.roles.get("label"), Mapping
        )
        return Part(self._name(role, [column]), role, (column,), form, is_checked)

    def _name(self, role: str, columns: Sequence[Column]) -> str:
        """Return the name of the column of all labels, which messages show."""
        names = [column.name for column in columns]
        if len(names) == 1:
            name = f"{names[0]} of each label"
        else:
            shown = names if len(names) <= 3 else [names[0], "...", names[-1]]
            name = ", ".join(shown)
        while name in {*self.described.columns, *(self.described.late or ())}:
            name += "_"
        return name

    def name_roles(self, parts: Sequence[Part]) -> dict[str, Any]:
        """Return the arguments that bind the relation of labels."""
        roles = {name: value for name, value in self.roles.items() if name != "classes"}
        for role in _ROLES:
            made = [part.name for part in parts if part.role == role]
            if self._is_by_model(role):
                roles[role] = dict(zip(roles[role], made, strict=True))
            elif made:
                roles[role] = made[0]
        if decided := [part.name for part in parts if part.thresholds]:
            roles |= {"prediction": decided[0], "threshold": None}
        return roles | {"task": "multilabel"}
