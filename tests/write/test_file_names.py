"""The names of written files: what may be one, and what is said of what may not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill import write
from corpusmill.errors import RecipeError
from corpusmill.write import DclmWriter, DolmaWriter, JsonlWriter, ParquetWriter, RedpajamaWriter, TokenizedWriter

DOCUMENT_WRITERS = [JsonlWriter, ParquetWriter, TokenizedWriter, DolmaWriter, RedpajamaWriter, DclmWriter]
every_writer = pytest.mark.parametrize("cls", DOCUMENT_WRITERS, ids=lambda cls: cls.__name__)


@every_writer
def test_files_are_numbered_unless_they_are_named(cls):
    assert write.file_name(cls(), 7, ".x") == "00007.x"
    assert write.file_name(cls(name="part_{:05d}"), 7, ".x") == "part_00007.x"
    assert write.file_name(cls(name="all", single_file=True), 0, ".x") == "all.x"
    assert write.file_name(cls(name="ü 1_{:05d}"), 123_456, "documents/{}.x") == "documents/ü 1_123456.x"


@every_writer
def test_a_name_may_have_the_ending_of_its_files(cls):
    writer = cls(name="all" + cls().suffix, single_file=True)
    assert write.file_name(writer, 0, writer.suffix) == "all" + writer.suffix


@every_writer
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mb_per_file": 0}, "need mb_per_file >= 1, got 0"),
        ({"mb_per_file": -1}, "need mb_per_file >= 1, got -1"),
        (
            {"name": "a"},
            r'name "a" is the same for all files; write "a_\{:05d\}" for a_00000, a_00001 …, or single_file',
        ),
        ({"name": "", "single_file": True}, '"" cannot be the name of files'),
        ({"name": ".a", "single_file": True}, r'"\.a" cannot be the name of files'),
        ({"name": "../a", "single_file": True}, "it has no folder in it"),
        ({"name": "a/b_{:05d}"}, "it has no folder in it"),
        ({"name": "a\n", "single_file": True}, "cannot be the name of files"),
        ({"name": "{:05d}{:05d}"}, "at most one place for the number"),
        ({"name": "{name}"}, "cannot be the name of files"),
        ({"name": "a.bin", "single_file": True}, r'name is "a\.bin", and the files end in .*; write "a", or change'),
        (
            {"signals": ["language"]},
            r'signals: "language" is not a signal; they are written step\.signal: language\.\*',
        ),
    ],
)
def test_what_cannot_be_is_refused_when_the_writer_is_made(cls, settings, message):
    with pytest.raises(RecipeError, match=message):
        cls(**settings)


@pytest.mark.parametrize("cls", [JsonlWriter, DolmaWriter, DclmWriter], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("level", [0, 10, -1])
def test_levels_of_compression_are_1_to_9(cls, level):
    with pytest.raises(RecipeError, match=f"level must be in 1 to 9, got {level}"):
        cls(level=level)


@every_writer
def test_lists_of_a_recipe_make_equal_writers(cls):
    assert cls(signals=["a.*", "b.c"]) == cls(signals=("a.*", "b.c"))
    assert hash(cls(signals=["a.*"])) == hash(cls(signals=("a.*",)))
    assert cls(signals=["a.*"]).selection.wanted_signals == ("a.*",)


@settings(max_examples=80, deadline=None)
@given(st.text("ab./\\{}:05d \n\x00é", max_size=10))
def test_a_name_that_is_taken_makes_files_beside_each_other(name):
    try:
        writer = JsonlWriter(name=name)
    except RecipeError as error:
        assert name in str(error)
        return
    made = {write.file_name(writer, number, writer.suffix) for number in range(3)}
    assert len(made) == 3 and not any("/" in file or file.startswith(".") for file in made)


@pytest.mark.parametrize(
    ("folders", "message"),
    [
        (["a/../b"], '"a/../b" cannot be a folder of attributes'),
        (["/a"], '"/a" cannot be a folder'),
        ([""], '"" cannot be a folder'),
        (["documents"], '"documents" cannot be a folder'),
        (["a{}"], "cannot be a folder"),
        (["a", "a"], "two folders of attributes have one name: a, a"),
        (["corpusmill"], "two folders of attributes have one name"),
    ],
)
def test_folders_of_attributes_lie_below_their_layout(folders, message):
    with pytest.raises(RecipeError, match=message):
        DolmaWriter(keep=tuple(folders), signals=("a.*",))
    assert DolmaWriter(keep=("a/b", "ü")).places == (
        "documents/{}.json.gz",
        "attributes/a/b/{}.json.gz",
        "attributes/ü/{}.json.gz",
    )


def test_tokens_per_shard_hold_for_writers_of_one_file_too():
    assert write.tokens_per_file(write.ShardsWriter(tokens_per_shard=10)) == 10
    assert write.tokens_per_file(write.ShardsWriter(tokens_per_shard=10, single_file=True)) == write.UNLIMITED


def test_patterns_of_signals():
    measured = ["language.label", "language.score", "url.domain"]
    assert write.matching(["*"], measured) == measured
    assert write.matching(["url.*", "language.s*", "url.*"], measured) == ["language.score", "url.domain"]
    assert write.matching(["LANGUAGE.*", "score"], measured) == [] == write.matching([], measured)
