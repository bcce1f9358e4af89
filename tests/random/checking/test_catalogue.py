"""`sqleval check` passes for the built-in metrics and curves."""

from sqleval.catalog import find_sql_folder
from sqleval.catalog.catalogue import builtin
from sqleval.checking.check import check_folder


def test_every_built_in_file_passes() -> None:
    findings = check_folder(find_sql_folder())
    assert [each for each in findings if each.status == "fails"] == []
    known = {each.name for each in findings if each.status == "holds" and each.check != "reads"}
    assert known == {each.name for each in builtin().relations("metric", "curve")}
