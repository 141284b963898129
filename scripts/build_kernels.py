"""Compile all text kernels for the baseline processor of this platform, for a wheel: `make wheel`.

python scripts/build_kernels.py FOLDER
"""

import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path


def main(folder: Path) -> None:
    from corpusmill.text import compile, shipped

    processor = shipped.BASELINES[{"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())]
    # Read when numba is imported. Intel's vector library is not there on every machine.
    os.environ |= {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1"}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["CORPUSMILL_CACHE"] = cache
        shipped.is_native = True
        shipped.collect()
        modules = compile.kernel_modules()
        for number, name in enumerate(modules, 1):
            print(f"{number}/{len(modules)} {name}", flush=True)
            compile._warm_up(name)
    shutil.rmtree(folder, ignore_errors=True)
    shipped.write(folder, {name: compile.fingerprint(name) for name in modules}, processor)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{compile.kernels_in(modules)} kernels for {processor}, {size / 1e6:.1f} MB, in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
