"""Steps that change the text: markup, Unicode forms and white space, wrong decodings, web addresses, lines that are not
content, what regular expressions of one's own match, and spans that others have marked.

They come after text extraction and before the filters, so that filters and dedup see the text that is written in the
end. A text that needs no change keeps its bytes.
"""
