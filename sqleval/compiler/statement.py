"""Holds a statement ready to run: its relations, its parameters, and its text."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqleval.catalog.listing import shorten_summary
from sqleval.common.sql_text import Value, quote, select, write_double, write_scalar
from sqleval.errors import RequestError

#: A $parameter outside of quoted text.
_PARAMETER = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([A-Za-z_]\w*)""")
#: A line break outside of quoted text.
_LINE = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|\n""")


#: The join of a result with the verdict on all rows, by the relation that has it.
VERDICT_JOIN = "\nCROSS JOIN {} AS p"
#: Comments on the relations that no file writes.
_WORDS = {
    "_source": "the columns of the input by their roles",
    "_lists": "the ranked lists: each query by slice",
    "_items": "the judged items of each list",
    "_audit": "how many rows are used, and how many break a rule",
    "predictions": "the usable rows",
    "_problems": "the error or notice that follows from the audit",
    "_joined": "a row per slice with the columns of all metrics",
    "_results": "a row per metric and slice",
}


class Cte(NamedTuple):
    """One named relation of a statement; ``comment`` says what its rows are."""

    name: str
    sql: str
    hint: str = ""
    comment: str = ""


@dataclass(frozen=True)
class Outermost:
    """The outermost SELECT of a result.

    Attributes
    ----------
    items : dict of str to str
        The columns of the result, and the SQL of each.
    verdict : dict of str to str
        The columns of the audit's verdict, which every row has.
    source : str
        The rest of the SELECT, beginning with FROM.
    order : tuple of str
        The ORDER BY terms.
    """

    items: Mapping[str, str]
    verdict: Mapping[str, str]
    source: str
    order: tuple[str, ...]

    def leave_out_verdict(self) -> "Outermost":
        """Return the SELECT without the verdict, and without its relation if no column reads it."""
        is_read = any("p.scores_outside" in sql for sql in self.items.values())
        source = self.source
        for relation in ("_audit", "_problems") if not is_read else ():
            source = source.replace(VERDICT_JOIN.format(relation), "")
        return replace(self, verdict={}, source=source)

    def write(self, columns: Container[str] | None, limit: int | None) -> str:
        """Return the SELECT of these columns; all if None."""
        listed = {quote(n): sql for n, sql in self.items.items() if columns is None or n in columns}
        end = f"\nLIMIT {limit}" if limit is not None else ""
        return select(listed | dict(self.verdict), self.source, self.order) + end


@dataclass(frozen=True)
class Statement:
    """A statement ready to run.

    Attributes
    ----------
    ctes : tuple of Cte
        The relations; each follows the relations that it reads.
    select : str
        The outermost SELECT.
    params : dict of str to value
        The values of its ``$names``.
    columns : tuple of str
        The columns of the user's result; hidden columns follow them.
    key_bits : int
        The number of bits of the keys in its largest GROUP BY, if they are whole numbers and the
        groups are only counted; otherwise 0.
    outermost : Outermost or None
        The parts of ``select``, from which `narrow` writes another SELECT.
    """

    ctes: tuple[Cte, ...]
    select: str
    params: Mapping[str, Value]
    columns: tuple[str, ...]
    key_bits: int = 0
    outermost: Outermost | None = None

    @property
    def hidden(self) -> tuple[str, ...]:
        """The hidden columns after the user's: the verdict, and inputs of later steps."""
        return tuple(self.outermost.verdict) if self.outermost else ()

    @property
    def sql(self) -> str:
        """The statement with its ``$parameters``."""
        return _write_with(self.ctes, self.select)

    def inline(self) -> str:
        """Return the statement with the parameters' values in its text, ready to paste.

        Each relation begins with a comment that says what its rows are.
        """
        ctes = [cte._replace(sql=_inline_parameters(cte.sql, self.params)) for cte in self.ctes]
        return _write_with(ctes, _inline_parameters(self.select, self.params), has_comments=True)

    @staticmethod
    def create(
        ctes: Iterable[Cte], outermost: Outermost, params: Mapping[str, Value], key_bits: int = 0
    ) -> "Statement":
        """Return the statement with only the parameters that it uses."""
        ctes, whole = tuple(ctes), outermost.write(None, None)
        used = set(_PARAMETER.findall(_write_with(ctes, whole)))
        used_params = {name: params[name] for name in params if name in used}
        return Statement(ctes, whole, used_params, tuple(outermost.items), key_bits, outermost)

    def narrow(self, columns: Sequence[str] | None, limit: int | None) -> "Statement":
        """Return the statement with only some columns, or only the first rows."""
        if columns is None and limit is None:
            return self
        assert self.outermost is not None
        chosen = tuple(name for name in self.columns if columns is None or name in columns)
        return replace(self, select=self.outermost.write(chosen, limit), columns=chosen)

    @property
    def verdict_step(self) -> str:
        """The relation that has the verdict of the audit."""
        has_problems = any(cte.name == "_problems" for cte in self.ctes)
        return "_problems" if has_problems else "_audit"

    def preview_step(self, name: str, rows: int) -> str:
        """Return the statement that shows the first rows of one of its relations.

        Raises
        ------
        RequestError
            If ``rows`` is not a whole number from 0 on.
        """
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise RequestError(f"rows={rows!r} must be a whole number from 0 on")
        return self.select_from(name, f"SELECT * FROM {name} LIMIT {rows}")

    def explain(self) -> list[str]:
        """Return a line for each of its relations: its name, what it reads, what its rows are."""
        lines: list[str] = []
        for i, cte in enumerate(self.ctes, start=1):
            before = [each.name for each in self.ctes[: i - 1]]
            read = [name for name in before if re.search(rf"\b{name}\b", cte.sql)]
            origin = f" (from {', '.join(read)})" if read else ""
            lines.append(f"{i}. {cte.name}{origin}: {describe_step(cte) or 'its SQL says what'}")
        return lines

    def replace_step(self, name: str, sql: str) -> "Statement":
        """Return the statement with other SQL for one of its relations."""
        read = [cte._replace(sql=sql, hint="") if cte.name == name else cte for cte in self.ctes]
        return replace(self, ctes=tuple(read))

    def select_from(self, name: str, select: str) -> str:
        """Return a SELECT from one of its relations, with the relations up to that one.

        The values of parameters stand in its text.
        """
        names = [cte.name for cte in self.ctes]
        ctes = self.ctes[: names.index(name) + 1]
        return _inline_parameters(_write_with(ctes, select), self.params)


