"""Steps that turn an HTML page into its text; one of them comes first in a recipe that reads WARC or HTML files.

The page is in the column `raw` of a document, the text replaces it in `text`. `_page` is what extractors share: which
character set a page is in, and limits for pages that would take a parser hours.
"""
