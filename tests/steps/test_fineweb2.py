"""Documents are judged by the bounds and stop words of their own language and script."""

import pyarrow as pa
import pytest

from conftest import docs
from corpusmill.engine.work.batch import Batch
from corpusmill.errors import RecipeError
from corpusmill.models import fineweb2
from corpusmill.steps.filter.fineweb2 import Fineweb2
from corpusmill.text.unicode import terminal

FRENCH = (
    "Le bac part à huit heures du matin et revient dans la nuit. Il apporte le courrier, les journaux et quelques "
    "passagers de la ville, qui descendent au port par un escalier étroit. Au printemps, les pêcheurs réparent leurs "
    "filets sur le quai, et les enfants les regardent en silence avant de rentrer à la maison pour le dîner.\n"
)
SERBIAN = {"Cyrl": "Брод полази у осам сати ујутру и враћа се ноћу.", "Latn": "Brod polazi u osam sati ujutru."}
PASSING = {"settings": "fra_Latn", "score": 0.99, "stop_words": 5, "alpha_words": None}


def judge(step, text):
    batch = Batch(docs(text))
    batch.apply(0, "fineweb2", step)
    return batch.reasons[0][1].to_pylist()[0] if batch.reasons else None


def rejudge(step, **measured):
    usual = {rule.signal: 0.2 if rule.drops == ">" else 0.95 for rule in step.RULES}
    usual |= {"content_words": 200, "mean_word_length": 5.0, "newline_ratio": 0.1, "repeated_line_char_ratio": 0.0}
    usual |= {name: 0.05 for name in usual if "gram" in name or name in ("hash_ratio", "ellipsis_ratio")}
    signals = {name: pa.array([value]) for name, value in (usual | PASSING | measured).items()}
    return step.reasons(docs("the text is not looked at"), signals).to_pylist()[0]


def test_a_page_of_prose_passes_and_english_has_no_settings():
    assert judge(Fineweb2(), FRENCH) is None
    assert judge(Fineweb2(), "The ferry leaves at eight in the morning, and it comes back at night.") == (
        "no_settings,min_words"
    )
    assert judge(Fineweb2(rules=("min_words",)), "") == "no_settings,min_words"


@pytest.mark.parametrize(
    ("signal", "passes", "fails", "reason"),
    [  # FineWeb2's configs/fra_Latn.yml
        ("score", 0.9, 0.82, "min_language_score"),
        ("duplicate_line_ratio", 0.264, 0.265, "max_duplicate_lines"),
        ("top_2_gram_char_ratio", 0.161, 0.162, "max_top_2_gram_chars"),
        ("duplicate_5_gram_char_ratio", 0.15, 0.151, "max_duplicate_5_gram_chars"),
        ("duplicate_10_gram_char_ratio", 0.1, 0.101, "max_duplicate_10_gram_chars"),
        ("line_punctuation_ratio", 0.1, 0.09, "min_punctuated_lines"),
        ("newline_ratio", 0.185, 0.186, "max_newline_ratio"),
        ("mean_word_length", 11.0, 11.1, "max_mean_word_length"),
        ("alpha_word_ratio", 0.812, 0.811, "min_alpha_words"),
        ("stop_words", 2, 1, "min_stop_words"),
        ("repeated_line_char_ratio", 0.1, 0.11, "max_repeated_line_chars"),
    ],
)
def test_bounds_are_those_of_the_language(signal, passes, fails, reason):
    assert rejudge(Fineweb2(), **{signal: passes}) is None
    assert rejudge(Fineweb2(), **{signal: fails}) == reason
    assert rejudge(Fineweb2(**{reason: None}), **{signal: fails}) is None
    assert rejudge(Fineweb2(rules=(reason,)), **{signal: fails}) == reason


def test_a_number_holds_for_all_languages_and_a_bound_that_a_language_lacks_never_drops():
    assert rejudge(Fineweb2(max_mean_word_length=4), mean_word_length=5.0) == "max_mean_word_length"
    assert rejudge(Fineweb2(), settings="deu_Latn", line_punctuation_ratio=0.0) is None  # 0.0 in its settings


