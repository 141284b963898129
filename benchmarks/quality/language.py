"""Is the language right? Documents and sentences with a known language, by language, with the model that ships."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean

import pyarrow as pa

from benchmarks.common import Figure, row, table
from corpusmill.models.language import Identifier

BAR = 0.97
FAILS = 0.9  # a language is named below this
# ISO 639-3 codes of the sets -> what the model calls them. Several where the model has a label for each of two ways to
# write or name one language; those that are not here are not among its labels.
CODES = """
afr:af amh:am arb:ar ara:ar aze:az bak:ba bel:be ben:bn bod:bo bos:bs bul:bg cat:ca ces:cs ckb:ckb cym:cy dan:da deu:de
div:dv ell:el eng:en est:et eus:eu fas:fa prs:fa fil:tl fin:fi fra:fr gle:ga glg:gl guj:gu heb:he hin:hi hrv:hr hun:hu
hye:hy ind:id isl:is ita:it jpn:ja kan:kn kat:ka kaz:kk khm:km kir:ky kmr:ku kor:ko lao:lo lav:lv lit:lt ltz:lb mal:ml
mar:mr mkd:mk mlg:mg mlt:mt mon:mn msa:ms mya:my nep:ne nld:nl nno:nn nob:no pan:pa pol:pl por:pt pus:ps ron:ro rus:ru
sin:si slk:sk slv:sl snd:sd som:so spa:es sqi:sq srp:sr,sh swa:sw swe:sv tam:ta tat:tt tel:te tgk:tg tha:th tuk:tk
tur:tr nb:no sr:sr,sh uig:ug ukr:uk urd:ur uzb:uz vie:vi yor:yo yue:yue,zh zho:zh
"""
# Macrolanguages of ISO 639-3 with more than one of the model's labels. Their members differ too little for 24 short
# documents each: Bosnian is named Croatian, Malay Indonesian. `as labelled` counts that as wrong, `macrolanguage` not.
MACRO = (
    {"bs", "hr", "sr", "sh"},
    {"ms", "id", "min"},
    {"no", "nn"},
    {"zh", "yue", "wuu"},
    {"fa"},
    {"ar", "arz"},
    {"ku", "ckb"},
)
THRESHOLDS = (0.0, 0.3, 0.5, 0.65, 0.8, 0.9, 0.95)
SETS = ("ntrex_docs", "lingua_sentences", "masakhanews")  # documents, sentences, news in African languages


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    """Accuracy by language, averaged over the languages that the model knows; the documents have a bar."""
    print("## language\n")
    table("set", "languages", "known", "texts of these", "as labelled", "macrolanguage", "below 0.9, as labelled")
    figures = []
    scored = {}
    for file in SETS:
        path = data / "lang" / f"{file}.jsonl.gz"
        if not path.is_file():
            raise SystemExit(f"{path}: not there. Name the folder of labelled documents with --data.")
        by_language, strangers = judge(path)
        scored[file] = [judged for scores in by_language.values() for judged in scores], strangers
        known = {language: scores for language, scores in by_language.items() if scores}
        strict = {language: mean(exact for exact, *_ in scores) for language, scores in known.items()}
        merged = mean(mean(near for _, near, _ in scores) for scores in known.values())
        said = ", ".join(f"{name} {share:.2f}" for name, share in sorted(strict.items()) if share < FAILS) or "none"
        texts = sum(map(len, known.values()))
        row(file, len(by_language), len(known), f"{texts:,}", f"{mean(strict.values()):.4f}", f"{merged:.4f}", said)
        bar = BAR if file == "ntrex_docs" else None
        figures.append(Figure(f"language of {file}, mean over languages, macrolanguages", merged, "", bar, digits=4))
    print("\nLanguages that the model has no label for are left out: it gives them the name of another one.\n")
    print(
        "By `min_score`: texts of known languages kept; of these, named rightly (macrolanguage); texts of others kept\n"
    )
    table("at least", *(f"{file}, {what}" for file in SETS for what in ("kept", "right", "others kept")))
    for bound in THRESHOLDS:
        cells = []
        for judged, strangers in scored.values():
            kept = [near for _, near, score in judged if score >= bound]
            foreign = mean(score >= bound for score in strangers)
            cells += [f"{len(kept) / len(judged):.3f}", f"{mean(kept):.3f}", f"{foreign:.3f}"]
        row(f"{bound:g}", *cells)
    print()
    return figures


def judge(path: Path) -> tuple[dict[str, list[tuple[bool, bool, float]]], list[float]]:
    """By language of each text: whether its name is right, whether it is of the right macrolanguage, and the score; and
    the scores of texts of languages that the model does not know. Nothing of texts without a letter."""
    names = {code: tuple(labels.split(",")) for code, labels in (pair.split(":") for pair in CODES.split())}
    identifier = Identifier()
    labels = set(identifier.labels())
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    records = [record for record in records if any(map(str.isalpha, record["text"]))]
    identified = identifier.columns(pa.array([record["text"] for record in records], pa.large_string()))
    by_language: dict[str, list[tuple[bool, bool, float]]] = defaultdict(list)
    strangers = []
    for record, label, score in zip(records, identified["label"].to_pylist(), identified["score"].to_pylist()):
        code = record["lang"].partition("-")[0]
        wanted = set(names.get(code, (code,))) & labels
        judged = by_language[record["lang"]]
        if wanted:
            near = wanted.union(*(group for group in MACRO if group & wanted))
            judged.append((label in wanted, label in near, score))
        else:
            strangers.append(score)
    return dict(by_language), strangers
