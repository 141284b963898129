"""Put the runtime of the report's charts into src/corpusmill/data/vega and enter it in MANIFEST.json.

    npm pack vega@5.33.1 vega-lite@5.23.0 vega-interpreter@1.2.1
    python scripts/fetch_vega.py vega-5.33.1.tgz vega-lite-5.23.0.tgz vega-interpreter-1.2.1.tgz

Vega, the compiler of Vega-Lite, and the interpreter of
expressions, with which no chart needs `eval`: a content policy can forbid it. All are under the BSD 3-Clause license,
which the package vega-lite has in full; the files are as published.
"""

import argparse
import hashlib
import tarfile
from pathlib import Path

from fetch_lid import DATA, enter

FILES = {  # in the order in which a page loads them
    "vega.min.js": ("vega", "5.33.1"),
    "vega-lite.min.js": ("vega-lite", "5.23.0"),
    "vega-interpreter.min.js": ("vega-interpreter", "1.2.1"),
}
NOTES = {
    "vega": "draws the charts of the report",
    "vega-lite": "compiles the charts of the report",
    "vega-interpreter": "evaluates what the report's charts compute, without eval",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path, nargs=len(FILES))
    packages = {path.name: path for path in parser.parse_args().packages}
    folder = DATA / "vega"
    folder.mkdir(exist_ok=True)
    for file, (name, version) in FILES.items():
        with tarfile.open(packages[f"{name}-{version}.tgz"]) as package:
            script = read(package, f"package/build/{file}")
            if name == "vega-lite":
                (folder / "LICENSE").write_bytes(read(package, "package/LICENSE"))
        (folder / file).write_bytes(script)
        enter(
            name,
            {
                "file": f"vega/{file}",
                "sha256": hashlib.sha256(script).hexdigest(),
                "source": f"{name} {version}, https://github.com/vega/{'vega-lite' if name == 'vega-lite' else 'vega'}",
                "licence": "BSD-3-Clause",
                "note": f"{NOTES[name]}; unchanged, put here by scripts/fetch_vega.py",
            },
        )


def read(package: tarfile.TarFile, member: str) -> bytes:
    file = package.extractfile(member)
    if file is None:
        raise SystemExit(f"no {member} in the package")
    return file.read()


if __name__ == "__main__":
    main()
