"""Documents of word processors: what is in their text, and archives that are made to hurt."""

import io
import zipfile

import pytest
from reading import briefly, read_all, save

import corpusmill
from corpusmill.read.docx import DocxReader
from corpusmill.steps.extract.blocks import Blocks

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SPACES = (
    f'xmlns:w="{W}" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:wps="made:wps"'
)
RELATIONS = (
    f'<Relationships><Relationship Id="a" Type="{TYPES}/officeDocument" Target="word/document.xml"/></Relationships>'
)
OTHERS = "".join(
    f'<Relationship Id="{kind}" Type="{TYPES}/{kind}" Target="{kind}.xml"/>'
    for kind in ("styles", "numbering", "footnotes", "endnotes")
)
STYLES = f"""<w:styles {SPACES}>
<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="berschrift1"/></w:style>
<w:style w:type="paragraph" w:styleId="Level"><w:name w:val="Level"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="TOC1"><w:name w:val="toc 1"/></w:style>
<w:style w:type="paragraph" w:styleId="ListBullet"><w:name w:val="List Bullet"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
</w:styles>"""
NUMBERING = f"""<w:numbering {SPACES}>
<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
</w:numbering>"""


def run(text: str, properties: str = "") -> str:
    return f"<w:r>{f'<w:rPr>{properties}</w:rPr>' if properties else ''}<w:t xml:space='preserve'>{text}</w:t></w:r>"


def paragraph(*inner: str, style: str = "", listed: tuple[int, int] | None = None, properties: str = "") -> str:
    about = f'<w:pStyle w:val="{style}"/>' if style else ""
    if listed:
        about += f'<w:numPr><w:ilvl w:val="{listed[1]}"/><w:numId w:val="{listed[0]}"/></w:numPr>'
    content = "".join(part if part.startswith("<") else run(part) for part in inner)
    return f"<w:p><w:pPr>{about}{properties}</w:pPr>{content}</w:p>"


def document(*parts: str, **members: str) -> bytes:
    content = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": RELATIONS,
        "word/_rels/document.xml.rels": f"<Relationships>{OTHERS}</Relationships>",
        "word/document.xml": f'<?xml version="1.0"?><w:document {SPACES}><w:body>{"".join(parts)}<w:sectPr/></w:body></w:document>',
        "word/styles.xml": STYLES,
        "word/numbering.xml": NUMBERING,
    } | members
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    return out.getvalue()


def markdown(tmp_path, *parts: str, **members: str) -> str:
    rows, dead, _ = read_all(DocxReader(), save(tmp_path, "a.docx", document(*parts, **members)))
    assert not dead
    return Blocks(favour="all", markup="markdown").page_text(rows[0]["raw"], "utf-8")


def test_headings_are_known_by_the_names_and_levels_of_their_styles(tmp_path):
    text = markdown(
        tmp_path,
        paragraph("The whole", style="Title"),
        paragraph("Contents 3", style="TOC1"),
        paragraph("One", style="berschrift1"),
        paragraph("Two", style="Own"),
        paragraph("Three", style="Level"),
        paragraph("Four", properties='<w:outlineLvl w:val="1"/>'),
        paragraph("Text ", "of &lt;two&gt; runs.", style="Loop"),
        paragraph("  "),
    )
    assert text == "# The whole\n\n# One\n\n# Two\n\n### Three\n\n## Four\n\nText of <two> runs."


def test_lists_have_levels_and_kinds(tmp_path):
    text = markdown(
        tmp_path,
        paragraph("a", style="ListBullet"),
        paragraph("a.1", listed=(2, 1)),
        paragraph("a.2", listed=(2, 1)),
        paragraph("b", listed=(1, 0)),
        paragraph("Between."),
        paragraph("first", listed=(2, 0)),
        paragraph("inner", listed=(1, 1)),
        paragraph("second", listed=(2, 0)),
        paragraph("Behind.", listed=(0, 0)),
    )
    assert text == "- a\n  1. a.1\n  2. a.2\n- b\n\nBetween.\n\n1. first\n   - inner\n2. second\n\nBehind."


