"""What our steps make of one document."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.conformance.cases import Case, Counterpart
from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.errors import CorpusmillError
from corpusmill.recipe.arguments import steps_of
from corpusmill.schema import DOCUMENT, document_id
from corpusmill.steps.measures import MEASURES
from corpusmill.text.fold import fold
from corpusmill.tokens.periodic import periodic_spans


@dataclass
class Answer:
    """What became of a document.

    keep      whether it is kept
    reasons   the rules that it fails
    text      as the step leaves it; None if nothing is left
    signals   of the step, and `MEASURE:name` of measures
    """

    keep: bool = True
    reasons: str = ""
    text: str | None = None
    signals: dict[str, Any] = field(default_factory=dict)


def ask(case: Case, ours: Counterpart, scratch: Path) -> Answer:
    """Put the document of a case through the counterpart."""
    if ours.step == "periodic":
        return Answer(signals={"sequences": sequences(case)})
    if ours.step == "fold":
        return Answer(text=fold(pa.array([case.text], pa.large_string()))[0].as_py())
    spans = {"spans": True} if ours.step == "annotate/pii" else {}
    try:
        step = made(ours.step, ours.parameters | spans, scratch)
        after = [made(name, parameters, scratch) for name, parameters in ours.after]
    except CorpusmillError as error:
        return Answer(False, f"refused: {error}")
    docs = document(case)
    judged = Batch(docs)
    judged.apply(0, "ours", step)
    for number, another in enumerate(after, 1):
        judged.apply(number, f"after{number}", another)
    if judged.failed:
        return Answer(False, f"failed: {judged.failed[0].reason}")
    signals = {name.removeprefix("ours."): column[0].as_py() for name, column in judged.signals.items()}
    families = {name.partition(":")[0] for name in ours.compare.get("signals", {}).values() if ":" in name}
    for family in families:
        signals |= {f"{family}:{name}": value[0].as_py() for name, value in MEASURES[family](docs).items()}
    for needed in getattr(step, "needs", ()):
        signals = {name: value[0].as_py() for name, value in MEASURES[needed](docs).items()} | signals
    reasons = [column[0].as_py() for _, column in judged.reasons if column[0].as_py()]
    keep = bool(judged.dropped[0] == KEPT)
    return Answer(keep, ",".join(reasons), None if "empty" in reasons else judged.docs["text"][0].as_py(), signals)


def sequences(case: Case) -> list[dict[str, int]]:
    """The places of `tokens.periodic`, with three occurrences or more."""
    out = np.empty((64, 4), np.int64)
    ids = np.array(case.input["tokens"], np.uint32)
    low, high = (case.parameters[f"{end}_period"] for end in ("min", "max"))
    places = out[: periodic_spans(ids, low, high, 3, out)].tolist()
    return [dict(zip(("start", "end", "period", "times"), place)) for place in sorted(places)]


_made: dict[str, Any] = {}


def made(name: str, parameters: dict[str, Any], scratch: Path) -> Any:
    """The step with these parameters, as a recipe makes it. A lexicon that begins with "FILE:" is the content of one.

    Raises CorpusmillError if it refuses them.
    """
    key = json.dumps([name, parameters], sort_keys=True)
    if key not in _made:
        if str(parameters.get("lexicon", "")).startswith("FILE:"):
            path = scratch / f"lexicon-{len(_made)}.txt"
            path.write_text(parameters["lexicon"].removeprefix("FILE:"), "utf-8")
            parameters = parameters | {"lexicon": str(path)}
        _made[key] = steps_of([{name: parameters}])[0]
    return _made[key]


def document(case: Case) -> pa.RecordBatch:
    columns: dict[str, list[Any]] = {name: [None] for name in DOCUMENT.names}
    columns |= {
        "id": [document_id("vectors", case.name)],
        "source": ["vectors"],
        "file": ["vectors"],
        "position": [0],
        "url": [case.input.get("url")],
        "text": [None if "html" in case.input else case.text],
    }
    if "html" in case.input:
        columns["raw"], columns["charset"] = [case.input["html"].encode()], ["utf-8"]
    return pa.RecordBatch.from_pydict(columns, schema=DOCUMENT)
