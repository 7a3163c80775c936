"""Finds secrets among parameters and redacts them in everything that is shown or stored."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote

from pacenote.model.decoding import check_depth
from pacenote.model.secret_forms import MIN_LENGTH, secret_forms

REDACTED = "<hidden>"
"""Replaces a secret."""

_MAX_NUMBER = 1e300
"""The limit of numbers that may be secrets."""

_MIN_BODY_LENGTH = 8
"""Minimum length of a secret in a body that is redacted elsewhere, too: the keys of a body are those of any
document, and a value such as `basic` is no secret.
"""

_SECRET_WORDS = frozenset({
    *("pwd", "auth", "oauth", "sas", "creds", "bearer", "authorization", "authentication"),
})
"""Words that make a name secret wherever they are in it."""

_SECRET_LAST_WORDS = frozenset({
    *("pass", "pw", "cookie", "cookies", "jwt", "jwts", "pat", "sig", "signature"),
})
"""Words that make a name secret only at its end: they are parts of other names too, such as `pass_rate`."""

_SECRET_PARTS = (
    *("password", "passwd", "passphrase", "credential", "connectionstring"),
    *("apikey", "accesskey", "secretkey", "privatekey", "accountkey"),
)
"""Texts that make a name secret even within a word."""

NAME_PARTS = frozenset({
    *_SECRET_WORDS,
    *_SECRET_LAST_WORDS,
    *_SECRET_PARTS,
    *("secret", "token", "key", "string"),
})
"""Texts of which every name of a secret contains one, in lower case."""

_KEY_KINDS = frozenset({"api", "access", "secret", "private", "account", "shared", "signing", "encryption"})
"""Words before `key` that make a name secret; `key` alone is the name of many fields."""

_QUERY_NAMES = frozenset({"key", "code"})
"""Names that make a parameter of a URL secret, as in those of Google APIs and Azure Functions; elsewhere they
are the names of many fields.
"""

_ANALYSIS_WORDS = frozenset({"chars", "count", "filter", "filters", "graph", "length", "limit", "type"})
"""Words after `token` in the names of settings for text analysis, such as `token_chars`."""

_COUNTING_WORDS = frozenset({"max", "min", "num", "number", "total"})
"""Words before `tokens` in the names of numbers."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A word of a name in snake case, kebab case or camel case."""

_USER_INFO = re.compile(r"(?<=://)(?:[^/?#\s\"\\]+|(?!\[)[^/?#@:\s\"\\]+:(?!\d{0,5}[/?#])[^@\s\"\\]*)(?=@)")
"""User name and password in a URL: everything up to the last @ before the path, or up to the first @ if the
password contains a slash, a question mark or a hash, which it must not.
"""

_WORD_OF_URL = re.compile(r"[^\s\"\\]++")
"""A text in which user names and passwords of URLs may be: none is in two of them."""

_BEFORE_AT = re.compile(r"(?<![^\s@'\"])[^\s@'\"]++(?=@)")
"""What precedes an @ in a word."""

_URL_QUERY = re.compile(r"(?<![^\s\"\\?#])((?>[^\s\"\\?#]*?://)[^\s\"\\?#]*+)(\?[^\s\"\\#]*+)")
"""A word with a URL up to its query string, and the query string."""

_MIN_USER_LENGTH = 16
"""Minimum length of the user name of a URL with a password that is redacted elsewhere: it may be a token."""

_MIN_KEY_LENGTH = 16
"""Minimum length of the value of a parameter named in `_QUERY_NAMES` that is redacted elsewhere: a shorter
one may be the name of a file or a country.
"""

_FIELD_DEFINITIONS = frozenset({"properties", "fields", "runtime"})
"""Keys of objects that map the names of fields, which may be any word, to their definitions."""

_PLAIN = re.compile(r"[\w-]*+")
"""Text in which nothing is redacted except known secrets, such as the id of a document."""

SCHEMES = ("basic", "bearer", "apikey")
"""The schemes of HTTP authentication before credentials, in lower case."""

_AUTHORIZATION = re.compile(
    r"(?i:\b(Basic|Bearer|ApiKey)(\s+|%20))(?=[\w.~+/%-]*(?:[0-9=]|(?<=[\w.~+/%-])[A-Z]))([\w.~+/%-]{8,}=*)"
)
"""Credentials as in an HTTP header. They contain digits, capital letters or `=`, unlike the words of a
sentence.
"""