def test_a_language_of_two_scripts_has_the_settings_of_the_one_that_is_written():
    settings = fineweb2.settings()
    labels = pa.array(["sr", "sr", "sr", "ru", "en", None, "fra_Latn", "hin"], pa.string())
    texts = pa.array([*SERBIAN.values(), "123", "abc", "a", "", "été", "abc"], pa.large_string())
    named = settings.names(settings.find_pairs(labels, texts)).to_pylist()
    assert named == ["srp_Cyrl", "srp_Latn", "srp_Latn", "rus_Cyrl", None, None, "fra_Latn", "hin_Latn"]
    assert settings.find_pairs(labels[:0], texts[:0]).tolist() == []


def test_stop_words_are_those_of_the_language():
    batch = docs(FRENCH, "昨天他在家，今天也是。有人的年月和日。我们为了学习中文而努力，老师的方法是好的。")
    signals = Fineweb2().signals(batch)
    assert signals["settings"].to_pylist() == ["fra_Latn", "cmn_Hani"]
    assert signals["stop_words"].to_pylist()[0] >= 10 and signals["stop_words"].to_pylist()[1] >= 8


def test_the_settings_are_complete():
    settings = fineweb2.settings()
    assert len(settings.pairs) == 1929
    by_language = {name for name in Fineweb2.SWITCHES if getattr(Fineweb2(), name) == "by_language"}
    assert set(settings.bounds) == by_language
    assert {"。", "！", "？", "။", "។", "।", "۔"} <= terminal()


def test_a_wrong_bound_is_an_error():
    with pytest.raises(RecipeError, match="need min_words <= max_words"):
        Fineweb2(min_words=5, max_words=4)
    with pytest.raises(RecipeError, match='"by_langage" is neither a number nor by_language'):
        Fineweb2(max_newline_ratio="by_langage")  # type: ignore[arg-type]


MALTESE = (
    "Il-vapur jitlaq mill-port fit-tmienja ta' filgħodu u jerġa' lura bil-lejl. Iġib miegħu l-posta, il-gazzetti u xi "
    "passiġġieri mill-belt, li jinżlu fil-moll minn taraġ dejjaq. Fir-rebbiegħa s-sajjieda jsewwu x-xbieki tagħhom fuq "
    "il-bankina, u t-tfal iħarsu lejhom fis-skiet qabel ma jmorru lura d-dar għall-ikla. Il-baħar hu kalm, u r-riħ "
    "li jonfoħ mill-majjistral ma jdejjaq lil ħadd."
)
TIBETAN = (
    "བོད་ནི་རི་མཐོ་བ་དང་ཆུ་མང་བའི་ས་ཆ་ཞིག་ཡིན། མི་རྣམས་ནི་ཞིང་ལས་དང་འབྲོག་ལས་བྱེད་ཀྱི་ཡོད། ཆུ་བོ་ཆེན་པོ་མང་པོ་ཞིག་ནི་བོད་ནས་འབབ་ཀྱི་ཡོད། "
    "དགུན་ཁར་གངས་མང་པོ་འབབ་ཀྱི་ཡོད་པས་ལམ་འགྲོ་དཀའ་བ་རེད། དབྱར་ཁར་རྩྭ་དང་མེ་ཏོག་སྣ་ཚོགས་སྐྱེ་ཞིང་། ཕྱུགས་ལ་ཡང་ཡག་པོ་ཡོད།"
)


def test_languages_whose_words_end_at_a_hyphen_or_a_tsheg_are_not_dropped_whole():
    step = Fineweb2(min_language_score=None)
    assert judge(step, MALTESE) is None
    assert judge(step, TIBETAN) is None
    (ratio,) = step.signals(docs(MALTESE))["alpha_words"].to_pylist()
    assert ratio > 0.85
    assert step.signals(docs(FRENCH))["alpha_words"].to_pylist() == [None]


def test_korean_stop_words_are_found_at_the_ends_of_words():
    text = "배는 아침 여덟 시에 항구를 떠나 밤에 돌아온다. 봄에는 어부들이 부두에서 그물을 고치고 아이들은 그것을 바라본다."
    (count,) = Fineweb2().signals(docs(text))["stop_words"].to_pylist()
    assert count >= 5
