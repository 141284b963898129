"""Which language a document is said to be in, and which documents are dropped for it."""

import pickle
from dataclasses import replace

import fasttext
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill import assets
from corpusmill.errors import AssetError, RecipeError
from corpusmill.models.language import Identifier, average, cut_windows, spread_windows
from corpusmill.models.language_groups import GROUPS
from corpusmill.models.wide import LID_176, LID_WIDE, WideModel
from corpusmill.steps import Annotate, Filter
from corpusmill.steps.annotate.language import AnnotateLanguage
from corpusmill.steps.filter.language import FilterLanguage
from corpusmill.text.buffers import view

ENGLISH = "The river ran past the old mill, and the miller knew every stone of its bed. "
GERMAN = "Der Fluss lief an der alten Mühle vorbei, und der Müller kannte jeden Stein darin. "
GREEK = "Το ποτάμι περνούσε δίπλα από τον παλιό μύλο και ο μυλωνάς ήξερε κάθε πέτρα του. "


def columns(step, *texts: str | None) -> dict[str, list]:
    return {name: column.to_pylist() for name, column in step.signals(docs(*texts)).items()}


def reasons(step: FilterLanguage, *texts: str | None) -> list[str | None]:
    batch = docs(*texts)
    return step.reasons(batch, step.signals(batch)).to_pylist()


def test_names_the_language_and_the_runner_up():
    signals = columns(AnnotateLanguage(), ENGLISH, GERMAN, GREEK)
    assert signals["label"] == ["en", "de", "el"]
    assert min(signals["score"]) > 0.9
    assert all(score < 0.1 for score in signals["runner_up_score"])
    assert all(other not in (None, label) for other, label in zip(signals["runner_up"], signals["label"], strict=True))


def test_a_document_without_a_word_has_no_language():
    signals = columns(AnnotateLanguage(), "", None, " \n\t", " " * 5000)
    assert signals == {"label": [None] * 4, "score": [0] * 4, "runner_up": [None] * 4, "runner_up_score": [0] * 4}
    assert reasons(FilterLanguage(), "", None, " \n\t", " " * 5000) == ["language"] * 4


def test_drops_other_languages_and_uncertain_ones():
    unsure = "12:30 - 14:00 ok"
    label, score = (columns(AnnotateLanguage(model=LID_176), unsure)[name][0] for name in ("label", "score"))
    assert label == "en" and 0 < score < 0.65  # what makes it a case of min_score
    assert reasons(FilterLanguage(model=LID_176), ENGLISH, GERMAN, unsure) == [None, "language", "min_score"]
    assert reasons(FilterLanguage(languages=("de", "el"), model=LID_176), ENGLISH, GERMAN, GREEK, unsure) == [
        "language",
        None,
        None,
        "language,min_score",
    ]


def test_a_language_may_have_its_own_threshold():
    score = columns(AnnotateLanguage(), GERMAN)["score"][0]
    strict = FilterLanguage(languages=("en", "de"), min_scores=(("de", min(1.0, score + 0.0001)),), min_score=0.1)
    assert reasons(strict, ENGLISH, GERMAN) == [None, "min_score"]
    lenient = FilterLanguage(languages=("en", "de"), min_scores=(("de", score - 0.0001), ("el", 0.2)), min_score=1.0)
    assert reasons(lenient, ENGLISH, GERMAN, GREEK) == ["min_score", None, "language"]


def test_thresholds_apply_to_saved_signals_without_the_text():
    kept = FilterLanguage().signals(docs(ENGLISH, GERMAN, ""))
    blank = docs(None, None, None)
    assert FilterLanguage(languages=("de",)).reasons(blank, kept).to_pylist() == ["language", None, "language"]


def test_filter_and_annotation_measure_the_same():
    texts = [ENGLISH, GERMAN * 60 + ENGLISH * 60, None, GREEK]
    assert columns(FilterLanguage(), *texts) == columns(AnnotateLanguage(), *texts)
    assert isinstance(FilterLanguage(), Annotate) and isinstance(FilterLanguage(), Filter)
    assert isinstance(AnnotateLanguage(), Annotate) and not isinstance(AnnotateLanguage(), Filter)