_UNPARSED_KEY = re.compile(r"""(?<![\w.-])(?P<key>[\w.-][\w. -]*+)["']?\s*+[:=]?\s*+""")
"""What may be a key in text that is not valid JSON, up to its value. A quotation mark or the colon may be
missing.
"""

_UNPARSED_STRING = re.compile(r""""(?:[^"\\\n]|\\.)*+"(?=\s*+(?:[,}\]]|$)|\s+")""")
"""A string in such text that ends as it should."""

_UNPARSED_VALUE = re.compile(
    rf"(?P<string>{_UNPARSED_STRING.pattern})|(?P<flag>(?:true|false|null)\b)"
    r"""|-?\d[\d.eE+-]*+(?=\s*+(?:[,}\]]|$))|(?<==)[^"&\s]++|(?P<nested>[{\[])|[^\s,}\]][^\n]*+"""
)
"""A value in such text. One that does not end as it should is the rest of its line."""

_UNPARSED_BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*+"|[{}\[\]]')
"""A string or a bracket in such text."""

_NAME = re.compile(
    r"""(?:(?<![\w.-])|(?<=-D)(?<![\w.-]-D))"""
    r"""(?P<name>[a-zA-Z][\w.-]*+)(?P<quote>\\*+["'])?\s*+(?P<sign>[:=,])\s*+"""
)
"""A name before a value: as in JSON, also within a string, as in Python (`'a': 'b'`, `('a', 'b')`), or as in
a header (`a: b`), a query (`a=b`) or an option of Java (`-Da=b`).
"""

_ENCLOSED = (
    r"""\[(?P<list>[^\[\]\n]*+)(?P<closed>\]?)"""
    r"""|(?P<mark>\\*+["'])(?P<quoted>[^\n]*?)(?P<end>(?<!\\)(?P=mark)|$)|"""
)

_VALUE = re.compile(_ENCLOSED + r"""(?P<bare>(?:[^\s&"'\])},;]|[,;](?![\s"']))++)""", re.MULTILINE)
"""A value after such a name. One in quotation marks that does not end is the rest of its line."""

_ENCLOSED_VALUE = re.compile(_ENCLOSED + r"(?P<bare>(?!))", re.MULTILINE)
"""A value in brackets or quotation marks after such a name."""

_AFTER_BLANK = re.compile(
    r"""(?<![\w.-])(?:--(?P<option>[a-zA-Z][\w.-]*+)(?:\s++|=)(?P<mark>["']?)(?P<value>[^\s"']++)(?P=mark)"""
    r"""|(?P<name>[a-zA-Z][\w.-]*+)\s++\[(?P<list>[^\[\]\n]*+)\])"""
)
"""An option with its value as on a command line (`--a b`), or a name and its value in brackets (`a [b]`)."""

_MIN_HEADER_LENGTH = 8
"""Minimum length of a value after a colon without quotation marks that is redacted because of its name: a
shorter one may be a word of a sentence.
"""

_HIDDEN_VALUE = re.compile(rf"(?:\w+(?: |%20))?{REDACTED}")
"""A value of which a secret, and no more than a scheme before it, was redacted."""

_FLAGS = frozenset({"true", "false", "null", "none"})
"""Values that are not secret, in lower case."""


@lru_cache(maxsize=1024)
def is_secret(key: str) -> bool:
    """Returns whether the value of a parameter is secret. For a dotted key, the last part determines it."""
    words = _words(key)
    return _ends_secret(words) or _contains_secret(words)


def _words(key: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(key.rpartition(".")[2])]


def _ends_secret(words: Sequence[str]) -> bool:
    return bool(words) and words[-1] in _SECRET_LAST_WORDS


def _contains_secret(words: Sequence[str]) -> bool:
    pairs = list(pairwise(words))
    return (
        any(map(_is_secret_word, words))
        or any(second in ("key", "keys") and first in _KEY_KINDS for first, second in pairs)
        or ("connection", "string") in pairs
        or any(_is_token(words, position) for position in range(len(words)))
    )


def _is_secret_word(word: str) -> bool:
    return (
        word in _SECRET_WORDS
        or word.endswith(("secret", "secrets"))
        or any(part in word for part in _SECRET_PARTS)
    )


