"""Archives that were made to do harm, or by no standard: their files stay inside, and cost what is allowed."""

import io
import stat as modes
import tarfile
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import briefly, read_all, save

from corpusmill.read.code import CodeReader
from corpusmill.read.epub import EpubReader
from corpusmill.read.latex import LatexReader

PAPER = b"\\documentclass{article}\\begin{document}Hello\\input{%s}\\end{document}"


def tar(*members: tuple[str, bytes], **types: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
        for name, kind in types.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            file.addfile(info)
    return out.getvalue()


def zipped(*members: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file:
        for name, data in members:
            file.writestr(name, data)
    return out.getvalue()


def paths(rows):
    import json

    return [json.loads(row["metadata"])["path"] for row in rows]


ODD = ["../../up.py", "/root.py", "a/../b.py", "C:\\x\\y.py", "./here.py", "deep/" * 30 + "z.py", "ü 1.py"]


@pytest.mark.parametrize("make", [tar, zipped], ids=["tar", "zip"])
def test_paths_lead_nowhere_but_inside(tmp_path, make):
    data = make(*((name, b"x = 1\n") for name in ODD))
    rows, dead, _ = read_all(CodeReader(), save(tmp_path, f"a.{'tar' if make is tar else 'zip'}", data))
    assert dead == [] and len(rows) == len(ODD)
    assert not any(part in ("..", "") for path in paths(rows) for part in path.split("/"))
    assert sorted(item.name for item in tmp_path.iterdir()) == [f"a.{'tar' if make is tar else 'zip'}"]


def test_links_and_devices_of_a_tar_are_no_files(tmp_path):
    data = tar(("r/a.py", b"x = 1\n"), link=tarfile.SYMTYPE, hard=tarfile.LNKTYPE, device=tarfile.CHRTYPE, pipe=tarfile.FIFOTYPE)  # fmt: skip
    rows, dead, _ = read_all(CodeReader(), save(tmp_path, "a.tar", data))
    assert len(rows) == 1 and dead == [] and b"root" not in rows[0]["text"].encode()


def test_links_of_a_zip_are_no_files(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("r/a.py", b"x = 1\n")
        link = zipfile.ZipInfo("r/link.py")
        link.external_attr = (modes.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc/passwd")
    rows, dead, _ = read_all(CodeReader(), save(tmp_path, "a.zip", out.getvalue()))
    assert paths(rows) == ["a.py"] and dead == []


def test_a_member_that_unpacks_to_more_than_is_allowed_is_one_dead_letter(tmp_path):
    data = zipped(("r/bomb.py", b"#" * 5_000_000), ("r/good.py", b"x = 1\n"))
    assert len(data) < 50_000
    rows, dead, _ = read_all(CodeReader(max_mb=1), save(tmp_path, "a.zip", data))
    assert paths(rows) == ["good.py"] and [letter["kind"] for letter in dead] == ["too_large"]
    assert dead[0]["reason"].startswith("bomb.py: the file has 5000000 bytes, and at most 1000000 are read")


def test_a_member_whose_size_is_a_lie_costs_itself(tmp_path):
    data = bytearray(zipped(("r/a.py", b"x = 1\n" * 1000), ("r/b.py", b"y = 2\n")))
    at = data.rfind(b"PK\x01\x02", 0, data.rfind(b"PK\x01\x02"))
    data[at + 24 : at + 28] = (3).to_bytes(4, "little")  # of the bytes that it unpacks to
    rows, dead, _ = read_all(CodeReader(), save(tmp_path, "a.zip", bytes(data)))
    assert "b.py" in paths(rows)
    assert all(len(row["text"]) < 10_000 for row in rows) and all(letter["reason"] for letter in dead)


@pytest.mark.parametrize("name", ["a.zip", "a.tar"])
def test_an_archive_that_is_none_says_so(tmp_path, name):
    rows, dead, _ = read_all(
        CodeReader(), save(tmp_path, name, b"PK\x03\x04 and no more" if "zip" in name else b"x" * 600)
    )
    assert rows == [] and briefly(dead) == [(0, "damaged", False)]
    assert "not a zip archive, or its end is missing" in dead[0]["reason"] or "not a tar archive" in dead[0]["reason"]


def test_two_members_of_one_name_are_one_file(tmp_path):
    data = tar(("r/a.py", b"x = 1\n"), ("r/a.py", b"x = 2\n"), ("r/b.py", b"y = 1\n"))
    rows, dead, _ = read_all(CodeReader(), save(tmp_path, "a.tar", data))
    assert paths(rows) == ["a.py", "b.py"] and dead == []
    assert rows[0]["text"] == "x = 2\n"  # as tar would unpack it


@settings(max_examples=30, deadline=None)
@given(share=st.floats(0.01, 0.99), kind=st.sampled_from(["tar", "zip"]))
def test_an_archive_cut_anywhere_is_explained(tmp_path_factory, share, kind):
    folder = tmp_path_factory.mktemp("cut")
    members = [(f"r/{n}.py", f"x = {n}\n".encode() * 200) for n in range(4)]
    data = tar(*members) if kind == "tar" else zipped(*members)
    rows, dead, _ = read_all(CodeReader(), save(folder, f"a.{kind}", data[: max(1, int(len(data) * share))]))
    whole = [f"x = {n}\n" * 200 for n in range(4)]
    assert all(row["text"] in whole for row in rows)
    assert len(rows) == 4 or dead


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "../../../../etc/passwd", "~/x", "file:x", "a\\0b"])
def test_a_paper_includes_nothing_from_outside(tmp_path, target):
    (tmp_path / "secret.tex").write_text("SECRET")
    folder = tmp_path / "paper"
    folder.mkdir()
    rows, dead, _ = read_all(LatexReader(), save(folder, "main.tex", PAPER % target.encode()))
    assert dead == [] and b"SECRET" not in rows[0]["raw"] and b"root:" not in rows[0]["raw"]
    data = tar(("main.tex", PAPER % target.encode()), ("../secret.tex", b"SECRET"))
    rows, dead, _ = read_all(LatexReader(), save(tmp_path, "a.tar", data))
    assert len(rows) == 1 and b"root:" not in rows[0]["raw"]


def test_a_paper_that_includes_itself_ends(tmp_path):
    rows, dead, _ = read_all(LatexReader(), save(tmp_path, "main.tex", PAPER % b"main"))
    assert dead == [] and rows[0]["raw"].count(b"Hello") <= 2
    data = tar(("main.tex", PAPER % b"b"), ("b.tex", b"\\input{c}"), ("c.tex", b"\\input{b}end"))
    rows, dead, _ = read_all(LatexReader(), save(tmp_path, "a.tar", data))
    assert len(rows) == 1 and b"Helloend" in rows[0]["raw"]


def test_files_that_include_each_other_many_times_are_too_large(tmp_path):
    doubling = [(f"{n}.tex", f"\\input{{{n + 1}}}\\input{{{n + 1}}}".encode()) for n in range(14)]
    data = tar(("main.tex", PAPER % b"0"), *doubling, ("14.tex", b"x" * 1000))
    rows, dead, _ = read_all(LatexReader(max_mb=0.1), save(tmp_path, "a.tar", data))
    assert rows == [] and [(letter["kind"], letter["expected"]) for letter in dead] == [("too_large", True)]


CONTAINER = b'<container><rootfiles><rootfile full-path="c.opf"/></rootfiles></container>'
PACKAGE = b'<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>'  # fmt: skip


@pytest.mark.parametrize(
    ("members", "kind", "expected"),
    [
        ([("META-INF/container.xml", CONTAINER)], "not_epub", False),
        ([("META-INF/container.xml", b"<container"), ("c.opf", PACKAGE)], "bad_xml", False),
        ([("META-INF/container.xml", b'<!DOCTYPE a [<!ENTITY b "c">]><a/>'), ("c.opf", PACKAGE)], "bad_xml", False),
        ([("META-INF/container.xml", CONTAINER), ("c.opf", b"<package/>")], "empty_page", True),
        ([("META-INF/container.xml", CONTAINER), ("c.opf", PACKAGE)], "empty_page", True),
        ([("META-INF/container.xml", CONTAINER), ("c.opf", PACKAGE), ("a.xhtml", b"x" * 2_000_000)], "too_large", True),
        ([("META-INF/container.xml", CONTAINER), ("c.opf", b" " * 4_000_001)], "too_large", True),
    ],
)
def test_a_book_that_gives_no_document_says_why(tmp_path, members, kind, expected):
    rows, dead, _ = read_all(EpubReader(max_mb=1), save(tmp_path, "a.epub", zipped(*members)))
    assert rows == [] and briefly(dead) == [(0, kind, expected)] and dead[0]["reason"].strip()


def test_a_book_with_a_page_from_outside_reads_what_is_inside(tmp_path):
    package = PACKAGE.replace(b"a.xhtml", b"../../../etc/passwd")
    data = zipped(("META-INF/container.xml", CONTAINER), ("c.opf", package))
    rows, dead, _ = read_all(EpubReader(), save(tmp_path, "a.epub", data))
    assert rows == [] and briefly(dead) == [(0, "empty_page", True)]
