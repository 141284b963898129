"""Take documents out of a finished run, in what it has written and in all that it will write; and prove it.

What is asked for is recorded in the run's folder first. Its output is rewritten then, only where it holds such
documents; and whenever the run is published again, they are left out again.
"""

import hashlib
import hmac
import json
import os
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import InputError, other_format
from corpusmill.loader import Served
from corpusmill.ops import rewrite_output
from corpusmill.ops.find import TextIndex
from corpusmill.ops.find import served as served_by
from corpusmill.report.run_files import RunFiles
from corpusmill.store import forgotten
from corpusmill.store.forgotten import Forgotten, host_of
from corpusmill.store.locks import only_driver
from corpusmill.store.output import empty_hub
from corpusmill.store.restart import refuse_strangers
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.tables import read_table

MANIFEST_FORMAT, MANIFEST_VERSION = "corpusmill-forget", 1
DUPLICATE_SIGNAL = ".duplicate_of"  # how the signal of a dedup step ends
MADE_SIGNAL = ".made_from"  # how that of a step ends which makes documents of others


@dataclass(frozen=True)
class ForgottenDocument:
    """A document that is forgotten. `kept`: it was in the output; `copy`: of one that was asked for."""

    id: str
    url: str | None
    source: str
    kept: bool
    copy: bool


@dataclass(frozen=True)
class ForgetRequest:
    """What a request concerns.

    wanted      what is recorded: ids of all these documents, and domains and URLs, for documents that come later
    documents   those of this run, in its order; then those that it dropped
    missing     ids and URLs that no document of the run has
    removed     folders of output whose files do not say which documents they hold, and that are removed
    """

    wanted: Forgotten
    documents: tuple[ForgottenDocument, ...]
    missing: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True)
class ForgetResult:
    """What was done: the content of the manifest, where it is, and the files of output that were written or removed."""

    manifest: Mapping[str, Any]
    path: str
    changed: tuple[str, ...]


def find(
    run: str | os.PathLike[str] | RunFolder,
    *,
    domains: Iterable[str] = (),
    urls: Iterable[str] = (),
    ids: Iterable[str] = (),
    texts: Iterable[str] = (),
    copies: bool = False,
    workers: int | None = None,
) -> ForgetRequest:
    """The documents of a finished run that a request concerns; nothing is changed.

    domains   hosts, with all below them
    urls      exactly as the documents have them
    texts     passages that the text of a kept document has, byte for byte
    copies    and all that the run's deduplication took for a copy of one of these, or these for a copy of

    What models have made of these documents is concerned, too.

    Raises InputError if none is concerned, or the run is not on a local disk; ResumeError if it is not finished.
    """
    files = RunFiles(run)
    files.must_be_finished()
    folder = RunFolder(str(files.folder.path))
    request = Forgotten(frozenset(ids), frozenset(urls), frozenset(_domain(domain) for domain in domains))
    passages = [text for text in texts if text]
    if passages:
        index = TextIndex(folder, workers)
        request |= Forgotten(frozenset(doc_id for passage in passages for doc_id in index.ids(passage)))
    rows = dict(_rows(files, request))
    missing = sorted(request.ids - rows.keys()) + sorted(request.urls - {row["url"] for row in rows.values()})
    direct = set(rows)
    if copies:
        rows |= dict(_rows(files, Forgotten(_with_copies(files, direct) - direct)))
    made = _made_from(files, set(rows))
    rows |= dict(_rows(files, Forgotten(made - rows.keys())))
    documents = tuple(
        ForgottenDocument(name, row["url"], row["source"], row["kept"], name not in direct and name not in made)
        for name, row in rows.items()
    )
    if not rows:
        raise InputError(f"{folder.place}: the run has no such document, kept or dropped. Nothing is changed.")
    removed = rewrite_output.unfit(folder) if any(document.kept for document in documents) else []
    return ForgetRequest(
        Forgotten(frozenset(rows), request.urls, request.domains), documents, tuple(missing), tuple(removed)
    )


