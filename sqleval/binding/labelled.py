"""Reads the arguments of rows with many labels: the labels, and the columns of each role."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from sqleval.binding.lookup import Columns, find_column, list_unique_names
from sqleval.binding.many_labels import Part, find_element, is_flag, write_extremes, write_names
from sqleval.common.columns import TEXTS, Column
from sqleval.common.sql_text import Scalar
from sqleval.errors import RequestError
from sqleval.sources.source import Source

#: The roles whose values differ between the labels of a row.
LABEL_ROLES = ("label", "score", "prediction")
_FORM = "label={'a': column, 'b': column} (--label a=COLUMN --label b=COLUMN)"
#: The most labels that are not lists, because each is a branch of a CASE.
_MOST_COLUMNS = 1000

Home = tuple[Source, Columns]


def list_leaves(value: object) -> list[str]:
    """Return the texts of an argument: one, or those of a nested mapping."""
    if isinstance(value, Mapping):
        named = cast("Mapping[object, object]", value)
        return [text for each in named.values() for text in list_leaves(each)]
    return [value] if isinstance(value, str) else []


def find_row(key: object, columns: Columns, about: str) -> Column | None:
    """Return the column of ``key=`` that tells rows apart, if it is given.

    Raises
    ------
    RequestError
        If there are several.
    """
    names = list_unique_names(cast("Any", key), "key") if key is not None else []
    if len(names) > 1:
        raise RequestError(
            f"key={names!r}: one column tells the rows of many labels apart; create a view in "
            "which several are one"
        )
    return find_column(columns, names[0], "key", about) if names else None


class Labelled(NamedTuple):
    """An input whose rows have many labels, and its arguments.

    Attributes
    ----------
    rows : (Source, mapping of str to Column)
        The rows, and their columns.
    late : (Source, mapping of str to Column) or None
        The late labels.
    roles : mapping of str to object
        The arguments of `sqleval.scan`.
    run : callable
        Returns the rows of a statement that reads columns of sources.
    """

    rows: Home
    late: Home | None
    roles: Mapping[str, Any]
    run: Callable[[str, Sequence[tuple[Source, Column]]], Sequence[tuple[Any, ...]]]

    def find_home(self, role: str) -> Home:
        """Return the source that holds a role, and its columns: late labels have their own."""
        return self.late if role == "label" and self.late is not None else self.rows

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
        homes = [(*self.find_home("label"), [text])]
        homes.append((*self.find_home("prediction"), list_leaves(self.roles.get("prediction"))))
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
        names = self.run(write_names(listed), lists)
        is_whole = all(isinstance(name, float) and name.is_integer() for (name,) in names)
        return tuple(int(name) if is_whole else name for (name,) in names)

    def _find(self, role: str, text: str) -> Column:
        """Return the column of a role, in the rows or in the late labels."""
        source, columns = self.find_home(role)
        return find_column(columns, text, role, source.label)

    def _read_extremes(
        self, role: str, column: Column
    ) -> tuple[int, int, float | None, float | None]:
        source, _ = self.find_home(role)
        if source.once:
            raise RequestError(
                f"{column.name!r} is {column.type}: classes= (--classes) names the label of each "
                f"place, because {source.label} can be read only once"
            )
        statement = write_extremes(column, source.relation)
        ((least, most, low, high),) = self.run(statement, [(source, column)])
        return int(least or 0), int(most or 0), low, high

    def _is_by_model(self, role: str) -> bool:
        """Whether a mapping names models, each with a list, or with a column per label."""
        named = self.roles.get(role)
        if not isinstance(named, Mapping):
            return False
        values = [*cast("Mapping[object, object]", named).values()]
        if any(isinstance(value, Mapping) for value in values):
            return True
        _, found = self.find_home(role)
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
            if self.find_home(role)[0].once:
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
        shown = ", ".join(map(repr, limits))
        return [part._replace(name=f"{part.name} >= {shown}", role="threshold", thresholds=limits)]

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
        while name in {*self.rows[1], *(self.late[1] if self.late else ())}:
            name += "_"
        return name

    def name_roles(self, parts: Sequence[Part]) -> dict[str, Any]:
        """Return the arguments that bind the relation of labels."""
        roles = {name: value for name, value in self.roles.items() if name != "classes"}
        for role in LABEL_ROLES:
            made = [part.name for part in parts if part.role == role]
            if self._is_by_model(role):
                roles[role] = dict(zip(roles[role], made, strict=True))
            elif made:
                roles[role] = made[0]
        if decided := [part.name for part in parts if part.thresholds]:
            roles |= {"prediction": decided[0], "threshold": None}
        return roles | {"task": "multilabel"}
