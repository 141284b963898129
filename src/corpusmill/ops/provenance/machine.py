"""The machine that a run is carried out on, as far as its system says without asking others."""

import os
import platform
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

HOST_VARIABLE = "CORPUSMILL_HOST"
COMMAND_SECONDS = 1.0  # seconds that a command of the system may take


def machine() -> dict[str, Any]:
    """Facts by name; what the system does not say is None.

    host          its name; another one, or none, by the environment variable CORPUSMILL_HOST
    system        name and release of the kernel, and the distribution of Linux
    cpu           model of the processors, or their architecture
    cpus          logical processors; `cpus_usable`, those that this process may use
    memory        bytes of main memory; `memory_limit`, of the control group of this process, if that has a limit
    """
    return {
        "host": os.environ.get(HOST_VARIABLE, platform.node()) or None,
        "system": _system(),
        "cpu": _cpu(),
        "cpus": os.cpu_count(),
        "cpus_usable": _usable(),
        "memory": _memory(),
        "memory_limit": _limit(),
    }


def _system() -> str:
    name = f"{platform.system()} {platform.release()}"
    if sys.platform == "darwin":
        name = f"macOS {platform.mac_ver()[0]}"
    with suppress(OSError, KeyError):
        name += f" ({platform.freedesktop_os_release()['PRETTY_NAME']})"
    return name


def _cpu() -> str:
    with suppress(OSError, subprocess.SubprocessError, ValueError):
        if sys.platform == "darwin":
            ask = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
            output = subprocess.run(ask, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=True)
            return output.stdout.strip() or platform.machine()
        if sys.platform == "win32":
            import winreg

            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"HARDWARE\DESCRIPTION\System\CentralProcessor\0") as key:
                return str(winreg.QueryValueEx(key, "ProcessorNameString")[0]).strip()
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name" and value.strip():
                return value.strip()
    return platform.machine()


def _usable() -> int | None:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _memory() -> int | None:
    if sys.platform == "win32":
        return _memory_of_windows()
    with suppress(OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _memory_of_windows() -> int | None:
    import ctypes

    # MEMORYSTATUSEX: its own size, the load in per cent, and seven numbers of bytes, of which the first is the whole.
    status = (ctypes.c_uint64 * 8)()
    ctypes.c_uint32.from_buffer(status).value = ctypes.sizeof(status)
    with suppress(AttributeError, OSError):
        if ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):  # type: ignore[attr-defined,unused-ignore]
            return int(status[1])
    return None


def _limit() -> int | None:
    with suppress(OSError, ValueError):
        return int(Path("/sys/fs/cgroup/memory.max").read_text("ascii"))  # "max" is no limit
    return None
