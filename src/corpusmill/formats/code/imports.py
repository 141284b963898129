"""Which files of a repository a source file needs, and an order in which every file comes after those that it needs.

Imports are read by their lines and looked up among the repository's own files; what is not there (the standard library,
other packages) is no dependency. Source: Guo et al. 2024, "DeepSeek-Coder", arXiv:2401.14196, section 2.2.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

PYTHON = re.compile(r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^#\n]*)|import[ \t]+([^#\n]+))", re.M)
SCRIPT = re.compile(
    r"(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*|^\s*import\s+)(['\"])(\.{1,2}(?:/[^'\"\n]*)?)\1", re.M
)
JAVA = re.compile(r"^[ \t]*import[ \t]+(?:static[ \t]+)?([\w.]+)(\.\*)?", re.M)
GO = re.compile(r"^[ \t]*import[ \t]*(?:\(([^)]*)\)|(?:[\w.]+[ \t]+)?\"([^\"\n]+)\")", re.M)
GO_PATH = re.compile(r"\"([^\"\n]+)\"")
GO_MODULE = re.compile(r"^module[ \t]+(\S+)", re.M)
RUST = re.compile(
    r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?(?:mod[ \t]+(\w+)[ \t]*;|use[ \t]+(crate|super|self)((?:::\w+)*))", re.M
)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|import)[ \t]*[<\"]([^>\"\n]+)[>\"]", re.M)
SCRIPT_ENDINGS = ("", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".vue", ".svelte", ".json",
                  "/index.ts", "/index.tsx", "/index.js", "/index.mjs")  # fmt: skip
JAVA_ENDINGS = (".java", ".kt", ".scala", ".groovy")
SCRIPTS = frozenset({"JavaScript", "TypeScript", "TSX", "JSX", "Vue", "Svelte"})
OF_JAVA = frozenset({"Java", "Kotlin", "Scala", "Groovy"})
OF_C = frozenset({"C", "C++", "Objective-C", "Objective-C++", "Cuda", "OpenCL"})


class RepositoryPaths:
    """The paths of a repository, to look up what imports name."""

    def __init__(self, paths: Iterable[str], go_modules: Mapping[str, str] | None = None) -> None:
        """`go_modules`: folder of a go.mod -> the module that it declares."""
        self.paths = set(paths)
        self.by_name: dict[str, list[str]] = {}
        self.by_folder: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            folder, _, name = path.rpartition("/")
            self.by_name.setdefault(name, []).append(path)
            self.by_folder.setdefault(folder, []).append(path)
        self.go_modules = go_modules or {}

    def ending(self, path: str, near: str = "") -> str | None:
        """The file whose path ends in this one: the one that shares most folders with `near`, then the first."""
        held = self.by_name.get(path.rpartition("/")[2], [])
        fitting = [one for one in held if one == path or one.endswith(f"/{path}")]
        return min(fitting, key=lambda one: (-len(posixpath.commonprefix([one, near])), len(one), one), default=None)


def needed_by(path: str, text: str, language: str | None, files: RepositoryPaths) -> list[str]:
    """The files of the repository that one imports, sorted, itself left out."""
    finder = (
        _python if language in ("Python", "Cython") else _script if language in SCRIPTS else _java
        if language in OF_JAVA else _go if language == "Go" else _rust if language == "Rust" else _include
        if language in OF_C else None
    )  # fmt: skip
    return sorted({one for one in finder(path, text, files) if one != path}) if finder else []


def _python(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    for module, names, plain in PYTHON.findall(text):
        if plain:
            for each in plain.split(","):
                yield from _module(each.split()[0].replace(".", "/") if each.split() else "", path, files)
            continue
        bare = module.lstrip(".")
        inside = [one.split()[0] for one in names.strip("() \t\\").replace("\n", ",").split(",") if one.split()]
        place = bare.replace(".", "/")
        if dots := len(module) - len(bare):
            base = folder.split("/") if folder else []
            up = dots - 1
            if up > len(base):
                continue
            place = "/".join([*base[: len(base) - up], *([place] if place else [])])
            candidates = [f"{place}/{one}" if place else one for one in inside]
            yield from (file for one in candidates for file in _exact_module(one, files))
            yield from _exact_module(place, files)
        else:
            found = [file for one in inside for file in _module(f"{place}/{one}", path, files)]
            yield from found or _module(place, path, files)


def _exact_module(place: str, files: RepositoryPaths) -> Iterator[str]:
    yield from (one for one in (f"{place}.py", f"{place}/__init__.py".lstrip("/")) if one in files.paths)


def _module(place: str, near: str, files: RepositoryPaths) -> Iterator[str]:
    for one in (f"{place}.py", f"{place}/__init__.py") if place else ():
        if found := files.ending(one, near):
            yield found
            return


def _script(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    for _, said in SCRIPT.findall(text):
        place = posixpath.normpath(posixpath.join(folder, said))
        # TypeScript's "./a.js" means a.ts.
        shorter = re.sub(r"\.[mc]?js$", "", place)
        for one in (place, shorter) if shorter != place else (place,):
            if found := next((f"{one}{end}" for end in SCRIPT_ENDINGS if f"{one}{end}" in files.paths), None):
                yield found
                break


def _java(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    for name, star in JAVA.findall(text):
        place = name.replace(".", "/")
        if star:
            for folder, held in files.by_folder.items():
                if folder == place or folder.endswith(f"/{place}"):
                    yield from (one for one in held if one.endswith(JAVA_ENDINGS))
        # A member of a class is imported by the name of the class.
        for one in (place, place.rpartition("/")[0]):
            if found := next((file for end in JAVA_ENDINGS if (file := files.ending(one + end, path))), None):
                yield found
                break


def _go(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    for several, one in GO.findall(text):
        for place in GO_PATH.findall(several) if several else [one]:
            for root, module in files.go_modules.items():
                if place == module or place.startswith(f"{module}/"):
                    folder = posixpath.join(root, place[len(module) :].lstrip("/")).rstrip("/")
                    yield from (
                        file for file in files.by_folder.get(folder, [])
                        if file.endswith(".go") and not file.endswith("_test.go")
                    )  # fmt: skip


def _rust(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folder, _, name = path.rpartition("/")
    own = folder if name in ("mod.rs", "lib.rs", "main.rs") else path.removesuffix(".rs")
    parts = path.split("/")
    root = "/".join(parts[: len(parts) - 1 - parts[::-1].index("src") + 1]) if "src" in parts else folder
    for module, start, rest in RUST.findall(text):
        if module:
            yield from _rust_file(posixpath.join(own, module), files)
            continue
        base = {"crate": root, "self": own, "super": posixpath.dirname(own)}[start]
        names = rest.split("::")[1:]
        for size in range(len(names), 0, -1):
            if found := list(_rust_file(posixpath.join(base, *names[:size]), files)):
                yield from found
                break


def _rust_file(place: str, files: RepositoryPaths) -> Iterator[str]:
    yield from (one for one in (f"{place}.rs", f"{place}/mod.rs") if one in files.paths)


def _include(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    for said in INCLUDE.findall(text):
        beside = posixpath.normpath(posixpath.join(folder, said))
        if beside in files.paths:
            yield beside
        elif not said.startswith("..") and (found := files.ending(said, path)):
            yield found


def in_order(paths: Sequence[str], needs: Mapping[str, Sequence[str]]) -> list[str]:
    """All paths, each once: those that a file needs right before it, as far as no circle forbids.

    Files are visited in the order of `paths`, and what one needs in the order given there; in a circle the file that is
    met first comes last.
    """
    there, done = set(paths), set[str]()
    order: list[str] = []
    for first in paths:
        stack = [(first, iter(needs.get(first, ())))] if first not in done else []
        done.add(first)
        while stack:
            path, waiting = stack[-1]
            following = next((one for one in waiting if one in there and one not in done), None)
            if following is None:
                order.append(path)
                stack.pop()
            else:
                done.add(following)
                stack.append((following, iter(needs.get(following, ()))))
    return order


def go_module(text: str) -> str | None:
    """The module that a go.mod declares."""
    found = GO_MODULE.search(text)
    return found[1] if found else None
