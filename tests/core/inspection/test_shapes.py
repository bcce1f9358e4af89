"""Every shape of predictions is recognised, by other names and sizes too, and its commands run."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import sqleval
from tests.core.inspection.test_inspection import commands_of, roles_of, run
from tests.shapes import SHAPES, VARIANTS, confidence, one_hot_outcome, two_outcomes

MAKERS = {**SHAPES, **VARIANTS}
CASES = "CASE WHEN win_a = 1 THEN 'a' WHEN win_b = 1 THEN 'b' WHEN tie = 1 THEN 'tie' END"
POSITIVE = "CASE WHEN predicted_label = 1 THEN confidence ELSE 1 - confidence END"
SIDES = "SELECT UNNEST([outcome1, outcome2]) AS outcome, UNNEST([prob1, prob2]) AS score FROM "
HITS = " + ".join(
    f"COALESCE(CAST(list_contains(bought, recommended[{i}]) AS INTEGER), 0)" for i in range(1, 6)
)
#: By shape and file, what follows the source in each suggested command. Files that are not listed
#: have no command.
SUGGESTED: Mapping[tuple[str, str], list[str]] = {
    ("decisions of models", "decisions.csv"): [
        "--label y_true --score lr=lr_proba --score rf=rf_proba --prediction lr=lr_pred "
        "--prediction rf=rf_pred"
    ],
    ("integer score", "recidivism.csv"): [
        "--label two_year_recid --score decile_score",
        "--label two_year_recid --score decile_score --metric roc_auc --by race --worst-first",
    ],
    ("two outcomes", "games.csv"): [
        f'--query "{SIDES}FILE" --label outcome --score score',
        "--label outcome1 --score prob1",
        "--label outcome2 --score prob2",
    ],
    ("one-hot outcome", "results.csv"): [
        f'--label "{CASES}" --score a=prob_a --score b=prob_b --score tie=prob_tie '
        "--task multiclass"
    ],
    ("models and classes", "models.parquet"): [
        "--label label "
        + " ".join(f"--score {m}.{c}={m}_{c}" for m in ("lstm", "xgb") for c in range(3))
        + " --nulls drop --task multiclass --common"
    ],
    ("panel of forecasts", "ets.csv"): [
        "--label y --prediction yhat --task regression",
        "--label y --prediction yhat --task regression --metric rmse --by store --worst-first",
        "predicted_vs_actual --label y --prediction yhat --task regression",
    ],
    ("panel of forecasts", "naive.csv"): [
        "--label y --prediction yhat --task regression",
        "--label y --prediction yhat --task regression --metric rmse --by store --worst-first",
        "predicted_vs_actual --label y --prediction yhat --task regression",
    ],
    ("top-k lists", "top5.parquet"): [
        f'--value "({HITS}) / 5.0" --metric mean --ci 0.95',
        '--value "list_has_any(recommended, bought)" --metric mean --ci 0.95',
    ],
    ("attempts", "attempts.jsonl"): ["--value passed --ci 0.95 --cluster task_id"],
    ("MLflow table", "eval_results_table.json"): ["--rows data"],
    ("evaluation log", "log.json"): ["--rows samples"],
    ("battles", "battles.csv"): [
        "--value \"winner = 'model_a'\" --metric mean --ci 0.95",
        "--value \"winner = 'model_a'\" --metric mean --ci 0.95 --by model_a",
    ],
    ("Spark ML", "vectors.parquet"): ["--label label --score probability --prediction prediction"],
    ("Spark ML", "lists.parquet"): ["--label label --score probability --prediction prediction"],
    ("confidence", "confidence.csv"): [
        f'--label true_label --score "{POSITIVE}" --prediction predicted_label',
        '--label "true_label = predicted_label" --score confidence',
    ],
    ("many labels", "comments.csv"): [
        "--label toxic=toxic --label obscene=obscene --label insult=insult "
        "--score toxic=toxic_score --score obscene=obscene_score --score insult=insult_score"
        + metric
        for metric in ("", " --metric 'f1(average=None)'")
    ],
    ("many labels", "lists.parquet"): [
        f"--label labels --prediction predicted{metric}"
        for metric in ("", " --metric 'f1(average=None)'")
    ],
    ("readers", "readers.csv"): [
        "--label truth --score rating --metric roc_auc_macro --over reader --by treatment",
        "--label truth --score rating --metric roc_auc_macro --over reader",
    ],
    ("survival", "survival.csv"): [
        '--label "event = 1 AND time <= T" --score risk --where "(event = 1) OR time > T" '
        "--metric roc_auc"
    ],
    ("uplift", "uplift.csv"): ["--value visit --metric mean --by treatment --ci 0.95"],
    ("text tables", "packed.csv.gz"): [
        "--label y --score p",
        "--label y --score p --metric roc_auc --by city --worst-first",
    ],
    ("class columns", "species.csv"): [
        "--label species --score setosa=setosa --score versicolor=versicolor "
        "--score virginica=virginica --task multiclass"
    ],
    ("class columns", "numbers.csv"): [
        "--label label --score 0=0 --score 1=1 --score 2=2 --task multiclass"
    ],
    ("quantile columns", "quantiles.csv"): [
        '--value \'y BETWEEN "q0.1" AND "q0.9"\' --metric mean --ci 0.95',
        "--label y --prediction q0.5 --task regression",
    ],
    ("ranked rows", "ranked.csv"): ["--label relevance --score score --qid qid"],
    ("confidence of classes", "top_label.csv"): [
        "--label label --prediction predicted_label --task multiclass",
        '--label "label = predicted_label" --score confidence',
    ],
    ("rows of models", "rows_of_models.csv"): [
        "--label y --score p --long model=model --key case_id"
    ],
    ("rows of classes", "rows_of_classes.csv"): [
        "--label truth --score p --long class=species --key image --task multiclass"
    ],
    ("judged", "judged.parquet"): [
        "--value passed --ci 0.95",
        "--value passed --ci 0.95 --metric mean --by topic",
    ],
    ("texts and classes", "speeches.csv"): [
        "--label polarization --prediction predicted_label --task multiclass"
    ],
}
#: Other names of columns. In commands they stand where the usual names do.
NAMES: Mapping[str, Sequence[Mapping[str, str]]] = {
    "decisions of models": [
        {"y_true": "label", "lr_proba": "prob_lr", "lr_pred": "pred_lr", "rf_proba": "prob_rf",
         "rf_pred": "pred_rf"},
    ],
    "integer score": [
        {"decile_score": "rating", "two_year_recid": "outcome", "race": "region"},
        {"decile_score": "risk_score", "two_year_recid": "label"},
    ],
    "two outcomes": [
        {"prob1": "score_1", "outcome1": "label_1", "prob2": "score_2", "outcome2": "label_2"},
        {"prob1": "p_1", "outcome1": "won_1", "prob2": "p_2", "outcome2": "won_2"},
    ],
    "one-hot outcome": [
        {"prob_a": "a_prob", "prob_b": "b_prob", "prob_tie": "tie_prob", "win_a": "a",
         "win_b": "b"},
        {"prob_a": "p_a", "prob_b": "p_b", "prob_tie": "p_tie", "win_a": "is_a",
         "win_b": "is_b", "tie": "is_tie"},
    ],
    "models and classes": [
        {"label": "target"}
        | {f"{m}_{c}": f"p_{m}_{c}" for m in ("lstm", "xgb") for c in range(3)},
    ],
    "panel of forecasts": [
        {"y": "actual", "yhat": "forecast", "store": "shop"},
        {"y": "sales", "yhat": "sales_forecast"},
    ],
    "quantile forecasts": [
        {"output_type_id": "quantile_level", "value": "prediction"},
        {"output_type_id": "quantile", "value": "forecast"},
    ],
    "top-k lists": [
        {"recommended": "top_5", "bought": "clicked"},
        {"recommended": "retrieved", "bought": "relevant"},
    ],
    "attempts": [
        {"task_id": "problem_id", "passed": "correct"},
        {"task_id": "question", "passed": "is_correct"},
    ],
    "battles": [{"model_a": "left", "model_b": "right", "winner": "preferred"}],
    "Spark ML": [{"label": "y", "probability": "probs"}],
    "confidence": [
        {"true_label": "label", "predicted_label": "prediction", "confidence": "score"},
        {"true_label": "y", "predicted_label": "y_pred", "confidence": "max_prob"},
        {"true_label": "actual", "predicted_label": "pred", "confidence": "prob"},
    ],
    "many labels": [
        {"toxic_score": "p_toxic", "obscene_score": "p_obscene", "insult_score": "p_insult",
         "labels": "y_true", "predicted": "y_pred"},
    ],
    "readers": [
        {"reader": "reader_id", "case": "patient", "treatment": "modality", "truth": "label",
         "rating": "score"},
        {"reader": "radiologist", "case": "image_id", "truth": "disease", "rating": "confidence"},
    ],
    "survival": [
        {"time": "days", "event": "status", "risk": "risk_score"},
        {"time": "survival_months", "event": "died", "risk": "hazard"},
    ],
    "uplift": [
        {"treatment": "treated", "visit": "conversion", "score": "uplift"},
        {"treatment": "exposure", "visit": "y", "score": "cate"},
    ],
    "class columns": [
        {"species": "class", "setosa": "p_setosa", "versicolor": "p_versicolor",
         "virginica": "p_virginica", "label": "target", "0": "proba_0", "1": "proba_1",
         "2": "proba_2"},
        {"species": "kind", "setosa": "setosa_prob", "versicolor": "versicolor_prob",
         "virginica": "virginica_prob", "0": "logit_0", "1": "logit_1", "2": "logit_2"},
    ],
    "quantile columns": [
        {"q0.1": "p10", "q0.5": "p50", "q0.9": "p90"},
        {"y": "actual", "q0.1": "y_q10", "q0.5": "y_q50", "q0.9": "y_q90"},
    ],
    "ranked rows": [{"qid": "query_id"}, {"relevance": "label"}],
    "confidence of classes": [
        {"label": "true_label", "predicted_label": "pred", "confidence": "prob"}
    ],
    "rows of models": [{"model": "system", "case_id": "id", "p": "score"}],
    "rows of classes": [{"species": "kind", "image": "case", "p": "prob", "truth": "is_true"}],
    "judged": [{"passed": "win"}, {"passed": "answer_correctness"}],
    "texts and classes": [
        {"polarization": "stance", "text": "comment", "prediction_text": "prediction_raw"}
    ],
}  # fmt: skip


def name_source(path: Path) -> str:
    """Return a path with the prefix of its format, if its suffix does not tell."""
    return {"table.dat": "csv+", "spaces.txt": "whitespace+"}.get(path.name, "") + str(path)


def make(shape: str, folder: Path, rows: int, names: Mapping[str, str]) -> list[Path]:
    """Return the files of a shape, except one in latin-1, which is read with an option."""
    return [p for p in MAKERS[shape](folder, rows, names) if p.name != "european.csv"]


def rename(word: str, names: Mapping[str, str]) -> str:
    """Return a word of a command in which columns have other names; classes keep theirs."""
    if word.startswith("--"):
        return word

    def write(match: re.Match[str]) -> str:
        name = (match["quoted"] or match["name"]).strip('"')
        new = names.get(name, name)
        return new if match["name"] or re.fullmatch(r"\w+", new) else f'"{new}"'

    pattern = r"""(?P<quoted>"q0\.\d")|(?<![\w.'])(?P<name>q0\.\d|\w+)(?![\w.'=])"""
    return re.sub(pattern, write, word)


def list_suggested(shape: str, path: Path, names: Mapping[str, str]) -> list[list[str]]:
    """Return the words of the wanted commands, with the source."""
    commands: list[list[str]] = []
    for text in SUGGESTED.get((shape, path.name), []):
        words = [rename(word, names) for word in shlex.split(text)]
        if words[0] == "--query":
            words[1] = words[1].replace("FILE", f"'{path}'")
        else:
            words.insert(0 if words[0].startswith("--") else 1, str(path))
        commands.append(words)
    return commands


def forget_sizes(words: Sequence[str]) -> list[str]:
    """Return a command without the median time, and labels by frequency in their order."""
    return [re.sub(r"(<=|>) [\d.]+", r"\1 T", word) for word in words]


@pytest.mark.parametrize("rows", [30, 300, 3_000])
@pytest.mark.parametrize("shape", MAKERS)
def test_the_shape_is_recognised(shape: str, rows: int, tmp_path: Path) -> None:
    variants = [{}] if rows == 30 else NAMES.get(shape, [])
    for i, names in enumerate([{}, *variants] if rows == 300 else variants):
        folder = tmp_path / str(i)
        folder.mkdir()
        for path in MAKERS[shape](folder, rows, names):
            if shape in ("TREC run", "text tables") and path.suffix != ".gz":
                continue  # read by options or prefixes
            got = [shlex.split(text)[2:] for text in commands_of(sqleval.inspect(str(path)))]
            wanted = list_suggested(shape, path, names)
            assert sorted(map(forget_sizes, got)) == sorted(wanted), names


@pytest.mark.parametrize("shape", MAKERS)
def test_the_commands_run_as_printed(shape: str, tmp_path: Path) -> None:
    for path in MAKERS[shape](tmp_path, 300):
        if shape in ("TREC run", "text tables") and path.suffix != ".gz":
            continue  # read by options or prefixes
        for command in commands_of(sqleval.inspect(str(path))):
            words = shlex.split(command)
            assert len(run(*words[1:]).splitlines()) > 1


@pytest.mark.parametrize("shape", MAKERS)
def test_frames_have_calls_that_run(shape: str, tmp_path: Path) -> None:
    for path in MAKERS[shape](tmp_path, 300):
        if path.suffix in (".csv", ".parquet", ".jsonl") and shape != "text tables":
            read = {".csv": pl.read_csv, ".parquet": pl.read_parquet, ".jsonl": pl.read_ndjson}
            frame = read[path.suffix](path)
            for call in commands_of(sqleval.inspect(frame)):
                assert eval(call, {"sqleval": sqleval, "SOURCE": frame}).height > 0


def read_values(command: str) -> dict[str, float]:
    """Run a command; return the value of each metric."""
    words = shlex.split(command)[1:]
    return {row["metric"]: row["value"] for row in json.loads(run(*words, "--format", "json"))}


@pytest.mark.parametrize("classes", [(0, 1), ("no", "yes")])
def test_a_confidence_gives_the_auc_of_its_score(
    classes: tuple[object, object], tmp_path: Path
) -> None:
    (path,) = confidence(tmp_path, 600)
    rows = pl.read_csv(path)
    y, predicted = (rows[name].to_numpy() for name in ("true_label", "predicted_label"))
    c = rows["confidence"].to_numpy()
    named = {name: [classes[i] for i in rows[name]] for name in ("true_label", "predicted_label")}
    rows.with_columns(**{name: pl.Series(each) for name, each in named.items()}).write_csv(path)
    all_rows, top = map(read_values, commands_of(sqleval.inspect(str(path))))
    p = np.where(predicted == 1, c, 1 - c)
    assert all_rows["roc_auc"] == pytest.approx(roc_auc_score(y, p), abs=1e-12)
    assert all_rows["log_loss"] == pytest.approx(log_loss(y, p), abs=1e-12)
    assert all_rows["accuracy"] == pytest.approx((y == predicted).mean(), abs=1e-12)
    assert top["roc_auc"] == pytest.approx(roc_auc_score(y == predicted, c), abs=1e-12)
    assert top["brier_score"] == pytest.approx(brier_score_loss(y == predicted, c), abs=1e-12)
    assert abs(roc_auc_score(y, c) - roc_auc_score(y, p)) > 0.1  # the confidence is no score


def test_a_score_below_one_half_is_no_confidence(tmp_path: Path) -> None:
    (path,) = confidence(tmp_path, 30)
    rows = pl.read_csv(path)
    low = rows.with_columns(confidence=rows["confidence"].scatter(3, 0.4))
    for frame, is_confidence in ((rows, True), (low, False)):
        assert ("shape" in roles_of(sqleval.inspect(frame))) == is_confidence
    scored = rows.with_columns(p=1 - (rows["predicted_label"] - rows["confidence"]).abs())
    found = sqleval.inspect(scored.drop("confidence"))
    assert roles_of(found)["score"] == ["p"]


def test_one_hot_outcomes_and_both_sides_give_the_published_numbers(tmp_path: Path) -> None:
    (path,) = one_hot_outcome(tmp_path, 400)
    rows = pl.read_csv(path)
    (command,) = commands_of(sqleval.inspect(str(path)))
    truth = rows.select("win_a", "win_b", "tie").to_numpy().argmax(axis=1)
    p = rows.select("prob_a", "prob_b", "prob_tie").to_numpy()
    p /= p.sum(axis=1, keepdims=True)
    assert read_values(command)["log_loss"] == pytest.approx(log_loss(truth, p), abs=1e-9)
    (path,) = two_outcomes(tmp_path, 400)
    rows = pl.read_csv(path)
    both, first, _ = map(read_values, commands_of(sqleval.inspect(str(path))))
    y, s = (np.concatenate([rows[f"{n}{i}"] for i in (1, 2)]) for n in ("outcome", "prob"))
    assert both["brier_score"] == pytest.approx(brier_score_loss(y, s), abs=1e-12)
    wanted = brier_score_loss(rows["outcome1"], rows["prob1"])
    assert first["brier_score"] == pytest.approx(wanted, abs=1e-12)


def test_class_scores_in_one_column_have_two_orders_if_labels_are_texts() -> None:
    rng = np.random.default_rng(3)
    truth = rng.choice(3, 300, p=[0.2, 0.3, 0.5])
    p = rng.dirichlet([1, 1, 1], 300)
    labels = np.array(["cat", "dog", "owl"])[truth]
    frame = pl.DataFrame({"label": labels, "probability": p.tolist()})
    calls = commands_of(sqleval.inspect(frame))
    assert ["classes=['cat', 'dog', 'owl']" in calls[0], "['owl', 'dog', 'cat']" in calls[1]] == [
        True, True,
    ]  # fmt: skip
    result = eval(calls[0], {"sqleval": sqleval, "SOURCE": frame})
    got = dict(result.select("metric", "value").iter_rows())
    assert got["log_loss"] == pytest.approx(log_loss(truth, p), abs=1e-9)
    (call,) = commands_of(sqleval.inspect(frame.with_columns(label=pl.Series(truth))))
    assert "classes" not in call
    two = frame.with_columns(label=pl.Series(truth == 0))  # three scores for two classes
    assert "probability" not in str(commands_of(sqleval.inspect(two)))


@pytest.mark.parametrize("stored", [int, float])
def test_logits_and_classes_stored_as_floats_have_scores(stored: type) -> None:
    rng = np.random.default_rng(4)
    truth = rng.choice(3, 200)
    logits = rng.normal(2 * (truth[:, None] == np.arange(3)), 1)
    frame = {"y": truth.astype(stored), **{f"logit_{i}": logits[:, i] for i in range(3)}}
    (call,) = commands_of(sqleval.inspect(pl.DataFrame(frame)))
    assert "score={'0': 'logit_0', '1': 'logit_1', '2': 'logit_2'}, task='multiclass'" in call
    binary = {"y": (truth == 1).astype(stored), "logit_0": -logits[:, 1], "logit_1": logits[:, 1]}
    (call,) = commands_of(sqleval.inspect(pl.DataFrame(binary)))
    assert "score='logit_1')" in call


def test_features_are_no_scores() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 200)
    rows = pl.DataFrame({"y": y, "age": y + 20, "credit_score": rng.integers(300, 850, 200)})
    found = sqleval.inspect(rows)
    assert commands_of(found) == []
    (score,) = [f for f in found if f.check == "score"]
    assert score.value == "no column looks like it; it may be credit_score"


def test_a_treatment_with_a_probability_has_two_readings() -> None:
    rng = np.random.default_rng(6)
    y, treatment = rng.integers(0, 2, (2, 200))
    rows = pl.DataFrame({"treatment": treatment, "y": y, "score": rng.random(200)})
    found = sqleval.inspect(rows)
    assert any(f.check == "shape" and f.value.startswith("uplift?") for f in found)
    assert "label='y', score='score'" in commands_of(found)[0]


def make_rows_of_classes() -> pl.DataFrame:
    """Return two models' rows of three classes, whose true class is a text beside them."""
    rng = np.random.default_rng(7)
    names, truth = ["cat", "dog", "owl"], rng.choice(3, 60)
    rows = [
        (f"{i}.jpg", model, names[k], p, names[t])
        for model in ("small", "large")
        for i, (t, shares) in enumerate(zip(truth, rng.dirichlet([1, 1, 1], 60), strict=True))
        for k, p in enumerate(shares)
    ]
    return pl.DataFrame(
        rows, ["image", "model", "class", "probability", "true_class"], orient="row"
    )


