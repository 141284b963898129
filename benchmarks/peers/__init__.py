"""The mill beside other libraries, each in an environment of its own.

    rules       Gopher, FineWeb and C4 rules beside datatrove: seconds
    dedup       near deduplication beside gaoya, rensa, datasketch and datatrove: seconds, recall
    loaders     the loaders of streaming, litdata and datasets, for speed/loader.py
    parity      do our rules and datatrove's decide alike, on real documents
    fineweb_text  the text of the recipe `fineweb` beside that of datatrove, by trafilatura of then and now
    interop     can trainers' own readers read what `write` wrote

`*_datatrove.py`, `dedup_libraries.py` and `loaders.py` are run as scripts by the python of such an environment
(build/parity, build/interop) and import nothing of corpusmill.
"""