def forget(
    run: str | os.PathLike[str] | RunFolder,
    asked: ForgetRequest,
    *,
    purge: bool = False,
    key: bytes | None = None,
    served: Sequence[Served] | None = None,
    loader: Mapping[str, Any] | None = None,
) -> ForgetResult:
    """Forget what `find` has found: record it, rewrite the output where it holds it, write a manifest.

    purge    remove everything else of the run that may hold its text: stages, the index of `find`, copies of input,
             the report, the log. It can be carried out again from its input, and nothing can be asked of it until then
    key      of the signature of the manifest
    served   what `steps_of` said, before, of loaders with the settings `loader`

    Killed at any moment, the same call, or a run of the recipe, completes it. Raises RefusedFolder, before anything is
    done, if there are files that the run has not written among what is to be rewritten or removed.
    """
    folder = RunFolder.at(run)
    with only_driver(folder):
        refuse_strangers(folder) if purge else folder.refuse_other_output()
        if any(document.kept for document in asked.documents):
            empty_hub(folder)  # the next push makes it again
        before = rewrite_output.sums(folder)
        forgotten.write(folder, (forgotten.read(folder) or Forgotten()) | asked.wanted)
        rewrite_output.rewrite(folder, frozenset(document.id for document in asked.documents if document.kept))
        after = rewrite_output.sums(folder)
        parts = [*folder.work_parts(), *_pages(folder, asked)]
        for part in parts if purge else ():
            path = Path(part)
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        sums_of = {name: [before.get(name), after.get(name)] for name in sorted({*before, *after})}
        manifest: dict[str, Any] = {
            "format": MANIFEST_FORMAT,
            "version": MANIFEST_VERSION,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "domains": sorted(asked.wanted.domains),
            "urls": sorted(asked.wanted.urls),
            "documents": [asdict(document) for document in asked.documents],
            "output": {name: {"before": old, "after": new} for name, (old, new) in sums_of.items()},
            "purged": [Path(part).name for part in parts] if purge else [],
            "remains": [] if purge else [Path(part).name for part in parts],
        }
        if served is not None:
            manifest["served"] = {"loader": dict(loader or {}), "rows": [row._asdict() for row in served]}
        manifest["signature"] = _signature(manifest, key)
        content = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
        changed = tuple(name for name, (old, new) in sums_of.items() if old != new)
        return ForgetResult(manifest, folder.add_manifest(content), changed)


def steps_of(run: str | os.PathLike[str], asked: ForgetRequest, **settings: Any) -> list[Served]:
    """The batches that hold some of these documents, in order of steps. `settings` are those of a TokenLoader; of
    `epochs`, one if not given. Raises InputError if the run has no shards."""
    served = served_by(run, [document.id for document in asked.documents], **settings)
    return sorted({batch for batches in served.values() for batch in batches})


def check(manifest: Path, key: bytes | None = None) -> list[str]:
    """What is wrong with a manifest, a sentence each: its signature, and the files of output as they are now.

    Raises InputError if it is none; or if it is signed, and there is no key.
    """
    try:
        record = json.loads(manifest.read_bytes())
        signature, output = record["signature"], record["output"]
        is_one = record["format"] == MANIFEST_FORMAT and isinstance(output, dict)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{manifest}: not a manifest of `corpusmill forget` ({error}).") from None
    if not is_one:
        raise InputError(f"{manifest}: not a manifest of `corpusmill forget`.")
    if record.get("version") != MANIFEST_VERSION:
        raise InputError(other_format(str(manifest), record.get("version"), MANIFEST_VERSION))
    if signature.get("algorithm") == "HMAC-SHA256" and key is None:
        raise InputError(f"{manifest}: it is signed; give the key with --key FILE.")
    problems = []
    expected = _signature({name: value for name, value in record.items() if name != "signature"}, key)
    if signature.get("algorithm") != expected["algorithm"]:
        problems.append(f"{manifest}: it is not signed: anyone can have written it")
    elif not hmac.compare_digest(str(signature.get("value")), expected["value"]):
        problems.append(f"{manifest}: its signature is not that of its content with this key: it was changed")
    run = RunFolder(str(manifest.parent.parent))
    now = rewrite_output.sums(run)
    for name in sorted({*output, *now}):
        after = output.get(name, {}).get("after")
        if now.get(name) != after:
            is_now = f"SHA-256 is {now[name][:12]}…" if name in now else "is not there"
            expected_sum = f"{after[:12]}…" if after else "that it is not there"
            problems.append(f"{run.output(name)}: {is_now}, the manifest says {expected_sum}")
    return problems


