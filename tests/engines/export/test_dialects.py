"""SQL text for other engines: parsed in every dialect, and run on each engine."""

from __future__ import annotations

import pytest
import sqlglot
from sqlfluff.core import Linter
from sqlglot import ErrorLevel

from sqleval.export.dialects import DIALECTS
from sqleval.export.statement import export_statement
from tests.core.export.test_dialects import check_engine, read_cells
from tests.support import support_matrix as matrix
from tests.support.engines import ELSEWHERE

#: Texts for sqlfluff, which takes seconds for each, so every dialect has another, short one.
_SHORT = {
    "bigquery": "`f1_macro_of_means` of classes",
    "databricks": "`accuracy` of classes",
    "trino": "`ndcg`",
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_page_agrees_with_the_engine(name: str) -> None:
    check_engine(name)


@pytest.mark.parametrize("dialect", matrix.TEXT_ONLY)
def test_the_text_parses_back_in_its_dialect(dialect: str) -> None:
    # The test above runs the other dialects on an engine.
    assert read_cells(DIALECTS[dialect]) == {"t"}
    for first, names in matrix.together():
        sql = export_statement(names, dialect, first.table, nulls="drop", **first.roles)
        (tree,) = sqlglot.parse(sql, dialect=dialect, error_level=ErrorLevel.RAISE)
        assert tree is not None
        assert not list(tree.find_all(sqlglot.exp.Placeholder))
    asked = next(each for each in matrix.every() if each.shown == _SHORT[dialect])
    parsed = Linter(dialect=dialect).parse_string(matrix.write(asked, dialect))
    assert not parsed.violations, (asked.name, parsed.violations[:1])
