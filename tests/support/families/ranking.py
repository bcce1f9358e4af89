"""Cases and data sets of ranking and recommendation."""

import numpy as np
import polars as pl

from tests.support.case import Case, Data

from .ranking_references import (
    averaged,
    coverage,
    err_of_ties,
    f1,
    first_at,
    from_trec,
    gain,
    gini,
    grouped_auc,
    map_of_k,
    popularity,
    rbp,
)

CASES: list[Case] = [
    *(
        Case(f"{name}{given}", "ranking", averaged(measure))
        for name, given, measure in (
            ("precision_at_k", "", from_trec("set_P")),
            ("precision_at_k", "(k=3)", from_trec("P_3")),
            ("precision_at_k", "(k=10)", from_trec("P_10")),
            ("recall_at_k", "", from_trec("set_recall")),
            ("recall_at_k", "(k=3)", from_trec("recall_3")),
            ("f1_at_k", "", f1()),
            ("f1_at_k", "(k=3)", f1(3)),
            ("hit_rate_at_k", "(k=1)", from_trec("success_1")),
            ("hit_rate_at_k", "(k=3)", from_trec("success_3")),
            ("map", "", from_trec("map")),
            ("map", "(k=3)", from_trec("map_cut_3")),
            ("map", "(k=3, normalize='k')", map_of_k(3)),
            ("mrr", "", from_trec("recip_rank")),
            ("mrr", "(k=3)", first_at(3)),
            ("r_precision", "", from_trec("Rprec")),
            ("bpref", "", from_trec("bpref")),
            ("rbp", "", rbp(0.8)),
            ("rbp", "(p=0.5)", rbp(0.5)),
        )
    ),
    # Every item of these data sets is judged.
    Case("judged", "ranking", lambda rows: 1.0 if len(rows.label) else None),
    Case("grouped_auc", "ranking", grouped_auc),
    Case("err", "ranking", err_of_ties()),
    Case("err(k=3)", "ranking", err_of_ties(3)),
    Case("err(k=3, largest=2)", "ranking", err_of_ties(3, largest=2)),
    Case("dcg", "ranking", gain()),
    Case("dcg(k=3, gain='exponential')", "ranking", gain(3, exponential=True)),
    Case("ndcg(gain='exponential')", "ranking", gain(exponential=True, ideal=True)),
    Case("ndcg(k=3, gain='exponential')", "ranking", gain(3, exponential=True, ideal=True)),
    *(
        Case(f"{name}{given}", "recommendation", reference)
        for name, given, reference in (
            ("catalogue_coverage", "", coverage()),
            ("catalogue_coverage", "(k=1)", coverage(1)),
            ("catalogue_coverage", "(k=2, items=100)", coverage(2, items=100)),
            ("catalogue_coverage", "(k=2, items=20)", coverage(2, items=20)),
            ("item_popularity", "", popularity()),
            ("item_popularity", "(k=2)", popularity(2)),
            ("novelty", "", popularity(bits=True)),
            ("novelty", "(k=2)", popularity(2, bits=True)),
            ("exposure_gini", "", gini()),
            ("exposure_gini", "(k=1)", gini(1)),
            ("exposure_gini", "(k=2, items=100)", gini(2, items=100)),
            ("exposure_gini", "(k=2, items=20)", gini(2, items=20)),
        )
    ),
]


def draw_recommendations() -> list[Data]:
    """Return lists with ties, with equal scores alone, and with an item that occurs twice."""
    rng = np.random.default_rng(5)
    rows = pl.DataFrame(
        [(q, i, int(y)) for q in range(30) for i, y in enumerate(rng.random(12) < 0.3)],
        ["q", "i", "y"], orient="row",
    ).with_columns(p=pl.Series(rng.integers(0, 5, 360)).cast(float))  # fmt: skip
    frames = {
        "ties": rows,
        "constant": rows.with_columns(p=0.5),
        "one list": rows.filter(q=0),
        "nothing relevant": rows.with_columns(y=0),
        "nothing retrieved": rows.with_columns(p=pl.lit(None, pl.Float64)),
        "items named": rows.with_columns(i=pl.format("item {}", "i")),
        "an item twice": rows.with_columns(i=pl.col("i") // 2),
    }
    return [Data(name, "recommendation", frame) for name, frame in frames.items()]


#: Data sets beside those that every kind has.
DATA: list[Data] = draw_recommendations()
