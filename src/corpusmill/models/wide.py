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
from corpusmill.text.array_types import Bools, Bytes, Float32s, Int16s, Int64s
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
MISFIT_SHORT = 1.0  # more is allowed to short texts, of which many misfit
# Above this misfit, and from SHORT_TEXT bytes on, common words are looked at. A text is in none of the languages where
# a stranger has LEAD more of its words, and LEAD_SHARE of the text more; and it is in its own where that has OWN, and
# no fewer than any stranger.
MISFIT_COMMON = 1.0
LEAD, LEAD_SHARE, OWN = 2 * MAX_TIMES + 1, 0.1, 3  # by three different words or more

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
        return cls(names, pairs, np.array([position[label] for label in also]), model, common, group)

    def share(self, data: Bytes, offsets: Int64s) -> LanguageShares:
        """What each text is in.

        data   readable for PAD bytes after the last text
        """
        scored = self._score(data, offsets)
        judged = self._judge(data, scored)
        rows = np.flatnonzero(judged.doubtful)
        judged.doubtful[rows] = self._is_language(scored, rows)
        return judged

    def _judge(self, data: Bytes, scored: WideScores) -> LanguageShares:
        """See `share`. Text that is not in any language may be doubtful, too."""
        offsets = scored.offsets
        texts = len(offsets) - 1
        shares, misfit, expected = self._name(scored)
        short: Bools = np.asarray(np.diff(offsets) < SHORT_TEXT)
        self._look_twice(data, offsets, short, shares)
        doubted = np.flatnonzero(short | (misfit > self._limit(expected, shares, np.zeros(texts, np.bool_))))
        theirs = np.zeros((len(doubted), len(self.names)), np.float32)
        for rows, least in ((short[doubted], 0.0), (~short[doubted], AGREED)):
            theirs[rows] = self._by_lid_176(data, offsets[:-1][doubted][rows], offsets[1:][doubted][rows], least)
        self._blend(doubted[short[doubted]], theirs[short[doubted]], scored, shares)
        agreed = theirs[np.arange(len(doubted)), best_of(shares[doubted])] >= AGREED
        against = ~agreed & np.isin(best_of(shares[doubted]), self._known_to_lid_176)
        unknown = np.zeros(texts, np.bool_)
        limit = self._limit(expected[doubted], shares[doubted], agreed)
        unknown[doubted] = misfit[doubted] > limit + np.where(short[doubted], MISFIT_SHORT, 0)
        doubtful = ~short & (misfit > np.maximum(MISFIT_COMMON, TIMES_DOUBTFUL * expected))
        doubtful[doubted] |= ~short[doubted] & (against | unknown[doubted])
        looked_at = shares.any(axis=1) & ~short & (unknown | (misfit > MISFIT_COMMON))
        self._look_at_common_words(data, offsets, np.flatnonzero(looked_at), shares, unknown)
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
        shares, _, _ = self._name(scored)
        main = best_of(sums(shares * parts.letters[:, None], begin))
        in_main = shares[np.arange(len(of_text)), main[of_text]] >= OF_MAIN
        enough = sums(parts.letters * in_main, begin) >= MAIN * sums(parts.letters, begin)
        main_parts = np.flatnonzero(in_main & enough[of_text])
        bounds = np.searchsorted(of_text[main_parts], np.append(np.flatnonzero(enough), len(texts)))
        joined, offsets = prepare(data, parts.first[main_parts], parts.last[main_parts], bounds)
        together = (sums(column[main_parts], bounds[:-1]) for column in (scored.scores, scored.weights, scored.best))
        judged = self._judge(joined, WideScores(offsets, *together))
        sound = ~judged.doubtful
        return texts[enough][sound], LanguageShares(judged.shares[sound], judged.unknown[sound], judged.doubtful[sound])

    def _score(self, data: Bytes, offsets: Int64s) -> WideScores:
        texts = len(offsets) - 1
        scores = np.empty((texts, self._model.table.shape[1]), np.float32)
        scored = WideScores(offsets, scores, np.empty(texts, np.int64), np.empty(texts, np.float32))
        score(data, offsets, self._model, scored.scores, scored.weights, scored.best)
        return scored

    def _is_language(self, scored: WideScores, rows: Int64s) -> Bools:
        """Whether some language fits these texts far better than the class of what is no language."""
        full = scored.scores[rows, : len(self._model.prior)] + self._model.prior
        nothing = self._model.name == NO_NAME
        lead = full[:, ~nothing].max(axis=1, initial=-np.inf) - full[:, nothing].max(axis=1, initial=-np.inf)
        return np.asarray(lead >= OVER_NOTHING * np.diff(scored.offsets)[rows])

    def _name(self, scored: WideScores) -> tuple[Float32s, Float32s, Float32s]:
        """Shares, misfit and expected misfit by naive Bayes alone."""
        texts = len(scored.weights)
        shares, misfit, expected = np.empty((texts, len(self.names)), np.float32), *np.empty((2, texts), np.float32)
        name_texts(*scored, self._model, HEAT, shares, misfit, expected)
        return shares, misfit, expected

    def _look_at_common_words(
        self, data: Bytes, offsets: Int64s, rows: Int64s, shares: Float32s, unknown: Bools
    ) -> None:
        """Correct which of these texts are in none of the languages, where their most common words say so."""
        group = self._group[best_of(shares[rows])]
        rows, group = rows[group != NO_GROUP], group[group != NO_GROUP]
        words, own, others = count_words(data, offsets, rows, group, self._common)
        lead = others - own
        unknown[rows[(lead >= LEAD) & (lead >= LEAD_SHARE * words)]] = True
        unknown[rows[(lead <= 0) & (own >= OWN)]] = False

    def _limit(self, expected: Float32s, shares: Float32s, agreed: Bools) -> Float32s:
        """(texts,) the misfit above which a text is in none of the languages.

        agreed   whether lid.176 names the same language
        """
        alone = ~np.isin(best_of(shares), self._known_to_lid_176)
        expecting = np.maximum(np.where(agreed, FLOOR_AGREED, FLOOR_ALONE), TIMES_EXPECTED * expected)
        limit: Float32s = np.where(agreed | alone, expecting, MISFIT)
        return limit

    def _look_twice(self, data: Bytes, offsets: Int64s, short: Bools, shares: Float32s) -> None:
        """Give the sum of the shares of a close pair to the one that fits better."""
        best = best_of(shares)
        for first, second, pair in self.pairs:
            rows = np.flatnonzero(np.isin(best, (first, second)) & ~short)
            if len(rows):
                is_first = compare(data, offsets, rows, pair)
                both = shares[rows, first] + shares[rows, second]
                shares[rows, first], shares[rows, second] = np.where(is_first, both, 0), np.where(is_first, 0, both)

    def _blend(self, rows: Int64s, theirs: Float32s, scored: WideScores, shares: Float32s) -> None:
        """Replace the shares of short texts by those of naive Bayes, less sharp, and of lid.176 together."""
        sizes = np.diff(scored.offsets)[rows]
        own, misfit = np.empty((len(rows), shares.shape[1]), np.float32), np.empty((2, len(rows)), np.float32)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        weights = scored.weights[rows]
        name_texts(offsets, scored.scores[rows], weights, scored.best[rows], self._model, HEAT_SHORT, own, *misfit)
        share = np.where(weights > 0, np.float32(SHARE), np.float32(0))[:, None]
        share = np.where(theirs.any(axis=1, keepdims=True), share, np.float32(1))
        blended = (share * own + (1 - share) * theirs) ** SHARPER
        shares[rows] = blended / np.maximum(blended.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)

    def _by_lid_176(self, data: Bytes, first: Int64s, last: Int64s, least: float) -> Float32s:
        """(texts, names) the scores of lid.176 for data[first:last], those of `least` or more."""
        labels, scores = lid_176().predict_spans(data, first, last, BLENDED, least)
        theirs = np.zeros((len(first), len(self.names)), np.float32)
        row, column = np.nonzero(labels >= 0)
        np.add.at(theirs, (row, self._known_to_lid_176[labels[row, column]]), scores[row, column])
        return theirs


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
