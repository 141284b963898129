import pytest

from corpusmill.text.html_cost import LONGEST_LIST, html_cost


@pytest.mark.parametrize(
    ("page", "attributes"),
    [
        (b"", 0),
        (b"<p>a=1 b=2", 0),
        (b"<p a b=1 c = '2' d=\"3\"e/f / g>h i", 7),
        (b"<p a='>' b=\"<p c d>\" e>", 3),
        (b"<p a=it's b c>d e", 3),
        (b"<p a=b/c/d =x ==y>", 2),
        (b"<!-- <p a b c> > --><p a>", 1),
        (b"<!doctype a b c d><?xml e f g?><p a>", 1),
        (b"<script x>if (a<b c d e) '</p>'</script a><p a b>", 2),
        (b"<TITLE><p a b c></titles></Title ><p a>", 1),
        (b"<textarea><p a b c d>", 0),
        (b"<svg><style><p a b c></style></svg>", 3),
        (b"<svg></svg><style><p a b c></style>", 0),
        (b"<html a b><html c><body d><html e>", 4),
        (b"1 < 2 a b c > <3 d e f>", 0),
        (b"<p a", 1),
        (b"<p a='b", 1),
        (b"<p a=", 1),
        (b"<", 0),
        (b"<!-", 0),
        (b"<script></scrip", 0),
    ],
)
def test_the_attributes_of_a_tag_are_counted_as_a_parser_does(page, attributes):
    assert html_cost(page).attributes == attributes


def test_pairs_are_those_of_tags_with_many_attributes():
    tag = b"<p " + b" ".join(b"a%d" % i for i in range(100)) + b">"
    assert html_cost(b"<p a b c>" * 1000).pairs == 0
    assert html_cost(tag * 3).pairs == 3 * 100 * 100
    assert html_cost(b"".join(b"<body a%d>" % i for i in range(100))).pairs == sum(range(100))


@pytest.mark.parametrize(
    ("page", "again"),
    [
        (b"<b>x</b><p>y</p>", 0),
        (b"<b><i><p>x</p>", 4),
        (b"<b><b><b><b><b><p>", 3),
        (b"<font a=1><font a=2><font a=3><font a=4><font a=5><p>", 5),
        (b"<b></i></i></i><p>", 1),
        (b"<b a><i></b><p>", 1),
        (b"".join(b"<a b=%d>" % i for i in range(LONGEST_LIST + 9)) + b"<p>", LONGEST_LIST),
    ],
)
def test_formatting_elements_that_stay_open_are_made_again(page, again):
    assert html_cost(page).again == again
