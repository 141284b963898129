"""The answers that a model has given, each under the key of its question: written as it arrives, and never changed.

    FOLDER/answers.log    records: RECORD, then the answer as JSON. Only ever appended to, under a lock
    FOLDER/answers.index  ENTRY of each record of the log, in its order; what is missing at its end is read from the log
    FOLDER/models.json    the name that was asked for -> the name that the server gave its model

The first answer to a question is the answer: whoever writes holds the lock and has read all that others wrote, so a
second one is discarded and the first returned. A process that is killed while it writes leaves a torn record, which the
next writer cuts off. A record whose checksum is wrong counts as no answer. What a reader holds in memory is 16 bytes an
answer.
"""

import contextlib
import os
import struct
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

import numpy as np
import orjson
from numpy.typing import NDArray

from corpusmill import system
from corpusmill.errors import ModelServerError, ResumeError, StorageError, other_format
from corpusmill.inference.questions import KEY_BYTES, Answer

FORMAT = 1
MAGIC = b"CMA%d" % FORMAT
RECORD = struct.Struct(f"<4s{KEY_BYTES}sIIIII")  # magic, key, model, prompt tokens, answer tokens, bytes, CRC-32
ENTRY = np.dtype(
    [("key", "<u8"), ("offset", "<u8"), ("model", "<u4"), ("prompt_tokens", "<u4"), ("answer_tokens", "<u4")]
)
LOG, INDEX, MODELS, LOCK = "answers.log", "answers.index", "models.json", "lock"
SYNCED = 4 << 20  # bytes after which the log is made to last
READ_AHEAD = 1 << 20