def test_a_long_document_is_read_in_the_middle_and_at_its_end_too():
    # The beginning alone is English; two of three windows are German.
    text = ENGLISH * 20 + GERMAN * 100
    assert columns(AnnotateLanguage(windows=1, model=LID_176), text)["label"] == ["en"]
    signals = columns(AnnotateLanguage(model=LID_176), text)
    assert signals["label"] == ["de"] and signals["runner_up"] == ["en"]
    assert signals["score"][0] == pytest.approx(2 / 3, abs=0.02)
    assert signals["runner_up_score"][0] == pytest.approx(1 / 3, abs=0.02)


def test_a_window_can_leave_out_the_head_of_a_document():
    text = "Home About us Contact Privacy policy Search this site. " * 20 + GERMAN * 100
    assert columns(AnnotateLanguage(windows=1, model=LID_176), text)["label"] == ["en"]
    assert columns(AnnotateLanguage(windows=1, offset=0.25, model=LID_176), text)["label"] == ["de"]
    with pytest.raises(RecipeError, match="offset is a share of the document, from 0 to 1, got 25"):
        AnnotateLanguage(offset=25)


def test_windows_without_a_word_do_not_count():
    text = GREEK * 40 + " " * 10_000
    signals = columns(AnnotateLanguage(), text)
    assert signals["label"] == ["el"] and signals["score"][0] > 0.9


def slow_windows(text: str, windows: int, window_chars: int, offset: float) -> list[str]:
    """The definition: whole, or stretches that begin at equal distances in bytes, moved back to a character."""
    if len(text) <= windows * window_chars:
        return [text] + [""] * (windows - 1)
    final = len(text[:-window_chars].encode())
    start = min(int(offset * len(text.encode())), final)
    pieces = []
    for w in range(windows):
        at = start + (final - start) * w // max(windows - 1, 1)
        begun = next(i for i in range(len(text), -1, -1) if len(text[:i].encode()) <= at)
        pieces.append(text[begun : begun + window_chars])
    return pieces


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(st.text(alphabet="a é水🌊", max_size=400), min_size=1, max_size=3),
    windows=st.integers(1, 4),
    window_chars=st.integers(1, 150),
    offset=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)
def test_windows_are_where_the_definition_says(texts, windows, window_chars, offset):
    text = view(pa.array(["x", *texts], pa.large_string())[1:])
    first, last = (np.empty(len(texts) * windows, np.int64) for _ in range(2))
    cut_windows(text.data, text.offsets, windows, window_chars, offset, first, last)
    actual = [text.data[a:b].tobytes().decode() for a, b in zip(first, last, strict=True)]
    assert actual == [window for text in texts for window in slow_windows(text, windows, window_chars, offset)]


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(st.text(alphabet="a é水🌊", max_size=400), min_size=1, max_size=3),
    windows=st.integers(1, 4),
    window_chars=st.integers(1, 150),
    offset=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)
def test_windows_of_a_second_look_are_at_equal_distances_in_characters(texts, windows, window_chars, offset):
    text = view(pa.array(["x", *texts], pa.large_string()))
    rows = np.arange(len(texts), 0, -1)
    first, last = np.empty((2, len(texts) * windows), np.int64)
    spread_windows(text.data, text.offsets, rows, windows, window_chars, offset, first, last)
    wanted = []
    for one in reversed(texts):
        final = len(one) - window_chars
        start = min(int(offset * len(one)), final)
        begins = [start + (final - start) * w // max(windows - 1, 1) for w in range(windows)]
        whole = len(one) <= windows * window_chars
        wanted += [one] + [""] * (windows - 1) if whole else [one[at : at + window_chars] for at in begins]
    assert [text.data[a:b].tobytes().decode() for a, b in zip(first, last, strict=True)] == wanted


def test_a_window_ends_where_64_bytes_hold_its_last_character_exactly():
    text = "水" * 10 + "a" * 200
    one = view(pa.array([text], pa.large_string()))
    first, last = np.empty(1, np.int64), np.empty(1, np.int64)
    for window_chars in range(1, 220):
        cut_windows(one.data, one.offsets, 1, window_chars, 0.0, first, last)
        assert one.data[first[0] : last[0]].tobytes().decode() == text[:window_chars]


window_labels = st.lists(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8)), max_size=3, unique_by=lambda pair: pair[0]),
    min_size=2,
    max_size=2,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(window_labels, min_size=1, max_size=3))
