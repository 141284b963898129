"""datatrove, huggingface/datatrove: filters, deduplication, personal data, statistics."""

from benchmarks.conformance.cases import Case, Counterpart, Reason, patterns, proposed


def counterpart(case: Case) -> Counterpart | None:
    ours = proposed(case)
    if ours is not None and case.area == "pii":
        return ours.but(forms="plain")  # its own expressions
    if ours is not None and case.area == "language":
        ours = ours.but(model="lid.176.ftz")  # its model
    if case.function == "RegexFilter":
        return patterns(case.parameters["regex_exp"], max_count=0)
    if ours is not None and case.parameters.get("stats") == "LineStats" and "bullet_point_lines_ratio" in case.expected:
        signals = {"line_duplicates": "duplicate_line_ratio", "bullet_point_lines_ratio": "stats:bullet_line_ratio"}
        name = "bullet_line_ratio"
        if case.text.lstrip().startswith("*"):
            return Counterpart(
                "filter/gopher_quality", {"bullets": "•-*"}, {"signals": {"bullet_point_lines_ratio": name}}
            )
        return Counterpart(ours.step, ours.parameters, ours.compare | {"signals": signals})
    return ours


REASONS = (
    Reason(
        "theirs",
        "its expression may begin inside a number: it finds 3.3.3.0 in .3.3.3.0, which is part of a longer one",
        cases=r"ip\[",
    ),
    Reason(
        "definition",
        "a host of an e-mail address is a name with a top-level domain; numbers are none",
        cases=r"email\[",
    ),
    Reason(
        "definition",
        "the model's score of a language that is not among its two best is not kept; theirs has the scores of all",
        cases=r"lang_stats\[",
    ),
    Reason(
        "definition",
        "a Bloom filter over n-grams drops what it has mostly seen, a part of a longer text too; near-duplicates here "
        "are alike as a whole",
        cases=r"bloom_",
        theirs="rule: contained of dedup/minhash, where it is there, or dedup/paragraph",
    ),
    Reason(
        "definition",
        "without verification it drops all that share a band, 0.5 alike or not; ours compares each pair",
        cases=r"buckets_and_cluster",
    ),
)