class AnswerLog:
    """The answers of a folder, which many processes may read and write at once.

    Raises StorageError if the folder cannot be written, ResumeError if another format is in it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock_file, self._log, self._index = self._open(LOCK), self._open(LOG), self._open(INDEX)
        except OSError as error:
            raise StorageError(f"{folder}: {error.strerror}. Answers of models are written there.") from error
        weakref.finalize(self, _close, self._lock_file, self._log, self._index)
        self._refuse_another_format()
        self._mutex = threading.Lock()
        self._end = 0  # of the records of the log that are known
        self._entries = 0  # how many these are
        self._keys: NDArray[np.uint64] = np.empty(0, np.uint64)  # sorted: those that were there at first
        self._offsets: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._recent: dict[int, list[int]] = {}  # key -> offsets, of the others
        self._spent: dict[int, Counter[str]] = {}
        self._names: dict[str, str] = {}  # of models, as far as this process has met them
        self._unsynced = 0
        self._load()

    def _open(self, name: str) -> BinaryIO:
        """A file to read and to append to, made if it is not there."""
        descriptor = os.open(self.folder / name, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        return os.fdopen(descriptor, "r+b", buffering=0)

    def _refuse_another_format(self) -> None:
        """What cannot be read would be taken for a torn record, and cut off."""
        begin = self._log.read(len(MAGIC))
        if begin.startswith(MAGIC[:3]) and len(begin) == len(MAGIC) and begin != MAGIC:
            raise ResumeError(other_format(str(self.folder / LOG), begin[3:].decode("ascii", "replace"), FORMAT))

    def get(self, key: bytes) -> Answer | None:
        """The answer to the question with this key; None if there is none."""
        with self._mutex:
            for offset in self._places(key):
                answer = self._read(key, offset)
                if answer is not None:
                    return answer
        return None

    def add(self, key: bytes, model: str, answer: Answer) -> Answer:
        """Write an answer, and return it; or the first, if somebody has written one meanwhile.

        Raises ModelServerError if the server gives its model another name than before.
        """
        text = {"text": answer.text, "is_cut": answer.is_cut, "served_by": answer.served_by}
        payload = orjson.dumps(text)
        tokens = answer.prompt_tokens, answer.answer_tokens
        header = RECORD.pack(MAGIC, key, crc32(model.encode()), *tokens, len(payload), crc32(payload))
        with self._mutex, self._locked():
            self._catch_up(cut_torn=True)
            self._check_name(model, answer.served_by)
            for offset in self._places(key):
                if (first := self._read(key, offset)) is not None:
                    return first
            try:
                self._log.seek(self._end)
                _write(self._log, header + payload)
            except OSError as error:
                raise StorageError(f"{self.folder / LOG}: {error.strerror}. Make room, and run again.") from error
            self._unsynced += len(header) + len(payload)
            self._catch_up()
            self._write_index()
        if self._unsynced >= SYNCED:
            self.sync()
        return answer

    def spent(self, model: str) -> tuple[int, int, int]:
        """Answers of a model, tokens of their prompts, and their own."""
        with self._mutex:
            counts = self._spent.get(crc32(model.encode()), Counter())
            return counts["answers"], counts["prompt_tokens"], counts["answer_tokens"]

    def sync(self) -> None:
        """Make what was written last, should the machine lose its power."""
        self._unsynced = 0
        os.fsync(self._log.fileno())

    def is_there(self) -> bool:
        """Whether the log is still the one in the folder, which may have been removed and made again."""
        try:
            return os.path.samestat(os.fstat(self._log.fileno()), (self.folder / LOG).stat())
        except OSError:
            return False

    def __len__(self) -> int:
        return self._entries

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder, as one of several processes that write to it."""
        system.lock(self._lock_file)
        try:
            yield
        finally:
            system.unlock(self._lock_file)

    def _load(self) -> None:
        """Read the index, as far as it fits the log, and the rest from the log."""
        with self._locked():
            self._index.seek(0)
            data = self._index.read()
            entries = np.frombuffer(data[: len(data) // ENTRY.itemsize * ENTRY.itemsize], ENTRY)
            size = os.fstat(self._log.fileno()).st_size
            if len(entries):
                record = self._header(int(entries[-1]["offset"]), size)
                if record is None or int.from_bytes(record[1][:8], "little") != int(entries[-1]["key"]):
                    entries = entries[:0]  # power was lost before the log had lasted: the log is what counts
                    self._index.truncate(0)
                else:
                    self._end = int(entries[-1]["offset"]) + RECORD.size + record[5]
            self._entries = len(entries)
            order = np.argsort(entries["key"], kind="stable")  # of equal keys the first written is first
            self._keys, self._offsets = entries["key"][order], entries["offset"][order]
            for model in np.unique(entries["model"]).tolist():
                own = entries[entries["model"] == model]
                totals = {name: int(own[name].sum(dtype=np.int64)) for name in ("prompt_tokens", "answer_tokens")}
                self._spent[model] = Counter(answers=len(own), **totals)
            self._new: list[tuple[int, int, int, int, int]] = []
            self._catch_up(cut_torn=True)
            self._write_index()

    def _catch_up(self, cut_torn: bool = False) -> None:
        """Take up the records that are new in the log; with `cut_torn` cut off one that is torn, which only the holder
        of the lock may do."""
        size = os.fstat(self._log.fileno()).st_size
        while self._end < size:
            record = self._header(self._end, size)
            if record is None:
                if cut_torn:
                    self._log.truncate(self._end)
                return
            _, key, model, prompt_tokens, answer_tokens, length, _ = record
            number = int.from_bytes(key[:8], "little")
            self._recent.setdefault(number, []).append(self._end)
            self._new.append((number, self._end, model, prompt_tokens, answer_tokens))
            counts = self._spent.setdefault(model, Counter())
            counts.update(answers=1, prompt_tokens=prompt_tokens, answer_tokens=answer_tokens)
            self._entries += 1
            self._end += RECORD.size + length

    def _write_index(self) -> None:
        """Write the entries that the index lacks. The lock is held."""
        have = os.fstat(self._index.fileno()).st_size // ENTRY.itemsize
        lacking = self._entries - have
        if lacking > 0:
            self._index.seek(have * ENTRY.itemsize)
            _write(self._index, np.array(self._new[len(self._new) - lacking :], ENTRY).tobytes())
        self._new = []

    def _header(self, offset: int, size: int) -> tuple[bytes, bytes, int, int, int, int, int] | None:
        """The fields of a record; None if it is not whole."""
        if offset + RECORD.size > size:
            return None
        self._log.seek(offset)
        data = self._log.read(RECORD.size)
        if len(data) < RECORD.size:
            return None
        record = RECORD.unpack(data)
        return record if record[0] == MAGIC and offset + RECORD.size + record[5] <= size else None

    def _places(self, key: bytes) -> list[int]:
        """Offsets of records that may be of a key, in the order in which they were written."""
        number = int.from_bytes(key[:8], "little")
        start, stop = np.searchsorted(self._keys, np.uint64(number), "left"), len(self._keys)
        at = []
        while start < stop and int(self._keys[start]) == number:
            at.append(int(self._offsets[start]))
            start += 1
        return at + self._recent.get(number, [])

    def _read(self, key: bytes, offset: int) -> Answer | None:
        """The answer at a place of the log; None if it is of another key, or damaged."""
        self._log.seek(offset)
        data = self._log.read(RECORD.size)
        if len(data) < RECORD.size:
            return None
        magic, own_key, _, prompt_tokens, answer_tokens, length, checksum = RECORD.unpack(data)
        if magic != MAGIC or own_key != key:
            return None
        payload = self._log.read(length)
        if crc32(payload) != checksum:
            return None
        about = orjson.loads(payload)
        return Answer(about["text"], about["is_cut"], about["served_by"], prompt_tokens, answer_tokens)

    def _check_name(self, model: str, served_by: str) -> None:
        """Note the name that a server gives its model, or compare it with the one noted. The lock is held."""
        if self._names.get(model) == served_by:
            return
        path = self.folder / MODELS
        names: dict[str, str] = orjson.loads(path.read_bytes()) if path.exists() else {}
        if model not in names:
            beside = path.with_suffix(".new")
            beside.write_bytes(orjson.dumps({**names, model: served_by}, option=orjson.OPT_SORT_KEYS))
            system.replace(beside, path)
            names[model] = served_by
        self._names = names
        if names[model] == served_by:
            return
        raise ModelServerError(
            f'model "{model}" now answers as "{served_by}", and the answers in {self.folder} are of "{names[model]}". '
            "Answers of two models are not mixed: ask for the earlier one, or give this one a folder with `answers`."
        )


def _close(*files: BinaryIO) -> None:
    for file in files:
        file.close()


def _write(file: BinaryIO, data: bytes) -> None:
    """All of the data: an unbuffered file may take a part."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
