"""Formats that are parsed in plain Python, a document at a time: LaTeX, the layout of PDF pages, old charsets.

Kernels, which see batches of texts as bytes, are in `text`. Readers (`read`) find files and records; what is here
knows what is inside of one.
"""
