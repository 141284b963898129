"""lid.wide: naive Bayes for 200 languages, with lid.176 beside it where a text is short.

Made by scripts/make_lid_wide.py from the model of py3langid 0.4 and small free texts; docs/decisions/0015-lid-wide.md
has the reasons and figures.
"""

import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.models.close_pairs import LanguagePair, compare, make_pair
from corpusmill.models.common_words import MAX_TIMES, NO_GROUP, CommonWords, count_words
from corpusmill.models.fasttext import FastText
from corpusmill.models.fasttext_file import read_labels
from corpusmill.models.model_file import DAMAGE
from corpusmill.models.table_cache import Tables
from corpusmill.models.wide_file import COMMON, NOTHING, read_card, read_tables
from corpusmill.models.wide_parts import cut_parts
from corpusmill.models.wide_score import MAX_COUNTED, NO_NAME, UNIT, Wide, gather, name_texts, score
from corpusmill.text.array_types import Bools, Bytes, Float32s, Int8s, Int16s, Int64s
from corpusmill.text.buffers import PAD

LID_WIDE = "lid.wide"
LID_176 = "lid.176.ftz"  # Joulin et al. 2016, arXiv:1612.03651: 176 languages, the model of CCNet and FineWeb
UNKNOWN = "unknown"
ALIASES = {"als": "gsw"}  # lid.176's code for Alemannic is ISO 639-3's for Tosk Albanian
SHORT_TEXT = 200  # bytes below which lid.176 has a say
BLENDED = 10  # its labels that count
# Chosen on development parts, see benchmarks/RESULTS.md.
SHARE = 0.7  # of naive Bayes in the blend
HEAT_SHORT, HEAT = 2.0, 3.0  # of a blend, and alone
SHARPER = 2.0  # a blend to this power is calibrated
# The misfit above which a text is in none of the languages: flat, where lid.176 names another language. Where it names
# the same one, or lacks that language, so many times what is expected of the likeliest class, and not below a floor,
# since part of a page may be in English.
MISFIT, TIMES_EXPECTED = 1.6, 1.35
FLOOR_AGREED, FLOOR_ALONE = 2.5, 0.6
AGREED = 0.2  # score of lid.176
MAY_AGREE = 5  # labels of lid.176 that can have that score
MISFIT_SHORT = 1.0  # more is allowed to short texts, of which many misfit
# Above this misfit, and from SHORT_TEXT bytes on, common words are looked at. A text is in none of the languages where
# a stranger has LEAD more of its words, and LEAD_SHARE of the text more; and it is in its own where that has OWN, and
# no fewer than any stranger.
MISFIT_COMMON = 1.0
LEAD, LEAD_SHARE, OWN = 2 * MAX_TIMES + 1, 0.1, 3  # by three different words or more
NOT_SAID, STRANGERS, ITS_OWN = range(3)  # what they say of a text

# Text that fits its class so many times worse than expected may be in more than one language; so may text that is in
# none, or that lid.176 calls something else. It is one where some language is so far above the class of what is none,
# for each byte: more than in code and markup, and less than in prose. The main one has MAIN of the letters, in parts in
# which it has OF_MAIN of the shares: a sentence of English may well be nearer to Scots.
TIMES_DOUBTFUL = 1.5
OVER_NOTHING = 0.75
MAIN, OF_MAIN = 0.6, 0.01


class WideScores(NamedTuple):
    """What `score` says of texts; see there."""

    offsets: Int64s
    scores: Float32s
    weights: Int64s
    best: Float32s


class NamedTexts(NamedTuple):
    """What `name_texts` says of texts; see there."""

    shares: Float32s
    likeliest: Int64s
    misfit: Float32s
    expected: Float32s
    lead: Float32s


class LanguageShares(NamedTuple):
    """shares     (texts, names) of each language, all 0 for a text without words
    unknown    (texts,) whether the text is in none
    doubtful   (texts,) whether part of it may be in another language than the rest
    """

    shares: Float32s
    unknown: Bools
    doubtful: Bools


