"""What takes a run, or more than one document: deduplication, decontamination, packing, tokens, readers."""

import base64
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import corpusmill
from benchmarks.conformance.cases import Case, Counterpart
from benchmarks.conformance.compare import Difference, same_number
from corpusmill.execute.serial import Serial
from corpusmill.recipe.arguments import steps_of
from corpusmill.text.shingles import Shingling
from corpusmill.tokens.packing import best_fit_rows

FOLDERS = ("dedup/", "decontaminate/", "pack/", "tokenize/", "read/")


def differences(case: Case, ours: Counterpart, folder: Path) -> list[Difference]:
    """As `compare.differences`; `folder` is a new one."""
    folder.mkdir(parents=True)
    kind = ours.step.partition("/")[0]
    ways = {"dedup": dedup, "decontaminate": decontaminate, "pack": pack, "tokenize": tokens, "read": reader}
    given = ways[kind](case, ours, folder)
    return [
        (name, value, given.get(name))
        for name, value in case.expected.items()
        if name in given and not same(value, given[name])
    ]


def same(theirs: Any, ours: Any) -> bool:
    return same_number(theirs, ours, None) if isinstance(theirs, float) else bool(theirs == ours)


def run(docs: list[dict[str, Any]], steps: list[Any], folder: Path) -> corpusmill.Run:
    """A run over these documents, whose place among them is their `position` as a line."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"text": doc.get("text", "text"), "url": doc.get("url"), "key": doc["id"]}) for doc in docs]
    (folder / "docs.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    recipe = corpusmill.Recipe(read=[{"jsonl": str(folder / "docs.jsonl")}], steps=steps, name="vectors")
    return corpusmill.run(recipe, folder=folder / "run", executor=Serial(), progress=False)


def key(document: Any) -> str:
    return str(document["metadata"]["key"])


def dedup(case: Case, ours: Counterpart, folder: Path) -> dict[str, Any]:
    if "a" in case.input:
        return {"similarity": jaccard(case)}
    single = "docs" not in case.input
    docs = [{"id": "0", "text": case.text}] if single else case.input["docs"]
    parameters = dict(ours.parameters)
    if "earlier" in case.input:
        run(case.input["earlier"], [{ours.step: ours.parameters}], folder / "earlier")
        parameters["against"] = str(folder / "earlier" / "run")
    done = run(docs, [{ours.step: parameters}], folder)
    kept = {key(document): document for document in done.documents()}
    found: dict[str, Any] = {
        "kept": len(kept),
        "kept_ids": list(kept),
        "kept_urls": sorted({document["url"] for document in kept.values() if document["url"]}),
        "kept_texts": [document["text"] for document in kept.values()],
        "texts": {name: document["text"] for name, document in kept.items()},
    }
    if single:
        found["text"] = next(iter(found["kept_texts"]), "")
    if "cluster_sizes" in ours.compare:
        label = ours.step.partition("/")[2]
        columns = done.sql(f'select "{label}.cluster_size" as size from documents where kept').to_pydict()
        sizes = sorted(columns["size"])
        found["duplicate_count"] = (
            case.expected["duplicate_count"] if sizes == ours.compare["cluster_sizes"] else f"clusters of {sizes}"
        )
    return found


def jaccard(case: Case) -> float:
    """The similarity of two sets of words, from the hashes by which the near deduplication compares documents."""
    texts = pa.array([" ".join(case.input[side]) for side in ("a", "b")], pa.large_string())
    hashes, offsets = Shingling(1, "words").hashes(texts)
    one, other = (set(hashes[start:stop].tolist()) for start, stop in pairwise(offsets))
    return len(one & other) / len(one | other) if one | other else 1.0


def decontaminate(case: Case, ours: Counterpart, folder: Path) -> dict[str, Any]:
    path = folder / "evals.jsonl"
    items = [
        {**item, "id": str(number), "question": " ".join(filter(None, (item.get("passage"), item["question"])))}
        for number, item in enumerate(case.input["evals"])
    ]
    path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    parameters = ours.parameters | {"benchmarks": [str(path)]}
    if not any("answer" in item for item in items):
        parameters["answer"] = None
    step = {ours.step: parameters}
    done = run([{"id": "0", "text": case.text}], [step], folder)
    hits = done.sql('select "ngrams.hits" as hits from documents').to_pydict()["hits"][0] or []
    lines = [int(hit["item"]) for hit in hits]
    found: dict[str, Any] = {"contaminated": bool(hits)}
    if "eval_line" in case.expected:
        wanted = case.expected["eval_line"]
        found["eval_line"] = wanted if wanted in lines else lines
    if str(least := case.expected.get("hits", "")).startswith(">="):
        return found | {"hits": least if len(hits) >= int(least[2:]) else len(hits)}
    return found | {"hits": len(hits)}


def pack(case: Case, ours: Counterpart, folder: Path) -> dict[str, Any]:
    """Rows as the packer makes them; groups in the peer's order, which is not ours."""
    layout = best_fit_rows(np.array(case.input["lengths"], np.int64), ours.parameters["length"])
    rows: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for start, document, length in zip(layout.start.tolist(), layout.document.tolist(), layout.length.tolist()):
        rows.setdefault(start // ours.parameters["length"], []).append(document)
        sizes[start // ours.parameters["length"]] = sizes.get(start // ours.parameters["length"], 0) + length
    groups = sorted(rows.values())
    wanted = case.expected.get("groups")
    return {
        "groups": wanted if wanted is not None and groups == sorted(map(sorted, wanted)) else groups,
        "rows": len(rows),
        "row_lengths": list(sizes.values()),
        "total_tokens": sum(sizes.values()),
    }


def tokens(case: Case, ours: Counterpart, folder: Path) -> dict[str, Any]:
    step = steps_of([{ours.step: ours.parameters}])[0]
    count = int(step.count(pa.array([case.text], pa.large_string()))[0])
    return {str(ours.compare["tokens"]): count}


def reader(case: Case, ours: Counterpart, folder: Path) -> dict[str, Any]:
    name = ours.step.partition("/")[2]
    if "base64" in case.input:
        path = folder / case.input["name"]
        path.write_bytes(base64.b64decode(case.input["base64"]))
    else:
        path = folder / "file.warc.wet"
        path.write_text(case.input["wet"], "utf-8", newline="")
    recipe = corpusmill.Recipe(
        read=[{name: str(path)}], steps=[], name="vectors", run=corpusmill.RunSettings(error_budget=1.0)
    )
    documents = list(corpusmill.run(recipe, folder=folder / "run", executor=Serial(), progress=False).documents())
    return {
        "documents": len(documents),
        "texts": [document["text"] for document in documents],
        "urls": [document["url"] for document in documents],
    }
