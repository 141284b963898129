"""What a run will take of memory and disk, as far as its stages and the size of its input tell.

A rule of thumb with a range, without reading more than a sample's compression: `corpusmill plan RECIPE` carries the
recipe out on a sample, and knows better. Measured are (docs/log.md) 1,241, 1,260 and 1,442 MiB over all processes of
near dedup with two workers on 46, 180 and 486 MB of text, 816 to 1,077 with shared pages counted once, and 2.3 bytes
of disk per byte of text with shards and no filters.
"""

from dataclasses import dataclass

from corpusmill.engine.plan.plan import RunPlan
from corpusmill.engine.work.documents import WriteDocuments
from corpusmill.engine.work.extraction import ExtractTexts
from corpusmill.engine.work.passes import Pass
from corpusmill.engine.work.shards import PackRows, WriteTokens
from corpusmill.engine.work.sources import TextsInPlace
from corpusmill.engine.work.tokens import CountTokens

MIB = 1 << 20
DRIVER = (200 * MIB, 400 * MIB)  # the driver and the process that workers are forked from
WORKER = (300 * MIB, 450 * MIB)
DOCUMENT = (0, 13)  # bytes of memory per document in the last stage of a dedup
LEAST_TEXT = 1000  # bytes of text that a document has, at least, on average
KEPT = 0.3  # a run with rules may drop most of its input
TEXT = (0.25, 0.9)  # bytes on disk per byte of text: compressed documents, with what was measured of them
TOKENS = (0.4, 1.0)  # 2 or 4 bytes per token, of 4 to 5 bytes of text
SMALLEST = 1 * MIB  # what a run of next to nothing leaves: report, records


@dataclass(frozen=True)
class Forecast:
    """Bytes, from and to: of all processes at the peak, and of the folder of the run."""

    memory: tuple[int, int]
    disk: tuple[int, int]


def forecast(plan: RunPlan, workers: int, unit_text: int) -> Forecast:
    """What a run will take.

    workers     that have something to do
    unit_text   bytes of text in a unit, at most
    """
    text = sum(source.text_size for source in plan.inputs)
    works = [stage.work for stage in plan.stages]
    passes = [work for work in works if isinstance(work, Pass)]
    drops = any(work.chain.labels or work.requests for work in passes)
    texts = sum(not isinstance(work.source, TextsInPlace) for work in passes)
    texts += sum(isinstance(work, ExtractTexts | WriteDocuments) for work in works)
    tokens = sum(isinstance(work, CountTokens | PackRows | WriteTokens) for work in works)
    # All documents are written once, the dropped ones with a sample of their texts; what follows, of the kept ones.
    low = text * (KEPT if drops else 1.0) * (texts * TEXT[0] + tokens * TOKENS[0])
    high = text * (texts * TEXT[1] + tokens * TOKENS[1])
    dedup = text / LEAST_TEXT * DOCUMENT[1] if any(work.requests for work in passes) else 0
    ids = min(unit_text, text) * TOKENS[1] if tokens else 0  # token ids of a unit are in memory
    return Forecast(
        (DRIVER[0] + workers * WORKER[0], int(DRIVER[1] + workers * (WORKER[1] + ids) + dedup)),
        (int(low) + SMALLEST // 4, int(high) + SMALLEST),
    )
