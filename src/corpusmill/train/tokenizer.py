"""Train a byte-level BPE tokenizer, and measure its tokens per character on held-out text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from corpusmill.errors import InputError
from corpusmill.models.tiktoken_file import CL100K, GPT2, O200K
from corpusmill.models.tokenizer import Tokenizer, load
from corpusmill.report.run_files import RunFiles
from corpusmill.storage import write_atomic
from corpusmill.train.texts import Documents, read_texts

Pattern = Literal["gpt2", "cl100k", "o200k"]
PATTERNS = {"gpt2": GPT2, "cl100k": CL100K, "o200k": O200K}
ROWS_PER_BATCH = 1024  # documents in memory at a time
MAX_HELD_OUT_BYTES = 64 << 20  # bytes of held-out documents that are evaluated


@dataclass(frozen=True, kw_only=True)
class TokenizerSettings:
    """Training parameters.

    vocab_size   tokens, including special ones and the 256 bytes; fewer if there is nothing left to merge
    special      special tokens, with the ids 0, 1, …; the first one ends documents
    pattern      how text is split before merging: as for GPT-2, or as in tiktoken's cl100k_base or o200k_base, which
                 allow at most three digits in a token
    min_count    rarer pairs are not merged
    held_out     share of the documents that is not trained on, chosen by a hash of their text
    """

    vocab_size: int
    special: tuple[str, ...] = ("<|endoftext|>",)
    pattern: Pattern = "gpt2"
    min_count: int = 2
    held_out: float = 0.02

    def __post_init__(self) -> None:
        minimum = 256 + len(self.special)
        if self.vocab_size < minimum:
            raise InputError(f"vocab_size must be {minimum} or more (256 bytes and {len(self.special)} special tokens)")
        if not self.special or "" in self.special or len(set(self.special)) != len(self.special):
            raise InputError("need one special token or more, distinct and not empty; the first one ends documents")
        if self.pattern not in get_args(Pattern):
            raise InputError(f"pattern must be one of {', '.join(get_args(Pattern))}, got {self.pattern!r}")
        if self.min_count < 1 or not 0 < self.held_out < 1:
            raise InputError(
                f"need min_count >= 1 and held_out between 0 and 1, got {self.min_count} and {self.held_out}"
            )


@dataclass
class TokenizerTexts:
    """The training data; `held` are held-out documents, at most 64 MB."""

    documents: int = 0
    bytes: int = 0
    held: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Rate:
    """The size of held-out documents in tokens, characters and bytes."""

    tokens: int
    characters: int
    bytes: int

    @property
    def tokens_per_character(self) -> float:
        return self.tokens / max(self.characters, 1)

    @property
    def bytes_per_token(self) -> float:
        return self.bytes / max(self.tokens, 1)


def train(batches: Iterable[pa.Array], settings: TokenizerSettings, out: Path) -> TokenizerTexts:
    """Write a tokenizer.json trained on these texts.

    The same texts give the same file, in any order and any batches. Memory: the distinct words of all texts, and the
    held-out documents.

    Raises InputError if there are no texts to train on.
    """
    from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
    from tokenizers import Tokenizer as Native

    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=settings.pattern == "gpt2")
    native: Any = Native(models.BPE())
    native.pre_tokenizer = byte_level
    if settings.pattern != "gpt2":
        split = pre_tokenizers.Split(Regex(PATTERNS[settings.pattern]), behavior="isolated")
        native.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    native.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=settings.vocab_size,
        min_frequency=settings.min_count,
        special_tokens=list(settings.special),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    stats = TokenizerTexts()
    native.train_from_iterator(_learned(batches, settings.held_out, stats), trainer)
    if not stats.documents:
        raise InputError("there are no texts to train on")
    write_atomic(str(out), native.to_str(pretty=True).encode())
    return stats


def rate(tokenizer: Tokenizer, documents: Sequence[str]) -> Rate:
    """The size of texts under a tokenizer, without EOS."""
    texts = pa.array(documents, pa.large_string())
    characters, size = (int(pc.sum(count(texts)).as_py() or 0) for count in (pc.utf8_length, pc.binary_length))
    return Rate(int(tokenizer.count(texts).sum()), characters, size)


def rates(out: Path, settings: TokenizerSettings, documents: Sequence[str]) -> dict[str, Rate]:
    """The trained tokenizer and GPT-2's on the held-out documents, by name."""
    tokenizer = load(out, eos=settings.special[0])
    return {out.name: rate(tokenizer, documents), "gpt2": rate(load("gpt2"), documents)}


def _learned(batches: Iterable[pa.Array], share: float, stats: TokenizerTexts) -> Iterator[list[str]]:
    """The texts that are not held out. The hash of a text decides, so duplicates are held out together."""
    bound, size = int(share * 2**64), 0
    for batch in batches:
        learned = []
        for text in batch.drop_null().to_pylist():
            data = text.encode()
            stats.documents += 1
            stats.bytes += len(data)
            if xxhash.xxh3_64_intdigest(data) >= bound:
                learned.append(text)
            elif size < MAX_HELD_OUT_BYTES:
                stats.held.append(text)
                size += len(data)
        yield learned


def texts_of(sources: Sequence[str], documents: Documents = "file") -> Iterator[pa.Array]:
    """The texts of runs (their kept documents) and of all other paths, in batches.

    sources   folders of finished runs; files, folders or patterns, as for `texts.read_texts`

    Raises InputError if a path matches nothing, ResumeError for a run that is not finished.
    """
    for run in (source for source in sources if is_run(source)):
        files = RunFiles(Path(run))
        files.must_be_finished()
        for batch in files.documents("docs", len(files.passes) - 1, ["text"], ROWS_PER_BATCH):
            yield batch["text"]
    if others := [source for source in sources if not is_run(source)]:
        texts = read_texts(others, documents).texts
        for start in range(0, len(texts), ROWS_PER_BATCH):
            yield texts.slice(start, ROWS_PER_BATCH)


def is_run(source: str) -> bool:
    return (Path(source) / "run.json").exists()