def _inline_parameters(sql: str, params: Mapping[str, Value]) -> str:
    return _PARAMETER.sub(
        lambda match: _write_value(params[match[1]]) if match[1] in params else match[0], sql
    )


def _write_value(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return write_double(value)
    assert not isinstance(value, tuple)
    return write_scalar(value)


def _write_with(ctes: Iterable[Cte], select: str, *, has_comments: bool = False) -> str:
    bodies = ",\n".join(
        f"{cte.name} AS {cte.hint + ' ' if cte.hint else ''}(\n"
        f"{_write_comment(cte) if has_comments else ''}{_indent(cte.sql)}\n)"
        for cte in ctes
    )
    return f"WITH {bodies}\n{select}"


def describe_step(cte: Cte) -> str:
    """Return what the rows of a relation are; empty if nothing is known."""
    words = shorten_summary(cte.comment) or _WORDS.get(cte.name, "")
    return " ".join(words.split())


def _write_comment(cte: Cte) -> str:
    """Return a comment line, whose text cannot end the comment."""
    words = describe_step(cte)
    return f"  -- {words.replace('*/', '* /')}\n" if words else ""


def _indent(sql: str) -> str:
    """Indent a CTE's lines, but not the text inside quotes."""
    return "  " + _LINE.sub(lambda match: match[1] or "\n  ", sql)
