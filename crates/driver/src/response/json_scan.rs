//! Looking into JSON without reading all of it.
//!
//! Engines put what decides about a reply first: `took`, `timed_out`, `_shards` of a search, `took` and `errors` of a
//! bulk. [`Fields`] walks the keys of an object in order, so that a caller stops when it has seen enough; a search
//! reply of 8 kB costs a tenth of a microsecond instead of five.

/// Strings that end before this are looked through byte by byte.
const SHORT: usize = 24;

/// Walks the keys of a JSON object. Lenient: what is no JSON ends the walk.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
    /// The value handed out last; skipped only when the next key is asked for, so the last one costs nothing.
    open: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    /// The fields of the object at the beginning of `text`; none if there is no object.
    pub fn of(text: &'a [u8]) -> Self {
        let rest = text.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
        Self { rest, open: None }
    }
}

impl<'a> Iterator for Fields<'a> {
    /// Key (escapes not resolved) and the text that begins with its value.
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(value) = self.open.take() {
            self.rest = after(value);
        }
        let rest = next_item(self.rest);
        let key_end = string_end(rest)?;
        let value = trim(trim(&rest[key_end..]).strip_prefix(b":")?);
        self.open = Some(value);
        Some((&rest[1..key_end - 1], value))
    }
}

/// Walks the elements of a JSON list. Lenient as [`Fields`].
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    rest: &'a [u8],
    open: Option<&'a [u8]>,
}

impl<'a> Elements<'a> {
    /// The elements of the list at the beginning of `text`; none if there is no list.
    pub fn of(text: &'a [u8]) -> Self {
        let rest = text.trim_ascii_start().strip_prefix(b"[").unwrap_or_default();
        Self { rest, open: None }
    }
}

impl<'a> Iterator for Elements<'a> {
    /// The text that begins with the element.
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(element) = self.open.take() {
            self.rest = after(element);
        }
        let rest = next_item(self.rest);
        self.open = (!matches!(rest.first(), None | Some(b']'))).then_some(rest);
        self.open
    }
}

/// The text that begins with the value of a key of the object at the beginning of `text`.
pub fn value<'a>(text: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
    let is_wanted = |key: &[u8]| {
        // Few keys have escapes; only those have to be read.
        key == wanted.as_bytes()
            || (memchr::memchr(b'\\', key).is_some() && string(key).is_some_and(|key| key == wanted))
    };
    Fields::of(text).find(|(key, _)| is_wanted(key)).map(|(_, value)| value)
}

/// The same for keys joined by dots, from object to object.
pub fn find<'a>(text: &'a [u8], path: &str) -> Option<&'a [u8]> {
    path.split('.').try_fold(text, value)
}

/// The value that `text` begins with, alone.
pub fn whole(text: &[u8]) -> &[u8] {
    text[..text.len() - after(text).len()].trim_ascii_end()
}

/// The inside of a string with its escapes resolved.
fn string(inside: &[u8]) -> Option<String> {
    serde_json::from_slice(&[b"\"", inside, b"\""].concat()).ok()
}

/// What follows the value that `text` begins with.
fn after(text: &[u8]) -> &[u8] {
    let end = match text.first() {
        Some(b'"') => string_end(text),
        Some(b'{' | b'[') => nested_end(text),
        _ => text.iter().position(|byte| matches!(byte, b',' | b'}' | b']')),
    };
    end.and_then(|end| text.get(end..)).unwrap_or_default()
}

/// The text without blanks before it. Engines write none: one look at the first byte is nearly always all.
fn trim(text: &[u8]) -> &[u8] {
    match text.first() {
        Some(b'!'..) => text,
        _ => text.trim_ascii_start(),
    }
}

/// What follows the comma before the next key or element, if there is one.
fn next_item(rest: &[u8]) -> &[u8] {
    let rest = trim(rest);
    rest.strip_prefix(b",").map_or(rest, trim)
}

