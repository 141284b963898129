"""Do the examples of docs/guide/tracking.md work, each with its own library? And is what we export for review accepted?

    make trackers

runs this where those libraries are (build/trackers). MLflow and Weights & Biases keep what they are given in folders
here, and both are asked for it afterwards. Argilla's library wants a server that says who is asking, which is a few
lines here; settings and records are then checked by the library itself. Label Studio's SDK validates tasks without one.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import Any

from corpusmill.export import export
from corpusmill.recipe.shipped import shipped
from corpusmill.trackers import METRIC_HELP, numbers

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guide" / "tracking.md"
BLOCK = re.compile(r"^```py\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def example(library: str) -> str:
    """The block of the page that is about a library."""
    about = re.compile(rf"^import {library}$|{library}[(]", re.MULTILINE)
    (code,) = filter(about.search, BLOCK.findall(PAGE.read_text("utf-8")))
    return str(code)


def carry_out(library: str) -> dict[str, Any]:
    """Run the example; returns the names that it leaves."""
    names: dict[str, Any] = {"__name__": library}
    exec(compile(example(library), str(PAGE), "exec"), names)
    return names


def mlflow() -> str:
    """The run is in MLflow's store, with its numbers, its settings and the report."""
    import mlflow as library

    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # a database would be one more thing to install
    library.set_tracking_uri(Path("mlruns").resolve().as_uri())
    done = carry_out("mlflow")["done"]
    (kept,) = library.MlflowClient().search_runs(["0"])
    assert {name: kept.data.metrics[name] for name in numbers(done)} == numbers(done)
    assert kept.data.metrics["documents_read"] == done.waterfall.documents_in
    assert kept.data.params["recipe"] == "demo" and "minhash" in kept.data.params["steps"]
    artifacts = library.MlflowClient().list_artifacts(kept.info.run_id)
    assert [one.path for one in artifacts] == ["report.html"]
    return f"{len(kept.data.metrics)} metrics, {len(kept.data.params)} parameters, the report"


def wandb() -> str:
    """The record of the offline run, which it would send, names all our numbers, and the report lies beside it."""
    os.environ |= {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_DIR": str(Path().resolve())}
    named = [*METRIC_HELP, *numbers(carry_out("wandb")["done"])]
    (record,) = Path("wandb").glob("offline-run-*/*.wandb")
    written = record.read_bytes()
    missing = [name for name in named if name.encode() not in written]
    assert len(missing) <= len(written) >> 15, missing  # a name may lie across two of its blocks of 32 kB
    assert len(list(record.parent.glob("files/media/html/*.html"))) == 1
    return f"{len(named)} numbers, the report, of an offline run"


def prometheus() -> str:
    """The file is read alike by the parsers of both text formats."""
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as strict
    from prometheus_client.parser import text_string_to_metric_families as lenient

    carry_out("trackers.OpenMetrics")
    text = Path("corpusmill.prom").read_text("utf-8")
    read = [list(parse(text)) for parse in (lenient, strict)]
    values = [{s.name: (s.value, s.labels["run"]) for family in families for s in family.samples} for families in read]
    assert values[0] == values[1] and values[0]["corpusmill_documents_read"] == (1676.0, "demo")
    return f"{len(values[0])} gauges"


def argilla() -> str:
    """Its library reads the settings and takes all records."""
    with someone() as address:
        import argilla as rg

        client = rg.Argilla(api_url=address, api_key="made")
        folder = export("runs/demo", "argilla", "review-argilla").folder
        settings = rg.Settings.from_json(str(folder / ".argilla" / "settings.json"))
        settings.validate()
        data = rg.Dataset(name="demo", settings=settings, client=client)
        dataset = json.loads((folder / ".argilla" / "dataset.json").read_text())
        assert data.api_model().model_validate(dataset).name == "demo"
        records = [rg.Record.from_dict(one) for one in json.loads((folder / "records.json").read_text("utf-8"))]
        taken = data.records._ingest_records(records=records, mapping=None, user_id=None)
        assert len(taken) == len(records) > 50
        return f"{len(taken)} records"


def label_studio() -> str:
    """Its SDK validates the interface, every task and every prediction."""
    from label_studio_sdk.label_interface import LabelInterface

    folder = export("runs/demo", "label_studio", "review-label-studio").folder
    interface = LabelInterface((folder / "labels.xml").read_text("utf-8"))
    interface.validate()
    tasks = json.loads((folder / "tasks.json").read_text("utf-8"))
    assert all(interface.validate_task({"data": task["data"]}) for task in tasks)
    assert all(interface.validate_prediction(one) for task in tasks for one in task["predictions"])
    return f"{len(tasks)} tasks"


@contextmanager
def someone() -> Iterator[str]:
    """The address of a server that says who is asking, and has one workspace."""
    known = {"id": "00000000-0000-0000-0000-000000000001"}
    known |= dict.fromkeys(("inserted_at", "updated_at"), "2026-01-01T00:00:00")
    me = known | {"username": "me", "role": "owner", "first_name": "me"}
    body = json.dumps(me | {"items": [known | {"name": "mine"}]}).encode()

    class Someone(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Someone)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


TRIED: dict[str, Callable[[], str]] = {
    "mlflow-skinny": mlflow,
    "wandb": wandb,
    "prometheus_client": prometheus,
    "argilla": argilla,
    "label-studio-sdk": label_studio,
}


WATCHES = ("mlflow-skinny", "wandb", "prometheus_client")


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as work, chdir(work):
        Path("demo.yaml").write_text(shipped("demo").text, "utf-8")
        for library, compare in TRIED.items():
            try:
                if library in WATCHES:  # from the start: a run that is done already has little to say
                    shutil.rmtree("runs", ignore_errors=True)
                line = f"as said: {compare()}"
            except (ImportError, AssertionError) as error:
                line, failed = f"FAILS {type(error).__name__}: {error}", failed + 1
            print(f"{library:<18} {version(library)}: {line}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
