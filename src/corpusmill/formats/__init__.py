"""Formats that are parsed in plain Python, a document at a time.

    charset      the characters of a page
    latex        LaTeX sources: macros expanded; `latex_text` says what they say
    mathml       formulae of pages as TeX, each once; `tex_symbols` has the commands
    mathjax      formulae that MathJax has drawn, as MathML
    docx_page    documents of word processors as HTML; their formulae, `omml`, as MathML
    pdf_layout   lines of text on pages, in the order of reading
    code         repositories: languages, licences, imports, what git ignores
    rights       what hosts and pages say of their use

Kernels, which see batches of texts as bytes, are in `text`. Readers (`read`) find files and records; what is here
knows what is inside of one.
"""
