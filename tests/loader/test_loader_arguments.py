"""What a training loop passes to the loader, checked before it is used."""

import numpy as np
import pytest

from corpusmill.errors import ShardError
from corpusmill.loader.arguments import bytes_of, check_room, flag, machine_memory, shown, whole_number
from corpusmill.loader.rows import FIELDS, check_fields


@pytest.mark.parametrize("value", [8, np.int64(8), np.uint8(8)])
def test_whole_numbers_of_any_type_are_taken(value):
    number = whole_number("batch_size", value, 1, 8)
    assert number == 8 and type(number) is int


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "n must be a whole number of 1 or more, got True."),
        (8.0, "n must be a whole number of 1 or more, got 8.0."),
        ("8", "n must be a whole number of 1 or more, got '8'."),
        (None, "n must be a whole number of 1 or more, got None."),
        (np.float32(2), "n must be a whole number of 1 or more, got"),
        (0, "n must be a whole number of 1 or more, got 0."),
        (10, "n must be a whole number up to 9, got 10: rows are few."),
    ],
)
def test_anything_else_is_refused_with_the_bound_that_it_breaks(value, message):
    why = "rows are few" if value == 10 else ""
    with pytest.raises(ShardError) as error:
        whole_number("n", value, 1, 9, why)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_])
def test_flags_are_booleans(value):
    assert flag("shuffle", value) is bool(value)


@pytest.mark.parametrize("value", ["false", 0, 1, None])
def test_a_flag_of_another_type_is_refused(value):
    with pytest.raises(ShardError, match="shuffle must be True or False"):
        flag("shuffle", value)


def test_long_values_are_cut_in_messages():
    assert shown([1]) == "[1]"
    assert len(shown("x" * 1000)) == 118 and shown("x" * 1000).endswith("…")


def test_the_memory_of_a_batch_counts_the_columns_that_are_asked_for():
    assert bytes_of(10, ("tokens",)) == 80
    assert bytes_of(10, ()) == 80  # tokens are always made
    assert bytes_of(10, ("targets", "loss_mask")) == 80 + 80 + 10
    assert bytes_of(10, FIELDS) == 4 * 80 + 10


def test_a_batch_that_the_machine_cannot_hold_is_refused_before_it_is_made():
    assert machine_memory()
    with pytest.raises(ShardError, match=r"needs .* GiB of memory; this machine has"):
        check_room(1 << 30, 1 << 20, ("tokens",))
    with pytest.raises(ShardError, match="`cu_seqlens` counts to 2,147,483,647 tokens"):
        check_room(1 << 20, 1 << 12, ("cu_seqlens",))
    check_room(8, 2048, FIELDS)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("tokens", r"fields is a list of names, as in fields=\('tokens', 'targets'\); got 'tokens'"),
        ([1], "fields is a list of names"),
        (3, "fields is a list of names"),
        (["token"], 'no field "token"; did you mean "tokens"'),
        (["tokens", "labels"], 'no field "labels"'),
    ],
)
def test_unknown_fields_are_refused(fields, message):
    with pytest.raises(ShardError, match=message):
        check_fields(fields, FIELDS)


def test_fields_keep_their_order():
    assert check_fields(["targets", "tokens"], FIELDS) == ("targets", "tokens")
