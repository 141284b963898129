"""Machine code of the kernels that comes with the package, so that no machine has to compile them.

A platform wheel has a file for each module with kernels in COMPILED, made by `make wheel` for a baseline processor: an
x86-64-v3 (Haswell of 2013, Excavator of 2015, and later), or any 64-bit ARM. The file's name has the module and the
fingerprint of its sources and of numba's version; it holds numba's compile results by kernel and types of arguments. A
process loads them wherever the package is. What is not there is compiled, as for arguments of other types.

The code belongs to the installation and is trusted as its `.py` files are.
"""

import json
import pickle
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import zstandard

from corpusmill.about import PACKAGE

COMPILED = PACKAGE / "compiled"
ABOUT = "about.json"
LEVEL = 19  # of compression: made once, loaded often
BASELINES = {"x86_64": "x86-64-v3", "aarch64": "generic"}  # machine -> processor, as LLVM names them
# What an x86-64-v3 has, as LLVM names it (x86-64 psABI 1.0, table 3.1).
NEEDED = {
    "x86-64-v3": (
        *("cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"),
        *("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
    ),
    "generic": (),
}
Entries = dict[tuple[str, Any], bytes]  # name of a kernel and types of its arguments -> its pickled compile result

is_native = False  # whether this process compiles for its very processor, and takes nothing from the package
_collected: dict[str, Entries] | None = None  # by module, while code is made for a package


def file_name(module: str, fingerprint: str) -> str:
    return f"{module}-{fingerprint}.zst"


@cache
def misfit() -> str | None:
    """Why the code that came with the package cannot be used here; "" if it came with none, None if it fits."""
    try:
        about = json.loads((COMPILED / ABOUT).read_bytes())
    except OSError:
        return ""
    expected = {"python": sys.implementation.cache_tag, "numba": version("numba")}
    for name, value in expected.items():
        if about[name] != value:
            return f"the text kernels that came with this package were compiled for {name} {about[name]}, not {value}"
    from llvmlite import binding

    if about["triple"] != _system(binding.get_process_triple()):
        return f"the text kernels that came with this package were compiled for {about['triple']}"
    features = binding.get_host_cpu_features()
    lacking = [feature for feature in NEEDED[about["processor"]] if not features.get(feature)]
    if lacking:
        return (
            f"the text kernels that came with this package were compiled for processors with {', '.join(lacking)}, "
            "which this one lacks"
        )
    return None


def _system(triple: str) -> str:
    """LLVM's triple of processor, vendor and system, without the version that macOS has in it: code is the same."""
    return triple.rstrip("0123456789.")


def is_there(module: str, fingerprint: str) -> bool:
    """Whether all kernels of a module came compiled, and can be used."""
    return not is_native and misfit() is None and (COMPILED / file_name(module, fingerprint)).is_file()


def load(module: str, fingerprint: str, kernel: str, types: Any) -> Any:
    """numba's compile result of a kernel for these types of arguments, in its parts; None if it did not come with the
    package."""
    if not is_there(module, fingerprint):
        return None
    parts = _entries(file_name(module, fingerprint)).get((kernel, types))
    return None if parts is None else pickle.loads(parts)


@cache
def _entries(name: str) -> Entries:
    entries: Entries = pickle.loads(zstandard.decompress((COMPILED / name).read_bytes()))
    return entries


def collect() -> None:
    """From now on, keep what this process compiles, for `write`."""
    global _collected  # noqa: PLW0603
    _collected = {}


def keep(module: str, kernel: str, types: Any, result: Any) -> None:
    """Note what was compiled, if this process collects it."""
    if _collected is None:
        return
    from numba.core.serialize import dumps

    libdata, fndesc, environment, signature, objectmode, lifted, _, *rest = result._reduce()
    parts = (libdata, fndesc, environment, signature, objectmode, lifted, "", *rest)  # without the annotated source
    _collected.setdefault(module, {})[kernel, types] = dumps(parts)


def write(folder: Path, fingerprints: Mapping[str, str], processor: str) -> None:
    """Write what was collected into a folder, as COMPILED has it.

    fingerprints   of every module with kernels; one of which nothing was compiled has a file, too
    processor      that the code was made for, one of BASELINES
    """
    from llvmlite import binding
    from numba.core.serialize import dumps

    assert _collected is not None, "nothing was collected"
    folder.mkdir(parents=True, exist_ok=True)
    for module, fingerprint in fingerprints.items():
        entries = dict(sorted(_collected.get(module, {}).items(), key=repr))
        data = zstandard.ZstdCompressor(level=LEVEL).compress(dumps(entries))
        (folder / file_name(module, fingerprint)).write_bytes(data)
    about = {
        "python": sys.implementation.cache_tag,
        "numba": version("numba"),
        "triple": _system(binding.get_process_triple()),
        "processor": processor,
    }
    (folder / ABOUT).write_bytes((json.dumps(about, indent=1) + "\n").encode())
