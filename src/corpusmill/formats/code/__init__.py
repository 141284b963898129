"""Repositories of code.

    code_files     the language of a file, and whether it was generated, minified, copied in, or is a test
    gitignore      patterns of .gitignore and .gitattributes
    imports        which files of a repository a file needs, and their order
    licences       the licence that the markup of a page names
    licence_texts  the licence of a file or a repository: by tag, text or notice

The tables that they look things up in are assets.
"""
