"""How often a decision is right, on real and labelled documents: python -m benchmarks.quality [NAME …] --data DIR

classifier    the quality model against human labels
dedup         exact and MinHash deduplication against the exact similarity of all pairs
near          near-duplicates by two definitions that are not the step's
formulae      TeX of formulae that KaTeX, MathJax and latex2mathml have drawn in pages
language      lid.wide and lid.176 on documents, sentences, short pieces and unknown languages
perplexity    clean prose against garbled text and spam
pii           labelled and made sentences, names in the news
decontam      benchmark items put into real pages
toxicity      labelled comments, and ordinary text

code, extraction    on their own: python -m benchmarks.quality.code --data DIR, the same for extraction

copies.py, slow_jaccard.py, made_pii.py    the documents, and the definitions that the steps are judged by
"""