@dataclass(frozen=True)
class WideModel:
    """names   of languages: of naive Bayes, then those that only lid.176 has; `unknown` is none of them"""

    names: list[str]
    pairs: list[tuple[int, int, LanguagePair]]
    _known_to_lid_176: Int64s  # (labels of lid.176,) their places in `names`
    _in_lid_176: Bools  # (names,) which these are
    _model: Wide
    _common: CommonWords
    _group: Int16s  # (names,) of the lists of common words

    @classmethod
    def load(cls, path: Path) -> "WideModel":
        """Raises AssetError if the file is not such a model."""
        card, tables = read_card(path), read_tables(path)
        try:
            return cls._from_tables(card, tables)
        except DAMAGE as error:
            why = f"{type(error).__name__}: {error}"
            raise AssetError(f"{path}: not a language model of corpusmill, or a damaged one ({why})") from error

    @classmethod
    def _from_tables(cls, card: dict[str, Any], tables: Tables) -> "WideModel":
        classes: list[str] = card["classes"]
        names = all_names(classes)
        also = [ALIASES.get(label, label) for label in assets.load(LID_176, read_labels)]
        position = {name: i for i, name in enumerate(names)}
        pairs = [
            (
                position[first],
                position[second],
                make_pair(tables[f"{first}-{second}"], tables[f"{first}-{second}-weights"]),
            )
            for first, second in card["pairs"]
        ]
        model = Wide(
            moves=tables["moves"],
            states=tables["states"],
            table=tables["table"],
            ceiling=tables["ceiling"],
            prior=tables["prior"],
            expected=tables["expected"],
            name=np.array([NO_NAME if name == NOTHING else position[name] for name in classes], np.int32),
            logs=np.rint(np.log1p(np.arange(MAX_COUNTED)) * UNIT).astype(np.int32),
            step=float(card["step"]),
            depth=int(card["depth"]),
        )
        group = np.full(len(names), NO_GROUP, np.int16)
        for name, number in card["groups"].items():
            group[position[name]] = number
        common = CommonWords(*(tables[COMMON + name] for name in CommonWords._fields))
        if not (group.min() >= NO_GROUP and group.max() < len(common.bounds) - 1):
            raise ValueError(f"the groups of its languages are from {group.min()} to {group.max()}")
        known = np.array([position[label] for label in also])
        return cls(names, pairs, known, np.isin(np.arange(len(names)), known), model, common, group)

    def share(self, data: Bytes, offsets: Int64s) -> LanguageShares:
        """What each text is in.

        data   readable for PAD bytes after the last text
        """
        scored = self._score(data, offsets)
        named = self._name(scored)
        # Only where some language fits far better than the class of what is no language.
        return self._judge(data, scored, named, named.lead >= OVER_NOTHING * np.diff(offsets))

    def _judge(self, data: Bytes, scored: WideScores, named: NamedTexts, language: Bools) -> LanguageShares:
        """See `share`.

        language   (texts,) which texts may be doubtful; text that is not in any language may be, too
        """
        offsets = scored.offsets
        shares, likeliest, misfit, expected, _ = named
        short: Bools = np.asarray(np.diff(offsets) < SHORT_TEXT)
        self._look_twice(data, offsets, short, shares, likeliest)
        agreed = self._agree(data, np.flatnonzero(short), scored, shares, likeliest)
        known = self._in_lid_176[likeliest]
        alone = np.maximum(FLOOR_ALONE, TIMES_EXPECTED * expected)
        together = np.maximum(FLOOR_AGREED, TIMES_EXPECTED * expected)
        unfit = ~short & (misfit > np.where(known, MISFIT, alone))
        looked_at = np.flatnonzero(shares.any(axis=1) & ~short & (unfit | (misfit > MISFIT_COMMON)))
        said = self._common_words_say(data, offsets, looked_at, likeliest)
        doubtful = ~short & language & (misfit > np.maximum(MISFIT_COMMON, TIMES_DOUBTFUL * expected))
        # lid.176 is asked where its answer makes a difference.
        asked = unfit & known & (misfit <= together) & ((said == NOT_SAID) | (language & ~doubtful))
        agreed[asked] = self._agrees(data, offsets, np.flatnonzero(asked), likeliest)
        unknown = misfit > np.where(agreed, together, np.where(known, MISFIT, alone)) + MISFIT_SHORT * short
        doubtful |= language & unfit & (unknown | (known & ~agreed))
        unknown[said == STRANGERS] = True
        unknown[said == ITS_OWN] = False
        return LanguageShares(shares, unknown, doubtful)

    def main_language(self, data: Bytes, first: Int64s, last: Int64s, windows: int) -> tuple[Int64s, LanguageShares]:
        """Which texts have a main language, and what their parts in it are in, all others left out: where these are
        doubtful, too, the text has none.

        first, last   (texts * windows,) spans of `data`, which is readable for PAD bytes after the last one
        """
        parts = cut_parts(data, first, last, windows)
        texts = np.flatnonzero(np.diff(parts.bounds))
        begin = parts.bounds[:-1][texts]
        of_text = np.repeat(np.arange(len(texts)), np.diff(parts.bounds)[texts])
        scored = self._score(*prepare(data, parts.first, parts.last, np.arange(len(parts.first) + 1)))
        shares = self._name(scored).shares
        main = best_of(sums(shares * parts.letters[:, None], begin))
        in_main = shares[np.arange(len(of_text)), main[of_text]] >= OF_MAIN
        enough = sums(parts.letters * in_main, begin) >= MAIN * sums(parts.letters, begin)
        main_parts = np.flatnonzero(in_main & enough[of_text])
        bounds = np.searchsorted(of_text[main_parts], np.append(np.flatnonzero(enough), len(texts)))
        joined, offsets = prepare(data, parts.first[main_parts], parts.last[main_parts], bounds)
        together = WideScores(
            offsets, *(sums(column[main_parts], bounds[:-1]) for column in (scored.scores, scored.weights, scored.best))
        )
        judged = self._judge(joined, together, self._name(together), np.ones(len(offsets) - 1, np.bool_))
        sound = ~judged.doubtful
        return texts[enough][sound], LanguageShares(judged.shares[sound], judged.unknown[sound], judged.doubtful[sound])

    def _score(self, data: Bytes, offsets: Int64s) -> WideScores:
        texts = len(offsets) - 1
        scores = np.empty((texts, self._model.table.shape[1]), np.float32)
        scored = WideScores(offsets, scores, np.empty(texts, np.int64), np.empty(texts, np.float32))
        score(data, offsets, self._model, scored.scores, scored.weights, scored.best)
        return scored

    def _name(self, scored: WideScores) -> NamedTexts:
        """By naive Bayes alone."""
        return name(scored, self._model, HEAT, len(self.names))

    def _common_words_say(self, data: Bytes, offsets: Int64s, rows: Int64s, likeliest: Int64s) -> Int8s:
        """(texts,) STRANGERS where the most common words say that a text is in none of the languages, ITS_OWN where
        they say that it is in the likeliest, and NOT_SAID for other texts and those that are not among `rows`."""
        said = np.full(len(offsets) - 1, NOT_SAID, np.int8)
        group = self._group[likeliest[rows]]
        rows, group = rows[group != NO_GROUP], group[group != NO_GROUP]
        words, own, others = count_words(data, offsets, rows, group, self._common)
        lead = others - own
        said[rows[(lead >= LEAD) & (lead >= LEAD_SHARE * words)]] = STRANGERS
        said[rows[(lead <= 0) & (own >= OWN)]] = ITS_OWN
        return said

    def _look_twice(self, data: Bytes, offsets: Int64s, short: Bools, shares: Float32s, likeliest: Int64s) -> None:
        """Give the sum of the shares of a close pair to the one that fits better."""
        for first, second, pair in self.pairs:
            rows = np.flatnonzero(((likeliest == first) | (likeliest == second)) & ~short)
            if len(rows):
                is_first = compare(data, offsets, rows, pair)
                both = shares[rows, first] + shares[rows, second]
                shares[rows, first], shares[rows, second] = np.where(is_first, both, 0), np.where(is_first, 0, both)
                likeliest[rows] = np.where(is_first, first, second)

    def _agree(self, data: Bytes, rows: Int64s, scored: WideScores, shares: Float32s, likeliest: Int64s) -> Bools:
        """(texts,) whether lid.176 gives a text AGREED for its likeliest language. Asked for `rows` alone, which are
        short: their shares, and the likeliest, become those of naive Bayes, less sharp, and of lid.176 together."""
        agreed = np.zeros(len(likeliest), np.bool_)
        if not len(rows):
            return agreed
        offsets, weights = scored.offsets, scored.weights[rows]
        labels, scores = lid_176().predict_spans(data, offsets[rows], offsets[rows + 1], BLENDED)
        theirs = np.zeros((len(rows), len(self.names)), np.float32)
        row, column = np.nonzero(labels >= 0)
        np.add.at(theirs, (row, self._known_to_lid_176[labels[row, column]]), scores[row, column])
        joined = np.concatenate([[0], np.cumsum(np.diff(offsets)[rows])])
        own = name(
            WideScores(joined, scored.scores[rows], weights, scored.best[rows]),
            self._model,
            HEAT_SHORT,
            len(self.names),
        )
        share = np.where(weights > 0, np.float32(SHARE), np.float32(0))[:, None]
        share = np.where(theirs.any(axis=1, keepdims=True), share, np.float32(1))
        blended = (share * own.shares + (1 - share) * theirs) ** SHARPER
        shares[rows] = blended / np.maximum(blended.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        likeliest[rows] = best_of(shares[rows])
        agreed[rows] = theirs[np.arange(len(rows)), likeliest[rows]] >= AGREED
        return agreed

    def _agrees(self, data: Bytes, offsets: Int64s, rows: Int64s, likeliest: Int64s) -> Bools:
        """(rows,) whether lid.176 gives a text AGREED for its likeliest language."""
        labels, scores = lid_176().predict_spans(data, offsets[rows], offsets[rows + 1], MAY_AGREE, AGREED)
        same = (labels >= 0) & (self._known_to_lid_176[labels] == likeliest[rows][:, None])
        return np.asarray((same & (scores >= AGREED)).any(axis=1))


def name(scored: WideScores, model: Wide, heat: float, names: int) -> NamedTexts:
    """Names and fit of texts by naive Bayes alone."""
    texts = len(scored.weights)
    shares, likeliest = np.empty((texts, names), np.float32), np.empty(texts, np.int64)
    misfit, expected, lead = np.empty((3, texts), np.float32)
    name_texts(*scored, model, heat, shares, likeliest, misfit, expected, lead)
    return NamedTexts(shares, likeliest, misfit, expected, lead)


def read_names(path: Path) -> list[str]:
    """What a text can be called. Reads no weights."""
    return [*all_names(read_card(path)["classes"]), UNKNOWN]


def all_names(classes: list[str]) -> list[str]:
    """The languages of the classes, then those that lid.176 alone has."""
    also = [ALIASES.get(label, label) for label in assets.load(LID_176, read_labels)]
    return list(dict.fromkeys([name for name in classes if name != NOTHING] + also))


def best_of(shares: Float32s) -> Int64s:
    """(texts,) the name with the largest share of each; there may be no texts."""
    return shares.argmax(axis=1) if len(shares) else np.empty(0, np.int64)


def sums(values: NDArray[Any], begin: Int64s) -> NDArray[Any]:
    """Of the rows from each of `begin` to the next; none is empty."""
    return np.add.reduceat(values, begin, axis=0) if len(begin) else values[:0]


def lid_176() -> FastText:
    return assets.load(LID_176, FastText.load)


def prepare(data: Bytes, first: Int64s, last: Int64s, bounds: Int64s) -> tuple[Bytes, Int64s]:
    """The spans of each text, joined by spaces: in NFC, and in lower case if all letters are capitals.

    bounds   (texts + 1,) the spans of text i are bounds[i] to bounds[i + 1]
    """
    texts = len(bounds) - 1
    capacity = int((last - first).sum()) + len(first)
    out, offsets, odd = np.zeros(capacity + PAD, np.uint8), np.empty(texts + 1, np.int64), np.empty(texts, np.bool_)
    gather(data, first, last, bounds, out, offsets, odd)
    changed = {int(i): plain(out[offsets[i] : offsets[i + 1]].tobytes()) for i in np.flatnonzero(odd)}
    changed = {i: new for i, new in changed.items() if new != out[offsets[i] : offsets[i + 1]].tobytes()}
    if not changed:
        return out, offsets
    pieces, at = [], 0
    for i, new in changed.items():
        pieces += [out[at : offsets[i]], np.frombuffer(new, np.uint8)]
        at = int(offsets[i + 1])
    lengths = np.diff(offsets)
    lengths[list(changed)] = [len(new) for new in changed.values()]
    joined = np.concatenate([*pieces, out[at : offsets[-1]], np.zeros(PAD, np.uint8)])
    return joined, np.concatenate([[0], np.cumsum(lengths)])


def plain(text: bytes) -> bytes:
    decoded = text.decode("utf-8", "replace")
    return unicodedata.normalize("NFC", decoded.lower() if decoded.isupper() else decoded).encode()
