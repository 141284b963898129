"""What is lost of a file is reported where it is lost, and what follows is read."""

import gzip
import io
import tarfile

import pytest
from reading import briefly, read_all, save

from corpusmill.read.code import CodeReader
from corpusmill.read.latex import LatexReader
from corpusmill.read.mediawiki import MediawikiReader

PAPER = b"\\documentclass{article}\\begin{document}%d\\end{document}"


def tar(count: int, suffix: str = "py", body: bytes = b"x = %d\n") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as file:
        for number in range(count):
            data = body % number
            info = tarfile.TarInfo(f"r/{number}.{suffix}")
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_a_damaged_header_in_the_middle_of_a_tar_is_not_its_end(tmp_path):
    data = bytearray(tar(4))
    data[2 * 1024 : 2 * 1024 + 100] = b"?" * 100  # the name in the third header: its checksum is wrong
    rows, dead, _ = read_all(CodeReader(), save(tmp_path, "a.tar", bytes(data)))
    assert [row["text"] for row in rows] == ["x = 0\n", "x = 1\n"]
    assert briefly(dead) == [(2, "damaged", False)]
    assert dead[0]["reason"] == "the archive is damaged after 2 files: bad checksum of a file; those after it are lost"


@pytest.mark.parametrize("size", [2 * 1024, 2 * 1024 + 7, 2 * 1024 + 512])
def test_a_tar_that_is_cut_between_files_is_not_whole(tmp_path, size):
    rows, dead, _ = read_all(CodeReader(), save(tmp_path, "a.tar", tar(4)[:size]))
    assert [row["text"] for row in rows][:2] == ["x = 0\n", "x = 1\n"]
    assert [letter["kind"] for letter in dead] == ["damaged"] * len(dead) and dead


def test_a_tar_with_one_block_of_zeros_or_many_is_whole(tmp_path):
    files = tar(2)[: 2 * 1024]
    for zeros in (512, 1024, 20_480):
        rows, dead, _ = read_all(CodeReader(), save(tmp_path, f"{zeros}.tar", files + b"\0" * zeros))
        assert len(rows) == 2 and dead == []


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_a_bulk_archive_of_papers_that_is_cut_off_says_so(tmp_path, pack):
    papers = io.BytesIO()
    with tarfile.open(fileobj=papers, mode="w") as file:
        for number in range(3):
            paper = gzip.compress(PAPER % number, mtime=0)
            info = tarfile.TarInfo(f"bulk/210{number}.0000{number}.gz")
            info.size = len(paper)
            file.addfile(info, io.BytesIO(paper))
    data = pack(papers.getvalue()[: 2 * 1024])
    rows, dead, _ = read_all(LatexReader(), save(tmp_path, "a.tar" + (".gz" if pack is not bytes else ""), data))
    assert [row["raw"][-15:] for row in rows] == [b"0\\end{document}", b"1\\end{document}"]
    assert [(letter["kind"], letter["expected"]) for letter in dead] == [("truncated", False)]


def export(*pages: str) -> bytes:
    return ("<mediawiki><siteinfo><dbname>w</dbname></siteinfo>\n" + "\n".join(pages) + "\n</mediawiki>").encode()


def wiki(number: int) -> str:
    return (
        f"<page><title>T{number}</title><ns>0</ns><id>{number}</id>"
        f"<revision><id>1{number}</id><text>Text {number}</text></revision></page>"
    )


@pytest.mark.parametrize(
    ("damaged", "kind"),
    [
        (lambda page: page.replace("<page>", "<pag>"), "damaged"),
        (lambda page: page.replace("</page>", ""), "truncated"),
        (lambda page: page.replace("<revision>", ""), "bad_xml"),
        (lambda page: page.replace("<title>", "<title"), "bad_xml"),
        (lambda page: page.replace("<text>", "<txet>"), "bad_xml"),
    ],
)
def test_a_page_of_an_export_that_is_damaged_is_one_dead_letter(tmp_path, damaged, kind):
    data = export(wiki(1), damaged(wiki(2)), wiki(3))
    rows, dead, _ = read_all(MediawikiReader(), save(tmp_path, "a.xml", data))
    assert [row["raw"] for row in rows] == [b"Text 1", b"Text 3"]
    assert [letter["kind"] for letter in dead] == [kind]
    assert data[dead[0]["position"] :].startswith((b"<page>", b"</page>"))


def test_a_piece_that_begins_within_a_page_does_not_take_its_end_for_a_loss(tmp_path):
    file = save(tmp_path, "a.xml", export(*map(wiki, range(1, 30))))
    for target in (1, 50, 137, 1000):
        rows, dead, _ = read_all(MediawikiReader(), file, target=target)
        assert [row["raw"] for row in rows] == [b"Text %d" % number for number in range(1, 30)] and dead == []
