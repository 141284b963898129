"""A reader of one's own that finds its files, written before it was told to say what it passes over."""

from corpusmill.read import files_at
from corpusmill.storage import PassedOver, stat


class Finds:
    def find_files(self, paths):
        return [stat(path) for path in paths]


class Says(Finds):
    def find_files(self, paths, passed_over=None):
        passed_over.add("notes.txt", "not read")
        return super().find_files(paths)


def test_a_reader_need_not_say_what_it_passes_over(tmp_path):
    path = tmp_path / "a.x"
    path.write_text("text", "utf-8")
    for reader in (Finds(), Says()):
        assert [file.path for file in files_at(reader, [str(path)], PassedOver())] == [str(path)]