def cell(*parts: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{''.join(parts)}</w:tc>"


def test_tables_keep_their_cells(tmp_path):
    rows = [
        cell(paragraph("Name")) + cell(paragraph("Count")),
        cell(paragraph("a"), properties='<w:vMerge w:val="restart"/>') + cell(paragraph("1"), paragraph("of 2")),
        cell(paragraph("not seen"), properties="<w:vMerge/>")
        + f"<w:sdt><w:sdtContent>{cell(paragraph('2'))}</w:sdtContent></w:sdt>",
    ]
    deleted = f"<w:tr><w:trPr><w:del/></w:trPr>{cell(paragraph('gone'))}</w:tr>"
    table = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}{deleted}</w:tbl>"
    text = markdown(tmp_path, paragraph("Before."), table, paragraph("After."))
    assert text == "Before.\n\n| Name | Count |\n| --- | --- |\n| a | 1 of 2 |\n|  | 2 |\n\nAfter."


def test_insertions_are_in_the_text_and_deletions_are_not(tmp_path):
    text = markdown(
        tmp_path,
        paragraph(
            "It is ",
            f"<w:del>{run('not ').replace('w:t', 'w:delText')}</w:del>",
            f"<w:ins>{run('quite ')}</w:ins>",
            f"<w:moveFrom>{run('away')}</w:moveFrom><w:moveTo>{run('here')}</w:moveTo>",
            run(" hidden", "<w:vanish/>"),
        ),
        paragraph("One ", properties="<w:rPr><w:del/></w:rPr>"),
        paragraph("paragraph now."),
    )
    assert text == "It is quite here\n\nOne paragraph now."


def test_breaks_fields_links_and_boxes(tmp_path):
    box = f"<w:txbxContent>{paragraph('In a box.')}</w:txbxContent>"
    text = markdown(
        tmp_path,
        paragraph("a", "<w:r><w:br/></w:r>", "b", "<w:r><w:tab/></w:r>", "c", "<w:r><w:br w:type='page'/></w:r>", "d"),
        paragraph(
            "<w:r><w:fldChar w:fldCharType='begin'/><w:instrText>PAGE</w:instrText><w:fldChar w:fldCharType='separate'/></w:r>",
            f"<w:hyperlink>{run('a link')}</w:hyperlink>",
            "<w:r><w:noBreakHyphen/></w:r>",
            "end",
        ),
        paragraph(
            "Beside.",
            f"<w:r><mc:AlternateContent><mc:Choice><wps:txbx>{box}</wps:txbx></mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>",
        ),
    )
    assert text == "a\nb c d\n\na link\u2011end\n\nBeside.\n\nIn a box."


def test_notes_are_at_the_end_under_their_numbers(tmp_path):
    notes = {
        "word/footnotes.xml": f'<w:footnotes {SPACES}><w:footnote w:type="separator" w:id="0">{paragraph("---")}</w:footnote>'
        f'<w:footnote w:id="2">{paragraph("<w:r><w:footnoteRef/></w:r>", "A foot.")}</w:footnote></w:footnotes>',
        "word/endnotes.xml": f'<w:endnotes {SPACES}><w:endnote w:id="2">{paragraph("An end.")}{paragraph("More.")}</w:endnote></w:endnotes>',
    }
    text = markdown(
        tmp_path,
        paragraph(
            "One",
            '<w:r><w:endnoteReference w:id="2"/></w:r>',
            " two",
            '<w:r><w:footnoteReference w:id="2"/></w:r>',
            ".",
        ),
        paragraph("Again", '<w:r><w:endnoteReference w:id="2"/></w:r>'),
        **notes,
    )
    assert text == "One[1] two[2].\n\nAgain[1]\n\n[1] An end.\n\nMore.\n\n[2] A foot."