/// End of the string that `text` begins with, quotes included.
fn string_end(text: &[u8]) -> Option<usize> {
    (text.first() == Some(&b'"')).then_some(())?;
    let mut at = 1;
    // Keys are short: looking at each byte takes less than starting a search by vectors.
    while at < SHORT {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// End of the object or list that `text` begins with.
fn nested_end(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        match text.get(at)? {
            b'"' => at += string_end(&text[at..])? - 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The number at the beginning of a value; `None` also when it does not fit.
pub fn number(value: &[u8]) -> Option<i64> {
    number_and_rest(value).map(|(number, _)| number)
}

/// The same, with what follows it.
pub fn number_and_rest(value: &[u8]) -> Option<(i64, &[u8])> {
    let (sign, digits) = value.strip_prefix(b"-").map_or((1, value), |digits| (-1, digits));
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at(length);
    let append =
        |number: i64, digit: &u8| number.checked_mul(10)?.checked_add(sign * i64::from(digit - b'0'));
    let number = digits.iter().try_fold(0, append)?;
    (length > 0).then_some((number, rest))
}

/// The truth value at the beginning of a value.
pub fn truth(value: &[u8]) -> Option<bool> {
    match value {
        _ if value.starts_with(b"true") => Some(true),
        _ if value.starts_with(b"false") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_order_and_values_are_skipped_whole() {
        let text = br#" { "took" : 12, "a\"b": "x\\", "o": {"k": "}", "l": [1, {"m": []}]}, "errors":true,"z":null}"#;
        let keys: Vec<_> = Fields::of(text).map(|(key, _)| std::str::from_utf8(key).unwrap()).collect();
        assert_eq!(keys, ["took", r#"a\"b"#, "o", "errors", "z"]);
        let value = |wanted: &[u8]| Fields::of(text).find(|(key, _)| *key == wanted).unwrap().1;
        assert_eq!(number(value(b"took")), Some(12));
        assert_eq!(truth(value(b"errors")), Some(true));
        assert_eq!(truth(value(b"z")), None);
        let inner: Vec<_> = Fields::of(value(b"o")).map(|(key, _)| key).collect();
        assert_eq!(inner, [b"k", b"l"]);
    }

    #[test]
    fn values_are_found_by_their_path_and_lists_walked() {
        let text = br#"{"h\u0069ts": {"total": {"value": 3 , "relation": "eq"},
            "hits": [{"sort": [1, "a]"]}, {"sort": [2, "b"] }, {"_id": "}"}, 4 ]}}"#;
        assert_eq!(find(text, "hits.total.value").map(whole), Some(&b"3"[..]));
        assert_eq!(find(text, "hits.total.relation").map(whole), Some(&br#""eq""#[..]));
        assert_eq!(find(text, "hits.max_score"), None);
        let hits = find(text, "hits.hits").unwrap();
        let all: Vec<_> = Elements::of(hits).map(whole).collect();
        let expected: [&[u8]; 4] =
            [br#"{"sort": [1, "a]"]}"#, br#"{"sort": [2, "b"] }"#, br#"{"_id": "}"}"#, b"4"];
        assert_eq!(all, expected);
        assert_eq!(value(all[1], "sort").map(whole), Some(&br#"[2, "b"]"#[..]));
        assert_eq!((Elements::of(b"[ ]").count(), Elements::of(b"{}").count()), (0, 0));
    }

    #[test]
    fn broken_text_ends_the_walk_without_harm() {
        let text = br#"{"took": 12, "o": {"k": "}", "l": [1, {"m": []}]}, "errors":true}"#;
        for end in 0..text.len() {
            let _ = Fields::of(&text[..end]).map(|(_, value)| whole(value).len()).sum::<usize>();
            let list = [b"[", &text[..end]].concat();
            let _ = Elements::of(&list).map(|element| whole(element).len()).sum::<usize>();
        }
        assert_eq!(Fields::of(b"[1]").count(), 0);
        assert_eq!(Fields::of(b"").count(), 0);
        assert_eq!(number(b"x"), None);
    }

    #[test]
    fn strings_end_at_their_quote_wherever_it_is() {
        for length in 0..3 * SHORT {
            for escapes in ["", r#"\""#, r"\\", r#"\"\\"#] {
                let text = format!("\"{}{escapes}\": 1, \"z\": 2}}", "a".repeat(length));
                assert_eq!(string_end(text.as_bytes()), Some(2 + length + escapes.len()), "{text}");
                let all = format!("{{{text}");
                assert_eq!(Fields::of(all.as_bytes()).last().map(|(key, _)| key), Some(&b"z"[..]), "{all}");
            }
        }
    }

    #[test]
    fn numbers_are_read_to_their_end_if_they_fit() {
        let cases: [(&[u8], Option<i64>); 7] = [
            (b"0,", Some(0)),
            (b"-17}", Some(-17)),
            (b"12", Some(12)),
            (b"9223372036854775807", Some(i64::MAX)),
            (b"-9223372036854775808", Some(i64::MIN)),
            (b"9223372036854775808", None),
            (b"-", None),
        ];
        for (text, expected) in cases {
            assert_eq!(number(text), expected, "{}", String::from_utf8_lossy(text));
        }
    }
}
