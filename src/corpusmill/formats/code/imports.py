"""Which files of a repository a source file needs, and an order in which every file comes after those that it needs.

Imports are read by their lines and looked up among the repository's own files; what is not there (the standard library,
other packages) is no dependency. Source: Guo et al. 2024, "DeepSeek-Coder", arXiv:2401.14196, section 2.2.
"""

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from corpusmill.formats.code.gitignore import LONGEST_PATH

# None of these looks at a character more often than a line has words: what may be long is not tried again.
PYTHON = re.compile(r"^[ \t]*+(?:from[ \t]++([.\w]++)[ \t]++import[ \t]++(\(|[^#\n]*+)|import[ \t]++([^#\n]++))", re.M)
SCRIPT = re.compile(r"(?:\bfrom\s*+|\bimport\s*+(?:\(\s*+)?+|\brequire\s*+\(\s*+)(['\"])(\.{1,2}(?:/[^'\"\n]*+)?)\1")
JAVA = re.compile(r"^[ \t]*+import[ \t]++(?:static[ \t]++)?([\w.]*\w)(\.\*)?", re.M)
GO = re.compile(r"^[ \t]*+import[ \t]*+(?:(\()|(?:[\w.]++[ \t]++)?\"([^\"\n]++)\")", re.M)
GO_PATH = re.compile(r"\"([^\"\n]++)\"")
GO_MODULE = re.compile(r"^module[ \t]++(\S++)", re.M)
RUST = re.compile(
    r"^[ \t]*+(?:pub(?:\([^)\n]*+\))?[ \t]++)?(?:mod[ \t]++(\w++)[ \t]*+;|use[ \t]++(crate|super|self)((?:::\w++)*+))",
    re.M,
)
INCLUDE = re.compile(r"^[ \t]*+#[ \t]*+(?:include|import)[ \t]*+[<\"]([^>\"\n]++)[>\"]", re.M)
DEEPEST = 64  # folders of a module that is looked for
AFTER_SLASH, LAST_CHARACTER = chr(ord("/") + 1), chr(0x10FFFF)
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
        self.paths = {path for path in paths if len(path) <= LONGEST_PATH}
        self.by_folder: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            self.by_folder.setdefault(path.rpartition("/")[0], []).append(path)
        self.go_roots: dict[str, list[str]] = {}  # module -> the folders that declare it
        for root, module in (go_modules or {}).items():
            self.go_roots.setdefault(module, []).append(root)
        self._files, self._folders = PathEnds(self.paths), PathEnds(self.by_folder)
        self._nearest: dict[tuple[str, str], str] = {}

    def ending(self, path: str, importer: str = "") -> str | None:
        """The file whose path ends in this one: the one that shares most folders with `importer`, then the shortest."""
        if not (files := self._files.ending(path)):
            return None
        at = bisect_left(files, importer)
        shared = max(len(posixpath.commonprefix([file, importer])) for file in files[max(0, at - 1) : at + 1])
        key = path, importer[:shared]
        if key not in self._nearest:
            first, last = bisect_left(files, key[1]), bisect_left(files, f"{key[1]}{LAST_CHARACTER}")
            self._nearest[key] = min(files[first:last], key=lambda file: (len(file), file))
        return self._nearest[key]

    def in_folders(self, folder: str) -> Iterator[str]:
        """The files in all folders whose path ends in this one."""
        for path in self._folders.ending(folder):
            yield from self.by_folder[path]


class PathEnds:
    """Paths, to be looked up by the folders and the name that they end in."""

    def __init__(self, paths: Iterable[str]) -> None:
        turned = sorted((f"{'/'.join(reversed(path.split('/')))}/", path) for path in paths)
        self._turned = [key for key, _ in turned]
        self._paths = [path for _, path in turned]
        self._known: dict[str, list[str]] = {}

    def ending(self, end: str) -> list[str]:
        """The paths that are this one, or end in it after a "/", sorted."""
        if end not in self._known:
            key = "/".join(reversed(end.split("/")))
            first, last = bisect_left(self._turned, f"{key}/"), bisect_left(self._turned, f"{key}{AFTER_SLASH}")
            if first == last:
                return []
            self._known[end] = sorted(self._paths[first:last])
        return self._known[end]


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
    for module, names, plain in dict.fromkeys(_python_imports(text)):
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


