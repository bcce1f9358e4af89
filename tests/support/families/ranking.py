"""Cases and data sets of ranking and recommendation."""

from tests.support.case import Case, Data

from .ranking_references import averaged, f1, first_at, from_trec, gain, grouped_auc, map_of_k, rbp

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
    Case("dcg", "ranking", gain()),
    Case("dcg(k=3, gain='exponential')", "ranking", gain(3, exponential=True)),
    Case("ndcg(gain='exponential')", "ranking", gain(exponential=True, ideal=True)),
    Case("ndcg(k=3, gain='exponential')", "ranking", gain(3, exponential=True, ideal=True)),
]
#: Data sets beside those that every kind has.
DATA: list[Data] = []
