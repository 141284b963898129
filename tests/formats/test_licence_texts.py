"""Licences of files and repositories."""

from pathlib import Path

import pytest

from corpusmill.formats.code.licence_texts import licence_list, licence_of_source, licence_of_text, of_files
from growth import assert_linear

ISC = """Copyright (c) 2019, Some One <one@made.example>

Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES
WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR
ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES
WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF
OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
"""
GPL = """This program is free software; you can redistribute it and/or modify it under the terms of the GNU General
Public License as published by the Free Software Foundation; either version 2 of the License, or (at your option) any
later version."""


def test_the_text_of_a_licence_in_any_lines_is_that_licence():
    apache = Path(__file__).parents[2].joinpath("LICENSE").read_text("utf-8")
    assert [licence_of_text(each).name for each in (ISC, " ".join(ISC.split()), apache)] == ["ISC", "ISC", "Apache-2.0"]
    assert licence_of_text(ISC).how == "text"


@pytest.mark.parametrize(("head", "name"), [
    ("# SPDX-License-Identifier: MIT\n", "MIT"),
    ("/* SPDX-License-Identifier: (gpl-2.0-only OR BSD-3-Clause) */\n", "(GPL-2.0-only OR BSD-3-Clause)"),
    ("// SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0\n", "GPL-2.0-only WITH Classpath-exception-2.0"),
    ("// SPDX-License-Identifier: NONSENSE-9\n", None),
    ("# Licensed under the Apache License, Version 2.0 (the \"License\")\n", "Apache-2.0"),
    (f"/*\n{GPL}\n*/\nint a;\n", "GPL-2.0-or-later"),
    ("// the terms of version 2.1 of the GNU Lesser General Public License\n", "LGPL-2.1"),
    ("# This Source Code Form is subject to the terms of the Mozilla Public\n# License, v. 2.0.\n", "MPL-2.0"),
    ("# governed by a license, see https://opensource.org/licenses/MIT.\n", "MIT"),
    (f"/*\n{ISC}*/\nint a;\n", "ISC"),
    ("int a;  // permission is hereby not discussed\nchar *b = \"MIT License\";\n", None),
    ("print(1)\n", None),
    ("# the terms of the GNU Lesser General Public License, version 2 or, at your option, any later version\n", "LGPL-2.0-or-later"),
    ("# the GNU Library General Public License v2.1; see also the GNU General Public License, version 2\n", "LGPL-2.1"),
    ("// Lesser GNU General Public License, version 3\n", "LGPL-3.0"),
    ("# Dedicated to the public domain under the CC0 Public Domain Dedication.\n", "CC0-1.0"),
    ("# No rights are kept: <https://creativecommons.org/publicdomain/zero/1.0/>\n", "CC0-1.0"),
    ("# You may copy this under the CC0 licence.\n", "CC0-1.0"),
    ("# licensed as in http://creativecommons.org/licenses/by-sa/3.0/at/deed.de\n", "CC-BY-SA-3.0-AT"),
    ("# licences: creativecommons.org/licenses/by/4.0/ and creativecommons.org/licenses/by/3.0/\n", None),
])  # fmt: skip
def test_the_licence_that_a_source_file_names(head, name):
    found = licence_of_source(head)
    assert (found.name if found else None) == name


def test_the_licence_of_a_repository():
    assert of_files([("LICENSE", ISC)]).name == "ISC"
    assert of_files([]) is None and of_files([("LICENSE", "All rights reserved.\n")]) is None
    both = [("LICENSE-MIT", "MIT License"), ("LICENSE-APACHE", "Apache License\nVersion 2.0")]
    assert of_files(both).name == "Apache-2.0 OR MIT"
    assert of_files([("LICENSE", ISC), ("COPYING", GPL)]).name == "GPL-2.0-or-later AND ISC"


def test_every_licence_of_the_list_is_found_in_its_own_sketch():
    licences = licence_list()
    assert len(licences.ids) > 500 and licences.sizes.min() >= 10
    assert (licences.sizes <= licences.grams).all()


@pytest.mark.parametrize("part", [
    "\n", " ", "a", "1.", "+", "(c)\n", "copyright ", "license ", "mit license\n", "#\n", "---", "[", "<a", "any or later ",
    "SPDX-License-Identifier: ", "MIT AND ", "((((", "gnu general public license ", "spdx.org/licenses/", "all rights reserved\n",
])  # fmt: skip
def test_licences_take_linear_time(part):
    assert_linear(licence_of_text, lambda size: part * (size // len(part)), 1 << 15)
    assert_linear(licence_of_source, lambda size: "# license " + part * (size // len(part)), 1 << 11)