def _python_imports(text: str) -> Iterator[tuple[str, str, str]]:
    """(module, names that are imported of it, or else modules) of each import."""
    last, at = text.rfind(")"), 0
    while match := PYTHON.search(text, at):
        names, at = match[2] or "", match.end()
        if names == "(":
            is_closed = at <= last
            end = text.find(")" if is_closed else "\n", at)
            end = len(text) if end < 0 else end
            names, at = text[at:end] if is_closed else text[at:end].partition("#")[0], end
        if len(match[1] or "") <= LONGEST_PATH:
            yield match[1] or "", names, match[3] or ""


def _exact_module(module_path: str, files: RepositoryPaths) -> Iterator[str]:
    yield from (file for file in (f"{module_path}.py", f"{module_path}/__init__.py".lstrip("/")) if file in files.paths)


def _module(module_path: str, importer: str, files: RepositoryPaths) -> Iterator[str]:
    for file in (f"{module_path}.py", f"{module_path}/__init__.py") if 0 < len(module_path) <= LONGEST_PATH else ():
        if match := files.ending(file, importer):
            yield match
            return


def _script(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    for specifier in dict.fromkeys(specifier for _, specifier in SCRIPT.findall(text)):
        target = posixpath.normpath(posixpath.join(folder, specifier))
        # TypeScript's "./a.js" means a.ts.
        shorter = re.sub(r"\.[mc]?js$", "", target)
        for stem in (target, shorter) if shorter != target else (target,):
            if match := next((f"{stem}{end}" for end in SCRIPT_ENDINGS if f"{stem}{end}" in files.paths), None):
                yield match
                break


def _java(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    for name, star in dict.fromkeys(JAVA.findall(text)):
        target = name.replace(".", "/")
        if star:
            yield from (file for file in files.in_folders(target) if file.endswith(JAVA_ENDINGS))
        # A member of a class is imported by the name of the class.
        for stem in (target, target.rpartition("/")[0]):
            if match := next((file for end in JAVA_ENDINGS if (file := files.ending(stem + end, path))), None):
                yield match
                break


def _go(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folders = {
        posixpath.join(root, import_path[end:].lstrip("/")).rstrip("/")
        for import_path in dict.fromkeys(_go_imports(text))
        for end in (*(at for at, char in enumerate(import_path) if char == "/"), len(import_path))
        for root in files.go_roots.get(import_path[:end], ())
    }
    for folder in folders:
        for file in files.by_folder.get(folder, []):
            if file.endswith(".go") and not file.endswith("_test.go"):
                yield file


def _go_imports(text: str) -> Iterator[str]:
    last, at = text.rfind(")"), 0
    while match := GO.search(text, at):
        at = match.end()
        if match[1] and at <= last:
            end = text.find(")", at)
            yield from (path for path in GO_PATH.findall(text, at, end) if len(path) <= LONGEST_PATH)
            at = end
        elif match[2] and len(match[2]) <= LONGEST_PATH:
            yield match[2]


def _rust(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folder, _, name = path.rpartition("/")
    own = folder if name in ("mod.rs", "lib.rs", "main.rs") else path.removesuffix(".rs")
    parts = path.split("/")
    root = "/".join(parts[: len(parts) - 1 - parts[::-1].index("src") + 1]) if "src" in parts else folder
    for module, start, use_path in dict.fromkeys(RUST.findall(text)):
        if module:
            yield from _rust_file(posixpath.join(own, module), files)
            continue
        base = {"crate": root, "self": own, "super": posixpath.dirname(own)}[start]
        names = use_path.split("::", DEEPEST + 1)[1 : DEEPEST + 1]
        for size in range(len(names), 0, -1):
            if matches := list(_rust_file(posixpath.join(base, *names[:size]), files)):
                yield from matches
                break


def _rust_file(module_path: str, files: RepositoryPaths) -> Iterator[str]:
    yield from (file for file in (f"{module_path}.rs", f"{module_path}/mod.rs") if file in files.paths)


def _include(path: str, text: str, files: RepositoryPaths) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    for header in dict.fromkeys(INCLUDE.findall(text)):
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
