"""Where personal data stand in text: addresses of mail and machines, numbers of telephones, people and accounts, secrets.

A walk over bit maps stops only at "@", at ":", where a run of digits begins, and at the last of five separators that
stand two characters apart; small matchers look around from there. What each kind is, as a regular expression (matched
from left to right, ASCII; \\w is Python's):

    email   datatrove's expression without bracketed hosts: \\b{local}+(\\.{local}+)*@({label}\\.)+{label}, with local
            [A-Za-z0-9!#$%&'*+/=?^_`{|}~-] and label [A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?; but none if the last label
            has one character, or no letter (lodash@4.17.21), or is one of EXTENSIONS (logo@2x.png)
    ipv4    four numbers 0 to 255 without leading zeros; 1.2.3.4.5 and OIDs are none, nor are version numbers: those
            that a word of VERSION_WORDS stands before, with at most three of [ .:=#/_"'(-] between, and those of at most
            five digits, or six if the first number has one (3.3.3.0, 4.15.1.10), unless they begin with 10 or all four
            are the same (8.8.8.8). One in a thousand addresses drawn by chance looks like that; of 2,188 such numbers
            in 40 MB of manuals and code, 1,800
    ipv6    what `ipaddress` takes for one, in full or around "::"; no \\w and no ":" touches it. The first group has four
            digits, as in all networks that are in use, so that times, slices ([1::2]) and C++ names (a::b) are none
    phone   international: "+" and a number of a length that its calling code has (see PLANS), no more than two of
            [ .()-] between two digits; "(0)" is not counted. Or American: (001[ .-]|1[ .-]?)?(\\({area}\\)[ .-]?|{area}[ .-])
            [2-9]dd[ .-]dddd, with area [2-9]dd but not d11. Both with an extension: ( ?([xX]|[eE]xt\\.?) ?d{1,5})?
    ssn     ddd-dd-dddd, the first not 000, 666 or 9dd, the second not 00, the third not 0000
    card    12 to 19 digits with the prefix and length of a network, whole or in groups of three to six joined by
            one of " " and "-", that pass Luhn's check (ISO/IEC 7812). None are 13 digits that pass the check of articles
            (EAN, ISO/IEC 15420), of which one in ten passes Luhn's too; nor groups that a blank joins to four letters and
            digits, the last a digit: the account number that they are the end of has been mistyped, or they are a table
    iban    country, check digits and account of the country's length, whole or in groups of four joined by a space,
            that pass the mod 97 check (ISO 13616), in capitals or small letters; no \\w touches it
    mac     six pairs of hexadecimal digits, at least one of them a letter, joined by ":" or by "-"; no \\w and no further
            pair touches it
    wallet, secret, credential   see `corpusmill.text.secrets`

No \\w touches an ipv4, phone, ssn or card, no "+" stands before it, and no "." (nor, but for ipv4, a "-") joins it to
another digit. Where two overlap, a secret, wallet or credential stays, else the e-mail address, else the one that
begins first, else the earlier in KINDS.

`byte_classes` has what may touch a span, `addresses` and `numbers` the matchers, `numbering` the tables of numbering
plans, `find` the walk over the text.
"""

from corpusmill.text.pii.addresses import EXTENSIONS, VERSION_WORDS
from corpusmill.text.pii.find import IPV4, IPV6, KINDS, pii_spans
from corpusmill.text.pii.numbering import IBAN_SIZES, PLANS

__all__ = ["EXTENSIONS", "IBAN_SIZES", "IPV4", "IPV6", "KINDS", "PLANS", "VERSION_WORDS", "pii_spans"]
