"""How much text a byte of a file gives, from a look at its beginning."""

from corpusmill.errors import RecordError, StorageError
from corpusmill.read._bytes import LARGEST_WINDOW, READ_ERRORS, SLICE, dictionary_of, inflater, kind_of
from corpusmill.read._ipc import open_ipc
from corpusmill.storage import FileInfo, open_read, read_range

LOOK_BYTES = 1 << 18  # bytes of the file that are looked at
MAX_INFLATED = 8 << 20  # bytes that are inflated at most, and a block
TYPICAL_EXPANSION = 4.0  # where a look tells nothing


def expansion(file: FileInfo) -> float:
    """Bytes after decompression for each byte of the file; 1 for a file that is not compressed.

    Of Parquet and Arrow, by what their columns take decoded. Never raises for what a file holds: damage is the reader's
    to report.
    """
    if file.is_folder:
        return 1.0
    head = read_range(file.path, 0, LOOK_BYTES)
    if head.startswith(b"PAR1"):
        return _parquet(file)
    if head.startswith(b"ARROW1"):
        return _arrow(file)
    kind = kind_of(head)
    return _inflated(head, kind, file.path) if kind else 1.0


def _inflated(head: bytes, kind: str, path: str) -> float:
    data, read, out = head, 0, 0
    try:
        # However large a window is, only the bytes that are written to it take memory: MOST.
        dictionary = dictionary_of(path, kind)
        while data and out < MAX_INFLATED:
            member = inflater(kind, dictionary, LARGEST_WINDOW)
            while not member.eof and out < MAX_INFLATED and (data or not member.needs_input):
                fed = data[:1024] if member.needs_input else b""
                data = data[len(fed) :]
                out += len(member.decompress(fed, SLICE))
            if member.eof:
                data = member.unused_data + data
    except StorageError:
        raise
    except READ_ERRORS:
        pass
    read = len(head) - len(data)
    return max(out / read, 1.0) if read and out else TYPICAL_EXPANSION


def _parquet(file: FileInfo) -> float:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_read(file.path) as source:
            metadata = pq.read_metadata(source)
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        decoded: int = sum(group.total_byte_size for group in groups)
        return max(decoded / file.size, 0.1)
    except StorageError:
        raise
    except (pa.ArrowException, OSError, ValueError):
        return TYPICAL_EXPANSION


def _arrow(file: FileInfo) -> float:
    import pyarrow as pa

    try:
        with open_ipc(file.path) as table:
            blocks = list(table.blocks())
            if not blocks:
                return 1.0
            first: int = table.read(blocks[0], list(range(len(table.schema)))).nbytes
            return max(first * len(blocks) / file.size, 0.1)
    except StorageError:
        raise
    except (pa.ArrowException, RecordError, OSError, ValueError, KeyError):  # KeyError: a type that pyarrow has not
        return TYPICAL_EXPANSION