def test_scores_are_averaged_by_language_over_windows_with_a_word(documents):
    windows = [window for document in documents for window in document]
    labels = np.array([[label for label, _ in w] + [-1] * (3 - len(w)) for w in windows], np.int32)
    scores = np.array([[score / 8 for _, score in w] + [0] * (3 - len(w)) for w in windows], np.float32)
    best, mean = np.empty((len(documents), 2), np.int32), np.empty((len(documents), 2), np.float32)
    average(labels, scores, 2, best, mean)
    for document, order, score in zip(documents, best.tolist(), mean.tolist(), strict=True):
        scored = sum(bool(window) for window in document)
        totals = {label: 0.0 for window in document for label, _ in window}
        for window in document:
            for label, eighths in window:
                totals[label] += eighths / 8 / scored
        ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:2]
        ranked += [(-1, 0.0)] * (2 - len(ranked))
        assert order == [label for label, _ in ranked]
        assert score == pytest.approx([value for _, value in ranked])


def test_the_same_whatever_the_batch_is_cut_into():
    texts = [ENGLISH, None, GERMAN * 50, "", GREEK * 90 + ENGLISH * 90, "ok"]
    whole = columns(FilterLanguage(), *texts)
    alone = [columns(FilterLanguage(), text) for text in texts]
    assert whole == {name: [one[name][0] for one in alone] for name in whole}
    batch = docs(*texts)
    assert FilterLanguage().signals(batch.slice(2, 3))["label"].to_pylist() == whole["label"][2:5]


def test_an_empty_batch_has_columns_of_the_same_types():
    some, none = FilterLanguage().signals(docs(ENGLISH)), FilterLanguage().signals(docs())
    assert {name: column.type for name, column in none.items()} == {name: column.type for name, column in some.items()}
    assert FilterLanguage().reasons(docs(), none).type == pa.string()


def test_another_model_has_its_own_labels(tmp_path):
    (tmp_path / "train.txt").write_text(
        "".join(f"__label__eng_Latn the mill {i}\n__label__deu_Latn die mühle {i}\n" for i in range(50)), "utf-8"
    )
    options = {"dim": 4, "bucket": 200, "minn": 2, "maxn": 3, "lr": 1.0, "epoch": 20, "thread": 1, "verbose": 0}
    path = tmp_path / "own.bin"
    fasttext.train_supervised(str(tmp_path / "train.txt"), **options).save_model(str(path))
    step = FilterLanguage(model=str(path), languages=("deu_Latn",))
    assert columns(step, "the mill", "die mühle")["label"] == ["eng_Latn", "deu_Latn"]
    assert reasons(step, "the mill", "die mühle") == ["language", None]
    with pytest.raises(RecipeError, match=r'languages has "en", which .*own\.bin does not know'):
        FilterLanguage(model=str(path))


def test_wrong_parameters_are_reported_when_it_is_made():
    with pytest.raises(RecipeError) as error:
        FilterLanguage(languages=("en", "cebb"))
    assert str(error.value) == (
        'languages has "cebb", which lid.wide does not know; did you mean "ceb"? '
        "It knows af, am, ar, as, az, be, bg, bn, br, bs, ca, cs and 215 more."
    )
    with pytest.raises(RecipeError, match=r'min_scores has "Ω", which lid\.wide does not know\. It knows'):
        FilterLanguage(min_scores=(("Ω", 0.5),))
    with pytest.raises(RecipeError, match="languages is empty"):
        FilterLanguage(languages=())
    with pytest.raises(RecipeError, match="a score is from 0 to 1, got 65"):
        FilterLanguage(min_score=65)
    with pytest.raises(RecipeError, match="need windows >= 1 and window_chars >= 1, got windows=0"):
        AnnotateLanguage(windows=0)
    with pytest.raises(AssetError, match=r'no asset "lid\.177\.ftz"'):
        AnnotateLanguage(model="lid.177.ftz")


