"""Questions of benchmarks are found in documents, and what is done with those is what was asked for."""

import gzip
import json
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import AssetError, RecipeError
from corpusmill.steps.decontaminate import _benchmarks
from corpusmill.steps.decontaminate._benchmarks import benchmarks
from corpusmill.steps.decontaminate._items import Fields, FieldsOfFiles
from corpusmill.steps.decontaminate._mapping import suggested
from corpusmill.steps.decontaminate.ngrams import Ngrams
from corpusmill.steps.verdict import rules_of
from corpusmill.text.overlap import INDEX_ARRAYS

HORSES = "How many horses can drink from the well before it is empty at noon?"  # 14 words
SHORT = "Who shod the last horse?"  # 5 words
LETTER = "She wrote that the winter had been long and the roads bad, and asked whether we had hay."


def write(path, *items):
    path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    return str(path)


def items(*pairs):
    return [{"id": f"q{i}", "question": question, "answer": answer} for i, (question, answer) in enumerate(pairs)]


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_benchmarks, "cache_folder", tmp_path_factory.getbasetemp)
        yield


@pytest.fixture
def stable(tmp_path):
    return write(tmp_path / "stable.jsonl", *items((HORSES, "48 horses"), (SHORT, "the smith from the next village")))


def found(step, *texts):
    """What the step makes of the texts, a dict a document."""
    changed = step.transform(docs(*texts))
    signals = {name: changed[name] for name in ("overlap", "benchmark", "item", "passage", "hits")}
    reasons = step.reasons(changed, signals).to_pylist()
    return [row | {"reason": why} for row, why in zip(changed.to_pylist(), reasons)]


def one(step, text):
    return found(step, LETTER, text, LETTER)[1]


@pytest.mark.parametrize(
    ("text", "overlap"),
    [
        (HORSES, 1.0),
        (f"{LETTER} {HORSES.upper()} {LETTER}", 1.0),
        ("«How\u00a0many horses – can drink\n from the WELL, before it’s empty", 10 / 14),  # "it s empty"
        ("how many horses can drink from the well before", 9 / 14),
        ("how many horses can drink from the well", 8 / 14),
        ("many cows can drink from the well before it is empty at noon", 12 / 14),  # "many" too
        ("drink from the well before it is", 0.0),  # 7 words
        (LETTER, 0.0),
        ("", 0.0),
        (None, 0.0),
    ],
)
def test_overlap_is_the_share_of_the_words_that_are_in_ngrams(stable, text, overlap):
    row = one(Ngrams(benchmarks=stable), text)
    assert row["overlap"] == overlap
    assert row["reason"] == ("min_overlap" if overlap >= 0.5 else None)
    assert (row["benchmark"], row["item"]) == (("stable", "q0") if overlap else (None, None))
    assert row["text"] == text


def test_ngrams_far_apart_are_not_one_passage(stable):
    first, second = (
        "How many horses can drink from the well",
        "horses can drink from the well before it is empty at noon",
    )
    far = " ".join([first, *[LETTER] * 3, second])
    assert one(Ngrams(benchmarks=stable), f"{first}, {second}")["overlap"] == 1.0
    assert one(Ngrams(benchmarks=stable), far)["overlap"] == 12 / 14


def test_the_hits_are_all_items_best_first(stable):
    row = one(Ngrams(benchmarks=stable, shortest=5), f"how many horses can drink from the well today? {SHORT}")
    assert row["hits"] == [
        {"benchmark": "stable", "item": "q1", "overlap": 1.0, "ngrams": 1, "template": 0},
        {"benchmark": "stable", "item": "q0", "overlap": 8 / 14, "ngrams": 1, "template": 0},
    ]
    assert row["passage"] == "Who shod the last horse"


def test_a_short_question_is_found_as_a_whole_or_with_its_answer(stable):
    strict, loose = Ngrams(benchmarks=stable), Ngrams(benchmarks=stable, shortest=5)
    text, both = f"{LETTER} {SHORT}", f"{SHORT} The smith from the valley."
    assert [one(step, text)["overlap"] for step in (strict, loose)] == [0.0, 1.0]
    assert [one(step, both)["overlap"] for step in (strict, loose)] == [1.0, 1.0]
    assert one(loose, "Who shod the last mule?")["overlap"] == 0.0
    assert one(strict, "the smith from the next village")["overlap"] == 0.0