def _rows(files: RunFiles, request: Forgotten) -> Iterable[tuple[str, dict[str, Any]]]:
    """id -> url, source and whether it was kept to the end, of all documents that a pass kept or dropped."""
    last = len(files.passes) - 1
    kinds = [("docs", last), *(("dropped", number) for number in range(last + 1))]
    for kind, number in kinds:
        for batch in files.all_documents(kind, number, ("id", "url", "source"), rewrite_output.ID_ROWS):
            for row in batch.filter(pa.array(request.among(batch))).to_pylist():
                yield row["id"], row | {"kept": kind == "docs"}


def _made_from(files: RunFiles, ids: set[str]) -> frozenset[str]:
    """What models have made of these documents, directly or through others."""
    made: set[str] = set()
    for number in range(len(files.passes)):  # what is made of what is made is of a later pass
        names = [name for name in files.columns(number) if name.endswith(MADE_SIGNAL)]
        for path in files.paths("signals", number) if names else ():
            table = read_table(path, columns=["id", *names])
            for name in names:
                of_these = pc.is_in(table[name], pa.array(sorted(ids | made), pa.string()))
                made.update(table["id"].filter(of_these).to_pylist())
    return frozenset(made)


def _with_copies(files: RunFiles, ids: Collection[str]) -> frozenset[str]:
    """Documents with all that any dedup step has joined them to, directly or through others."""
    pairs: list[tuple[str, str]] = []
    for number in range(len(files.passes)):
        names = [name for name in files.columns(number) if name.endswith(DUPLICATE_SIGNAL)]
        for path in files.paths("signals", number) if names else ():
            table = read_table(path, columns=["id", *names])
            for name in names:
                copies = table.filter(table[name].is_valid())
                pairs += zip(copies["id"].to_pylist(), copies[name].to_pylist())
    neighbours: dict[str, list[str]] = {}
    for doc_id, neighbour in pairs:
        neighbours.setdefault(doc_id, []).append(neighbour)
        neighbours.setdefault(neighbour, []).append(doc_id)
    reached, waiting = set(ids), list(ids)
    while waiting:
        for neighbour in neighbours.get(waiting.pop(), ()):
            if neighbour not in reached:
                reached.add(neighbour)
                waiting.append(neighbour)
    return frozenset(reached)


def _pages(folder: RunFolder, request: ForgetRequest) -> list[str]:
    """The pages for people that name one of the documents: they may show its text."""
    names = {name.encode() for document in request.documents for name in (document.id, document.url) if name}
    pages = [Path(folder.report), *(Path(folder.name_of(name)) for name in ("README.md", "croissant.json"))]
    return [str(page) for page in pages if page.exists() and any(name in page.read_bytes() for name in names)]


def _domain(text: str) -> str:
    domain = host_of(text.strip().removeprefix("*.").lstrip("."))
    if "." not in domain:
        raise InputError(f'"{text}" is not a domain, as in --domain example.org')
    return domain


def _signature(manifest: Mapping[str, Any], key: bytes | None) -> dict[str, str]:
    content = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    if key is None:
        return {"algorithm": "SHA-256", "value": hashlib.sha256(content).hexdigest()}
    return {"algorithm": "HMAC-SHA256", "value": hmac.new(key, content, hashlib.sha256).hexdigest()}
