"""The language of the code: nouns for values, verbs or nouns of the field for functions, one meaning for each name.

The budgets only fall: whoever comes below one lowers it.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import corpusmill

PACKAGE = Path(corpusmill.__file__).parent
# Participles, pronouns and adverbs that say nothing of the value that has them for a name.
VAGUE = frozenset(
    """
    found said here there one other each some made kept gone left given what more known held beside wanted taken came
    put most least every named written asked met whole again mine place way room seen looked tried done meant told word
    rest near of thing
    """.split()
)
VAGUE_NAMES = 0.03  # of all names of parameters and local variables
CONSTANTS_OF_SEVERAL_VALUES = 110
PARAMETERS = 6  # of a private function that is no kernel
KERNELS = ("kernel", "njit", "inline")  # in the decorators of what numba compiles

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> dict[str, ast.Module]:
    """Path below the package -> its tree."""
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def functions() -> Iterator[tuple[str, Function]]:
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield f"{path}:{node.lineno} {node.name}", node


def parameters(function: Function) -> list[str]:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def test_a_class_name_means_one_thing() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_functions_are_named_by_verbs_or_nouns() -> None:
    assert [name for name, function in functions() if function.name.lstrip("_") in VAGUE] == []


def test_few_names_of_values_are_vague() -> None:
    total = 0
    vague: list[str] = []
    for place, function in functions():
        names = set(parameters(function))
        names |= {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        total += len(names)
        vague += [f"{place}: {name}" for name in sorted(names & VAGUE)]
    assert len(vague) / total <= VAGUE_NAMES, vague


def test_private_functions_have_few_parameters() -> None:
    """A value that is handed on with five others belongs to an object with them."""
    long = [
        name
        for name, function in functions()
        if function.name.startswith("_")
        and not function.name.startswith("__")
        and len(parameters(function)) > PARAMETERS
        and not any(word in ast.unparse(decorator) for decorator in function.decorator_list for word in KERNELS)
    ]
    assert long == []


def test_few_names_of_constants_have_several_values() -> None:
    values: dict[str, set[str]] = defaultdict(set)
    for tree in modules().values():
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                for target in node.targets:
                    if isinstance(target, ast.Name) and target.id.isupper():
                        values[target.id].add(repr(node.value.value))
    several = {name: sorted(own) for name, own in values.items() if len(own) > 1}
    assert len(several) <= CONSTANTS_OF_SEVERAL_VALUES, several