def test_is_a_value():
    step = FilterLanguage(languages=("en",), min_scores=(("fr", 0.5), ("de", 0.4)))
    assert step == replace(step, min_scores=(("de", 0.4), ("fr", 0.5))) == pickle.loads(pickle.dumps(step))
    assert len({step, replace(step), replace(step, min_score=0.5)}) == 2


def test_the_model_is_read_once_a_process():
    AnnotateLanguage().signals(docs(ENGLISH))
    FilterLanguage().signals(docs(ENGLISH))
    assert assets.load(LID_WIDE, WideModel.load) is assets.load(LID_WIDE, WideModel.load)
    assert Identifier().labels() is Identifier().labels()


def test_lid_176_by_name_is_the_model_of_the_published_recipes():
    old, new = AnnotateLanguage(model=LID_176), AnnotateLanguage()
    pidgin = (
        "Di goment don tok say dem go pay workers dia salary before di month end, but pipol no gree believe dem. " * 3
    )
    assert columns(old, pidgin)["label"] == ["en"] and columns(new, pidgin)["label"] == ["pcm"]
    assert old.assets == (LID_176,)
    assert new.assets == (LID_WIDE, LID_176)  # which is asked about short texts


# Basque with its letters in another order: in no language, in letters that many have.
INVENTED = "zorlak mubrine tavushi krelo pandivu shomek ruldani faxo benktil, gohari sindok walpeti yuram. " * 5


def test_a_text_in_none_of_the_languages_is_unknown():
    signals = columns(AnnotateLanguage(), INVENTED, ENGLISH * 5)
    assert signals["label"] == ["unknown", "en"]
    assert signals["score"][0] == 0 and signals["runner_up"][0] in Identifier().labels()
    assert reasons(FilterLanguage(), INVENTED) == ["language"]
    assert reasons(FilterLanguage(languages=("en", "unknown")), INVENTED, ENGLISH * 5, "") == [None, None, "language"]


# Of our own, so that no two sentences are alike.
HARBOUR = (
    "The ferry leaves the harbour at seven and comes back before noon. Nobody on the island keeps a clock, so people "
    "count by the tides and by the bells of the small church on the hill. In winter the boat stays away for days, and "
    "the shop sells what was put by in autumn: dried fish, flour, and the honey of three families. A teacher comes "
    "twice a week and stays with the baker, whose bread is known along the whole coast. When the wind turns north the "
    "children carry wood from the beach, and the old men sit behind the boathouse and mend their nets. "
)
PUERTO = (
    "El barco sale del puerto a las siete y vuelve antes del mediodía. Nadie en la isla tiene reloj, así que la gente "
    "cuenta por las mareas y por las campanas de la pequeña iglesia del cerro. En invierno no hay barco durante días, y "
    "la tienda vende lo que se guardó en otoño: pescado seco, harina y la miel de tres familias. Una maestra viene dos "
    "veces por semana y se queda en casa del panadero, cuyo pan se conoce en toda la costa. Cuando el viento cambia, "
    "los niños traen leña de la playa y los viejos remiendan sus redes detrás del cobertizo. "
)
FOREIGN = {
    "ru": "Паром уходит из гавани в семь утра и возвращается до полудня, если не дует северный ветер. ",
    "ar": "تغادر العبارة الميناء في الساعة السابعة وتعود قبل الظهر إذا لم تهب الرياح من الشمال. ",
    "el": "Το πλοίο φεύγει από το λιμάνι στις επτά και γυρίζει πριν από το μεσημέρι, αν δεν φυσάει. ",
    "he": "המעבורת יוצאת מהנמל בשבע בבוקר וחוזרת לפני הצהריים, אם הרוח אינה נושבת מצפון. ",
    "hi": "नाव सुबह सात बजे बंदरगाह से निकलती है और दोपहर से पहले लौट आती है, अगर हवा तेज़ न हो। ",
    "th": "เรือข้ามฟากออกจากท่าเวลาเจ็ดโมงเช้าและกลับมาก่อนเที่ยงถ้าลมไม่พัดมาจากทางเหนือ ",
    "zh": "渡船早上七点离开港口，中午以前回来，如果没有北风的话。岛上没有人戴手表，大家看潮水和教堂的钟声来计算时间。",
    "ja": "渡し船は朝七時に港を出て、北風が吹かなければ昼前に戻ってきます。島では誰も時計を持っていません。",
    "ko": "나룻배는 아침 일곱 시에 항구를 떠나 북풍이 불지 않으면 정오 전에 돌아온다. 섬에는 시계가 없다. ",
    "de": "Die Fähre verlässt den Hafen um sieben und kommt vor dem Mittag zurück, wenn der Wind nicht dreht. ",
    "vi": "Chuyến phà rời bến lúc bảy giờ sáng và trở về trước buổi trưa nếu gió bắc không thổi mạnh. ",
}


