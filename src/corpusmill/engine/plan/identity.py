"""The identity of a stage's work: equal work has the same fingerprint, and whatever can change a byte changes it.

Work is described by its class and parameters, with those of the steps, readers and writers in it and the checksums of
the models and lists that they read; by the code that it can reach: the modules of these classes and all modules that
they import, directly or not; and by the versions of the libraries that this code imports. The model is that of build
systems (Mokhov et al. 2018, "Build Systems à la Carte", section 4.2: constructive traces): the key of a unit is the
content of its inputs, so work that is done again and gives the same bytes stops there.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from corpusmill import assets
from corpusmill.about import PACKAGE, closure, file_of, imports
from corpusmill.recipe.fingerprint import code_version, digest
from corpusmill.recipe.names import name_of
from corpusmill.recipe.values import parameters, plain
from corpusmill.steps import CorpusStep, ReadsAssets, SolvesParameters, UsesCode, UsesLibraries

OTHERWISE_NAMED = {"yaml": "PyYAML"}  # to find this out, all that is installed must be read: 0.1 s
TRANSPORT = {"fsspec", "obstore", "boto3", "botocore"}  # they carry bytes, and cannot change which
WITHOUT_VERSION = TRANSPORT | sys.stdlib_module_names


@runtime_checkable
class DescribesItself(Protocol):
    """A part of a work that says itself what of it matters."""

    def identity(self) -> Any: ...


@dataclass(frozen=True)
class Identity:
    """What a fingerprint is made of.

    work        class and parameters, with those of all parts
    code        module -> SHA-256 of its source
    libraries   distribution -> version
    assets      name -> digest of what the work reads of models and lists; it is in `work`, too
    """

    work: Any
    code: Mapping[str, str]
    libraries: Mapping[str, str]
    assets: Mapping[str, str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits."""
        return digest([self.work, dict(self.code), dict(self.libraries)])

    def to_json(self) -> dict[str, Any]:
        return {"work": self.work, "code": dict(self.code), "libraries": dict(self.libraries)}


def identity(work: Any) -> Identity:
    """The identity of a work. Raises RecipeError if a class in it has no source, AssetError if a file of it is missing
    or changes meanwhile."""
    code: dict[str, str] = {}
    modules: set[str] = set()
    libraries = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for part in parts_of(work):
        cls = type(part)
        if cls.__module__.partition(".")[0] == PACKAGE.name:
            modules |= closure(cls.__module__)
        for own in (*([] if cls.__module__.partition(".")[0] == PACKAGE.name else [cls]), *_used(part)):
            name, own_version = f"{own.__module__}:{own.__qualname__}", code_version(own)
            # Lambdas share a name.
            code[name] = (
                own_version if code.get(name, own_version) == own_version else digest([code[name], own_version])
            )
            source = getattr(sys.modules.get(own.__module__), "__file__", None)
            if source:
                ours, others = imports(Path(source))
                modules |= {name for module in ours for name in closure(module)}
                libraries |= versions(others)
        if isinstance(part, UsesLibraries):
            libraries |= versions(part.libraries)
    for module in sorted(modules):
        path = file_of(module)
        assert path
        code[module] = _source_digest(path)
        libraries |= versions(imports(path)[1])
    digests = {name: assets.digest(name) for name in assets_of(work)}
    with assets.pinned(digests):
        described = describe(work)
    return Identity(described, dict(sorted(code.items())), dict(sorted(libraries.items())), digests)


def assets_of(work: Any) -> list[str]:
    """The models and lists that a work and all parts of it read, each once."""
    parts = (part for part in parts_of(work) if isinstance(part, ReadsAssets))
    return list(dict.fromkeys(name for part in parts for name in part.assets))


def _used(part: Any) -> tuple[Any, ...]:
    return part.code if isinstance(part, UsesCode) else ()


def describe(value: Any, want: Any = Any) -> Any:
    """A work or a part of it as None, bool, int, float, str, list and dict."""
    if isinstance(value, DescribesItself):
        return describe(value.identity())
    if is_dataclass(value) and not isinstance(value, type):
        annotations = parameters(type(value))
        fields = {name: describe(getattr(value, name), annotations[name]) for name in annotations}
        if isinstance(value, ReadsAssets):
            fields["assets"] = [assets.digest(name) for name in value.assets]
        return {"class": f"{type(value).__module__}:{type(value).__qualname__}", **fields}
    if isinstance(value, tuple | list) and any(True for _ in parts_of(value)):
        return [describe(item) for item in value]
    return plain(value, want)


def keys_description(step: CorpusStep) -> dict[str, Any]:
    """A corpus step as far as its keys depend on it: its name, parameters and assets."""
    annotations = parameters(type(step))
    solved = step.solved_parameters if isinstance(step, SolvesParameters) else {}
    values = {name: plain(solved.get(name, getattr(step, name)), annotations[name]) for name in step.key_parameters}
    digests = [assets.digest(name) for name in step.assets] if isinstance(step, ReadsAssets) else []
    return {"step": name_of(step), "parameters": values, "assets": digests}


def parts_of(value: Any) -> Iterator[Any]:
    """All dataclasses in a value, itself included."""
    if is_dataclass(value) and not isinstance(value, type):
        yield value
        for name in value.__dataclass_fields__:
            yield from parts_of(getattr(value, name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from parts_of(item)


def versions(names: tuple[str, ...]) -> dict[str, str]:
    """distribution -> version of those of these that are installed."""
    installed = (_installed(name) for name in names if name not in WITHOUT_VERSION)
    return dict(pair for pair in installed if pair)


@cache
def _installed(name: str) -> tuple[str, str] | None:
    distribution = OTHERWISE_NAMED.get(name, name)
    try:
        return distribution, version(distribution)
    except PackageNotFoundError:
        pass
    try:
        if find_spec(name) is None:
            return None
    except (ImportError, ValueError):
        return None
    for distribution in packages_distributions().get(name, ()):
        return distribution, version(distribution)
    return None


@cache
def _source_digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:16]
