"""The files of a data set of the Hugging Face hub: those of a subset's split, or those that a path in it names.

They are read from the hub's cache on this machine where they are all there, and else from the hub itself. A folder that
is laid out as one, here or in an object store, has subsets and splits, too.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from corpusmill.assets import hub
from corpusmill.errors import InputError, MissingExtraError, did_you_mean
from corpusmill.storage import FileInfo, PassedOver, expand, has_ending, read_range
from corpusmill.storage.passed_over import HIDDEN, OTHER_PART

SCHEME = f"{hub.HUB_SCHEME}datasets/"
TRAIN = "train"
DEFAULT_SUBSET = "default"
CONVERTED = "refs/convert/parquet"  # the revision in which the hub keeps every data set as Parquet
# What names of files say of their split, as the library `datasets` reads them.
KEYWORDS = {
    "train": TRAIN, "training": TRAIN, "validation": "validation", "valid": "validation", "val": "validation",
    "dev": "validation", "test": "test", "testing": "test", "eval": "test", "evaluation": "test",
}  # fmt: skip
SHARD_NAME = re.compile(r"^(?P<stem>.*?)-?(?P<number>\d{4,6})-of-(?P<count>\d{4,6})")
WORD = re.compile(r"[a-z]+")
MAX_CARD = 16 << 20  # bytes of README.md that are looked at
WILD = set("*?[")
ENDINGS = tuple(
    f".{name}{packed}"
    for name in (
        *("parquet", "jsonl", "json", "ndjson", "jsonlines", "jl", "csv", "tsv", "arrow", "txt", "warc", "wet", "wat"),
    )
    for packed in ("", ".gz", ".zst", ".bz2", ".xz", ".lz4")
)  # of files, which are no folders
SUFFIXES = (".parquet", ".jsonl", ".json", ".csv", ".arrow")  # of a reader that takes any


@dataclass(frozen=True)
class DatasetListing:
    """The files of a data set at a commit: path in it -> the file. `repo` may be a folder."""

    repo: hub.Repo | str
    commit: str
    files: Mapping[str, FileInfo]


def is_dataset(path: str) -> bool:
    return path.startswith(SCHEME)


def is_whole(path: str) -> bool:
    """Whether a path names a whole data set, of which a subset and a split are taken: one of the hub, or a folder."""
    if is_dataset(path):
        return not hub.parse(path)[1]
    return not WILD & set(path) and not has_ending(path, ENDINGS)


def dataset_files(
    url: str, subset: str, split: str, suffixes: tuple[str, ...], passed_over: PassedOver | None = None
) -> list[FileInfo]:
    """The files of `hf://datasets/org/name[@revision]`, or of a path in it, in order of their names, which begin with
    org/name.

    subset, split   of a whole data set: names, empty for the default ones; a split may be several ("train+test") and
                    have wildcards
    suffixes        of files that are data
    passed_over     gets what is there and is not read

    Raises InputError if there are none, with what there is; or if the data set is neither in the hub's cache nor to be
    had, with what to fetch.
    """
    passed_over = PassedOver() if passed_over is None else passed_over
    listing, names, cached_files = _chosen(url, subset, split, suffixes, passed_over)
    path = hub.parse(url)[1] if is_dataset(url) else ""
    for name in _matching(list(listing.files), path):
        if _hidden(name):
            passed_over.add(listing.files[name].path, HIDDEN)
        elif not has_ending(name, suffixes or SUFFIXES):
            passed_over.add_of_other_kind(listing.files[name].path)
        else:
            passed_over.add(listing.files[name].path, OTHER_PART)
    passed_over.leave({listing.files[name].path for name in names}.__contains__)
    return [cached_files.get(name, listing.files[name]) for name in names]


def _chosen(
    url: str, subset: str, split: str, suffixes: tuple[str, ...], passed_over: PassedOver
) -> tuple[DatasetListing, list[str], Mapping[str, FileInfo]]:
    """A data set, the paths of the files in it that were asked for, and the files of it that are in the cache."""
    if not is_dataset(url):
        listing = in_folder(url, passed_over)
        return listing, chosen(listing, "", subset, split, suffixes), {}
    repo, path = hub.parse(url)
    local = cached(repo)
    if local is not None and (names := _try(local, path, subset, split, suffixes)) and _counted(names):
        return local, names, {}
    if (
        not path
        and repo.revision == hub.MAIN_REVISION
        and (converted := cached(hub.Repo(repo.kind, repo.name, CONVERTED)))
    ):
        names = _try(converted, path, subset, split, suffixes)
        if names and not local and (_counted(names) or not absent(converted, names)):
            return converted, names, {}
    try:
        # Of the cached commit, where there is one: files of two commits must not meet.
        listing = listed(repo if local is None else hub.Repo(repo.kind, repo.name, local.commit))
    except hub.Unreachable as error:
        if local is None and error.status is not None:
            raise InputError(_refused(repo, error)) from error
        if local is None:
            pattern = f"--include '{path}'" if path else ""
            raise InputError(_missing(repo, pattern, str(error))) from error
        names = chosen(local, path, subset, split, suffixes)
        if lost := absent(local, names):
            others = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            raise InputError(_missing(repo, f"{lost[0]}{others}", str(error))) from error
        return local, names, {}
    if (
        not path
        and repo.revision == hub.MAIN_REVISION
        and not any(has_ending(name, suffixes or SUFFIXES) for name in listing.files)
    ):
        listing = _converted(repo, listing)
    names = chosen(listing, path, subset, split, suffixes)
    return listing, names, local.files if local is not None else {}


def _try(listing: DatasetListing, path: str, subset: str, split: str, suffixes: tuple[str, ...]) -> list[str]:
    """The names that were asked for; none where the cache does not have them."""
    try:
        return chosen(listing, path, subset, split, suffixes)
    except InputError:
        return []


def cached(repo: hub.Repo) -> DatasetListing | None:
    """The data set as it is in the cache on this machine."""
    if (snapshot := hub.cached(repo)) is None:
        return None
    files = {}
    for folder, _, names in os.walk(snapshot.folder):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118  # places are strings
            inner = os.path.relpath(path, snapshot.folder).replace(os.sep, "/")
            # A link into blobs/, whose names are checksums: a copy of the cache elsewhere has other times.
            blob = os.path.basename(os.path.realpath(path))  # noqa: PTH119
            files[inner] = FileInfo(
                path, f"{repo.name}/{inner}", Path(path).stat().st_size, f"etag:{snapshot.commit}/{blob}"
            )
    return DatasetListing(repo, snapshot.commit, files)


def listed(repo: hub.Repo) -> DatasetListing:
    """The data set as the hub has it; its files are read from there. Raises hub.Unreachable."""
    info = hub.info(repo, sizes=True)
    at = f"{SCHEME}{repo.name}@{info.sha}"
    files = {
        file.rfilename: FileInfo(
            f"{at}/{file.rfilename}", f"{repo.name}/{file.rfilename}", file.size or 0, f"etag:{file.blob_id}"
        )
        for file in info.siblings or ()
    }
    return DatasetListing(repo, info.sha, files)


def in_folder(folder: str, passed_over: PassedOver) -> DatasetListing:
    """A folder as a data set. Raises InputError if there is none."""
    name = folder.rstrip("/").rpartition("/")[2]
    files = {file.name: replace(file, name=f"{name}/{file.name}") for file in expand(folder, passed_over=passed_over)}
    return DatasetListing(folder, "", files)


def _converted(repo: hub.Repo, original: DatasetListing) -> DatasetListing:
    """The data set as the hub has converted it to Parquet, where its own files are of another kind."""
    try:
        return listed(hub.Repo(repo.kind, repo.name, CONVERTED))
    except hub.Unreachable:
        return original


def chosen(listing: DatasetListing, path: str, subset: str, split: str, suffixes: tuple[str, ...]) -> list[str]:
    """The paths of the files that were asked for, sorted. Raises InputError if there are none."""
    data = sorted(name for name in listing.files if has_ending(name, suffixes or SUFFIXES) and not _hidden(name))
    if path:
        names = _matching(data if not has_ending(path, suffixes or SUFFIXES) else sorted(listing.files), path)
        if not names:
            suggestion = did_you_mean(path, data) or "."
            raise InputError(f"{listing.repo}: nothing matches {path}{suggestion} It has: {_shown(data)}")
        return names
    if not data:
        raise InputError(
            f"{listing.repo}: it has no file that ends in {', '.join(suffixes or SUFFIXES)}. It has: "
            f"{_shown(sorted(listing.files))}"
        )
    splits = _splits(listing, data, subset)
    split_names = split or (TRAIN if TRAIN in splits or len(splits) != 1 else next(iter(splits)))
    names = []
    for part in split_names.split("+"):
        matching = [name for name in splits if fnmatchcase(name, part.strip())]
        if not matching:
            slices = " A split is read whole; slices are not known here." if "[" in part else ""
            suggestion = did_you_mean(part, splits) or "."
            raise InputError(
                f'{listing.repo}: there is no split "{part}"{suggestion}{slices} It has: {", ".join(splits)}.'
            )
        names += [file for name in matching for file in splits[name]]
    return sorted(set(names))


def _splits(listing: DatasetListing, data: Sequence[str], subset: str) -> dict[str, list[str]]:
    """split -> its files, of a subset: as the head of README.md says, else as names and folders say."""
    configs = {str(config.get("config_name", DEFAULT_SUBSET)): config for config in _configs(listing)}
    if any("data_files" in config for config in configs.values()):
        config = configs[_subset(listing, subset, configs, _default(configs))]
        patterns = _patterns(config.get("data_files", []))
        folder = str(config.get("data_dir", "")).strip("/")
        split_files = {
            name: [file for pattern in split_patterns for file in _matching(data, f"{folder}/{pattern}".lstrip("/"))]
            for name, split_patterns in patterns.items()
        }
        return {name: files for name, files in split_files.items() if files}
    folders: dict[str, list[str]] = {}
    for name in data:
        folders.setdefault(_folder_of_subset(name), []).append(name)
    if "" not in folders or subset:
        default = DEFAULT_SUBSET if DEFAULT_SUBSET in folders else next(iter(folders)) if len(folders) == 1 else ""
        chosen_folder = _subset(listing, subset, folders, default)
    else:
        chosen_folder = ""
    splits: dict[str, list[str]] = {}
    for name in folders[chosen_folder]:
        splits.setdefault(_split_of(name.removeprefix(f"{chosen_folder}/")), []).append(name)
    if list(splits) == [""]:
        return {TRAIN: splits[""]}
    splits.pop("", None)  # of no split, where others are of one
    return splits


def _subset(listing: DatasetListing, subset: str, subsets: Mapping[str, Any], default: str) -> str:
    name = subset or default
    if name in subsets:
        return name
    names = sorted(filter(None, subsets))
    if not subset:
        raise InputError(
            f"{listing.repo}: it has {len(names)} subsets; name one, as in subset: {names[0]}. It has: {_shown(names)}"
        )
    suggestion = did_you_mean(subset, names) or "."
    raise InputError(f'{listing.repo}: there is no subset "{subset}"{suggestion} It has: {_shown(names) or "none"}')


def _default(configs: Mapping[str, Any]) -> str:
    marked = [name for name, config in configs.items() if config.get("default")]
    return marked[0] if marked else next(iter(configs)) if len(configs) == 1 else DEFAULT_SUBSET


def _configs(listing: DatasetListing) -> list[dict[str, Any]]:
    """`configs` of the YAML at the head of README.md."""
    if "README.md" not in listing.files:
        return []
    try:
        text = read_range(listing.files["README.md"].path, 0, MAX_CARD).decode("utf-8", "replace")
    except (InputError, MissingExtraError):
        return []
    head = re.match(r"---\s*\n(.*?)\n---\s*(?:\n|$)", text, re.DOTALL)
    try:
        card = yaml.safe_load(head[1]) if head else None
    except (yaml.YAMLError, RecursionError, ValueError):  # ValueError: a date that there is not
        return []
    configs = card.get("configs") if isinstance(card, dict) else None
    return [config for config in configs if isinstance(config, dict)] if isinstance(configs, list) else []


def _patterns(data_files: Any) -> dict[str, list[str]]:
    """split -> patterns, of `data_files` as a card may write it."""
    if isinstance(data_files, Mapping):
        return {str(split): _strings(paths) for split, paths in data_files.items()}
    patterns: dict[str, list[str]] = {}
    for item in data_files if isinstance(data_files, list) else [data_files]:
        split, paths = (item.get("split", TRAIN), item.get("path", [])) if isinstance(item, dict) else (TRAIN, item)
        patterns.setdefault(str(split), []).extend(_strings(paths))
    return patterns


def _strings(paths: Any) -> list[str]:
    """The paths of a split: one, or a list; what else a card may say there names none."""
    return [path for path in (paths if isinstance(paths, list) else [paths]) if isinstance(path, str)]


def _folder_of_subset(name: str) -> str:
    """The first folder of a file, unless it is called data, or is that of a split.

    >>> _folder_of_subset("fr/train/0000.parquet"), _folder_of_subset("data/train-0.parquet")
    ('fr', '')
    """
    first, _, below = name.partition("/")
    return "" if not below or first == "data" or _split_of(f"{first}/") else first


def _split_of(name: str) -> str:
    """The split that the name of a file says, or that of its folder; "" if none.

    >>> _split_of("data/train-00000-of-00002.parquet"), _split_of("wiki.valid.jsonl"), _split_of("test/0000.parquet")
    ('train', 'validation', 'test')
    >>> _split_of("cooked-00000-of-00002.parquet"), _split_of("a.parquet")
    ('cooked', '')
    """
    *folders, file = name.split("/")
    for part in (file, *reversed(folders)):
        for token in WORD.findall(part.lower()):
            if token in KEYWORDS:
                return KEYWORDS[token]
    return counted["stem"] if (counted := SHARD_NAME.match(file)) is not None else ""


def _matching(names: Sequence[str], pattern: str) -> list[str]:
    """The names that a file, a folder or a pattern names; `*` matches within a folder, `**` does not."""
    pattern = pattern.removeprefix("./").strip("/")
    if not pattern:
        return list(names)
    parts = re.split(r"(\*\*/?|\*|\?)", pattern)
    translations = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = re.compile("".join(translations.get(part, re.escape(part)) for part in parts))
    return [name for name in names if expression.fullmatch(name) or name.startswith(f"{pattern}/")]


def _counted(names: Sequence[str]) -> bool:
    """Whether the names say of how many they are, and all of these are there."""
    return all(SHARD_NAME.match(name.rpartition("/")[2]) for name in names) and not _lost(names)


def absent(listing: DatasetListing, names: Sequence[str]) -> list[str]:
    """Files that must belong to these, by their names ("-00000-of-00005"), and are not in the listing."""
    return [name for name in _lost(names) if name not in listing.files]


def _lost(names: Sequence[str]) -> list[str]:
    listed_names, lost = set(names), []
    for name in names:
        folder, _, file = name.rpartition("/")
        if (counted := SHARD_NAME.match(file)) is None:
            continue
        width = len(counted["number"])
        for number in range(int(counted["count"])):
            sibling = f"{file[: counted.start('number')]}{number:0{width}}{file[counted.end('number') :]}"
            sibling = f"{folder}/{sibling}" if folder else sibling
            if sibling not in listed_names:
                listed_names.add(sibling)
                lost.append(sibling)
    return lost


def _refused(repo: hub.Repo, error: hub.Unreachable) -> str:
    """The message for a data set that the hub says it does not have, or does not give."""
    url = f"{SCHEME}{str(repo).removeprefix('datasets/')}"
    return (
        f"{url}: {error}. A private or gated data set needs a token of an account that may read it: set "
        "HF_TOKEN, or hf auth login. A gated one also wants its terms accepted on its page."
    )


def _missing(repo: hub.Repo, pattern: str, why: str) -> str:
    at = f" --revision {repo.revision}" * (repo.revision != hub.MAIN_REVISION)
    include = f" {pattern}" * pattern.startswith("--")
    lacks = f"{pattern} is not" if pattern and not include else "not"
    return (
        f"{SCHEME}{str(repo).removeprefix('datasets/')}: {lacks} in the cache of the Hugging Face hub, {repo.folder}, "
        f"and {why}. Where there is a network: hf download {repo.name} --repo-type dataset{at}{include} "
        f"(`huggingface-cli download` in older versions), and copy the folder {repo.folder.name} into "
        f"{hub.cache_folder()}. A gated data set also needs that you accept its terms on its page, and a token: "
        "hf auth login, or HF_TOKEN. Or give the paths of its files."
    )


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) for part in name.split("/"))


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
