"""How often the plans of other engines read the table: a relation is read once for all metrics."""

import re

import numpy as np
import pyarrow as pa
import pytest

from sqleval.export.statement import export_statement
from tests.support.engines import ENGINES

NINE = (
    "roc_auc", "average_precision", "ks", "log_loss", "brier_score", "precision", "recall", "f1",
    "prevalence",
)  # fmt: skip
#: The words for a scan in the plan of each engine that computes a CTE anew for each reference.
SCANS = {
    "ClickHouse": r"ReadFrom(?:Memory|MergeTree|Storage|PreparedSource)",
    "DataFusion": "DataSourceExec",
    "Sail": "DataSourceExec",
}


def _make_rows() -> pa.Table:
    rng = np.random.default_rng(58)
    label, slices = rng.integers(0, 2, 500), rng.integers(0, 3, 500)
    return pa.table({"y": pa.array(label, pa.int32()), "p": rng.random(500), "g": slices})


@pytest.mark.parametrize("by", [(), ("g",)])
@pytest.mark.parametrize("name", SCANS)
def test_nine_metrics_do_not_read_the_table_nine_times(name: str, by: tuple[str, ...]) -> None:
    with ENGINES[name]() as engine:
        engine.load("preds", _make_rows())

        def count_scans(metrics: tuple[str, ...]) -> int:
            roles = {"label": "y", "score": "p", "by": by}
            sql = export_statement([*metrics], engine.dialect, "preds", **roles)
            plan = engine.run(f"EXPLAIN {sql.rstrip().rstrip(';')}")
            lines = "\n".join(str(value) for row in plan.rows for value in row)
            return len(re.findall(SCANS[name], lines))

        # By slice, the audit is read for its counts and for its problems.
        more = 1 if by else 0
        assert count_scans(("roc_auc",)) == 2 + more
        assert count_scans(NINE) == 6 + more
