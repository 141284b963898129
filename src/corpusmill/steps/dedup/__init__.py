"""Deduplication: steps that compare every document with all others, through keys.

The life of one pair in `dedup/minhash`, from text to verdict. `_near.py` lists the stages; each has a module:

    minhash.py      in the pass: the shingles (n-grams) of each text, their signature (sketch) and a key for each band
                    of it
    _sketches.py    buckets: the documents that share the key of a band, and the sketches that are compared in them
    _candidates.py  group: two of a bucket are a candidate pair if their sketches do not rule it out. In a large bucket
                    the first documents, its leaders, stand for all
    _clusters.py    links: candidate pairs that hang together are a cluster, which one unit decides on
    _shingles.py    shingles: the n-grams of candidates, read again from their texts, and the exact Jaccard similarity
    _routes.py      routes: the candidate pairs, by the unit that decides on their cluster
    _decide.py      decide: in the order of preference (`_keep.py`), each document is verified against the candidates
                    that are kept, and dropped for the most similar one, its representative
    _verdicts.py    verdicts: why each document is dropped, its representative and the size of its group of duplicates
    _emptied.py     emptied: the domains that lose nearly all of their documents

Why was this document dropped? `_decide.py` has the rule, and `_verdicts.py` what is recorded of it.

`exact` and `url` have one key, and nothing to verify: `_exact.py`, then `_verdicts.py`. `line` and `paragraph` cut out
pieces (`_repeats.py`), `substring` passages (`_substring.py`).
"""
