"""Where personal data are in text: addresses of mail and machines, numbers of telephones, people and accounts, secrets,
postal addresses.

A scan of bit maps stops only at "@", at ":", at the beginning of a run of digits, and at the last of five separators
with two characters between them; small matchers look around from there. The kinds as regular expressions (matched from
left to right, ASCII; \\w is Python's, but for letters of Korean and of scripts without spaces between words: the
address in IPは93.184.216.34です is found):

    email   datatrove's expression without bracketed hosts: \\b{local}+(\\.{local}+)*@({label}\\.)+{label}, with local
            [A-Za-z0-9!#$%&'*+/=?^_`{|}~-] and label [A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?; not if the last label has
            one character, or no letter (lodash@4.17.21), or is one of EXTENSIONS (logo@2x.png); nor behind user and
            password of a URL (https://user:password@host.example)
    ipv4    four numbers 0 to 255 without leading zeros; not 1.2.3.4.5, OIDs, nor version numbers: those after a word of
            VERSION_WORDS, with at most three of [ .:=#/_"'(-] between, and those of at most five digits, or six if the
            first number has one (3.3.3.0, 4.15.1.10), unless they begin with 10, all four are equal (8.8.8.8), or they
            follow one of HOST_WORDS ("Host: 1.2.3.4"). One in
            a thousand random addresses looks like a version; of 2,188 such numbers in 40 MB of manuals and code, 1,800
    ipv6    accepted by `ipaddress`, in full or with "::"; no adjacent \\w or ":". The first group has four digits, as
            in all networks in use, so that times, slices ([1::2]) and C++ names (a::b) do not match; what has
            two groups at most and may be a year or a name, as `addresses.is_meant` says
    phone   international: "+" and a number of a length of its calling code (see PLANS), at most two of [ .()-] between
            two digits; "(0)" is not counted. Or American: (001[ .-]|1[ .-]?)?(\\({area}\\)[ .-]?|{area}[ .-])
            [2-9]dd[ .-]dddd, with area [2-9]dd but not d11. Any digits count behind "001-", and any three
            after an area before "x" and three digits; area.ddd-dddd without brackets is a clause (252.227-7013). Both
            with an extension: ( ?([xX]|[eE]xt\\.?) ?d{1,5})?
            On request (`Forms`), other forms of both: see `mail` and `phones`
    ssn     ddd-dd-dddd, with "-", blanks or dots, and no further group after blanks or dots; the first not 000, 666 or
            9dd, the second not 00, the third not 0000
    card    12 to 19 digits with the prefix and length of a network, without separators or in groups of three to six
            with one of " " and "-" between, that pass Luhn's check (ISO/IEC 7812). Not 13 digits that pass the check of
            article numbers (EAN, ISO/IEC 15420), of which one in ten passes Luhn's too; nor groups after four letters
            and digits, the last a digit, and a blank: these are the end of a mistyped account number, or a table; nor
            groups that are a series, each as far from the one before (5110 5120 5130)
    iban    country, check digits and account of the country's length, without separators or in groups of four with a
            space or "-" between, that pass the mod 97 check (ISO 13616), in either case; no adjacent \\w
    mac     six pairs of hexadecimal digits, separated by ":", or by "-" with at least one letter; or three groups of
            four with "." between, of letters and digits; no adjacent \\w or further group; not six equal pairs
    wallet, secret, credential   see `corpusmill.text.secrets`
    address   see `corpusmill.text.pii.postal`
    national numbers, dates, URLs   see `corpusmill.text.pii.ids`

An ipv4, phone, ssn or card has no adjacent \\w, no "+" before it, and no "." (nor, except ipv4, "-") between it and
another digit. Of overlapping matches a secret, wallet or credential is kept, else any but a postal address, of these
the e-mail address, else the one that begins first, else the earlier in KINDS.

`networks` makes IP addresses longer by what belongs to them.
`byte_classes` has the conditions on adjacent bytes, `addresses` and `numbers` the matchers, `numbering` the tables of
numbering plans, `postal` postal addresses, `find` the scan of the text. `forms` decides, with `mail` and `phones`, what
the scan proposes beyond the plain forms, telephone numbers with `national`; `ids` has national numbers, `checks` their
check digits.
"""

from corpusmill.text.pii.addresses import EXTENSIONS, HOST_WORDS, VERSION_WORDS
from corpusmill.text.pii.find import IPV4, IPV6, KINDS, pii_spans
from corpusmill.text.pii.forms import Forms
from corpusmill.text.pii.numbering import IBAN_SIZES, PLANS

__all__ = [
    "EXTENSIONS",
    "HOST_WORDS",
    "IBAN_SIZES",
    "IPV4",
    "IPV6",
    "KINDS",
    "PLANS",
    "VERSION_WORDS",
    "Forms",
    "pii_spans",
]
