"""Papers in folders and archives: their main file, what it includes, and what they must not reach."""

import gzip
import io
import os
import tarfile

import pytest
from reading import briefly, read_all, save

from corpusmill.read.latex import LatexReader
from corpusmill.storage import stat

MAIN = "\\documentclass{article}\n\\begin{document}\nThe river. % no\n\\input{parts/one}\n\\end{document}\n"


def tar(**members: bytes | str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, given in members.items():
            data = given.encode() if isinstance(given, str) else given
            info = tarfile.TarInfo(name.replace("__", "/").replace("_", "."))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_a_paper_in_a_folder_has_its_files_in_their_places(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "secret.tex").write_text("SECRET")
    folder = tmp_path / "paper"
    (folder / "parts").mkdir(parents=True)
    files = [
        save(folder, "a.tex", MAIN.replace("The", "\\input{../secret} \\input{/etc/passwd} \\input two The").encode()),
        save(folder / "parts", "one.tex", b"One.\\input{parts/one}\\input{missing}"),
        save(folder, "two.tex", "Zwölf".encode("latin-1")),
    ]
    rows, dead, counts = read_all(LatexReader(), *files)
    assert not dead and counts.skipped == {"included_file": 2}
    assert rows[0]["raw"].decode() == (
        "\\documentclass{article}\n\\begin{document}\n  Zwölf The river. One.\n\\end{document}\n"
    )
    assert rows[0]["metadata"] == '{"main":"a.tex","paper":"a"}'


@pytest.mark.parametrize("how", ["", "gz"])
def test_an_archive_is_a_paper(tmp_path, how):
    style = "\\newcommand{\\R}{R}"
    main = MAIN.replace("\\begin", "\\usepackage{amsmath,own}\n\\begin", 1)
    data = tar(x__main_tex=main, x__parts__one_tex="One.", x__own_sty=style, x__z_tex=MAIN + "%" * 999, fig_png=b"\0")
    file = save(tmp_path, "2401.00001.tar" + ("." + how if how else ""), gzip.compress(data) if how else data)
    rows, dead, _ = read_all(LatexReader(), file)
    assert not dead and rows[0]["url"] == "https://arxiv.org/abs/2401.00001"
    text = rows[0]["raw"].decode()
    assert "One." in text and "\\newcommand{\\R}{R}" in text and "no\n" not in text


def test_an_archive_of_papers_as_arxiv_gives_them(tmp_path):
    inner = gzip.compress(tar(ms_tex=MAIN, parts__one_tex="One."))
    alone = gzip.compress(b"\\documentclass{a}\\begin{document}Alone\\end{document}")
    data = tar(d__2401_00001_gz=inner, d__hep_th9901001_gz=alone, d__bad_gz=inner[:50], d__plain_gz=gzip.compress(b"x"))
    data = data.replace(b"hep.th9901001", b"hep-th9901001")
    data = fixed(data)
    bomb = tar(d__bomb_gz=gzip.compress(bytes(20 << 20)))
    rows, dead, _ = read_all(LatexReader(), save(tmp_path, "arXiv_src_1.tar", data))
    assert [row["url"] for row in rows] == ["https://arxiv.org/abs/2401.00001", "https://arxiv.org/abs/hep-th/9901001"]
    assert [letter[1:] for letter in briefly(dead)] == [("damaged", False), ("no_main_file", True)]
    dead = read_all(LatexReader(max_mb=1), save(tmp_path, "bomb.tar", bomb))[1]
    assert briefly(dead) == [(0, "too_large", True)]


def fixed(data: bytes) -> bytes:
    """An archive whose names were changed, with the sums of its heads made again."""
    out = bytearray(data)
    at = 0
    while at < len(out) and out[at]:
        head = bytearray(out[at : at + 512])
        size = int(head[124:135], 8)
        head[148:156] = b" " * 8
        head[148:156] = b"%06o\0 " % sum(head)
        out[at : at + 512] = head
        at += 512 + -(-size // 512) * 512
    return bytes(out)


def test_what_is_no_paper_is_a_dead_letter(tmp_path):
    files = [
        save(tmp_path, "a.tar", tar(x_tex="plain \\bye")),
        save(tmp_path, "b.tar.gz", gzip.compress(tar(main_tex=MAIN))[:-20]),
        save(tmp_path, "c.tex", b""),
        save(tmp_path, "d.tar", tar(main_tex=MAIN * 40)),
        save(tmp_path, "e.gz", b"\x1f\x8b\x08\x00nonsense"),
    ]
    _, dead, _ = read_all(LatexReader(max_mb=0.001), *files)
    assert [kind for _, kind, _ in briefly(dead)] == [
        "no_main_file",
        "truncated",
        "empty_file",
        "too_large",
        "truncated",
    ]
    assert stat(files[0].path).size


def test_an_included_name_that_no_file_can_have_is_left_out(tmp_path):
    text = MAIN.replace("parts/one", "no\0name").replace("The river.", "\\input{\ud800} The river.")
    rows, dead, _ = read_all(LatexReader(), save(tmp_path, "a.tex", text.encode("utf-8", "surrogatepass")))
    assert not dead and b"The river." in rows[0]["raw"]


@pytest.mark.skipif(os.name == "nt", reason="pipes and links want a right on Windows")
def test_what_is_included_is_a_file_of_the_folder(tmp_path):
    paper = tmp_path / "paper"
    paper.mkdir()
    (tmp_path / "secret.tex").write_text("a secret")
    (paper / "own.tex").write_text("of its own")
    (paper / "near.tex").symlink_to("own.tex")
    (paper / "link.tex").symlink_to(tmp_path / "secret.tex")
    (paper / "out").symlink_to(tmp_path)
    os.mkfifo(paper / "pipe.tex")
    inputs = "".join(f"\\input{{{name}}}." for name in ("own", "near", "link", "out/secret", "pipe"))
    source = "\\documentclass{article}\\begin{document}" + inputs + "\\end{document}"
    rows, dead, _ = read_all(LatexReader(), save(paper, "a.tex", source.encode()))
    assert not dead and b"{document}of its own.of its own....\\end" in rows[0]["raw"]


def test_a_source_of_open_braces_is_a_dead_letter(tmp_path):
    data = b"\\documentclass{article}" + b"\\input{" * 600
    assert briefly(read_all(LatexReader(), save(tmp_path, "a.tex", data))[1]) == [(0, "damaged", False)]
