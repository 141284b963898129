"""The formats of keys and tokens that vendors give out, and of private keys."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from corpusmill.text.secrets.checks import is_coded_token, is_placeholder, is_token, looks_random

GIVEN = r"[\"'`]?[ \t]{0,2}(?::=|=>|=|:)[ \t]{0,2}[\"'`]?"  # at most 8 characters


@dataclass(frozen=True)
class Format:
    """One of these prefixes, then the rest: a regular expression whose group "value", if it has one, is the secret.

    check   what a match must pass; a placeholder is none in any case
    """

    name: str
    prefixes: tuple[str, ...]
    rest: str
    check: Callable[[str], bool] | None = None

    @property
    def expression(self) -> str:
        pattern = self.rest.replace("(?P<value>", f"(?P<{self.name}_value>")
        return f"(?P<{self.name}>(?:{'|'.join(map(re.escape, self.prefixes))}){pattern})"


def _after(*prefixes: str) -> Callable[[str], bool]:
    """Whether what follows the prefix looks random."""
    return lambda value: looks_random(re.sub(f"^(?:{'|'.join(prefixes)})", "", value))


def _is_ai_key(value: str) -> bool:
    if value.startswith("sk-ant-"):
        return len(value) >= 100
    return looks_random(re.sub("^sk-(?:proj-|svcacct-|admin-|or-v1-)?", "", value))


ALNUM, HEX, ANY_HEX = "[A-Za-z0-9]", "[a-f0-9]", "[A-Fa-f0-9]"

# From each vendor's documentation and the tokens it gives out. A format needs a run of at least 16 characters of
# [A-Za-z0-9_+/-] at its beginning, or after a first word (or several, joined by dots, of at most LONGEST_HEAD
# characters) and at most LONGEST_LINK characters of [ \t\n"'`:=>.,|~]; otherwise it is not proposed.
FORMATS = (
    # Clouds.
    Format("aws_access_key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z2-7]{16,17}"),
    Format("aws_other_key", ("A3T",), r"[A-Z0-9][A-Z2-7]{16}"),
    Format(
        "aws_secret_key",
        ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey", "secretAccessKey", "secret_access_key"),
        GIVEN + r"(?P<value>[A-Za-z0-9/+]{40})(?![/+=])",
    ),
    Format("aws_bedrock", ("ABSK",), r"[A-Za-z0-9+/]{109,269}={0,2}(?![A-Za-z0-9+/=])", lambda value: value[-1] == "="),
    Format("aws_bedrock_short", ("bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t",), r"[A-Za-z0-9+/=_-]*"),
    Format("google_api_key", ("AIza",), r"[A-Za-z0-9_-]{35}(?!-)"),
    Format("google_client_secret", ("GOCSPX-",), r"[A-Za-z0-9_-]{28}(?!-)"),
    Format("google_token", ("ya29.",), r"[A-Za-z0-9_-]{20,}"),
    Format("azure_storage_key", ("AccountKey=",), r"(?P<value>[A-Za-z0-9+/]{86}==)"),
    Format("azure_shared_key", ("SharedAccessKey=",), r"(?P<value>[A-Za-z0-9+/]{43}=)"),
    Format("azure_client_secret", (), r"[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}(?![~.-])"),
    Format("alibaba_key", ("LTAI",), f"{ALNUM}{{20}}", _after("LTAI")),
    Format("digitalocean_token", ("dop_v1_", "doo_v1_", "dor_v1_"), f"{ANY_HEX}{{64}}"),
    Format("cloudflare_origin", ("v1.0-",), f"{HEX}{{24}}-{HEX}{{146}}"),
    Format("yandex_key", ("AQVN",), r"[A-Za-z0-9_-]{35,38}(?!-)", _after("AQVN")),
    Format("yandex_secret", ("YC",), r"[A-Za-z0-9_-]{38}(?!-)", _after("YC")),
    Format("yandex_token", ("t1.",), r"[A-Za-z0-9_-]+={0,2}\.[A-Za-z0-9_-]{86}={0,2}"),
    Format("heroku_key", ("HRKU-AA",), r"[A-Za-z0-9_-]{58}(?!-)"),
    Format("flyio_token", ("fo1_",), r"[A-Za-z0-9_-]{43}(?!-)", _after("fo1_")),
    Format("flyio_macaroon", ("fm1a_", "fm1r_", "fm2_"), r"[A-Za-z0-9+/]{100,}={0,3}"),
    Format("scalingo_token", ("tk-us-",), r"[A-Za-z0-9_-]{48}(?!-)", _after("tk-us-")),
    Format("openshift_token", ("sha256~",), r"[A-Za-z0-9_-]{43}(?!-)", _after("sha256~")),
    # Code and its tools.
    Format("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), f"{ALNUM}{{36,255}}"),
    Format("github_fine_token", ("github_pat_",), r"[A-Za-z0-9_]{82}"),
    Format(
        "gitlab_token",
        tuple("glpat- gldt- glrt- glptt- glcbt- glsoat- glffct- glft- glimt- glagent- gloas- GR1348941".split()),
        r"[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_.-]{5,})?",
    ),
    Format("gitlab_session", ("_gitlab_session=",), r"(?P<value>[0-9a-z]{32})(?![A-Za-z0-9_-])"),
    Format("npm_token", ("npm_",), f"{ALNUM}{{36}}"),
    Format("pypi_token", ("pypi-AgE",), r"[A-Za-z0-9_-]{50,}"),
    Format("rubygems_key", ("rubygems_",), f"{HEX}{{48}}"),
    Format("clojars_token", ("CLOJARS_", "clojars_"), f"{ALNUM}{{60}}"),
    Format("artifactory_key", ("AKCp",), f"{ALNUM}{{69}}", _after("AKCp")),
    Format("artifactory_reference", ("cmVmd",), f"{ALNUM}{{59}}", _after("cmVmd")),
    Format("sonar_token", ("squ_", "sqp_", "sqa_"), f"{ALNUM}{{40}}"),
    Format("sourcegraph_token", ("sgp_",), "(?:(?:[A-Fa-f0-9]{16}|local)_)?[A-Fa-f0-9]{40}", _after("sgp_")),
    Format("sentry_org_token", ("sntrys_eyJ",), r"[A-Za-z0-9+/]{40,}={0,2}_[A-Za-z0-9+/]{40,}"),
    Format("sentry_user_token", ("sntryu_",), f"{HEX}{{64}}"),
    Format("pulumi_token", ("pul-",), f"{HEX}{{40}}"),
    Format("infracost_key", ("ico-",), rf"{ALNUM}{{32}}(?!\.[a-z])", _after("ico-")),  # not a file's name
    Format("prefect_key", ("pnu_",), f"{ALNUM}{{36}}", _after("pnu_")),
    Format("postman_key", ("PMAK-",), f"{ANY_HEX}{{24}}-{ANY_HEX}{{34}}"),
    Format("readme_key", ("rdme_",), f"{ALNUM}{{70}}", _after("rdme_")),
    Format("octopus_key", ("API-",), r"[A-Z0-9]{26}(?![-/])", lambda value: looks_random(value[4:])),
    Format("harness_key", ("pat.", "sat."), r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    Format("terraform_token", (), r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}(?![-=])"),
    Format("vault_token", ("hvs.",), r"[A-Za-z0-9_-]{90,}(?!-)"),
    Format("vault_batch_token", ("hvb.",), r"[A-Za-z0-9_-]{130,}(?!-)"),
    Format("vault_old_token", ("s.",), r"[A-Za-z0-9]{24}", _after(r"s\.")),
    Format("databricks_token", ("dapi",), rf"{HEX}{{32}}(?:-\d)?"),
    Format("doppler_token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa."), r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    Format("dynatrace_token", ("dt0c01.",), r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    Format("grafana_key", ("eyJrIjoi",), r"[A-Za-z0-9]{64,400}={0,3}"),
    Format("grafana_cloud", ("glc_",), r"[A-Za-z0-9+/]{32,400}={0,3}", _after("glc_")),
    Format("grafana_service", ("glsa_",), r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    Format("new_relic_key", ("NRAK-",), r"[A-Za-z0-9]{27}", _after("NRAK-")),
    Format("new_relic_browser", ("NRJS-",), f"{ANY_HEX}{{19}}"),
    Format("new_relic_insert", ("NRII-",), r"[A-Za-z0-9-]{32}(?!-)", _after("NRII-")),
    Format("planetscale_token", ("pscale_tkn_", "pscale_oauth_", "pscale_pw_"), r"[A-Za-z0-9_=.-]{32,64}"),
    Format("clickhouse_key", ("4b1d",), f"{ALNUM}{{38}}", _after("4b1d")),
    Format("defined_key", ("dnkey-",), r"[A-Za-z0-9_=-]{26}-[A-Za-z0-9_=-]{52}"),
    Format(
        "authress_key",
        ("sc_", "ext_", "scauth_", "authress_"),
        r"[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}",
    ),
    Format("settlemint_token", ("sm_pat_", "sm_aat_", "sm_sat_"), f"{ALNUM}{{16}}"),
    # Messages, payment, shops, and other services.
    Format(
        "slack_token",
        ("xoxa-", "xoxb-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xox", "xapp-"),
        r"(?:(?:[bp]-)?\d-[A-Za-z0-9]{90,}|\d-[A-Za-z0-9]+-\d+-[A-Za-z0-9]+|(?:\d-)?(?:\d{6,14}-){1,3}[A-Za-z0-9]{10,64}"
        r"|(?:\d{10,13}-){2,3}[A-Za-z0-9-]{18,64}|(?:\d-)?[A-Za-z0-9]{8,48})(?!-)",
    ),
    Format("slack_legacy_token", ("xoxo-", "xoxs-"), r"(?:\d{1,14}-){3}[A-Fa-f0-9]{3,64}(?!-)"),
    Format(
        "slack_webhook",
        ("slack.com/services/", "slack.com/workflows/", "slack.com/triggers/"),
        r"(?:T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/(?P<value>[A-Za-z0-9]{20,})|[A-Za-z0-9+/]{43,56})",
    ),
    Format(
        "teams_webhook",
        ("webhook.office.com/webhookb2/",),
        r"(?P<value>[a-z0-9-]{36}@[a-z0-9-]{36}/IncomingWebhook/[a-z0-9]{32}/[a-z0-9-]{36})",
    ),
    Format("telegram_token", (), r"[0-9]{5,16}:A[A-Za-z0-9_-]{34}(?!-)"),
    Format("facebook_token", ("EAAM", "EAAC"), f"{ALNUM}{{100,}}"),
    Format(
        "facebook_app",
        (),
        r"[0-9]{15,16}(?:\||%(?:7[Cc])?)[A-Za-z0-9_-]{27,40}(?!-)",
        _after(r"[0-9]+(?:\||%(?:7[Cc])?)"),
    ),
    Format("stripe_key", ("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"), f"{ALNUM}{{10,}}"),
    Format("stripe_webhook", ("whsec_",), r"[A-Za-z0-9+/]{32,}={0,2}"),
    Format("square_key", ("sq0csp-", "sq0atp-"), r"[A-Za-z0-9_-]{22,60}(?!-)"),
    Format("square_token", ("EAAA",), r"[A-Za-z0-9_-]{22,60}(?!-)", _after("EAAA")),
    Format("shopify_token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[A-Fa-f0-9]{32}"),
    Format("shippo_token", ("shippo_live_", "shippo_test_"), r"[A-Fa-f0-9]{40}"),
    Format("duffel_token", ("duffel_test_", "duffel_live_"), r"[A-Za-z0-9_=-]{43}"),
    Format("easypost_key", ("EZAK", "EZTK"), f"{ALNUM}{{54}}"),
    Format("flutterwave_key", ("FLWPUBK_TEST-", "FLWSECK_TEST-", "FLWPUBK-", "FLWSECK-"), r"[A-Ha-h0-9]{32}-X"),
    Format("flutterwave_encryption", ("FLWSECK_TEST",), r"-?[A-Ha-h0-9]{12}"),
    Format(
        "plaid_token",
        ("access-sandbox-", "access-development-", "access-production-"),
        rf"{HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{12}}",
    ),
    Format("sendgrid_key", ("SG.",), r"(?:[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?!-)|[A-Za-z0-9_=.-]{66})"),
    Format("sendinblue_key", ("xkeysib-",), f"{HEX}{{64}}-[A-Za-z0-9]{{16}}"),
    Format("mailgun_key", ("key-", "pubkey-"), f"{ANY_HEX}{{32}}"),
    Format("mapbox_token", ("pk.", "sk."), r"[A-Za-z0-9_-]{60,}\.[A-Za-z0-9_-]{22}"),
    Format("maxmind_key", (), r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    Format("twilio_key", ("SK",), f"{ANY_HEX}{{32}}"),
    Format("typeform_token", ("tfp_",), r"[A-Za-z0-9_.=-]{50,}", _after("tfp_")),
    Format("frameio_token", ("fio-u-",), r"[A-Za-z0-9_=-]{64}"),
    Format("linear_key", ("lin_api_",), f"{ALNUM}{{40}}"),
    Format("notion_token", ("ntn_",), r"[0-9]{11}[A-Za-z0-9]{35}"),
    Format("airtable_token", ("pat",), r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    Format("atlassian_token", ("ATATT3",), r"[A-Za-z0-9_=-]{150,}"),
    Format("adobe_secret", ("p8e-",), r"[A-Za-z0-9]{32}", _after("p8e-")),
    Format("onepassword_key", ("A3-",), r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    Format("onepassword_service", ("ops_eyJ",), r"[A-Za-z0-9+/]{200,}={0,3}"),
    Format("age_key", ("AGE-SECRET-KEY-1",), r"[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    Format("intra42_secret", ("s-s4t2ud-", "s-s4t2af-"), f"{ANY_HEX}{{64}}"),
    Format("twitter_bearer", ("A" * 22,), r"[A-Za-z0-9%]{80,100}"),
    # Models.
    Format("ai_key", ("sk-",), r"(?:proj-|svcacct-|admin-|ant-[a-z0-9]+-|or-v1-)?[A-Za-z0-9_-]{20,}", _is_ai_key),
    Format("huggingface_token", ("hf_", "api_org_"), f"{ALNUM}{{34,40}}"),
    Format("groq_key", ("gsk_",), f"{ALNUM}{{52}}"),
    Format("xai_key", ("xai-",), f"{ALNUM}{{80}}"),
    Format("langsmith_key", ("lsv2_pt_", "lsv2_sk_"), f"{HEX}{{32}}_{HEX}{{10}}"),
    Format("replicate_token", ("r8_",), f"{ALNUM}{{37}}"),
    Format("perplexity_key", ("pplx-",), f"{ALNUM}{{48}}"),
    # Standards.
    Format("jwt", ("ey",), r"[A-Za-z0-9_-]{13,}\.[A-Za-z0-9_/\\-]{4,}(?:\.[A-Za-z0-9_/\\-]*={0,2}){0,3}", is_token),
    Format("jwt_coded", ("ZXlK", "ZXLK"), r"[A-Za-z0-9+/_-]{50,}={0,2}(?!-)", is_coded_token),
)
# Up to its end line or, if that is cut off, as far as its lines go; "\n" may be written as two characters.
PRIVATE_KEY = (
    r"(?P<private_key>-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----)){64,16384}-----END [A-Z0-9 ]{1,60}-----"
    r"|(?=(?:[^-]|-(?!----)){64})(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])*)+))"
)
WORD_BYTE = "[A-Za-z0-9_]"


def expression(first: str = "", without: str = "") -> str:
    """The formats that may begin with this character, or all of them, and private keys.

    without   the name of a format to leave out
    """
    parts = []
    for form in FORMATS:
        if form.name == without:
            continue
        prefixes = tuple(prefix for prefix in form.prefixes if prefix.startswith(first))
        if prefixes or not form.prefixes:
            parts.append(replace(form, prefixes=prefixes).expression)
    return f"(?:{'|'.join(parts)})(?!{WORD_BYTE})|{PRIVATE_KEY}"


CHECKS: dict[str, Callable[[str], bool]] = {form.name: form.check for form in FORMATS if form.check}
ARMOURED = ("private_key", "age_key", "aws_bedrock", "aws_bedrock_short")  # long enough to hold what looks like one


def is_secret(name: str, match_text: str, value: str) -> bool:
    """Whether a match of the format with this name is one, by the whole of it and the part that is secret."""
    if name not in ARMOURED and is_placeholder(value):
        return False
    return name not in CHECKS or CHECKS[name](match_text)