def test_ngrams_of_many_items_count_for_none(tmp_path):
    asked = [f"Which of the following statements is true of the {word}?" for word in ["moon", "sea", "sun", "wind"]]
    path = write(tmp_path / "b.jsonl", *items(*((question, None) for question in asked)))
    text = "Which of the following statements is true of the rain?"
    assert one(Ngrams(benchmarks=path, common=3), text)["overlap"] == 0.0
    assert one(Ngrams(benchmarks=path, common=4), text)["overlap"] == 9 / 10
    # Its first two words are in boilerplate alone, and do not count against it either.
    hit = one(Ngrams(benchmarks=path, common=3), f"so {asked[0]}")["hits"][0]
    assert (hit["overlap"], hit["ngrams"]) == (1.0, 1)


PROBLEM = "Read the letter of the miller below and say in one word what the writer of it is asking for:"  # 20 words


@pytest.mark.parametrize(
    ("text", "item", "overlap", "template"),
    [
        (f"{PROBLEM} we have no more grain than", "q2", 26 / 27, 13),  # the last 7 are in its own n-grams too
        (PROBLEM, "q1", 20 / 25, 20),  # the shortest question: what is there is most of it
        (f"{PROBLEM} the cat", "q1", 20 / 25, 20),
        ("Read the letter of the miller below and say in one word what", "q1", 13 / 25, 13),
        ("Read the letter of the miller below and say in one word", None, 0.0, 0),  # 12 words
        (PROBLEM.replace("miller", "baker"), "q1", 14 / 25, 14),
    ],
)
def test_long_boilerplate_counts_for_the_nearest_question(tmp_path, text, item, overlap, template):
    ends = (
        "old and grey horses of ours",
        "stay with you in winter",
        "we have no more grain than you",
        "x y z u v w a b",
    )
    path = write(tmp_path / "b.jsonl", *items(*((f"{PROBLEM} {end}", None) for end in ends)))
    row = one(Ngrams(benchmarks=path, common=3), text)
    (hit,) = row["hits"] or [{"item": None, "overlap": 0.0, "template": 0}]
    assert (hit["item"], row["overlap"], hit["template"]) == (item, overlap, template)
    assert [match.template for match in Ngrams(benchmarks=path, common=3).matches(text)] == [template] * (template > 0)
    assert row["reason"] == ("min_overlap" if overlap >= 0.5 else None)


def test_rows_of_numbers_are_not_questions(tmp_path):
    path = write(tmp_path / "b.jsonl", *items((HORSES, None), ("unique([5, 3, 5, 2, 3, 3, 9, 0, 123])", None)))
    assert one(Ngrams(benchmarks=path), "1 2 3 4 5 6 7 8 9 10 11 12")["overlap"] == 0.0


def test_where_asked_a_question_counts_only_with_its_answer(stable):
    step = Ngrams(benchmarks=stable, require_answer=True)
    far = " ".join([LETTER] * 7)
    assert one(step, HORSES)["overlap"] == 0.0
    assert one(step, HORSES)["hits"] is None
    assert one(step, f"{HORSES}\nA: 48 Horses.")["overlap"] == 1.0
    assert one(step, f"48 horses. {LETTER} {HORSES}")["overlap"] == 1.0
    assert one(step, f"{HORSES}\nA: 49 horses.")["overlap"] == 0.0  # in the fold both are "0 horses"
    assert one(step, f"{HORSES} {far} 48 horses.")["overlap"] == 0.0


def test_a_question_without_an_answer_counts_by_itself(tmp_path):
    path = write(tmp_path / "b.jsonl", *items((HORSES, None)))
    assert one(Ngrams(benchmarks=path, require_answer=True), HORSES)["overlap"] == 1.0


