"""Dependencies between the files of a repository, and their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.formats.code.imports import PathEnds, RepositoryPaths, in_order, needed_by
from growth import assert_linear

PATHS = [
    "src/pkg/__init__.py", "src/pkg/a.py", "src/pkg/b.py", "src/pkg/sub/__init__.py", "src/pkg/sub/c.py",
    "web/a.ts", "web/lib/index.js", "web/b.js", "java/org/x/A.java", "java/org/x/B.java",
    "go.mod", "main.go", "util/u.go", "util/u_test.go", "rs/src/main.rs", "rs/src/net.rs", "rs/src/net/http.rs",
    "include/lib/z.h", "c/z.c", "c/own.h",
]  # fmt: skip
FILES = RepositoryPaths(PATHS, {"": "example.org/m"})


@pytest.mark.parametrize(("path", "language", "text", "needed"), [
    ("src/pkg/a.py", "Python", "import os\nfrom pkg.b import x\n", ["src/pkg/b.py"]),
    ("src/pkg/a.py", "Python", "from . import b, nothing\n", ["src/pkg/__init__.py", "src/pkg/b.py"]),
    ("src/pkg/sub/c.py", "Python", "from ..a import (\n    x,\n    y,\n)\n", ["src/pkg/a.py"]),
    ("src/pkg/a.py", "Python", "import pkg.sub.c as c, json\n", ["src/pkg/sub/c.py"]),
    ("web/b.js", "JavaScript", "const l = require('./lib')\nimport x from './a.js'\n", ["web/a.ts", "web/lib/index.js"]),
    ("java/org/x/A.java", "Java", "import org.x.B;\nimport java.util.List;\n", ["java/org/x/B.java"]),
    ("java/org/x/A.java", "Java", "import static org.x.B.of;\n", ["java/org/x/B.java"]),
    ("src/pkg/a.py", "Python", "from pkg.b import (x,\n", ["src/pkg/b.py"]),  # a bracket without an end
    ("src/pkg/a.py", "Python", "from .b import (x,  # all\n y)\nfrom .sub import (c # (\n", ["src/pkg/b.py", "src/pkg/sub/__init__.py", "src/pkg/sub/c.py"]),
    ("java/org/x/A.java", "Java", "import org.x.*;\n", ["java/org/x/B.java"]),
    ("main.go", "Go", 'import "example.org/m/util"\nimport (\n', ["util/u.go"]),
    ("main.go", "Go", 'import (\n\t"fmt"\n\t"example.org/m/util"\n)\n', ["util/u.go"]),
    ("rs/src/main.rs", "Rust", "mod net;\nuse crate::net::http::get;\n", ["rs/src/net.rs", "rs/src/net/http.rs"]),
    ("c/z.c", "C", '#include <stdio.h>\n#include <lib/z.h>\n#include "own.h"\n', ["c/own.h", "include/lib/z.h"]),
    ("a.txt", "Text", "import pkg.b\n", []),
])  # fmt: skip
def test_what_a_file_needs(path, language, text, needed):
    assert needed_by(path, text, language, FILES) == needed


def slow_ending(paths, end, importer):
    """The definition: of all that end so, the one that shares most, the shortest, the first."""
    ends = [path for path in paths if f"/{path}".endswith(f"/{end}")]
    shared = [sum(a == b for a, b in zip(path, importer)) for path in ends]
    for place, path in enumerate(ends):
        shared[place] = next(
            (at for at, pair in enumerate(zip(path, importer)) if pair[0] != pair[1]), min(len(path), len(importer))
        )
    return min(zip([-each for each in shared], map(len, ends), ends), default=(0, 0, None))[2]


names = st.lists(st.sampled_from(["a", "b", "ab", "a.b"]), min_size=1, max_size=4).map("/".join)


@given(paths=st.sets(names, max_size=12), end=names, importer=names)
def test_a_path_is_found_by_its_end(paths, end, importer):
    assert PathEnds(paths).ending(end) == sorted(path for path in paths if f"/{path}".endswith(f"/{end}"))
    assert RepositoryPaths(paths).ending(end, importer) == slow_ending(paths, end, importer)


HOSTILE = {
    "Go": ["import (", "import (\n", 'import ("a\n', 'import "a/', "import ", 'import (\n"m/a"\n'],
    "JavaScript": ["\n", " ", "import\n", "from ", "import(", "require (  ", "from'./", "import '.", "import (\n"],
    "Rust": ["use crate::", "use crate::a::a::a::a", "::a", "pub(\n", "pub(", "mod a", "use self::a;\n"],
    "Python": ["from a import (", "from a import (\n", "import a,", "from .", ".", "from . import a, (\n", "import a\n"],
    "Java": ["import a.", ".", "import static ", "import a.*;\n", "import a...\n"],
    "C": ["#include <", '#include "a\n', "# ", "\n", "#include <a/../b>\n"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "part"), [(language, part) for language, parts in HOSTILE.items() for part in parts]
)
def test_imports_take_linear_time(language, part):
    def needs(text):
        return [needed_by("src/a", begin + text, language, FILES) for begin in ("", "use crate", "import (", "from ")]

    assert_linear(needs, lambda size: part * (size // len(part)), 1 << 16)


def test_files_of_one_name_take_linear_time():
    def all_need(files):
        return [needed_by(path, '#include "x.h"\n#include <a/x.h>\n', "C", files) for path in files.paths]

    assert_linear(all_need, lambda size: RepositoryPaths(f"{number}/a/x.h" for number in range(size)), 2000)


def test_what_is_needed_comes_first_and_circles_end():
    assert in_order(["a", "b", "c"], {"a": ["c"], "b": [], "c": []}) == ["c", "a", "b"]
    assert in_order(["a", "b"], {"a": ["b"], "b": ["a"]}) == ["b", "a"]
    assert in_order(["a"], {"a": ["a", "gone"]}) == ["a"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_the_order_has_every_file_once_after_what_it_needs(pairs):
    needs = {str(n): [str(b) for a, b in pairs if a == n and b > a] for n in range(10)}  # without circles
    order = in_order(list(needs), needs)
    assert sorted(order) == sorted(needs)
    assert all(order.index(one) < order.index(name) for name, some in needs.items() for one in some)
