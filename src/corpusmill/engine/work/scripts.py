"""In which script documents are that steps with rules on words see: words and bounds made for English drop whole
languages."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.engine.work.step_chain import StepChain
from corpusmill.store.facts import Facts, add

JUDGED_CHARS = 200  # of a text, which decide its script
WIDE = 1.4  # bytes a character: a text in Latin script has fewer, others have about 1.8 or 3
EAST_ASIAN = ("han", "hiragana", "katakana", "bopomofo")  # of texts in Chinese or Japanese


def count_scripts(batch: Batch, chain: StepChain, facts: Facts) -> None:
    """Count the documents in other scripts than Latin that come to steps with rules on words, and those that they drop
    for such a rule: facts["scripts"][step][script] = {"documents": …, "rules": {rule: documents}}."""
    if not chain.word_steps or batch.beside is not None:
        return
    texts = batch.docs["text"]
    parts = batch.texts_of_dropped() if texts.null_count == len(texts) else [(np.arange(len(texts)), texts)]
    reasons = dict(batch.reasons)
    for rows, column in parts:
        for row, script in _scripts(column):
            at = int(batch.dropped[rows[row]])
            for index in chain.word_steps:
                if at == KEPT or at >= index:
                    add(facts, "scripts", chain.labels[index], script, "documents")
            if at in chain.word_steps:
                rule = (reasons[chain.labels[at]][rows[row]].as_py() or "").partition(",")[0]
                if "word" in rule:
                    add(facts, "scripts", chain.labels[at], script, "rules", rule)


def _scripts(texts: pa.Array) -> Iterator[tuple[int, str]]:
    """The places of the texts in other scripts than Latin, with their scripts: those of most letters at the beginning
    of each."""
    limit = pc.multiply(pc.cast(pc.utf8_length(texts), pa.float64()), WIDE)
    is_wide = pc.fill_null(pc.greater(pc.cast(pc.binary_length(texts), pa.float64()), limit), False)
    rows = np.flatnonzero(is_wide.to_numpy(zero_copy_only=False))
    if not len(rows):
        return
    from corpusmill.text.scripts import SCRIPTS, script_counts  # a kernel that most runs need not load

    counts = script_counts(pc.utf8_slice_codeunits(texts.take(pa.array(rows)), 0, JUDGED_CHARS))
    east_asian = [SCRIPTS.index(script) for script in EAST_ASIAN]
    counts[:, east_asian[0]] = counts[:, east_asian].sum(axis=1)
    for row, script, letters in zip(rows.tolist(), counts.argmax(axis=1).tolist(), counts.max(axis=1).tolist()):
        if letters and SCRIPTS[script] != "latin":
            yield row, "Chinese or Japanese" if script in east_asian else SCRIPTS[script].capitalize()