def _is_token(words: Sequence[str], position: int) -> bool:
    """Returns whether a word is `token`, and not in the name of a setting for text analysis."""
    before, after = words[max(0, position - 1) : position], words[position + 1 : position + 2]
    if words[position].endswith("tokens"):
        return _COUNTING_WORDS.isdisjoint(before)
    return words[position].endswith("token") and _ANALYSIS_WORDS.isdisjoint(after)


def secret_values(params: Mapping[str, object]) -> frozenset[str]:
    """Returns the secret values among parameters, at any depth, that are long enough to be redacted in
    text.
    """
    return frozenset(value for value in _secrets(params, secret=False) if len(value) >= MIN_LENGTH)


def is_secret_number(value: float, secrets: Collection[str]) -> bool:
    """Returns whether a number is one of the secrets: a password that consists of digits."""
    # The text of a number with too many digits cannot be formed.
    if not secrets or not abs(value) < _MAX_NUMBER:
        return False
    return str(value) in secrets or (value == int(value) and str(int(value)) in secrets)


def redact(text: str, secrets: Collection[str]) -> str:
    """Redacts every secret in a text, even if it is shortened, or encoded, as for JSON, a URL or in base64.

    Credentials that have the form of those in an HTTP header, and the values of secret names, are redacted,
    too, even if they are not known.
    """
    if _PLAIN.fullmatch(text):
        return secret_forms(frozenset(secrets)).replace(text, REDACTED) if secrets else text
    if _may_have_scheme(text):
        text = _AUTHORIZATION.sub(rf"\1\2{REDACTED}", text)
    if secrets:
        text = secret_forms(frozenset(secrets)).replace(text, REDACTED)
    if "--" in text or "[" in text:
        text = _AFTER_BLANK.sub(_redact_after_blank, text)
    return _redact_named(text)


def _may_have_scheme(text: str) -> bool:
    """Returns whether a text may have one of the words that `_AUTHORIZATION` finds in upper or lower case."""
    lower = text.lower()
    return not text.isascii() or any(map(lower.__contains__, SCHEMES))


def _redact_after_blank(match: re.Match[str]) -> str:
    """Redacts the value after a secret name, unless it may be a word of a sentence."""
    group, least = ("value", MIN_LENGTH) if match["option"] else ("list", _MIN_HEADER_LENGTH)
    value = match[group]
    may_be_word = len(value) < least or not any(map(str.isdigit, value))
    if not is_secret(match["option"] or match["name"]) or (may_be_word and not match["mark"]):
        return match[0]
    start = match.start()
    return match[0][: match.start(group) - start] + REDACTED + match[0][match.end(group) - start :]


def _redact_named(text: str) -> str:
    """Redacts the values of secret names."""
    parts, end, shown_to = list[str](), 0, 0
    names = _NAME.finditer(text)
    while (name := next(names, None)) is not None:
        if not _is_secret_name(name):
            continue
        # A shown value after a colon has no digit or is too short, and so is every value at its end.
        pattern = _ENCLOSED_VALUE if name["sign"] == ":" and name.end() < shown_to else _VALUE
        value = pattern.match(text, name.end())
        hidden = None if value is None else _hidden(name, value)
        if value is None or hidden is None:
            shown_to = value.end() if value and value["bare"] and name["sign"] == ":" else shown_to
            continue
        parts += (text[end : name.end()], hidden)
        end = value.end()
        names = _NAME.finditer(text, end)
    return "".join([*parts, text[end:]]) if parts else text


def _is_secret_name(name: re.Match[str]) -> bool:
    sign = name["sign"]
    if sign == ",":
        # The name must be the first element of a Python tuple.
        start = name.start() - len(name["quote"] or "")
        return bool(name["quote"]) and name.string[start - 1 : start] == "(" and is_secret(name["name"])
    return is_secret(name["name"]) or (sign == "=" and _is_query_name(name))


def _is_query_name(name: re.Match[str]) -> bool:
    in_query = name.string.startswith(("?", "&"), max(0, name.start() - 1))
    return in_query and name["name"].lower() in _QUERY_NAMES