def test_cutting_takes_the_question_and_a_margin_and_leaves_the_rest(stable):
    step = Ngrams(benchmarks=stable, action="cut", margin=2)
    text = f"First line, of nothing.\nOne, two: {HORSES} Three four, five. Last “words”."
    row = one(step, text)
    assert row["text"] == "First line, of nothing.\n, five. Last “words”."
    assert (row["overlap"], row["item"], row["reason"]) == (1.0, "q0", None)
    assert one(Ngrams(benchmarks=stable, action="cut", margin=0), text)["text"] == (
        "First line, of nothing.\nOne, two: ? Three four, five. Last “words”."
    )


def test_cutting_takes_what_the_question_would_begin_and_end_with(stable):
    step = Ngrams(benchmarks=stable, action="cut", margin=0)
    text = "before How many cows can drink from the well before it is dry at noon after"
    assert one(step, text)["text"] == "before  after"


def test_a_document_of_nothing_but_questions_is_dropped(stable):
    step = Ngrams(benchmarks=stable, action="cut", margin=5)
    assert one(step, f"Q. {HORSES} – {HORSES}!")["text"] is None
    assert one(step, "...")["text"] == "..."  # nothing was cut of it


def test_marking_changes_and_drops_nothing(stable):
    row = one(Ngrams(benchmarks=stable, action="mark"), HORSES)
    assert (row["overlap"], row["reason"], row["text"]) == (1.0, None, HORSES)


def test_another_bound_can_be_tried_only_where_documents_are_dropped(stable):
    rules = [rules_of(Ngrams(benchmarks=stable, action=action)) for action in ("drop", "cut", "mark")]
    assert [len(each) for each in rules] == [1, 0, 0]


texts = st.lists(
    st.sampled_from([*HORSES.split(), "Who", "shod", "last", "horse?", "cow", "\n", "é", "5"]), max_size=40
).map(" ".join)


@pytest.mark.parametrize("action", ["drop", "cut"])
@given(first=st.lists(texts, max_size=4), second=st.lists(texts, max_size=4))
@settings(max_examples=30)
def test_each_document_is_judged_alone(made_once, action, first, second):
    step = Ngrams(benchmarks=made_once, ngram=4, shortest=2, action=action, margin=1)
    whole = [without_id(row) for row in found(step, *first, *second)]
    assert whole == [without_id(row) for part in (first, second) for row in found(step, *part)]


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    return write(tmp_path_factory.mktemp("made") / "b.jsonl", *items((HORSES, "5"), (SHORT, "")))


def without_id(row):
    return {name: value for name, value in row.items() if name not in ("id", "position")}


# ------------------------------------------------------------- files of benchmarks

FIELDS = FieldsOfFiles(Fields())


def test_files_folders_and_patterns_are_read_packed_or_not(tmp_path):
    rows = items((HORSES, None))
    write(tmp_path / "b.jsonl", *rows)
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\ufeff" + json.dumps(rows[0]) + "\n\n")
    (tmp_path / "README.md").write_text("no items")
    for named in ([str(tmp_path)], [str(tmp_path / "*.jsonl*")], [str(tmp_path / "a.jsonl.gz"), str(tmp_path)]):
        step = Ngrams(benchmarks=tuple(named))
        assert [hit["benchmark"] for hit in one(step, HORSES)["hits"]] == ["a", "b"]
        assert [name.rsplit("/", 1)[1] for name in step.assets] == ["a.jsonl.gz", "b.jsonl"]


