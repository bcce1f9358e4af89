"""Other engines read roles that are expressions, and vectors of scores, as DuckDB does."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval import DataError, RequestError
from sqleval.engines.opening import open_engine

RNG = np.random.default_rng(3)
N = 200
Y = RNG.integers(0, 2, N)
P = np.clip(0.3 * Y + 0.6 * RNG.random(N), 0, 1)
THIRDS = RNG.dirichlet([1, 1, 1], N)


@pytest.fixture(scope="module")
def sail() -> Iterator[Any]:
    """Return Sail's engine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark 4.2 about pandas 3
        yield open_engine("sail")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a Parquet file with outcomes, scores and vectors of scores."""
    rows = pl.DataFrame(
        {
            "outcome": np.where(Y == 1, "won", "lost"), "y": Y.astype(float), "p_no": 1 - P,
            "list": np.stack([1 - P, P], axis=1).tolist(),
            "vector": [{"values": [1 - p, p]} for p in P.tolist()],
            "sparse": pl.Series(
                [
                    {"type": 1, "size": None, "indices": None, "values": [1 - p, p]}
                    if p > 0.2
                    else {"type": 0, "size": 2, "indices": [0], "values": [1.0]}
                    for p in P.tolist()
                ],
                dtype=pl.Struct(
                    {"type": pl.Int8, "size": pl.Int32, "indices": pl.List(pl.Int32),
                     "values": pl.List(pl.Float64)}
                ),
            ),
            "logits": np.log(np.clip(THIRDS, 1e-9, 1)).tolist(),
            "fields": [{"lost": 1 - p, "won": p} for p in P.tolist()],
            "third": THIRDS.tolist(), "c": RNG.integers(0, 3, N),
        }
    )  # fmt: skip
    file = tmp_path_factory.mktemp("rows") / "rows.parquet"
    rows.write_parquet(file)
    return str(file)


@pytest.mark.filterwarnings("ignore:.*its softmax is evaluated")
@pytest.mark.parametrize(
    "roles",
    [
        {"label": "outcome = 'won'", "score": "1 - p_no"},
        {"label": "y", "score": "vector.values[2]"},
        {"label": "y", "score": "list"},
        {"label": "y", "score": "vector"},
        {"label": "outcome", "score": "fields", "positive": "won"},
        {"label": "c", "score": "third"},
        {"label": "y", "score": "sparse"},
        {"label": "c", "score": "logits"},
    ],
)
def test_sail_reads_as_duckdb(roles: dict[str, Any], sail: Any, path: str) -> None:
    found, want = (
        sqleval.scan(path, engine=engine, **roles).evaluate(["log_loss", "accuracy"]).collect()
        for engine in (sail, None)
    )
    assert found["value"].to_list() == pytest.approx(want["value"].to_list(), rel=1e-12)
    assert found["n"].to_list() == want["n"].to_list() == [N, N]


def test_another_number_of_scores(sail: Any, tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1, 2, 1], "v": [[0.2, 0.3, 0.5]] * 3 + [[0.25, 0.75]]})
    rows.write_parquet(tmp_path / "rows.parquet")
    scanned = sqleval.scan(str(tmp_path / "rows.parquet"), label="y", score="v", engine=sail)
    with pytest.raises(DataError, match=r"2 scores in a row.*3 classes.*\[0\.25, 0\.75\]"):
        scanned.evaluate("log_loss").collect()


def test_an_expression_that_engines_read_differently(sail: Any, path: str) -> None:
    with pytest.raises(RequestError, match="not read alike by all engines"):
        sqleval.scan(path, label="y", score="strptime(outcome, '%d') - 1", engine=sail)