@pytest.mark.parametrize(
    "given", [{}, {"label": "true_class"}, {"label": "true_class", "score": "probability"}]
)
def test_rows_of_classes_with_a_text_as_truth_are_recognised(given: dict[str, str]) -> None:
    frame = make_rows_of_classes()
    (call,) = commands_of(sqleval.inspect(frame, **given))
    wanted = (
        "label='true_class', score='probability', long={'model': 'model', 'class': 'class'}, "
        "key='image', task='multiclass'"
    )
    assert wanted in call
    result = eval(call, {"sqleval": sqleval, "SOURCE": frame})
    small = frame.filter(pl.col("model") == "small")
    truth = small["true_class"].gather_every(3)
    p = small["probability"].to_numpy().reshape(-1, 3)
    got = dict(result.filter(pl.col("model") == "small").select("metric", "value").iter_rows())
    assert got["log_loss"] == pytest.approx(log_loss(truth, p), abs=1e-9)


def test_one_score_of_several_classes_has_no_command_that_fails() -> None:
    frame = make_rows_of_classes().drop("image", "model", "class")
    found = sqleval.inspect(frame, label="true_class", score="probability")
    assert commands_of(found) == []
    (classes,) = [f for f in found if f.check == "classes"]
    assert classes.advice is not None
    label = shlex.split(classes.advice.partition("--label ")[2])[0]
    assert sqleval.scan(frame, label=label, score="probability").evaluate().collect().height > 0