def _hidden(name: re.Match[str], value: re.Match[str]) -> str | None:
    """Returns what replaces the value after a secret name, or None if it is not secret."""
    text = next(text for text in (value["list"], value["quoted"], value["bare"]) if text is not None)
    if _HIDDEN_VALUE.fullmatch(text.strip("\"'")) or text.lower() in _FLAGS:
        return None
    if value["mark"] is not None:
        return f"{value['mark']}{REDACTED}{value['end']}" if text else None
    if name["sign"] == "=":
        least, needs_digit = MIN_LENGTH if is_secret(name["name"]) else _MIN_KEY_LENGTH, False
    else:
        least = MIN_LENGTH if name["quote"] else _MIN_HEADER_LENGTH
        needs_digit = not (name["quote"] and value["list"])
    if name["sign"] == "," or len(text) < least or (needs_digit and not any(map(str.isdigit, text))):
        return None
    return REDACTED if value["list"] is None else f"[{REDACTED}{value['closed']}"


def redact_value(value: object, secrets: Collection[str]) -> object:
    """Redacts secrets, also those of URLs, in every string of a JSON value; keys are not
    changed.
    """
    if isinstance(value, str):
        return redact_urls(redact(value, secrets))
    if isinstance(value, Mapping):
        return {key: redact_value(item, secrets) for key, item in value.items()}
    return [redact_value(item, secrets) for item in value] if isinstance(value, list | tuple) else value


def redact_params(params: Mapping[str, object]) -> dict[str, object]:
    """Returns the parameters with the values of secret parameters redacted."""
    return {name: REDACTED if is_secret(name) else _redact_nested(value) for name, value in params.items()}


def _redact_nested(value: object) -> object:
    if isinstance(value, Mapping):
        return redact_params(value)
    if isinstance(value, str):
        return redact_urls(value)
    return [_redact_nested(item) for item in value] if isinstance(value, list | tuple) else value


def redact_urls(text: str) -> str:
    """Redacts user names, which may be tokens, passwords and secret parameters of all URLs in a text."""
    if "://" not in text:
        return text
    hidden = _redact_user_info(text) if "@" in text else text
    return _URL_QUERY.sub(lambda url: url[1] + redact_query(url[2]), hidden) if "?" in hidden else hidden


def _redact_user_info(text: str) -> str:
    parts, end = list[str](), 0
    for user_info in _user_info(text):
        parts += (text[end : user_info.start()], REDACTED)
        end = user_info.end()
    return "".join([*parts, text[end:]]) if parts else text


def _user_info(text: str) -> Iterator[re.Match[str]]:
    """Yields the user names and passwords of all URLs in a text."""
    if "://" not in text or "@" not in text:
        return
    for word in _WORD_OF_URL.finditer(text):
        # After the last @, the search would go on to the end of the word from each URL.
        yield from _USER_INFO.finditer(text, word.start(), text.rfind("@", *word.span()) + 1)


def redact_before_at(text: str) -> str:
    """Redacts what precedes an @ in each word of a text: it may be the user name and password of an address
    without a scheme.
    """
    return _BEFORE_AT.sub(REDACTED, text)


def url_secrets(text: str) -> frozenset[str]:
    """Returns the passwords, tokens and secret parameters in the URLs of a text, as they are and decoded, if
    they are long enough to be redacted elsewhere.
    """
    secrets = {secret for url in _URL_QUERY.finditer(text) for secret in query_secrets(url[2])}
    for match in _user_info(text):
        user, _, password = match[0].partition(":")
        length = _MIN_USER_LENGTH if password else _MIN_BODY_LENGTH
        secrets |= {value for value in (user, unquote(user)) if len(value) >= length}
        secrets |= {value for value in (password, unquote(password)) if len(value) >= MIN_LENGTH}
    return frozenset(secrets)


def redact_query(path: str) -> str:
    """Redacts the values of secret parameters in the query string of a path."""
    name, mark, query = path.partition("?")
    parameters = (parameter.partition("=") for parameter in query.split("&"))
    return (
        name
        + mark
        + "&".join(
            key + equals + (REDACTED if value and _is_secret_parameter(unquote(key)) else value)
            for key, equals, value in parameters
        )
    )


def query_secrets(path: str) -> frozenset[str]:
    """Returns the values of secret parameters in the query string of a path, as they are and decoded, that
    are long enough to be redacted elsewhere.
    """
    secrets = set()
    for parameter in path.partition("?")[2].split("&"):
        key, _, value = parameter.partition("=")
        name = unquote(key)
        if _is_secret_parameter(name):
            length = _MIN_BODY_LENGTH if is_secret(name) else _MIN_KEY_LENGTH
            secrets |= {secret for secret in (value, unquote(value)) if len(secret) >= length}
    return frozenset(secrets)


def _is_secret_parameter(name: str) -> bool:
    return name.lower() in _QUERY_NAMES or is_secret(name)


