"""Compile all text kernels for the baseline processor of this platform, for a wheel: `make wheel`.

python scripts/build_kernels.py FOLDER
"""

import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

MOST_COMPILATIONS = 725  # of 296 kernels, the helpers that are put into them, and numba's own for what both use: 722


def main(folder: Path) -> None:
    from corpusmill.text import compile, shipped, warming

    processor = shipped.BASELINES[{"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())]
    # Read when numba is imported. Intel's vector library is not there on every machine.
    os.environ |= {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1"}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["CORPUSMILL_CACHE"] = cache
        shipped.is_native = True
        shipped.collect()
        modules = warming.kernel_modules()
        from numba.core.event import install_recorder

        with install_recorder("numba:compile") as recorder:
            for number, name in enumerate(modules, 1):
                print(f"{number}/{len(modules)} {name}", flush=True)
                warming.warm_up(name)
    shutil.rmtree(folder, ignore_errors=True)
    shipped.write(folder, {name: compile.fingerprint(name) for name in modules}, processor)
    size = sum(path.stat().st_size for path in folder.iterdir())
    compilations = len(recorder.buffer) // 2  # each has a beginning and an end
    print(f"{compilations} compilations")
    if compilations > MOST_COMPILATIONS:
        sys.exit(f"more than {MOST_COMPILATIONS}: is something compiled for two types of arguments?")
    print(f"{warming.kernels_in(modules)} kernels for {processor}, {size / 1e6:.1f} MB, in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