def m(name: str, *parts: str, text: str = "") -> str:
    return f"<m:{name}>{''.join(parts)}{text}</m:{name}>"


def letter(text: str) -> str:
    return m("r", m("t", text=text))


def test_formulae_become_tex(tmp_path):
    half = m("f", m("fPr"), m("num", letter("1")), m("den", letter("2")))
    power = m("sSup", m("e", letter("x")), m("sup", letter("10")))
    root = m("rad", m("deg"), m("e", letter("y")))
    bracket = m("d", m("dPr", '<m:begChr m:val="["/><m:endChr m:val="]"/>'), m("e", letter("a+b")))
    total = m(
        "nary", m("naryPr", '<m:chr m:val="∑"/>'), m("sub", letter("i=1")), m("sup", letter("n")), m("e", letter("i"))
    )
    text = markdown(
        tmp_path,
        paragraph("So ", m("oMath", half, power, root, bracket, total), "."),
        paragraph(m("oMathPara", m("oMath", letter("a=b")))),
    )
    assert text == "So $\\frac{1}{2}x^{10}\\sqrt{y}[a+b]\\sum_{i=1}^n i$.\n\n$$a=b$$"


def test_what_a_document_says_of_itself(tmp_path):
    core = (
        '<p xmlns:dc="made:dc" xmlns:dcterms="made:terms"><dc:title>On\n rivers</dc:title><dc:creator>A. Writer</dc:creator>'
        "<dcterms:created>2024-05-01T10:00:00Z</dcterms:created><dc:subject> </dc:subject></p>"
    )
    rows, _, _ = read_all(
        DocxReader(), save(tmp_path, "a.docx", document(paragraph("a"), **{"docProps/core.xml": core}))
    )
    assert rows[0]["metadata"] == '{"created":"2024-05-01T10:00:00Z","creator":"A. Writer","title":"On rivers"}'
    assert rows[0]["date"] == "2024-05-01T10:00:00Z" and b"<title>On rivers</title>" in rows[0]["raw"]


def test_it_is_a_source_like_others(tmp_path):
    save(tmp_path, "a.docx", document(paragraph("The river runs to the sea.")))
    text = f"name: d\nread: {{docx: {{paths: {tmp_path}/a.docx}}}}\nsteps: [extract/blocks: {{favour: all}}]\nwrite: [jsonl]\nrun: {{folder: {tmp_path}/run, executor: serial}}\n"
    done = corpusmill.run(corpusmill.Recipe.parse(text, "d.yaml"))
    assert [document.text for document in done.documents()] == ["The river runs to the sea."]


DEEP = "<w:sdt><w:sdtContent>" * 60 + paragraph("x") + "</w:sdtContent></w:sdt>" * 60


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (document(paragraph(" ")), "empty_page", True),
        (document(paragraph("a" * 4_000_000)), "too_large", True),
        (document(DEEP), "too_deep", False),
        (document("<w:p>"), "bad_xml", False),
        (document(**{"word/styles.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}), "bad_xml", False),
        (document(**{"word/document.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}), "bad_xml", False),
        (document(**{"word/document.xml": "<w:other xmlns:w='w'/>"}), "not_docx", False),
        (document(**{"_rels/.rels": RELATIONS.replace("word/document", "xl/workbook")}), "not_docx", False),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old", "encrypted", True),
        (document(paragraph("a"))[:-40], "damaged", False),
        (b"no archive", "damaged", False),
    ],
)
def test_what_cannot_be_read(tmp_path, data, kind, expected):
    rows, dead, _ = read_all(DocxReader(max_mb=2), save(tmp_path, "a.docx", data))
    assert rows == [] and briefly(dead) == [(0, kind, expected)]


def test_paragraphs_are_taken_one_at_a_time(tmp_path):
    text = markdown(tmp_path, *(paragraph(f"n{number}") for number in range(20_000)))
    assert text.split("\n\n") == [f"n{number}" for number in range(20_000)]
