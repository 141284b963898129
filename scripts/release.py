"""All that a release is made of, in one folder: python scripts/release.py OUT [--repository URL]

    corpusmill-VERSION.tar.gz             the sources of the commit
    corpusmill-VERSION-py3-none-any.whl   without compiled kernels
    corpusmill-VERSION-cp….whl            for this platform and Python, with those of build/kernels, if they are there
    corpusmill-VERSION.cdx.json           what is in it and what it needs, CycloneDX 1.6
    licences.md                           of the same, as a table
    SHA256SUMS                            of all of these

Each archive is built twice, from two copies of the commit, and must have the same bytes.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Iterator
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PLACEHOLDER = (
    "https://repository.invalid/corpusmill"  # in pyproject.toml: where the repository is, once it is somewhere
)
KERNELS = ROOT / "build" / "kernels"
FAST = re.compile(r"extra == ['\"]fast['\"]")  # as the README installs it
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


class Component(NamedTuple):
    """A package that `corpusmill[fast]` needs, or a file of others that ships.

    kind      of CycloneDX: library, or file
    licence   as its makers say it
    """

    kind: str
    name: str
    version: str
    licence: str
    sha256: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--repository", default=PLACEHOLDER, help="the address that takes the place of the placeholder")
    chosen = parser.parse_args()
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode:
        sys.exit("there are changes that are not committed, and a release is made of a commit")
    if chosen.repository == PLACEHOLDER:
        print("warning: no --repository: the addresses in the metadata lead nowhere")
    if chosen.out.exists() and any(chosen.out.iterdir()):
        sys.exit(f"{chosen.out} is not empty")
    chosen.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        first, second = (built(Path(folder, name), chosen.repository) for name in ("first", "second"))
        for name, content in first.items():
            if second.get(name) != content:
                sys.exit(f"{name}: two builds of one commit differ")
            (chosen.out / name).write_bytes(content)
    version = next(name for name in first if name.endswith(".tar.gz")).removesuffix(".tar.gz").partition("-")[2]
    parts = [*needed("corpusmill"), *shipped_data()]
    unknown = [part.name for part in parts if not part.licence]
    if unknown:
        sys.exit(f"no licence is known of {', '.join(unknown)}")
    bill = json.dumps(bill_of_materials(version, parts), indent=1, sort_keys=True) + "\n"
    (chosen.out / f"corpusmill-{version}.cdx.json").write_text(bill, "utf-8")
    (chosen.out / "licences.md").write_text(licences(version, parts), "utf-8")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(chosen.out.iterdir())]
    (chosen.out / "SHA256SUMS").write_text("\n".join(sums) + "\n", "utf-8")
    for path in sorted(chosen.out.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.2f} MB  {path}")
    if len([name for name in first if name.endswith(".whl")]) == 1:
        print(f"no wheel for this platform: {KERNELS} has no kernels. `make release` compiles them")


def built(folder: Path, repository: str) -> dict[str, bytes]:
    """name -> content of the archives that are built from a copy of the commit in a new folder."""
    sources = folder / "corpusmill"
    sources.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    (folder / "commit.tar").write_bytes(archive)
    with tarfile.open(folder / "commit.tar") as tar:
        tar.extractall(sources, filter="data")
    project = sources / "pyproject.toml"
    project.write_text(project.read_text("utf-8").replace(PLACEHOLDER, repository), "utf-8")
    date = ["git", "show", "--no-patch", "--format=%ct", "HEAD"]
    epoch = subprocess.run(date, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    environment = {name: value for name, value in os.environ.items() if name != "CORPUSMILL_KERNELS"}
    environment |= {"SOURCE_DATE_EPOCH": epoch}
    build = [sys.executable, "-m", "build", "--outdir", str(folder / "dist")]
    subprocess.run([*build, "--sdist", "--wheel"], cwd=sources, env=environment, check=True, stdout=subprocess.DEVNULL)
    if KERNELS.is_dir():
        environment |= {"CORPUSMILL_KERNELS": str(KERNELS)}
        subprocess.run([*build, "--wheel"], cwd=sources, env=environment, check=True, stdout=subprocess.DEVNULL)
    return {path.name: path.read_bytes() for path in sorted((folder / "dist").iterdir())}


def needed(package: str) -> Iterator[Component]:
    """What the installation of a package, with its extra `fast` where it has one, installs in this environment, by
    name."""
    found: dict[str, Component] = {}
    waiting = [package]
    while waiting:
        about = metadata.distribution(waiting.pop())
        for requirement in about.requires or ():
            name, _, condition = requirement.partition(";")
            match = NAME.match(name)
            if not match or ("extra" in condition and not FAST.search(condition)):
                continue
            key = re.sub(r"[-_.]+", "-", match[0]).lower()
            try:
                own = metadata.distribution(key)
            except metadata.PackageNotFoundError:  # of another system or Python
                continue
            if key not in found:
                found[key] = Component("library", key, own.version, licence_of(own.metadata))
                waiting.append(key)
    yield from sorted(found.values())


def licence_of(about: Any) -> str:
    """The licence that a package says it has, in a line."""
    fields: Message = about
    stated = fields.get("License-Expression") or ""
    classifiers = [value.rpartition(" :: ")[2] for value in fields.get_all("Classifier") or () if "License ::" in value]
    text = (fields.get("License") or "").strip()
    return stated or " or ".join(classifiers) or text.partition("\n")[0][:80]


def shipped_data() -> Iterator[Component]:
    """The files of others, or made from theirs, that are in the package."""
    manifest = json.loads((ROOT / "src" / "corpusmill" / "data" / "MANIFEST.json").read_text("utf-8"))
    for name, about in sorted(manifest.items()):
        yield Component("file", name, "", about["licence"], about["sha256"])


def bill_of_materials(version: str, parts: list[Component]) -> dict[str, Any]:
    components = []
    for part in parts:
        entry: dict[str, Any] = {
            "type": part.kind,
            "name": part.name,
            "licenses": [{"license": {"name": part.licence}}],
        }
        if part.version:
            entry |= {"version": part.version, "purl": f"pkg:pypi/{part.name}@{part.version}"}
        if part.sha256:
            entry["hashes"] = [{"alg": "SHA-256", "content": part.sha256}]
        components.append(entry)
    content = json.dumps(components, sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "corpusmill",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": components,
    }


def licences(version: str, parts: list[Component]) -> str:
    lines = [f"# Licences of corpusmill {version}", "", "corpusmill itself: Apache-2.0; texts of others in NOTICE."]
    for kind, title in (("library", "Installed with it"), ("file", "Files in it")):
        lines += ["", f"## {title}", "", "| name | version | licence |", "|---|---|---|"]
        lines += [f"| {part.name} | {part.version} | {part.licence} |" for part in parts if part.kind == kind]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
