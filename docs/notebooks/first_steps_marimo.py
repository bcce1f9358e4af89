"""First steps in a notebook of marimo: ``marimo edit docs/notebooks/first_steps_marimo.py``.

It reads ``data/`` of this repository, and needs ``pip install marimo '.[plot,stats]'``.
"""

import marimo

app = marimo.App()


@app.cell
def _():
    from pathlib import Path

    import marimo as mo

    import sqleval

    # The folder of the repository, wherever the notebook was started.
    here = Path.cwd()
    flights = next(
        folder / "data" / "flights" / "predictions"
        for folder in (here, *here.parents)
        if (folder / "data" / "flights").is_dir()
    )
    return flights, mo, sqleval


@app.cell
def _(mo):
    mo.md("""
    # First steps

    Half a year of flights, with the probability of a delay by two models. First a look at the
    columns, and at what has to be decided.
    """)
    return


@app.cell
def _(flights, sqleval):
    findings = [each for each in sqleval.inspect(flights) if each.advice]
    findings
    return (findings,)


@app.cell
def _(mo):
    mo.md("""
    Cancelled flights have no label: `nulls="drop"` leaves them out and counts them in `n_dropped`.
    """)
    return


@app.cell
def _(flights, sqleval):
    models = {"logistic": "p_logistic", "boosted": "p_boosted"}
    both = sqleval.scan(flights, label="delayed", score=models, nulls="drop")
    result = both.evaluate(["roc_auc", "log_loss"], ci=0.95).collect()
    result
    return both, models, result


@app.cell
def _(mo):
    mo.md("""
    Could the difference be chance?
    """)
    return


@app.cell
def _(both):
    difference = both.compare("roc_auc").collect()
    difference.select("metric", "difference", "low", "high", "p_value", "verdict")
    return (difference,)


@app.cell
def _(mo):
    mo.md("""
    For which carriers is the model worst? Slices of fewer rows have no value.
    """)
    return


@app.cell
def _(mo):
    least = mo.ui.slider(100, 2000, step=100, value=500, label="least rows of a slice")
    least
    return (least,)


@app.cell
def _(flights, least, sqleval):
    by_carrier = sqleval.scan(
        flights, label="delayed", score="p_boosted", nulls="drop", by="carrier"
    )
    slices = by_carrier.evaluate(
        "roc_auc", ci=0.95, min_rows=least.value, worst_first=True
    ).collect()
    slices
    return (slices,)


@app.cell
def _(mo):
    mo.md("""
    The curves of both models. The numbers of a point are shown under the pointer.
    """)
    return


@app.cell
def _(both):
    both.plot("roc")
    return


if __name__ == "__main__":
    app.run()