@pytest.mark.parametrize(
    ("answer", "choices", "texts"),
    [
        ("B", ["red", "green"], ["green"]),
        (1, ["red", "green"], ["green"]),
        ("green", ["red", "green"], ["green"]),
        ("2", {"text": ["red", "green"], "label": ["1", "2"]}, ["green"]),
        ("B", {"text": ["red", "green"], "label": ["A", "B"]}, ["green"]),
        (None, ["red", "green"], []),
        (48, None, ["48"]),
        (["green", "", "lime", None], None, ["green", "lime"]),
        ([1, "A"], ["red", "green"], ["green", "red"]),
    ],
)
def test_an_answer_may_be_the_letter_or_number_of_a_choice(tmp_path, answer, choices, texts):
    path = write(tmp_path / "b.jsonl", {"q": HORSES, "a": answer, "c": choices})
    read = benchmarks((path,), FieldsOfFiles(Fields(question="q", answer="a", choices="c", id=None)), 8, 8, 10, True)
    assert (read.answers.to_pylist(), read.id.to_pylist()) == ([texts], ["1"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            {"id": 1, "questions": HORSES, "answer": ""},
            'b.jsonl:2: no field "question"; did you mean "questions"? It has: id, questions, answer. '
            "Write fields: {b: {question: questions, answer: answer, id: id}}",
        ),
        (
            {"id": 1, "question": HORSES, "target": ""},
            'b.jsonl:2: no field "answer". It has: id, question, target. Write fields: {b: {question: question, '
            "answer: target, id: id}} (answer: null if there is none)",
        ),
        ({"id": 1, "question": None, "answer": ""}, 'b.jsonl:2: "question" is not text, but None'),
        ({"id": 1, "question": HORSES, "answer": {}}, 'b.jsonl:2: "answer" is not text, but {}'),
        ([HORSES], "b.jsonl:2: not a JSON object, but list"),
    ],
)
def test_a_line_that_is_not_an_item_is_reported_with_its_fields(tmp_path, line, message):
    path = write(tmp_path / "b.jsonl", *items((HORSES, "")), line)
    with pytest.raises(AssetError, match=re.escape(message)):
        benchmarks((path,), FIELDS, 8, 8, 10, True)


@pytest.mark.parametrize(
    ("record", "question", "answer"),
    [
        ({"prompt": HORSES, "completion": "x"}, "prompt", "completion"),
        ({"user_prompt": HORSES, "model_answer": "x"}, "user_prompt", "model_answer"),
        ({"Problem": HORSES, "finalAnswer": 3, "level": 2}, "Problem", "finalAnswer"),
        ({"inputs": HORSES, "targets": ["x"]}, "inputs", "targets"),
        ({"question_text": HORSES, "answer_start": 3, "gold_answer": "x"}, "question_text", "gold_answer"),
        ({"q": HORSES, "a": {"text": ["x"]}}, "q", "a.text"),
        ({"text": HORSES, "level": 2}, "text", "null"),  # nothing there is like an answer
    ],
)
def test_the_mapping_that_is_proposed_names_what_is_there(tmp_path, record, question, answer):
    proposed = suggested(record, {"question": "question", "answer": "answer", "id": "id"})
    assert proposed == f"{{question: {question}, answer: {answer}, id: null}}"
    fields = Fields(question=question, answer=None if answer == "null" else answer, id=None)
    assert len(benchmarks((write(tmp_path / "b.jsonl", record),), FieldsOfFiles(fields), 8, 8, 10, True).answers) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": 1,\n', "b.jsonl:1: not JSON"),
        ("\n \n", "it has no items, so nothing could be found"),
        (json.dumps(items(("Why?", "No."))[0]), "none of the 1 items can be searched for: each has fewer than 8 words"),
    ],
)
def test_a_file_of_which_nothing_can_be_found_is_refused(tmp_path, content, message):
    (tmp_path / "b.jsonl").write_text(content, "utf-8")
    with pytest.raises(AssetError, match=re.escape(message)):
        benchmarks((str(tmp_path / "b.jsonl"),), FIELDS, 8, 8, 10, True)


