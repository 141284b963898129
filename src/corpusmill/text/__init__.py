"""Kernels over the bytes of Arrow string arrays: what the engine measures, finds and compares in text.

Kit, on which all others are built:

    array_types    short names for the types of arrays
    compile        the decorator for kernels: numba, without the GIL, with a cache that is never stale
    warming        which kernels there are, and compiling them before they are needed
    shipped        kernels that come compiled with the package
    buffers        an Arrow string array as bytes and offsets, and back
    lowlevel       unaligned loads, 128-bit products, bit counting
    simd           64 bytes -> one bit per byte
    sets           a hash set in a scratch array
    hashing        XXH64, and a faster hash of words, for tables and keys
    folded_hash    a hash of words that ignores case
    splitmix64     the finaliser of SplitMix64
    unicode        what a code point is: pinned tables, the same on every Python
    spans          bytes -> where words and lines begin and end
    runs           runs of letters, digits and given characters
    plain_tokens   tokens without a model: words, and single characters of scripts without spaces
    replace        documents with spans replaced by other text
    rewrite        changes the texts that need it, and leaves the bytes of the others alone

One form for text that looks equal:

    entities       HTML's character references, decoded
    characters     invisible characters, ends of lines and spaces beyond ASCII; whether a text is in NFC
    blanks         runs of spaces, indentation, blank lines

Measures of a document:

    stats          all statistics of `words`, `lines` and `grams` in one pass: one record per document
    words          words -> size, class, hash
    lines          statistics of lines and paragraphs
    grams          words -> repeated n-grams
    spacy_words    words as spaCy's English tokenizer cuts them, by `spacy_rules` and `spacy_affixes`
    script_words   these, cut further in scripts without spaces
    script_stats   the statistics of `stats` over either, and how many of certain words occur
    word_counts    how many words, at the speed of memory
    sentences      how many sentences, and where
    scripts        letters by script
    marks          characters of one's own, and the lines that begin with one
    code           keywords, symbols and lines that speak for source code
    markup         tags of HTML, and whether they are arranged as markup
    tags           whether there is a tag of HTML
    html_cost      what a page costs a parser beyond its length
    blocks         pages of HTML as blocks, and which of them are text
    integrity      length, and flags of damage: markup, code, white space, encoding
    shapes         what each line is made of
    c4             C4's line rules: documents in, cleaned documents out
    lexicon        where words of a list are, also in disguise

URLs:

    addresses      what lists compare: host, path, query; lists of domains and pages; the registered domain
    word_lists     which words of lists an address has

Personal data in a document:

    pii            addresses and numbers of people and machines (a folder)
    secrets        keys, tokens, wallets, passwords

Matching across the corpus:

    fold           text in the form in which copies are compared
    loosened       text in which passages are found however they are written
    folded_words   where the words of folded text are in the original
    shingles       hashes of n-grams of folded text
    sketch         MinHash signatures of shingle sets, and their band keys
    buckets        documents that share a key: partitions, candidate pairs, Jaccard index, decisions
    pieces         lines and paragraphs as the unit of deduplication
    repeats        which records of a stream occurred before
    passages       windows of tokens, for repeated substrings
    components     which documents are connected by pairs
    suffixes       a sparse suffix array, to find any passage
    overlap        an index of n-grams, and where they occur in documents
    templates      long boilerplate of benchmarks, and the item that it counts for
    near           short items in spite of wrong words

A kernel takes arrays and writes to arrays; the functions for the rest of the package take an Arrow array and return
arrays. Facts only: every threshold lives in a step. Measures, personal data, and the keys that matching computes depend
on one document alone, so results never depend on how documents are batched. Only `buckets`, `repeats` and
`pieces.occurrences` see records of many documents, and they are given all that share a key.
"""
