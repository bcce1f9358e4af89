"""Sends a run to OpenLineage (as events) and to MLflow (as metrics); each needs an extra."""

import logging
import os
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from sqleval.common.imports import import_optional
from sqleval.common.periods import find_start
from sqleval.errors import EngineError
from sqleval.history.store import format_slice
from sqleval.jobs.file.model import Job
from sqleval.jobs.places import SQLITE
from sqleval.jobs.running.result import Run
from sqleval.sources.stores import is_remote


def export_run(run: Run) -> list[str]:
    """Send a run to the targets of its job, and return them.

    Raises
    ------
    MissingExtra
        If the library of a target is not installed.
    EngineError
        If MLflow refuses the run.
    """
    outputs = run.job.outputs
    targets: list[str] = []
    if outputs.openlineage is not None:
        targets.append(_send_openlineage(run, run.job.resolve_path(outputs.openlineage)))
    if outputs.mlflow is not None and not run.rows.is_empty():
        targets.append(_send_mlflow(run, _locate_mlflow(run.job, outputs.mlflow)))
    return targets


def _locate_mlflow(job: Job, uri: str) -> str:
    """Return MLflow's tracking URI; a relative path in it starts in the folder of the job."""
    if uri.startswith(SQLITE):
        import_optional("alembic", "mlflow", "MLflow in a database")
        return SQLITE + job.resolve_path(uri.removeprefix(SQLITE))
    return uri if is_remote(uri) else Path(job.resolve_path(uri)).as_uri()


def _send_openlineage(run: Run, target: str) -> str:
    """Emit a START and a COMPLETE (or FAIL) event with the files read and the history."""
    event: Any = import_optional("openlineage.client.event_v2", "openlineage", "OpenLineage")
    client = _open_lineage_client(target)
    evaluated = run.list_periods("evaluate")
    job = event.Job(namespace="sqleval", name=run.job.name)
    identity = event.Run(runId=str(uuid.uuid5(uuid.NAMESPACE_URL, f"sqleval/{run.id}")))
    files = run.lake.list_datasets(evaluated) if run.lake else []
    inputs = [event.InputDataset(*_name_dataset(file)) for file in files]
    outputs = [event.OutputDataset("sqleval", run.job.history.url)]
    states = (event.RunState.START, event.RunState.FAIL if run.errors else event.RunState.COMPLETE)
    for state in states:
        client.emit(
            event.RunEvent(
                eventType=state,
                eventTime=datetime.now().astimezone().isoformat(),
                run=identity,
                job=job,
                producer="https://pypi.org/project/sqleval",
                inputs=inputs,
                outputs=outputs,
            )
        )
    return target


def _open_lineage_client(target: str) -> Any:
    """Return a client of an OpenLineage server, or one that appends to a file."""
    library: Any = import_optional("openlineage.client", "openlineage", "OpenLineage")
    if target.startswith(("http://", "https://")):
        return library.OpenLineageClient(url=target)
    transport: Any = import_optional(
        "openlineage.client.transport.file", "openlineage", "OpenLineage"
    )
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    config = transport.FileConfig(log_file_path=target, append=True)
    return library.OpenLineageClient(transport=transport.FileTransport(config))


def _name_dataset(file: str) -> tuple[str, str]:
    """Return the OpenLineage namespace and name of a file."""
    if not is_remote(file):
        return "file", os.fspath(Path(file).absolute())
    scheme, _, rest = file.partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme}://{host}", path


def _send_mlflow(run: Run, uri: str) -> str:
    """Log all values as metrics of one MLflow run; the period is the step and the time."""
    mlflow: Any = import_optional("mlflow", "mlflow", "MLflow")
    # MLflow logs each step that creates a database's tables; --log-json must print JSON only.
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    try:
        client = mlflow.MlflowClient(tracking_uri=uri)
        existing = client.get_experiment_by_name(run.job.name)
        experiment = existing.experiment_id if existing else client.create_experiment(run.job.name)
        failed = run.verdicts.filter(status="failed").height
        tags = {"sqleval.run": run.id, "sqleval.failed_gates": str(failed)}
        logged = client.create_run(experiment, run_name=run.id, tags=tags)
        order = {period: i for i, period in enumerate(run.past.periods)}
        values = run.rows.filter(pl.col("value").is_finite())
        names = _name_metrics(values)
        metrics = [
            mlflow.entities.Metric(
                names[row["metric"], row["slice"]],
                row["value"],
                int(find_start(row["period"], run.job.period.timezone).timestamp() * 1000),
                order[row["period"]],
            )
            for row in values.iter_rows(named=True)
        ]
        # MLflow accepts at most 1000 metrics per request.
        for at in range(0, len(metrics), 1000):
            client.log_batch(logged.info.run_id, metrics=metrics[at : at + 1000])
        client.set_terminated(logged.info.run_id, "FAILED" if run.errors else "FINISHED")
    except (mlflow.exceptions.MlflowException, ImportError) as error:
        raise EngineError(f"MLflow at {uri}: {error}") from error
    return uri


def _name_metrics(values: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Return MLflow's name of each metric and slice; characters that it refuses become ``_``."""
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for metric, keys in values.select("metric", "slice").unique().sort("metric", "slice").rows():
        text = f"{metric}/{format_slice(keys)}"
        first = name = "".join(c if c.isalnum() or c in "_-. :/" else "_" for c in text)[:240]
        number = 1
        while name in taken:
            # Without a number, slices such as a<b and a>b would be one metric.
            number += 1
            name = f"{first}_{number}"
        taken.add(name)
        names[metric, keys] = name
    return names
