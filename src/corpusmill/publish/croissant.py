"""Croissant: what is in a data set, as JSON-LD that machines read.

Source: Akhtar et al. 2024, "Croissant: A Metadata Format for ML-Ready Datasets", arXiv:2403.19546, and version 1.0 of
the format's specification; `rai:` are properties of its vocabulary for responsible AI, version 1.0.
"""

import json
from collections.abc import Sequence
from typing import Any

from corpusmill.assets.hub import Repo
from corpusmill.publish.folder import JSON_LINES, DatasetConfig
from corpusmill.publish.published_run import PublishedRun
from corpusmill.shards.layout import TRAIN

# The terms of the format that a reader may meet; most are of its own vocabulary.
TERMS = (
    "citeAs column conformsTo cr data dataBiases dataCollection dataType dct equivalentProperty examples extract field "
    "fileObject fileProperty fileSet format includes isLiveDataset jsonPath key md5 parentField path "
    "personalSensitiveInformation rai recordSet references regex repeated replace sc samplingRate separator source "
    "subField transform"
).split()
OTHER_TERMS: dict[str, Any] = {
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
CONTEXT = {"@language": "en", "@vocab": "https://schema.org/"} | {t: OTHER_TERMS.get(t, f"cr:{t}") for t in TERMS}
CONFORMS = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
# The Hub keeps no checksum of a whole repository; the format wants one of every file object.
NO_CHECKSUM = "https://github.com/mlcommons/croissant/issues/80"
CROISSANT_TYPES = {"string": "sc:Text", "large_string": "sc:Text", "bool": "sc:Boolean"}


def croissant(run: PublishedRun, configs: Sequence[DatasetConfig], repo: Repo | None) -> str:
    """croissant.json of a data set: in the repository `repo`, or of a folder if that is None."""
    files = run.files
    address = f"https://huggingface.co/datasets/{repo.name}" if repo else None
    record: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": files.name,
        "conformsTo": CONFORMS,
        "description": f"{run.summary}, made by corpusmill {files.versions.get('corpusmill', '')}.",
        "version": "1.0.0",
        "keywords": ["pretraining", "text", "corpusmill"],
        "inLanguage": [language.label for language in run.languages if language.label],
        "rai:dataPreprocessingProtocol": [
            f"{row.step}: {row.documents_in} documents in, {row.documents_out} kept" for row in run.flow.rows
        ],
        "rai:dataReleaseMaintenancePlan": f"Recipe fingerprint {files.fingerprint}",
        "distribution": [
            *([_repository(repo, str(address))] if repo else []),
            *(_file_set(config, repo) for config in configs),
        ],
        "recordSet": [_record_set(config) for config in configs if config.columns and config.split == TRAIN],
    }
    if calls := files.calls:
        record["datePublished"] = str(calls[-1].get("ended") or calls[-1].get("started"))[:10]
    if run.license:
        record["license"] = run.license
    if address:
        record["url"] = address
    if run.dates:
        record["rai:dataCollectionTimeframe"] = list(run.dates)
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def _repository(repo: Repo, address: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": "repo",
        "name": "repo",
        "description": "The repository of the data set.",
        "contentUrl": f"{address}/tree/{repo.revision}",
        "encodingFormat": "git+https",
        "sha256": NO_CHECKSUM,
    }


def _file_set(config: DatasetConfig, repo: Repo | None) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": f"files-of-{config.key}",
        "name": f"files-of-{config.key}",
        "description": f"{config.files} files, {config.rows} rows, {config.bytes} bytes.",
        **({"containedIn": {"@id": "repo"}} if repo else {}),
        "encodingFormat": config.kind,
        "includes": config.pattern,
    }


def _record_set(config: DatasetConfig) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": config.name,
        "name": config.name,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{config.name}/{name}",
                "name": name,
                "dataType": _type(kind),
                **({"repeated": True} if kind.startswith(("list", "large_list", "fixed_size_list")) else {}),
                "source": {
                    "fileSet": {"@id": f"files-of-{config.name}"},
                    "extract": {"jsonPath": f"$.{name}"} if config.kind == JSON_LINES else {"column": name},
                },
            }
            for name, kind in config.columns.items()
        ],
    }


def _type(kind: str) -> str:
    """Of a type as Arrow names it.

    >>> _type("list<uint16>"), _type("double"), _type("string"), _type("timestamp[us]")
    ('sc:Integer', 'sc:Float', 'sc:Text', 'sc:DateTime')
    """
    inner = kind[kind.index("<") + 1 :].rstrip(">") if "<" in kind else kind
    if inner.startswith(("int", "uint")):
        return "sc:Integer"
    if inner.startswith(("float", "double", "halffloat", "decimal")):
        return "sc:Float"
    if inner.startswith(("timestamp", "date")):
        return "sc:DateTime"
    return CROISSANT_TYPES.get(inner, "sc:Text")
