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

    def ending(self, path: str, importer: str = "") -> str | None:
        """The file whose path ends in this one: the one that shares most folders with `importer`, then the first."""
        same_name = self.by_name.get(path.rpartition("/")[2], [])
        fitting = [file for file in same_name if file == path or file.endswith(f"/{path}")]
        return min(
            fitting, key=lambda one: (-len(posixpath.commonprefix([one, importer])), len(one), one), default=None
        )


def needed_by(path: str, text: str, language: str | None, files: RepositoryPaths) -> list[str]:
    """The files of the repository that one imports, sorted, itself left out."""
    finder = (
        _python if language in ("Python", "Cython") else _script if language in SCRIPTS else _java
        if language in OF_JAVA else _go if language == "Go" else _rust if language == "Rust" else _include
        if language in OF_C else None
    )  # fmt: skip
    return sorted({needed for needed in finder(path, text, files) if needed != path}) if finder else []


def _python(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    for module, names, plain in PYTHON.findall(text):
        if plain:
            for name in plain.split(","):
                yield from _module(name.split()[0].replace(".", "/") if name.split() else "", path, files)
            continue
        bare = module.lstrip(".")
        inside = [
            member.split()[0] for member in names.strip("() \t\\").replace("\n", ",").split(",") if member.split()
        ]
        module_path = bare.replace(".", "/")
        if dots := len(module) - len(bare):
            base = folder.split("/") if folder else []
            up = dots - 1
            if up > len(base):
                continue
            module_path = "/".join([*base[: len(base) - up], *([module_path] if module_path else [])])
            submodules = [f"{module_path}/{member}" if module_path else member for member in inside]
            yield from (file for submodule in submodules for file in _exact_module(submodule, files))
            yield from _exact_module(module_path, files)
        else:
            modules = [file for member in inside for file in _module(f"{module_path}/{member}", path, files)]
            yield from modules or _module(module_path, path, files)


def _exact_module(module_path: str, files: RepositoryPaths) -> Iterator[str]:
    yield from (file for file in (f"{module_path}.py", f"{module_path}/__init__.py".lstrip("/")) if file in files.paths)


def _module(module_path: str, importer: str, files: RepositoryPaths) -> Iterator[str]:
    for file in (f"{module_path}.py", f"{module_path}/__init__.py") if module_path else ():
        if match := files.ending(file, importer):
            yield match
            return


def _script(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    for _, specifier in SCRIPT.findall(text):
        target = posixpath.normpath(posixpath.join(folder, specifier))
        # TypeScript's "./a.js" means a.ts.
        shorter = re.sub(r"\.[mc]?js$", "", target)
        for stem in (target, shorter) if shorter != target else (target,):
            if match := next((f"{stem}{end}" for end in SCRIPT_ENDINGS if f"{stem}{end}" in files.paths), None):
                yield match
                break


def _java(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    for name, star in JAVA.findall(text):
        target = name.replace(".", "/")
        if star:
            for folder, members in files.by_folder.items():
                if folder == target or folder.endswith(f"/{target}"):
                    yield from (stem for stem in members if stem.endswith(JAVA_ENDINGS))
        # A member of a class is imported by the name of the class.
        for stem in (target, target.rpartition("/")[0]):
            if match := next((file for end in JAVA_ENDINGS if (file := files.ending(stem + end, path))), None):
                yield match
                break


def _go(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    for several, single in GO.findall(text):
        for import_path in GO_PATH.findall(several) if several else [single]:
            for root, module in files.go_modules.items():
                if import_path == module or import_path.startswith(f"{module}/"):
                    folder = posixpath.join(root, import_path[len(module) :].lstrip("/")).rstrip("/")
                    yield from (
                        file for file in files.by_folder.get(folder, [])
                        if file.endswith(".go") and not file.endswith("_test.go")
                    )  # fmt: skip


def _rust(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folder, _, name = path.rpartition("/")
    own = folder if name in ("mod.rs", "lib.rs", "main.rs") else path.removesuffix(".rs")
    parts = path.split("/")
    root = "/".join(parts[: len(parts) - 1 - parts[::-1].index("src") + 1]) if "src" in parts else folder
    for module, start, use_path in RUST.findall(text):
        if module:
            yield from _rust_file(posixpath.join(own, module), files)
            continue
        base = {"crate": root, "self": own, "super": posixpath.dirname(own)}[start]
        names = use_path.split("::")[1:]
        for size in range(len(names), 0, -1):
            if matches := list(_rust_file(posixpath.join(base, *names[:size]), files)):
                yield from matches
                break


def _rust_file(module_path: str, files: RepositoryPaths) -> Iterator[str]:
    yield from (file for file in (f"{module_path}.rs", f"{module_path}/mod.rs") if file in files.paths)


def _include(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    for header in INCLUDE.findall(text):
        relative = posixpath.normpath(posixpath.join(folder, header))
        if relative in files.paths:
            yield relative
        elif not header.startswith("..") and (match := files.ending(header, path)):
            yield match


def in_order(paths: Sequence[str], needs: Mapping[str, Sequence[str]]) -> list[str]:
    """All paths, each once: those that a file needs right before it, as far as no circle forbids.

    Files are visited in the order of `paths`, and what one needs in the order given there; in a circle the file that is
    met first comes last.
    """
    listed, visited = set(paths), set[str]()
    order: list[str] = []
    for first in paths:
        stack = [(first, iter(needs.get(first, ())))] if first not in visited else []
        visited.add(first)
        while stack:
            path, waiting = stack[-1]
            following = next((needed for needed in waiting if needed in listed and needed not in visited), None)
            if following is None:
                order.append(path)
                stack.pop()
            else:
                visited.add(following)
                stack.append((following, iter(needs.get(following, ()))))
    return order


def go_module(text: str) -> str | None:
    """The module that a go.mod declares."""
    match = GO_MODULE.search(text)
    return match[1] if match else None
