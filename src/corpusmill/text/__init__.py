"""Measures of text: kernels over Arrow buffers, and their tables. Facts only; every threshold lives in a step.

    compile     our decorator for kernels: numba, without the GIL, with a cache that is never stale
    buffers     an Arrow string array as bytes and offsets, and back
    lowlevel    unaligned loads, 128-bit products, bit counting
    simd        64 bytes -> one bit a byte
    unicode     what a code point is: pinned tables, the same on every Python
    spans       bytes -> where words and lines begin and end
    words       words -> size, class, hash
    lines       statistics of lines and paragraphs
    grams       words -> repeated n-grams
    stats       all of it: one record a document
    code        keywords, symbols and lines that speak for source code
    shapes      what each line is made of
    rewrite     change the texts that need it, leave the others' bytes alone
    c4 sentences fold shingles sketch hashing pii replace     what each is named for

A kernel takes arrays and writes to arrays; the functions for the rest of the package take an Arrow array and return
arrays. None of them looks at more than one document at a time, so results never depend on how documents are batched.
"""
