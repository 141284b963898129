"""National numbers, dates and URLs, by name."""

import pytest

from corpusmill.text.buffers import view
from corpusmill.text.pii.ids import IDS, NAMES, id_spans
from text_strategies import strings


def found(name, *texts):
    raw = [text.encode() for text in texts]
    spans = id_spans(view(strings(*texts)), [name] if isinstance(name, str) else name).tolist()
    return [(NAMES[kind], raw[d][a:b].decode()) for d, kind, a, b in spans]


EXAMPLES = {
    "us_itin": "912-70-1234", "us_passport": "A12345678", "us_npi": "1234567893", "us_mbi": "1EG4-TE5-MK73",
    "aba_routing": "0210-0002-1", "ca_sin": "130 692 544", "uk_nhs": "943 476 5919", "uk_nino": "AB 12 34 56 C",
    "uk_passport": "AB1234567", "uk_postcode": "SW1A 1AA", "au_abn": "51 824 753 556", "au_acn": "004 085 616",
    "au_tfn": "123 456 782", "au_medicare": "2123 45670 1", "in_pan": "ABCPD1234E", "sg_fin": "S1234567D",
    "de_tax_id": "86095742719", "de_vat_id": "DE 136 695 976", "es_nif": "12345678Z", "es_nie": "X1234567L",
    "fr_nir": "2 55 08 14 168 025 38", "it_fiscal_code": "RSSMRA85T10A562S", "nl_bsn": "111222333",
    "pl_pesel": "44051401359", "fi_personal_identity_code": "131052-308T", "se_personnummer": "811218-9876",
    "tr_national_id": "10000000146", "kr_rrn": "800229-1234567", "th_tnin": "1101700207366",
    "cn_resident_id": "11010519491231002X", "br_cpf": "529.982.247-25", "date": "2024-02-29",
    "url": "https://example.org/a?b=c",
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), EXAMPLES.items())
def test_an_example_of_each_kind_is_found_and_is_no_part_of_another_word(name, value):
    assert found(name, f"It is {value} here") == [(name, value)]
    assert found(name, f"{value}") == [(name, value)]
    assert found(name, f"x{value}x") == []


def test_every_kind_but_those_by_luck_has_an_example():
    assert set(NAMES) - EXAMPLES.keys() == {"in_aadhaar", "ng_nin"}
    assert len(set(NAMES)) == len(IDS)


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-29T12:30:00Z",
        "29/02/2024",
        "2/29/24",
        "29 Feb 2024",
        "February 29, 2024",
        "Feb 2024",
        "29 February",
        "12/24",
    ],
)
def test_dates_in_their_forms(text):
    assert found("date", f"on {text}.") == [("date", text)]


@pytest.mark.parametrize("text", ["2024-13-01", "1.2.3.4", "99/99/9999", "Febtober 2024", "0/0"])
def test_what_is_no_date(text):
    assert found("date", text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("see http://a.org/x.", "http://a.org/x"),
        ("(www.a.org/b)", "www.a.org/b"),
        ("ftp://a.org:21/", "ftp://a.org:21/"),
        ("http://localhost:80/x!", "http://localhost:80/x"),
    ],
)
def test_urls_end_before_the_punctuation_of_the_sentence(text, value):
    assert found("url", text) == [("url", value)]


def test_of_two_that_overlap_the_first_then_the_longer_then_the_earlier_name_counts():
    assert found(["url", "date"], "http://a.org/2024-02-29") == [("url", "http://a.org/2024-02-29")]
    assert found(["de_tax_id", "pl_pesel"], "86095742719") == [("de_tax_id", "86095742719")]


def test_documents_are_kept_apart():
    assert found("nl_bsn", "111", "222333", "111222333") == [("nl_bsn", "111222333")]
    assert found("nl_bsn") == []