def test_an_answer_that_is_not_a_choice_is_refused(tmp_path):
    path = write(tmp_path / "b.jsonl", {"q": HORSES, "a": "C", "c": ["red", "green"]})
    with pytest.raises(AssetError, match='"a" is \'C\', which is not a letter, number or text of "c"'):
        benchmarks((path,), FieldsOfFiles(Fields(question="q", answer="a", choices="c", id=None)), 8, 8, 10, True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"benchmarks": []}, "benchmarks is empty"),
        ({"shortest": 9}, "need 1 <= shortest <= ngram <= 63, got shortest=9, ngram=8"),
        ({"min_overlap": 0.0}, "min_overlap is a share above 0, up to 1, got 0.0"),
        ({"common": 0}, "common is at least 1"),
        ({"margin": -1}, "margin is at least 0"),
        ({"action": "cut", "min_overlap": None}, "action cut needs min_overlap"),
        (
            {"fields": (("stabel", Fields()),)},
            'fields names "stabel", which is none of the benchmarks; did you mean "stable"?',
        ),
        (
            {"corpus_material": ("x/1",)},
            'corpus_material names "x/1", which is none of the benchmarks. They are: stable.',
        ),
        ({"require_answer": True, "answer": None}, "require_answer needs the field of the answer"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(stable, given, message):
    with pytest.raises(RecipeError, match=re.escape(message)):
        Ngrams(**{"benchmarks": stable} | given)


@pytest.mark.parametrize("name", ["none.jsonl", "no*.jsonl", "."])
def test_missing_files_are_reported_when_the_step_is_made(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssetError, match=re.escape(name)):
        Ngrams(benchmarks=name)


def test_the_index_is_made_once_and_mapped_by_all(stable, tmp_path, monkeypatch):
    monkeypatch.setattr(_benchmarks, "cache_folder", lambda: tmp_path)
    indexes = []
    for public in ((), ("none",)):  # it is opened twice
        indexes.append(benchmarks((stable,), FIELDS, 8, 8, 10, True, public).index)
        (folder,) = tmp_path.glob("ngrams-*")
        (folder / "seen").touch(exist_ok=len(indexes) > 1)  # it would be gone from a folder that is made again
    assert (folder / "seen").exists()
    for name in INDEX_ARRAYS:
        one, two = (getattr(index, name) for index in indexes)
        np.testing.assert_array_equal(one, two)
        assert isinstance(one.base, np.memmap) and not one.flags.writeable
    assert np.count_nonzero(indexes[0].keys) == 7 + 1  # n-grams of the first, the short one with its answer


def test_another_file_or_parameter_makes_another_index(stable, tmp_path, monkeypatch):
    monkeypatch.setattr(_benchmarks, "cache_folder", lambda: tmp_path)
    other = write(tmp_path / "other.jsonl", *items((HORSES, None)))
    for named, n, shortest, common in ((stable, 8, 8, 1), (stable, 9, 8, 1), (stable, 8, 7, 1), (other, 8, 8, 1)):
        benchmarks((named,), FIELDS, n, shortest, common, True)
    assert len(list(tmp_path.glob("ngrams-*"))) == 4


def test_items_with_too_few_words_are_counted_before_anything_runs(tmp_path):
    """Of scripts without spaces, in letters."""
    long = "How many barrels of herring can the small warehouse hold when it is closed?"
    chinese = "楼下可以放几桶？"
    path = write(
        tmp_path / "mixed.jsonl",
        *items((long, "294"), (chinese, "九"), (f"{chinese}请算一算", "九"), ("Which river runs?", "the Elbe it is")),
    )
    (said,) = Ngrams(benchmarks=str(path)).remarks
    assert said.startswith(
        "warning: 1 of 4 items of the benchmarks have fewer than 6 words with their answer, and are not"
    )
    few = write(tmp_path / "few.jsonl", *items(*[(long, "294")] * 20, (chinese, "1")))
    (said,) = Ngrams(benchmarks=str(few)).remarks
    assert said.startswith("1 of 21 items")
    assert Ngrams(benchmarks=str(write(tmp_path / "all.jsonl", *items((long, "294"))))).remarks == ()
    (tmp_path / "broken.jsonl").write_text("{")
    assert Ngrams(benchmarks=str(tmp_path / "broken.jsonl")).remarks == ()


WITHOUT_SPACES = {
    "zh": "在标准大气压下，将一千克水从二十摄氏度加热到沸腾需要吸收多少焦耳的热量？请写出计算过程。",
    "ja": "港の倉庫の二階が修理のために閉まっているとき、一階には塩漬けのニシンの樽をいくつ置けますか。",
    "th": "ถ้าชั้นบนของโกดังท่าเรือปิดซ่อมแซม ชั้นล่างจะเก็บถังปลาเฮอริงดองเกลือได้ทั้งหมดกี่ถัง",
}
AROUND = {
    "zh": ("今天天气很好，我们一起去河边散步，看到了很多鸟。", "后面还有一些别的文字，说的是另外一件事情。"),
    "ja": (
        "今日はとても天気がよかったので、川のそばを歩きました。",
        "そのあとで家に帰って、本を読みながら休みました。",
    ),
    "th": ("วันนี้อากาศดีมากเราจึงไปเดินเล่นริมแม่น้ำด้วยกัน", "หลังจากนั้นก็กลับบ้านไปอ่านหนังสือและพักผ่อน"),
}


@pytest.mark.parametrize("language", WITHOUT_SPACES)
def test_questions_in_scripts_without_spaces_are_found(tmp_path, language):
    question, (before, after) = WITHOUT_SPACES[language], AROUND[language]
    path = write(tmp_path / "own.jsonl", *items((question, "294"), (HORSES, "48")))
    step = Ngrams(benchmarks=path)
    assert step.remarks == ()
    half = question[: len(question) * 2 // 3]
    rows = found(
        step, before + question + after, before + after, f"{before} {half} {after}", HORSES + after, after * 20
    )
    assert [row["item"] for row in rows] == ["q0", None, "q0", "q1", None]
    assert rows[0]["overlap"] == 1 and rows[0]["passage"] in before + question + after
    assert [row["reason"] is None for row in rows] == [False, True, False, False, True]
    (match,) = step.matches(before + question + after)
    whole = (before + question + after).encode()
    assert whole[match.start : match.stop].decode() in question
    cut = one(Ngrams(benchmarks=path, action="cut", margin=0), f"{before}\n{question}\n{after}")["text"]
    assert question[5:-5] not in cut and before[:-1] in cut and after[1:] in cut


@pytest.mark.parametrize(
    "question",
    [
        "แม่น้ำสายใดที่ยาวที่สุดในประเทศไทยและไหลผ่านที่ใดบ้างก่อนถึงทะเลดี",
        "ភ្នំណាខ្ពស់ជាងគេនៅក្នុងប្រទេសកម្ពុជាហើយស្ថិតនៅខេត្តណាដែលមានទី",
        "How many horses can drink from the well before it is empty at noon in the cafe\u0301",
    ],
)
def test_a_cut_leaves_no_vowel_sign_or_accent_of_a_letter_that_it_takes(tmp_path, question):
    before, after = "เขาเขียนจดหมายถึงพ่อ ", " แล้วก็นอน" * 20
    assert unicodedata.category(question[-1]).startswith("M")
    step = Ngrams(benchmarks=write(tmp_path / "own.jsonl", *items((question, ""))), action="cut", margin=0)
    assert one(step, before + question + after)["text"] == before + after


def test_a_short_question_in_a_script_without_spaces_is_found_with_its_answer(tmp_path):
    path = write(tmp_path / "own.jsonl", *items(("中国最长的河是哪一条？", "长江，全长六千多公里"), ("水?", "冰")))
    step = Ngrams(benchmarks=path, require_answer=True)
    assert "1 of 2 items" in step.remarks[0] and "1.5 letters count as a word" in step.remarks[0]
    rows = found(step, "中国最长的河是哪一条？长江，全长六千多公里。", "中国最长的河是哪一条？我不知道答案是什么东西。")
    assert [row["reason"] for row in rows] == ["min_overlap", None]
    wide = write(tmp_path / "wide.jsonl", *items((HORSES, "４８\u00ad horses")))
    rows = found(Ngrams(benchmarks=wide, require_answer=True), f"{HORSES} 48 hor\u200bses", f"{HORSES} 84 horses")
    assert [row["reason"] for row in rows] == ["min_overlap", None]


@pytest.mark.parametrize(
    "written",
    [
        HORSES.replace("o", "\u200bo"),
        HORSES.replace("ma", "m\u00ada"),
        "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in HORSES),
        HORSES.replace("ho", "h-\n  o").replace("ny", "n-\r\ny"),
        HORSES.replace("horses", "hor\u2010\nses").replace("can", "c\u00ad\nan"),
    ],
)
def test_how_a_question_is_written_hides_nothing(stable, written):
    row = one(Ngrams(benchmarks=stable, misspelt=False), f"{LETTER}\n{written}\n{LETTER}")
    assert row["overlap"] == 1 and row["passage"].strip("?\uff1f") in written