def beside(main: str, other: str, share: float, place: float) -> str:
    """`main`, with so large a share of `other` after this share of it."""
    size = max(round(len(main) * share / (1 - share)), len(other))
    cut = main.rfind(" ", 0, max(round(place * len(main)), 1)) + 1
    return main[:cut] + (other * (size // len(other) + 1))[:size] + " " + main[cut:]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25])
@pytest.mark.parametrize("other", FOREIGN)
def test_a_document_keeps_its_language_beside_some_of_another(other, share):
    texts = [beside(HARBOUR * times, FOREIGN[other], share, at) for times in (2, 6, 20) for at in (0, 0.5, 1)]
    assert reasons(FilterLanguage(), *texts) == [None] * 9


@pytest.mark.parametrize("place", [0, 0.5, 1])
def test_spanish_keeps_its_language_beside_some_english(place):
    texts = [beside(PUERTO * times, HARBOUR, share, place) for times in (5, 20) for share in (0.1, 0.15, 0.25)]
    assert columns(AnnotateLanguage(), *texts)["label"] == ["es"] * 6


def test_a_quarter_that_takes_half_of_the_bytes_is_still_a_quarter():
    text = beside(HARBOUR * 20, FOREIGN["th"], 0.25, 0.3)
    assert len(text.encode()) > 1.4 * len(text)
    assert columns(AnnotateLanguage(), text)["label"] == ["en"]


def test_what_is_left_without_a_main_language_is_unknown():
    mixed = "".join(FOREIGN.values())
    assert columns(AnnotateLanguage(), mixed, INVENTED * 4)["label"] == ["unknown", "unknown"]


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2009", "\u200b", "\u2028", "\t", "\n", "\r\n"], ids=ascii)
def test_any_white_space_between_words_will_do(space):
    texts = [HARBOUR, GERMAN * 4, HARBOUR.replace(" ", space), (GERMAN * 4).replace(" ", space)]
    signals = columns(AnnotateLanguage(), *texts)
    assert signals["label"] == ["en", "de", "en", "de"] and min(signals["score"]) > 0.9


def test_a_group_keeps_all_its_languages_by_the_sum_of_their_scores():
    signals = {
        "label": pa.array(["hr", "hr", "sl", "unknown", None]),
        "score": pa.array([0.5, 0.5, 0.9, 0.0, 0.0], pa.float32()),
        "runner_up": pa.array(["bs", "sl", "hr", "hr", None]),
        "runner_up_score": pa.array([0.4, 0.4, 0.1, 0.9, 0.0], pa.float32()),
    }
    blank = docs(*[None] * 5)
    together = FilterLanguage(languages=("serbo-croatian",), min_score=0.65)
    assert together.reasons(blank, signals).to_pylist() == [None, "min_score", "language", "language", "language"]
    alone = FilterLanguage(languages=("hr", "bs", "sr"), min_score=0.65)
    assert alone.reasons(blank, signals).to_pylist()[0] == "min_score"
    assert FilterLanguage(languages=("scandinavian",), model=LID_176).languages == ("scandinavian",)
    with pytest.raises(RecipeError, match='did you mean "serbo-croatian"'):
        FilterLanguage(languages=("serbo-croat",))


def test_the_groups_are_of_labels_that_exist():
    known = {*Identifier().labels(), *Identifier(model=LID_176).labels(), "nb"}
    assert all(group <= known for group in GROUPS.values())
    assert all(f"{name}" in " ".join((FilterLanguage.__doc__ or "").split()) for name in GROUPS)
