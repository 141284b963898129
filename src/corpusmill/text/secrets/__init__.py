"""Where secrets are in text: tokens and private keys, wallets, and values assigned to a name such as "password".

A scan of bit maps (`scan`) proposes places; only these are matched with the regular expressions of the families, from
left to right, ASCII; no [A-Za-z0-9_] is adjacent to a match. The families:

    secret       a format of FORMATS (`formats`); if it has a name before the value, the value alone. A JSON Web Token
                 needs a header with its algorithm; a private key needs at least 64 characters. Or, by what is around it
                 (`contexts`): user and password in a URL and after `curl -u`, the value of a header `Authorization` or
                 of one for an API key, the values of a Secret of Kubernetes
    wallet       a Bitcoin address with a valid checksum (Base58Check; Bech32 and Bech32m, BIP 173 and 350), or an
                 Ethereum address: 0x and 40 hexadecimal digits, at least six of them different
    credential   16 or more characters that `looks_random`, or a UUID, with a name that contains one of NAMES or VENDORS
                 (`named`), or what has the length and alphabet of the vendor's keys: `name = value` with ":", "=",
                 ":=", "?=", "+=" or "=>", with or without quotes, `set("name", "value")`, `<name>value</name>`,
                 `key="name" value="value"`, `name string = "value"`. Or a quoted value of six characters or more after
                 a name that ends in password, passphrase, pwd or secret, if it may be one (`checks.is_password`)

What somebody wrote to show a form ("ghp_xxxx…", "…EXAMPLE"), or published as an example, is no secret
(`checks.is_placeholder`). Of overlapping matches a secret is kept before a wallet, and a wallet before a credential.
"""

from corpusmill.text.secrets.find import FAMILIES, merged, secret_spans, secrets_in

__all__ = ["FAMILIES", "merged", "secret_spans", "secrets_in"]
