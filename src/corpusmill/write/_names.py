"""The names of the files that a writer makes."""

from corpusmill.errors import RecipeError
from corpusmill.shards.layout import FILE_NAME_PATTERN
from corpusmill.system import refused_name

ENDINGS = (".jsonl.zst", ".jsonl.gz", ".jsonl", ".parquet", ".bin", ".idx")  # of the files of our formats


def stem(name: str | None, suffix: str, single_file: bool) -> str | None:
    """A writer's `name` without the ending of its files.

    single_file   whether the writer makes one file only: otherwise the name must have a place for the number

    Raises RecipeError if files cannot have this name, or could not be told apart.

    >>> stem("train_{:05d}.jsonl", ".jsonl", False), stem("cleaned", ".parquet", True)
    ('train_{:05d}', 'cleaned')
    """
    if name is None:
        return None
    bare = name.removesuffix(suffix)
    for ending in ENDINGS:
        if bare.endswith(ending):
            raise RecipeError(
                f'name is "{name}", and the files end in {suffix}; write "{bare.removesuffix(ending)}", or change what '
                "is written"
            )
    if not FILE_NAME_PATTERN.fullmatch(bare) or not bare or bare.startswith(".") or not bare.isprintable():
        raise RecipeError(
            f'"{name}" cannot be the name of files: it has no folder in it, and at most one place for the number, as '
            'in "train_{:05d}"'
        )
    if why := refused_name(bare + suffix):
        raise RecipeError(f'"{name}" cannot be the name of files: {why}')
    if "{" not in bare and not single_file:
        raise RecipeError(
            f'name "{name}" is the same for all files; write "{bare}_{{:05d}}" for {bare}_00000, {bare}_00001 …, or '
            "single_file: true"
        )
    return bare
