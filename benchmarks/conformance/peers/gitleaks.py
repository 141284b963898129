"""gitleaks, gitleaks/gitleaks: secrets, and strings that look like some. Cases are not shown: they look like keys."""

from benchmarks.conformance.cases import Case, Counterpart, Reason

FILES = ("pkcs12-file",)  # found by the name of a file, which a text does not have


def counterpart(case: Case) -> Counterpart | None:
    if case.function in FILES:
        return None
    # Whoever runs gitleaks has all of its rules on, so both kinds of ours are: it is no matter which finds a value.
    return Counterpart("annotate/pii", {"kinds": ["secret", "credential"]}, {"found_any": True})


REASONS = (
    Reason(
        "definition",
        "the value was written by hand (1 to 8, A to H, twice), which is not random by looks_random",
        function="sonar-api-token",
        cases=r".*\.tp\[",
    ),
    Reason(
        "definition",
        "a mark that says that a file holds a key; the key itself, which follows in a real file, is found",
        function="gcp-service-account",
        cases=r".*\.tp\[",
    ),
    Reason(
        "definition",
        "a password of small letters that are words is what manuals have; is_password wants two sorts of characters",
        function="hashicorp-tf-password",
        cases=r".*\.tp\[",
    ),
    Reason(
        "theirs",
        "the test's value is made from a range of characters that is wider than it was meant, with brackets and "
        "carets, which no key of this vendor has",
        function="square-secret",
        cases=r".*\.tp\[",
    ),
    Reason(
        "missing",
        "a value whose runs of letters and digits between signs are shorter than 16 characters is not looked at, which "
        "is what makes the scan fast",
        function="freemius-secret-key|typeform-api-token",
        cases=r".*\.tp\[",
    ),
    Reason(
        "missing",
        "the vendor is before a dot, and not in the name before the value: sumologic.accessId",
        function="sumologic-access-id",
        cases=r".*\.tp\[",
    ),
    Reason(
        "definition",
        "the test asks one rule, which wants another form; here a random value after a name with token or key is a "
        "credential, as it is for their rule generic-api-key",
        function="mailchimp-api-key|cisco-meraki-api-key|settlemint-.*|slack-user-token|stripe-access-token",
        cases=r".*\.fp\[",
    ),
)
