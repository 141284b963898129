"""Dependencies between the files of a repository, and their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.formats.code.imports import RepositoryPaths, in_order, needed_by

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
    ("main.go", "Go", 'import (\n\t"fmt"\n\t"example.org/m/util"\n)\n', ["util/u.go"]),
    ("rs/src/main.rs", "Rust", "mod net;\nuse crate::net::http::get;\n", ["rs/src/net.rs", "rs/src/net/http.rs"]),
    ("c/z.c", "C", '#include <stdio.h>\n#include <lib/z.h>\n#include "own.h"\n', ["c/own.h", "include/lib/z.h"]),
    ("a.txt", "Text", "import pkg.b\n", []),
])  # fmt: skip
def test_what_a_file_needs(path, language, text, needed):
    assert needed_by(path, text, language, FILES) == needed


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