def redact_body(text: str) -> str:
    """Redacts the values of secret keys in a JSON body or in the lines of one, and user names in its URLs."""
    redacted = []
    for line in _documents(text):
        try:
            document = json.loads(line)
            check_depth(document)
        except (ValueError, RecursionError):
            redacted.append(redact_unparsed(line))
            continue
        hidden = _redact_keys(document, in_fields=False)
        changed = hidden != document
        redacted.append(json.dumps(hidden, ensure_ascii=False, separators=(",", ":")) if changed else line)
    return "\n".join(redacted)


def redact_unparsed(text: str) -> str:
    """Redacts the values of secret keys, credentials and user names of URLs in text that is not valid JSON.

    Lines keep their numbers.
    """
    parts, end = [], 0
    while (key := _UNPARSED_KEY.search(text, end)) is not None:
        value = _unparsed_secret(text, key)
        if value is None:
            parts.append(text[end : key.end()])
            end = key.end()
            continue
        last = _nested_end(text, value.start()) if value["nested"] else value.end()
        hidden = f'"{REDACTED}"' if value["string"] else REDACTED
        parts += (text[end : value.start()], hidden, "\n" * text.count("\n", value.start(), last))
        end = last
    return redact_urls(redact("".join([*parts, text[end:]]), ()))


def _unparsed_secret(text: str, key: re.Match[str]) -> re.Match[str] | None:
    """Returns the value after a key in text that is not valid JSON, or None if it is not secret."""
    name, between = key["key"].strip(), text[key.end("key") : key.end()]
    # Without a colon, both must be in quotation marks: a value that follows words of a text is not theirs.
    has_sign = ":" in between or "=" in between
    if not is_secret(name) or not (has_sign or (between.strip() and _UNPARSED_STRING.match(text, key.end()))):
        return None
    value = _UNPARSED_VALUE.match(text, key.end())
    if value is None or value["flag"] or (value["nested"] == "{" and not _contains_secret(_words(name))):
        return None
    return value


def _nested_end(text: str, start: int) -> int:
    """Returns the end of the object or array that begins at `start`; if it does not end, that of the text."""
    depth = 0
    for match in _UNPARSED_BRACKET.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)


def body_secrets(text: str) -> frozenset[str]:
    """Returns the values of secret keys in a JSON body, or in the lines of one, that are long enough to be
    redacted elsewhere.
    """
    secrets: set[str] = set()
    for line in _documents(text):
        with contextlib.suppress(ValueError, RecursionError):
            document = json.loads(line)
            check_depth(document)
            secrets.update(_keyed_secrets(document, in_fields=False))
    return frozenset(value for value in secrets if len(value) >= _MIN_BODY_LENGTH)


def _documents(text: str) -> list[str]:
    """Returns a body as one document, or as its lines if it is not one document."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text.split("\n")
    return [text]


def _redact_keys(value: object, *, in_fields: bool) -> object:
    if isinstance(value, Mapping):
        return {
            key: REDACTED
            if _hides(key, item, in_fields=in_fields)
            else _redact_keys(item, in_fields=key in _FIELD_DEFINITIONS)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_redact_keys(item, in_fields=False) for item in value]
    return redact_urls(value) if isinstance(value, str) else value


def _keyed_secrets(value: object, *, in_fields: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if _hides(key, item, in_fields=in_fields):
                yield from _secrets(item, secret=True)
            else:
                yield from _keyed_secrets(item, in_fields=key in _FIELD_DEFINITIONS)
    elif isinstance(value, list):
        for item in value:
            yield from _keyed_secrets(item, in_fields=False)
    elif isinstance(value, str):
        yield from url_secrets(value)


def _hides(key: str, value: object, *, in_fields: bool) -> bool:
    """Returns whether a value of a body is secret: a flag is not, nor the definition of a field."""
    if isinstance(value, bool | None):
        return False
    # An object named `cookie` or `signature` may be an aggregation, which may have any name.
    return (not in_fields and _contains_secret(_words(key))) if isinstance(value, Mapping) else is_secret(key)


def _secrets(value: object, *, secret: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _secrets(item, secret=secret or is_secret(str(key)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets(item, secret=secret)
    elif secret and isinstance(value, str | int | float) and not isinstance(value, bool):
        # A password that consists of digits is parsed as a number.
        yield str(value)
    elif isinstance(value, str):
        yield from url_secrets(value)
