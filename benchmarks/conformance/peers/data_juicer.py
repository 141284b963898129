"""Data-Juicer, datajuicer/data-juicer: mappers and filters."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, proposed


def counterpart(case: Case) -> Counterpart | None:
    ours = proposed(case)
    if case.function == "TextLengthFilter":
        bounds = {f"{end}_characters": case.parameters[f"{end}_len"] for end in ("min", "max")}
        return Counterpart("filter/basic", {"rules": list(bounds), **bounds})
    return ours.but(tidy=False) if ours is not None and case.function == "CleanLinksMapper" else ours


REASONS = (
    Reason(
        "definition",
        "any letters before :// are a scheme there; here http, https and ftp are",
        function="CleanLinksMapper",
    ),
    Reason("missing", "addresses with letters beyond ASCII before the @ are not found", function="CleanEmailMapper"),
    Reason(
        "definition",
        "it deletes tags and joins what was between them, with * for list items; ours keeps blocks apart",
        function="CleanHtmlMapper",
    ),
    Reason(
        "definition",
        "every character of a list of white space and invisible ones becomes a space; here invisible ones are removed, "
        "joiners are kept, and a run of spaces is one",
        function="WhitespaceNormalizationMapper",
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
