"""Pages of HTML as blocks: text between the starts and ends of block elements, and which of them are worth keeping.

names      elements, attributes, classes of bytes and entities, as tables
syntax     tags, attributes, comments, entities: the tokens of HTML
page       the arrays of a page, and text that is added to them
formulae   TeX in scripts, in MathML, in the texts of images
stack      the open elements
scan       bytes of a page -> text, blocks, elements
columns    what is measured of each block
summary    what is measured of a whole page
context    what is measured once each block has a first probability
trees      boosted trees, evaluated
outline    lists, tables and headings that blocks are in
complete   blocks that structure asks for
compose    blocks that are kept -> plain text or Markdown
"""
