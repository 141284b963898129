"""Data-Juicer, datajuicer/data-juicer: mappers and filters."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed

SPECIFIC = "◆●■►▼▲▴∆▻▷❖♡□"  # that it removes by default

BLANKS = r"[\s\p{Z}\x{84}\x{85}\x{180E}\x{200B}-\x{200D}\x{2060}\x{FEFF}\x{FFFC}\x{1D173}-\x{1D17A}]"


def counterpart(case: Case) -> Counterpart | None:
    ours = proposed(case)
    if case.function == "ReplaceContentMapper":
        return Counterpart("clean/replace", {"patterns": [[case.parameters["pattern"], case.parameters["repl"]]]})
    if case.function == "RemoveSpecificCharsMapper":
        return Counterpart("clean/replace", {"patterns": [[f"[{SPECIFIC}]", ""]]})
    if case.function == "WhitespaceNormalizationMapper":
        return Counterpart("clean/replace", {"patterns": [[BLANKS, " "], [r"\A +| +\z", ""]]})
    if case.function == "TextLengthFilter":
        bounds = {f"{end}_characters": case.parameters[f"{end}_len"] for end in ("min", "max")}
        return Counterpart("filter/basic", {"rules": list(bounds), **bounds})
    if ours is not None and case.area == "pii":
        return ours.but(forms="plain")  # its own expressions
    if ours is not None and case.area == "language":
        return ours.but(model="lid.176.ftz")  # its model
    return ours.but(tidy=False) if ours is not None and case.function == "CleanLinksMapper" else ours


REASONS = (
    Reason(
        "definition",
        "any letters before :// are a scheme there; here http, https and ftp are",
        function="CleanLinksMapper",
    ),
    Reason(
        "definition",
        "theirs begins an address in the middle of a name, after its last letter beyond ASCII; ours takes the whole of "
        "it with forms: any, and none of it with forms: plain",
        function="CleanEmailMapper",
    ),
    Reason(
        "definition",
        "it deletes tags and joins what was between them, with * for list items; ours keeps blocks apart",
        function="CleanHtmlMapper",
    ),
    Reason(
        "definition",
        "white space is a special character there, digits and Chinese punctuation too",
        function="SpecialCharactersFilter",
    ),
    Reason(
        "definition",
        "an IP address is redacted only if it is public, or with public_only: false",
        function="CleanIpMapper",
    ),
    Reason("definition", "the same model cuts elsewhere on a short text", function="LanguageIDScoreFilter"),
)