def test_numbers_with_words_for_missing_ones_have_options_of_csv(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    y, p = rng.integers(0, 2, 60), rng.random(60).round(4)
    sex = rng.choice(["female", "male"], 60)
    lines = [
        f'"{i}" {"NA" if i == 7 else y[i]} {"NA" if i == 3 else p[i]} "{sex[i]}"' for i in range(60)
    ]
    table = tmp_path / "glm.txt"
    table.write_text('"obs" "fitted" "sex"\n' + "\n".join(lines))
    (command,) = commands_of(sqleval.inspect(f"whitespace+{table}"))
    assert shlex.split(command)[3:] == ["--csv", "na=NA"]
    assert "obs" in run(*shlex.split(command)[1:])
    found = sqleval.inspect(f"whitespace+{table}", label="obs", score="fitted")
    (score,) = [f for f in found if f.check == "score type"]
    assert score.advice == "--csv 'na=NA'"
    german = [
        f"{i:05d};{'k.A.' if i == 5 else str(p[i]).replace('.', ',')};{['nein', 'ja'][y[i]]};größe"
        for i in range(60)
    ]
    text = "Kunden-Nr.;Wahrscheinlichkeit;Kündigung;Größe\r\n" + "\r\n".join(german)
    (tmp_path / "german.csv").write_text(text, encoding="latin-1")
    found = sqleval.inspect(str(tmp_path / "german.csv"), csv={"encoding": "latin-1"})
    (command,) = commands_of(found)
    words = shlex.split(command)
    assert words[3:] == ["--csv", "encoding=latin-1", "--csv", "decimal=,", "--csv", "na=k.A."]
    assert "Wahrscheinlichkeit  numbers in 0 .. 1" in run(*words[1:])


def test_texts_of_a_feature_do_not_hide_label_and_score(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 2},{i / 100},{'NA' if i % 9 == 0 else i}" for i in range(60))
    (tmp_path / "rows.csv").write_text(f"y,p,age\n{rows}")
    assert "--label y --score p" in commands_of(sqleval.inspect(str(tmp_path / "rows.csv")))[0]
    thousands = "\n".join(f'{i}.1,"1,{200 + i}"' for i in range(60))
    (tmp_path / "sums.csv").write_text(f"a,amount\n{thousands}")
    assert commands_of(sqleval.inspect(str(tmp_path / "sums.csv"))) == []


@pytest.mark.filterwarnings("ignore:.*its softmax is evaluated")
@pytest.mark.parametrize("name", ["logits", "scores", "rawPrediction", "anything"])
@pytest.mark.parametrize("k", [2, 4])
def test_a_list_of_a_number_for_each_class_is_a_score(name: str, k: int) -> None:
    rng = np.random.default_rng(9)
    y = rng.integers(0, k, 200)
    z = rng.normal(1.5 * (y[:, None] == np.arange(k)), 1)
    frame = pl.DataFrame({"idx": range(200), name: z.tolist(), "label_ids": y})
    frame = frame.with_columns(features=pl.Series(rng.normal(size=(200, k)).tolist()))
    task = ", task='multiclass'" if k > 2 else ""
    for given in ({}, {"score": name}, {"label": "label_ids", "score": name}):
        found = sqleval.inspect(frame, **given)
        (call,) = commands_of(found)
        assert f"label='label_ids', score='{name}'{task})" in call
        assert not any("CAST" in (each.advice or "") for each in found)
    result = eval(call, {"sqleval": sqleval, "SOURCE": frame})
    got = dict(result.select("metric", "value").iter_rows())
    if k == 2:
        assert got["roc_auc"] == pytest.approx(roc_auc_score(y, z[:, 1] - z[:, 0]), abs=1e-12)
    else:
        assert got["accuracy"] == pytest.approx((y == z.argmax(axis=1)).mean(), abs=1e-12)


def test_lists_that_are_no_scores_have_no_command_that_fails() -> None:
    rng = np.random.default_rng(9)
    frame = pl.DataFrame({"label": rng.integers(0, 3, 50), "z": rng.random((50, 3)).tolist()})
    found = sqleval.inspect(frame, label="label", prediction="z")
    assert commands_of(found) == []
    (advice,) = [each.advice for each in found if each.check == "prediction type"]
    assert advice == "numbers of classes are a score: --score z"
    two = frame.with_columns(label=pl.col("label") == 1)
    found = sqleval.inspect(two, label="label", score="z")
    assert commands_of(found) == []
    (advice,) = [each.advice for each in found if each.check == "score type"]
    assert advice is not None
    assert advice.endswith("--score 'z[1]'")


def test_names_and_words_of_other_trades_are_known() -> None:
    rng = np.random.default_rng(10)
    y, size = rng.integers(0, 2, 200), rng.choice(["groß", "klein"], 200)
    p, q = rng.random((2, 200))
    credit = pl.DataFrame({"defaulted": y, "champion_pd": p, "challenger_pd": q})
    found = sqleval.inspect(credit)
    assert "score={'champion': 'champion_pd', 'challenger': 'challenger_pd'}" in str(found)
    churn = {"Größe": size, "Kündigung": np.where(y == 1, "ja", "nein"), "Wahrscheinlichkeit": p}
    (call, *_) = commands_of(sqleval.inspect(pl.DataFrame(churn)))
    assert "label='Kündigung', score='Wahrscheinlichkeit', positive='ja'" in call
    classes = rng.choice(3, 200)
    spark = {
        "indexedLabel": classes.astype(float),
        "probability": rng.dirichlet([1, 1, 1], 200).tolist(),
        "prediction": classes.astype(float),
    }
    (call,) = commands_of(sqleval.inspect(pl.DataFrame(spark)))
    assert "label='indexedLabel', score='probability', prediction='prediction'" in call


def test_fields_of_structs_are_named_as_labels() -> None:
    rows = [
        {"outcome": {"status": "OK" if i % 3 else "FRAUD"}, "model": {"score": i / 100},
         "country": "DE" if i % 2 else "FR"}
        for i in range(100)
    ]  # fmt: skip
    found = sqleval.inspect(pl.DataFrame(rows))
    (label,) = [each for each in found if each.check == "label"]
    assert label.value == "not clear; it may be outcome.status, model.score, country"
    assert label.advice == "--label COLUMN; a field can be named: --label outcome.status"
    assert commands_of(found) == []
