"""Puts compiled kernels into a wheel, which is then one of this platform and Python: `make wheel`."""

import os
import platform
import sys
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Without CORPUSMILL_KERNELS, the folder that scripts/build_kernels.py has made, nothing is added."""
        folder = os.environ.get("CORPUSMILL_KERNELS")
        if not folder or version == "editable":
            return
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        # The code calls nothing of the system but its mathematical functions: any Linux that numba runs on has them.
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_").replace("linux_", "manylinux2014_")
        if sys.platform == "darwin":  # Python itself may be for both processors
            system = {"arm64": "macosx_11_0_arm64", "x86_64": "macosx_10_13_x86_64"}[platform.machine()]
        build_data["force_include"][folder] = "corpusmill/compiled"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{system}"
