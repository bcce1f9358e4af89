"""A run told to others: OpenLineage events, and metrics in MLflow. Each needs its extra."""

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
from sqleval.inputs.files import is_remote
from sqleval.jobs.run import Run


def export_run(run: Run) -> list[str]:
    """Send a run where its job says, and return where it went.

    Raises
    ------
    MissingExtra
        If the library is not installed.
    EngineError
        If a server does not take it.
    """
    outputs = run.job.outputs
    went: list[str] = []
    if outputs.openlineage is not None:
        went.append(_send_openlineage(run, run.job.resolve_path(outputs.openlineage)))
    if outputs.mlflow is not None and not run.rows.is_empty():
        at = outputs.mlflow
        went.append(
            _send_mlflow(run, at if is_remote(at) else Path(run.job.resolve_path(at)).as_uri())
        )
    return went


def _send_openlineage(run: Run, target: str) -> str:
    """Emit a START and a COMPLETE (or FAIL) event: which files went in, which store came out."""
    client: Any = import_optional("openlineage.client", "openlineage", "OpenLineage")
    event: Any = import_optional("openlineage.client.event_v2", "openlineage", "OpenLineage")
    http = target.startswith(("http://", "https://"))
    if http:
        sender = client.OpenLineageClient(url=target)
    else:
        transport: Any = import_optional(
            "openlineage.client.transport.file", "openlineage", "OpenLineage"
        )
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        config = transport.FileConfig(log_file_path=target, append=True)
        sender = client.OpenLineageClient(transport=transport.FileTransport(config))
    evaluated = [step.period for step in run.decisions if step.action == "evaluate"]
    files = run.lake.list_files("source", evaluated) if run.lake else []
    files += run.lake.list_files("labels", evaluated) if run.lake and run.job.labels else []
    job = event.Job(namespace="sqleval", name=run.job.name)
    identity = event.Run(runId=str(uuid.uuid5(uuid.NAMESPACE_URL, f"sqleval/{run.id}")))
    inputs = [event.InputDataset(*_name_dataset(file)) for file in files]
    outputs = [event.OutputDataset("sqleval", run.job.history.url)]
    states = (event.RunState.START, event.RunState.FAIL if run.errors else event.RunState.COMPLETE)
    for state in states:
        sender.emit(
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


def _name_dataset(file: str) -> tuple[str, str]:
    """Return a file's namespace and name, as OpenLineage has them."""
    if not is_remote(file):
        return "file", os.fspath(Path(file).absolute())
    scheme, _, rest = file.partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme}://{host}", path


def _send_mlflow(run: Run, uri: str) -> str:
    """Log each value as a metric of one MLflow run, its period as the step and the time."""
    mlflow: Any = import_optional("mlflow", "mlflow", "MLflow")
    try:
        client = mlflow.MlflowClient(tracking_uri=uri)
        found = client.get_experiment_by_name(run.job.name)
        experiment = found.experiment_id if found else client.create_experiment(run.job.name)
        failed = run.verdicts.filter(status="failed").height
        tags = {"sqleval.run": run.id, "sqleval.failed_gates": str(failed)}
        logged = client.create_run(experiment, run_name=run.id, tags=tags)
        order = {period: i for i, period in enumerate(run.history["period"].unique().sort())}
        values = run.rows.filter(pl.col("value").is_finite())
        metrics = [
            mlflow.entities.Metric(
                _clean_name(f"{row['metric']}/{format_slice(row['slice'])}"),
                row["value"],
                int(find_start(row["period"], run.job.period.timezone).timestamp() * 1000),
                order[row["period"]],
            )
            for row in values.iter_rows(named=True)
        ]
        # A thousand is the most that one request takes.
        for at in range(0, len(metrics), 1000):
            client.log_batch(logged.info.run_id, metrics=metrics[at : at + 1000])
        client.set_terminated(logged.info.run_id, "FAILED" if run.errors else "FINISHED")
    except mlflow.exceptions.MlflowException as error:
        raise EngineError(f"MLflow at {uri}: {error}") from error
    return uri


def _clean_name(text: str) -> str:
    """Return a name of the signs that MLflow takes."""
    kept = "".join(c if c.isalnum() or c in "_-. :/" else "_" for c in text)
    return kept[:250]
