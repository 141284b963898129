"""What a process would carry out units with: Python, the code of this package, the libraries that it requires."""

import hashlib
import pickle
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from io import BytesIO
from pathlib import Path
from types import FunctionType
from typing import Any

from corpusmill.about import PACKAGE, __version__

PACKAGE_NAME = re.compile(r"[A-Za-z0-9._-]+")
NOT_INSTALLED = "not installed"


@cache
def installed_versions() -> dict[str, str]:
    """What makes up the bytes that units leave -> its version: python, corpusmill with a digest of its source, and each
    library that it requires, those of extras if they are installed."""
    versions = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    source = hashlib.sha256()
    for path in [*sorted(PACKAGE.rglob("*.py")), PACKAGE / "data" / "MANIFEST.json"]:
        source.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    versions["corpusmill"] = f"{__version__} (source {source.hexdigest()[:12]})"
    for name in sorted({match[0] for line in _required() if (match := PACKAGE_NAME.match(line))}):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def of_modules(names: tuple[str, ...]) -> dict[str, str]:
    """Modules of the user's own -> a digest of their source. One that cannot be imported is `NOT_INSTALLED`."""
    digests = {}
    for name in names:
        try:
            path = Path(import_module(name).__file__ or "")
            digests[name] = f"source {hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"
        except Exception:
            digests[name] = NOT_INSTALLED
    return digests


def differences(expected: Mapping[str, str], actual: Mapping[str, str]) -> list[str]:
    """In words, what is not the same.

    >>> differences({"numpy": "2.1.0"}, {"numpy": "2.0.0"})
    ['numpy 2.0.0 (the driver has 2.1.0)']
    """
    names = sorted(
        name for name in {*expected, *actual} if expected.get(name, NOT_INSTALLED) != actual.get(name, NOT_INSTALLED)
    )
    return [
        f"{name} {actual.get(name, NOT_INSTALLED)} (the driver has {expected.get(name, NOT_INSTALLED)})"
        for name in names
    ]


def own_modules(work: Any) -> tuple[str, ...]:
    """The modules outside this package and all installed libraries that a work has classes and functions of, except the
    script that was started."""
    names: set[str] = set()

    class Pickler(pickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            names.add(value.__module__ if isinstance(value, type | FunctionType) else type(value).__module__)
            return NotImplemented

    with suppress(Exception):  # of the script that was started: Ray sends it as it is
        Pickler(BytesIO()).dump(work)
    return tuple(sorted(name for name in names if _is_own(name)))


def _is_own(name: str) -> bool:
    top = name.partition(".")[0]
    if top in ("__main__", "corpusmill", *sys.builtin_module_names) or top in sys.stdlib_module_names:
        return False
    path = getattr(sys.modules.get(name), "__file__", None) or ""
    return path.endswith(".py") and "site-packages" not in Path(path).parts


def _required() -> list[str]:
    try:
        return requires("corpusmill") or []
    except PackageNotFoundError:  # run from its source
        return []
