"""PDFs without text: handed out as a list, and taken back as texts of the same corpus."""

import json

import pytest

from made_pdf import made_pdf

pytest.importorskip("pypdfium2")

LINES = [(50, 700 - 12 * at, f"Line {at} of a report, which is long enough to be text on a page.") for at in range(5)]
OCR = "  - jsonl: {paths: ocr/, source: ocr, url: file}\n"
LIST = "select id, file from dead where kind = 'needs_ocr'"
OPEN = f"{LIST} and file not in (select url from documents where source = 'ocr')"


def test_pdfs_without_text_come_back_as_texts_of_their_paths(tmp_path, corpusmill, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reports/2024").mkdir(parents=True)
    (tmp_path / "reports/typed.pdf").write_bytes(made_pdf(LINES))
    for name in ("scan", "2024/scan", "2024/other"):
        (tmp_path / f"reports/{name}.pdf").write_bytes(made_pdf([]))
    recipe = "read:\n  - pdf: {paths: reports/, source: reports, scans: false}\n"
    writes = "write: {jsonl: {compression: none}}\nrun: {executor: serial, folder: run}\n"

    def ask(*words):
        status, out, err = corpusmill(*words)
        assert status == 0, err
        return out

    def rows(query):
        return json.loads(ask("sql", "run", query, "--json"))["rows"]

    (tmp_path / "r.yaml").write_text(recipe + writes)
    ask("run", "r.yaml")
    listed = rows(LIST)
    assert sorted(file for _, file in listed) == [f"reports/{n}.pdf" for n in ("2024/other", "2024/scan", "scan")]
    assert "lost at read/pdf, as expected: needs_ocr" in ask("explain", "run", "reports/scan.pdf")

    (tmp_path / "ocr").mkdir()
    back = [{"id": id_, "file": file, "text": f"What {file} says."} for id_, file in listed if "other" not in file]
    (tmp_path / "ocr/pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in back))
    (tmp_path / "r.yaml").write_text(recipe + OCR + writes)
    ask("run", "r.yaml")
    assert [file for _, file in rows(OPEN)] == ["reports/2024/other.pdf"]  # nothing is lost unseen
    (file,) = (tmp_path / "run/output/jsonl").glob("*.jsonl")
    documents = [json.loads(line) for line in file.read_text().splitlines()]
    assert len({document["id"] for document in documents}) == len(documents) == 3  # and nothing is there twice
    assert {document["url"]: document["metadata"].get("id") for document in documents if document["url"]} == {
        row["file"]: row["id"] for row in back
    }
    for path in ("reports/scan.pdf", "2024/scan.pdf"):
        told = ask("explain", "run", path)
        assert "lost at read/pdf" in told
    assert "What reports/scan.pdf says." in ask("explain", "run", "reports/scan.pdf")
    assert "kept" in ask("explain", "run", "typed.pdf")


def test_a_file_of_several_documents_asks_for_a_position(tmp_path, corpusmill):
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    (tmp_path / "r.yaml").write_text(f"read: {{jsonl: {tmp_path}/a.jsonl}}\nwrite: jsonl\nrun: {{executor: serial}}\n")
    status, _, err = corpusmill("run", tmp_path / "r.yaml", "--folder", tmp_path / "run")
    assert status == 0, err
    status, _, err = corpusmill("explain", tmp_path / "run", "a.jsonl")
    assert status == 2 and "a.jsonl holds several documents and lost records: give FILE:POSITION, such as" in err
