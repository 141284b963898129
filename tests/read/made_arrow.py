"""Small Arrow files of every kind, and mutations of them."""

import io
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa

ROWS = 12


def tables() -> dict[str, pa.Table]:
    """Tables with a column of every type of Arrow, a few types each."""
    text = [f"The river {number} runs, größer." for number in range(ROWS)]
    many = list(range(ROWS))
    strings = [f"s{number}" if number % 3 else None for number in many]
    lists = [[str(item) for item in range(number % 4)] for number in many]
    structs = [{"a": number, "b": {"c": strings[number]}} if number % 4 else None for number in many]
    return {
        "plain": pa.table({"text": text, "n": many, "x": [number / 3 for number in many], "s": strings}),
        "nested": pa.table(
            {
                "text": text,
                "lists": lists,
                "structs": structs,
                "map": pa.array([[("k", number)] for number in many], pa.map_(pa.string(), pa.int32())),
                "fixed": pa.array([["a", "b"]] * ROWS, pa.list_(pa.string(), 2)),
                "view": pa.array(lists, pa.list_view(pa.string())),
            }
        ),
        "dictionary": pa.table(
            {
                "text": pa.array([text[number % 3] for number in many]).dictionary_encode(),
                "inner": pa.DictionaryArray.from_arrays(
                    pa.array([number % 2 for number in many]), pa.array(lists[1:3])
                ),
            }
        ),
        "views": pa.table({"text": pa.array(text, pa.string_view()), "b": pa.array([b"x"] * ROWS, pa.binary_view())}),
        "large": pa.table(
            {"text": pa.array(text, pa.large_string()), "l": pa.array(lists, pa.large_list(pa.string()))}
        ),
        "times": pa.table(
            {
                "text": text,
                "ns": pa.array(many, pa.timestamp("ns")),
                "s": pa.array(many, pa.timestamp("s", "Europe/Berlin")),
                "time": pa.array(many, pa.time64("ns")),
                "date": pa.array(many, pa.date32()),
                "gap": pa.array(many, pa.duration("ns")),
                "step": pa.array([(1, 2, number) for number in many], pa.month_day_nano_interval()),
                "cost": pa.array([Decimal(number) for number in many], pa.decimal128(9, 2)),
                "half": pa.array(np.arange(ROWS, dtype=np.float16)),
            }
        ),
        "odd": pa.table(
            {
                "text": text,
                "runs": pa.RunEndEncodedArray.from_arrays([5, ROWS], ["a", None]),
                "union": pa.UnionArray.from_dense(
                    pa.array([number % 2 for number in many], pa.int8()),
                    pa.array([number // 2 for number in many], pa.int32()),
                    [pa.array(many), pa.array(text)],
                ),
                "sparse": pa.UnionArray.from_sparse(
                    pa.array([number % 2 for number in many], pa.int8()), [pa.array(many), pa.array(text)]
                ),
                "uuid": pa.array([bytes(16)] * ROWS, pa.uuid()),
                "null": pa.nulls(ROWS),
            }
        ),
    }


def files() -> dict[str, bytes]:
    """The tables as files and streams, compressed and not, of three record batches each."""
    made = {}
    for name, table in tables().items():
        for packed in (None, "zstd", "lz4"):
            for kind, new in (("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream)):
                sink = io.BytesIO()
                with new(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=packed)) as writer:
                    writer.write_table(table, ROWS // 3)
                made[f"{name}.{kind}.{packed}"] = sink.getvalue()
    return made


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Bytes changed as damage and malice change them: bits, whole numbers that lie, pieces cut out and doubled."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(max(len(out), 1))
        match chance.randrange(6):
            case 0:
                out[at] ^= 1 << chance.randrange(8)
            case 1:
                out[at] = chance.randrange(256)
            case 2 | 3:
                width, at = chance.choice((4, 8)), at // 4 * 4
                number = chance.choice(
                    (0, 1, 2, 3, 7, 255, 1 << 16, 1 << 24, 1 << 31, 1 << 40, 1 << 62, -1, -2, -(1 << 31))
                )
                out[at : at + width] = (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")
            case 4:
                del out[at : at + chance.choice((1, 4, 8, 64))]
            case 5:
                out[at:at] = out[at : at + chance.choice((1, 4, 8, 64))]
    return bytes(out)
