//! Scans JSON without parsing all of it.
//!
//! Engines write the fields that determine the outcome first: `took`, `timed_out` and `_shards` for a search, `took`
//! and `errors` for a bulk. [`Fields`] iterates over the fields of an object, and a caller stops when it has the fields
//! it needs: checking a search response of 8 kB takes 0.1 µs instead of the 5 µs for parsing all of it.
//!
//! The functions accept text that starts with a JSON value and may continue after it. Only what is read is validated:
//! invalid JSON between the members of an object or array ends the iteration, and [`parse_first`] and [`scalar`] reject
//! invalid values. Skipped values are not validated.
//!
//! The functions whose names end with `in_slices` yield to the thread's other clients after every [`SLICE`], so that a
//! long response does not delay them.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::response::json_text::{MAX_SCALAR_BYTES, beginning, unescape};
use crate::slices::{SLICE, Slices};

/// Length up to which the end of a string is searched for byte by byte.
const SHORT_STRING: usize = 24;

/// Walks over the members of an object or array.
#[derive(Debug, Clone)]
struct Members<'a> {
    position: Position<'a>,
    /// The bracket that ends the object or array.
    closing: u8,
}

/// How far an object or array has been scanned.
#[derive(Debug, Clone, Copy)]
enum Position<'a> {
    /// Up to its first member.
    Start(&'a [u8]),
    /// Up to the value that was returned last. It is skipped when the next member is requested, so that the last value
    /// is never scanned.
    Value(&'a [u8]),
    /// Up to the end of a value.
    AfterValue(&'a [u8]),
    /// To its end; `closed` is set if that is its closing bracket.
    Ended { closed: bool },
}

impl<'a> Members<'a> {
    fn new(text: &'a [u8], [opening, closing]: [u8; 2]) -> Self {
        let position = match trim_start(text).split_first() {
            Some((first, rest)) if *first == opening => Position::Start(rest),
            _ => Position::Ended { closed: false },
        };
        Self { position, closing }
    }

    /// Returns the text that starts with the next member.
    fn next_start(&mut self) -> Option<&'a [u8]> {
        let (text, is_first) = match self.position {
            Position::Start(text) => (trim_start(text), true),
            Position::Value(value) => (trim_start(skip_value(value)), false),
            Position::AfterValue(text) => (trim_start(text), false),
            Position::Ended { .. } => return None,
        };
        if text.first() == Some(&self.closing) {
            return self.end(true);
        }
        let member = if is_first { Some(text) } else { text.strip_prefix(b",").map(trim_start) };
        // Any other bracket or separator, or the end of the text, means that the text is damaged here.
        match member {
            Some([first, ..]) if !matches!(first, b']' | b'}' | b',' | b':') => member,
            _ => self.end(false),
        }
    }

    fn end(&mut self, closed: bool) -> Option<&'a [u8]> {
        self.position = Position::Ended { closed };
        None
    }

    fn is_closed(&self) -> bool {
        matches!(self.position, Position::Ended { closed: true })
    }

    /// Skips the value that was returned last, and yields to the thread's other clients if it is long.
    async fn skip_in_slices(&mut self, slices: &mut Slices) {
        let Position::Value(value) = self.position else { return };
        let after = skip_value_in_slices(value, slices).await;
        self.position = Position::AfterValue(after);
    }
}

/// Iterator over the fields of a JSON object.
#[derive(Debug, Clone)]
pub struct Fields<'a>(Members<'a>);

impl<'a> Fields<'a> {
    /// Creates an iterator over the fields of the object at the start of `text`. It is empty if `text` does not start
    /// with an object.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Self {
        Self(Members::new(text, *b"{}"))
    }

    /// Returns whether all fields have been returned and the object ends with its closing bracket.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Returns the next field as [`Iterator::next`] does, and yields to the thread's other clients if it is far away.
    pub async fn next_in_slices(&mut self, slices: &mut Slices) -> Option<(&'a [u8], &'a [u8])> {
        self.0.skip_in_slices(slices).await;
        self.next()
    }
}

impl<'a> Iterator for Fields<'a> {
    /// The key, with its escapes, and the text that starts with the value.
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.0.next_start()?;
        let field = string_end(text).and_then(|key_end| {
            let value = trim_start(trim_start(&text[key_end..]).strip_prefix(b":")?);
            Some((&text[1..key_end - 1], value))
        });
        match field {
            Some((_, value)) => self.0.position = Position::Value(value),
            None => drop(self.0.end(false)),
        }
        field
    }
}

/// Iterator over the elements of a JSON array.
#[derive(Debug, Clone)]
pub struct Elements<'a>(Members<'a>);

impl<'a> Elements<'a> {
    /// Creates an iterator over the elements of the array at the start of `text`. It is empty if `text` does not start
    /// with an array.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Self {
        Self(Members::new(text, *b"[]"))
    }

    /// Returns whether all elements have been returned and the array ends with its closing bracket.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Returns the next element as [`Iterator::next`] does, and yields to the thread's other clients if it is far away.
    pub async fn next_in_slices(&mut self, slices: &mut Slices) -> Option<&'a [u8]> {
        self.0.skip_in_slices(slices).await;
        self.next()
    }
}

impl<'a> Iterator for Elements<'a> {
    /// The text that starts with the element.
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let element = self.0.next_start()?;
        self.0.position = Position::Value(element);
        Some(element)
    }
}

/// The text is not valid JSON where it had to be read, or has a value of the wrong type there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidJson;

/// Returns the value of a field of the object that `text` starts with, and what follows it.
#[must_use]
pub fn field<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    Fields::new(text).find(|(key, _)| is_name(key, name)).map(|(_, value)| value)
}

/// Returns the value at a path of field names joined by dots, and what follows it.
#[must_use]
pub fn value_at_path<'a>(text: &'a [u8], path: &str) -> Option<&'a [u8]> {
    path.split('.').try_fold(text, field)
}

/// Returns whether a key, with its escapes, is this name. Few keys have escapes; only those are parsed, if they are not
/// too long: an escape has at most six bytes.
#[must_use]
pub fn is_name(key: &[u8], name: &str) -> bool {
    let has_escapes = || key.len() <= 6 * name.len() && memchr::memchr(b'\\', key).is_some();
    key == name.as_bytes() || (has_escapes() && unescape(key).is_some_and(|key| key == name))
}

/// Returns the value of a field, as [`field`] does, or `None` if the object has no such field.
///
/// # Errors
///
/// [`InvalidJson`] if `text` does not start with an object, or is damaged before the field or the end of the object.
pub async fn field_in_slices<'a>(
    text: &'a [u8],
    name: &str,
    slices: &mut Slices,
) -> Result<Option<&'a [u8]>, InvalidJson> {
    let mut fields = Fields::new(text);
    while let Some((key, value)) = fields.next_in_slices(slices).await {
        if is_name(key, name) {
            return Ok(Some(value));
        }
    }
    if fields.is_closed() { Ok(None) } else { Err(InvalidJson) }
}

/// Returns the value at a path of keys, and what follows it; the key of an array is an index. Returns `None` if an
/// object or array on the way does not contain the next key.
///
/// # Errors
///
/// [`InvalidJson`] if `text` does not start with an object or array, or is damaged where it was read.
pub async fn value_at_path_in_slices<'a>(
    text: &'a [u8],
    path: impl Iterator<Item = &str>,
    slices: &mut Slices,
) -> Result<Option<&'a [u8]>, InvalidJson> {
    let mut value = trim_start(text);
    for (depth, key) in path.enumerate() {
        let found = match value.first() {
            Some(b'[') => match key.parse() {
                Ok(index) => element_in_slices(value, index, slices).await?,
                Err(_) if depth == 0 => return Err(InvalidJson),
                Err(_) => None,
            },
            Some(b'{') => field_in_slices(value, key, slices).await?,
            _ if depth == 0 => return Err(InvalidJson),
            _ => scalar(value).map(|_| None)?,
        };
        match found {
            Some(found) => value = found,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

async fn element_in_slices<'a>(
    text: &'a [u8],
    index: usize,
    slices: &mut Slices,
) -> Result<Option<&'a [u8]>, InvalidJson> {
    let mut elements = Elements::new(text);
    let mut number = 0;
    while let Some(element) = elements.next_in_slices(slices).await {
        if number == index {
            return Ok(Some(element));
        }
        number += 1;
    }
    if elements.is_closed() { Ok(None) } else { Err(InvalidJson) }
}

/// Parses the value that `text` starts with. Something must follow it, as it does for every value in a response that is
/// an object.
///
/// # Errors
///
/// [`InvalidJson`] if it is not a valid value of this type.
pub fn parse_first<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, InvalidJson> {
    serde_json::from_slice(followed_value(text)?).map_err(|_| InvalidJson)
}

/// Returns the value that `text` starts with, which is not parsed.
///
/// # Errors
///
/// [`InvalidJson`] if nothing follows it.
pub fn followed_value(text: &[u8]) -> Result<&[u8], InvalidJson> {
    let after = skip_value(text);
    if after.is_empty() { Err(InvalidJson) } else { Ok(&text[..text.len() - after.len()]) }
}

/// Parses the number, boolean or null that `text` starts with, as [`parse_first`] does.
///
/// # Errors
///
/// [`InvalidJson`] if it is not a valid value of this type.
pub fn parse_scalar<T: DeserializeOwned>(text: &[u8]) -> Result<T, InvalidJson> {
    // An object, array or string is rejected without searching for its end: the parser's error would contain the whole
    // string.
    if matches!(text.first(), Some(b'{' | b'[' | b'"')) {
        return Err(InvalidJson);
    }
    let value = followed_value(text)?;
    if value.len() > MAX_SCALAR_BYTES {
        return Err(InvalidJson);
    }
    serde_json::from_slice(value).map_err(|_| InvalidJson)
}

/// Parses the value that `text` starts with, as [`parse_first`] does, if it is not an object or array; these are
/// returned as null. Of a long string, only the [`beginning`] is read.
///
/// # Errors
///
/// [`InvalidJson`] if it is not valid.
pub fn scalar(text: &[u8]) -> Result<Value, InvalidJson> {
    match text.first() {
        Some(b'{' | b'[') => Ok(Value::Null),
        Some(b'"') => {
            let value = followed_value(text)?;
            beginning(&value[1..value.len() - 1]).map(Value::String).ok_or(InvalidJson)
        }
        _ => parse_scalar(text),
    }
}

/// Returns the value that `text` starts with, without what follows it. Does not allocate.
///
/// # Errors
///
/// [`InvalidJson`] if it is not valid JSON in UTF-8, or nothing follows it.
pub fn valid_first_value(text: &[u8]) -> Result<&[u8], InvalidJson> {
    let IgnoredAny = parse_first(text)?;
    let value = first_value(text);
    if std::str::from_utf8(value).is_ok() { Ok(value) } else { Err(InvalidJson) }
}

/// Returns the value that `text` starts with, without what follows it.
#[must_use]
pub fn first_value(text: &[u8]) -> &[u8] {
    text[..text.len() - skip_value(text).len()].trim_ascii_end()
}

/// Returns the value that `text` starts with, without what follows it. A long one is not parsed, but read in slices.
///
/// # Errors
///
/// [`InvalidJson`] if nothing follows it.
pub async fn first_value_in_slices<'a>(text: &'a [u8], slices: &mut Slices) -> Result<&'a [u8], InvalidJson> {
    let after = skip_value_in_slices(text, slices).await;
    if after.is_empty() { Err(InvalidJson) } else { Ok(text[..text.len() - after.len()].trim_ascii_end()) }
}

/// Returns what follows the value that `text` starts with.
fn skip_value(text: &[u8]) -> &[u8] {
    let end = match text.first() {
        Some(b'"') => string_end(text),
        Some(b'{' | b'[') => nested_end(text),
        _ => text.iter().position(|byte| matches!(byte, b',' | b'}' | b']')),
    };
    end.and_then(|end| text.get(end..)).unwrap_or_default()
}

/// Returns what follows the value that `text` starts with, and yields to the thread's other clients if it is long.
async fn skip_value_in_slices<'a>(text: &'a [u8], slices: &mut Slices) -> &'a [u8] {
    let mut nested = NestedValue::default();
    let mut before = 0;
    loop {
        let step = match text.first() {
            Some(b'{' | b'[') => nested.advance(text, SLICE),
            _ => NestedStep::Ended(text.len() - skip_value(text).len()),
        };
        match step {
            NestedStep::Partial => {
                slices.spend(nested.position - before).await;
                before = nested.position;
            }
            NestedStep::Ended(end) => {
                slices.spend(end - before).await;
                return text.get(end..).unwrap_or_default();
            }
            NestedStep::Unclosed => return &[],
        }
    }
}

/// Returns the text without leading whitespace. Engines write none, so comparing the first byte is nearly always
/// enough.
fn trim_start(text: &[u8]) -> &[u8] {
    if matches!(text.first(), Some(b'!'..)) {
        return text;
    }
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    &text[text.iter().take_while(|byte| is_space(byte)).count()..]
}

/// Returns the end of the string that `text` starts with, after its closing quote.
fn string_end(text: &[u8]) -> Option<usize> {
    (text.first() == Some(&b'"')).then_some(())?;
    let mut position = 1;
    // Keys are short, so comparing single bytes is faster than starting a vectorized search.
    while position < SHORT_STRING {
        match text.get(position)? {
            b'"' => return Some(position + 1),
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
    loop {
        position += memchr::memchr2(b'"', b'\\', text.get(position..)?)?;
        if text[position] == b'"' {
            return Some(position + 1);
        }
        position += 2;
    }
}

/// Returns the end of the object or array that `text` starts with, after its closing bracket.
fn nested_end(text: &[u8]) -> Option<usize> {
    match NestedValue::default().advance(text, text.len()) {
        NestedStep::Ended(end) => Some(end),
        NestedStep::Partial | NestedStep::Unclosed => None,
    }
}

/// An object or array whose end is searched for.
#[derive(Debug, Default)]
struct NestedValue {
    /// Number of brackets that are open at `position`.
    depth: usize,
    position: usize,
}

/// Result of searching a part of an object or array.
#[derive(Debug)]
enum NestedStep {
    /// It does not end in this part.
    Partial,
    /// It ends at this position, after its closing bracket.
    Ended(usize),
    /// The text ends first.
    Unclosed,
}

impl NestedValue {
    /// Searches about `bytes` more bytes of `text`, which starts with the object or array. A string is not divided.
    fn advance(&mut self, text: &[u8], bytes: usize) -> NestedStep {
        let Self { mut depth, mut position } = *self;
        let part = &text[..text.len().min(position.saturating_add(bytes))];
        while let Some(byte) = part.get(position) {
            match byte {
                b'"' => match string_end(&text[position..]) {
                    Some(end) => position += end - 1,
                    None => return NestedStep::Unclosed,
                },
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return NestedStep::Ended(position + 1);
                    }
                }
                _ => {}
            }
            position += 1;
        }
        *self = Self { depth, position };
        if position < text.len() { NestedStep::Partial } else { NestedStep::Unclosed }
    }
}

/// Returns the integer that `text` starts with and the text after it, or `None` if there is no integer, it is negative
/// or has leading zeros, or it does not fit into `u64`. What follows it may be the rest of a number that is not an
/// integer.
#[must_use]
pub fn split_integer(text: &[u8]) -> Option<(u64, &[u8])> {
    let rest = skip_digits(text)?;
    let digits = &text[..text.len() - rest.len()];
    let append = |number: u64, digit: &u8| number.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    Some((digits.iter().try_fold(0, append)?, rest))
}

/// Returns what follows the integer that `text` starts with, or `None` if there is no integer, or it is negative or has
/// leading zeros.
#[must_use]
#[inline]
pub fn skip_digits(text: &[u8]) -> Option<&[u8]> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (length == 1 || length > 1 && text[0] != b'0').then(|| &text[length..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_iterated_in_order_and_nested_values_are_skipped() {
        let text = br#" { "took" : 12, "a\"b": "x\\", "o": {"k": "}", "l": [1, {"m": []}]}, "errors":true,"z":null}"#;
        let keys: Vec<_> = Fields::new(text).map(|(key, _)| std::str::from_utf8(key).unwrap()).collect();
        assert_eq!(keys, ["took", r#"a\"b"#, "o", "errors", "z"]);
        let value = |wanted: &[u8]| Fields::new(text).find(|(key, _)| *key == wanted).unwrap().1;
        assert_eq!(scalar(value(b"took")), Ok(12.into()));
        assert_eq!(scalar(value(b"errors")), Ok(true.into()));
        assert_eq!(scalar(value(b"z")), Ok(Value::Null));
        let inner: Vec<_> = Fields::new(value(b"o")).map(|(key, _)| key).collect();
        assert_eq!(inner, [b"k", b"l"]);
    }

    #[test]
    fn values_are_found_by_path_and_arrays_are_iterated() {
        let text = br#"{"\u0068\u0069\u0074\u0073": {"total": {"value": 3 , "relation": "eq"},
            "hits": [{"sort": [1, "a]"]}, {"sort": [2, "b"] }, {"_id": "}"}, 4 ]}}"#;
        assert_eq!(value_at_path(text, "hits.total.value").map(first_value), Some(&b"3"[..]));
        assert_eq!(value_at_path(text, "hits.total.relation").map(first_value), Some(&br#""eq""#[..]));
        assert_eq!(value_at_path(text, "hits.max_score"), None);
        let hits = value_at_path(text, "hits.hits").unwrap();
        let all: Vec<_> = Elements::new(hits).map(first_value).collect();
        let expected: [&[u8]; 4] =
            [br#"{"sort": [1, "a]"]}"#, br#"{"sort": [2, "b"] }"#, br#"{"_id": "}"}"#, b"4"];
        assert_eq!(all, expected);
        assert_eq!(field(all[1], "sort").map(first_value), Some(&br#"[2, "b"]"#[..]));
        assert_eq!((Elements::new(b"[ ]").count(), Elements::new(b"{}").count()), (0, 0));
    }

    #[test]
    fn truncated_text_ends_the_iteration() {
        let text = br#"{"took": 12, "o": {"k": "}", "l": [1, {"m": []}]}, "errors":true}"#;
        for end in 0..text.len() {
            let _ = Fields::new(&text[..end]).map(|(_, value)| first_value(value).len()).sum::<usize>();
            let list = [b"[", &text[..end]].concat();
            let _ = Elements::new(&list).map(|element| first_value(element).len()).sum::<usize>();
        }
        assert_eq!(Fields::new(b"[1]").count(), 0);
        assert_eq!(Fields::new(b"").count(), 0);
        assert_eq!(split_integer(b"x"), None);
    }

    #[test]
    fn a_wrong_bracket_or_separator_ends_the_iteration() {
        let lists: [(&[u8], usize, bool); 12] = [
            (b"[1}", 1, false),
            (b"[1]", 1, true),
            (b"[}", 0, false),
            (b"[]", 0, true),
            (b"[1,]", 1, false),
            (b"[,1]", 0, false),
            (b"[1,,2]", 1, false),
            (b"[1:2]", 1, true),
            (b"[{} {}]", 1, false),
            (b"[{}:]", 1, false),
            (b"[[1}, 2]", 2, true),
            (b"[1", 1, false),
        ];
        for (text, number, closed) in lists {
            let mut elements = Elements::new(text);
            assert_eq!(elements.by_ref().take(9).count(), number, "{}", String::from_utf8_lossy(text));
            assert_eq!(elements.is_closed(), closed, "{}", String::from_utf8_lossy(text));
            assert_eq!(elements.next(), None);
        }
        for (text, number, closed) in [
            (r#"{"a":1]"#, 1, false),
            (r#"{"a":1}"#, 1, true),
            (r#"{"a":1,}"#, 1, false),
            (r#"{"a":1 "b":2}"#, 1, true),
            (r#"{"a":{} "b":2}"#, 1, false),
            (r#"{"a" 1}"#, 0, false),
            ("{]", 0, false),
        ] {
            let mut fields = Fields::new(text.as_bytes());
            assert_eq!(fields.by_ref().take(9).count(), number, "{text}");
            assert_eq!((fields.is_closed(), fields.next()), (closed, None), "{text}");
        }
        // What is read of a value that swallowed the next one is invalid.
        let swallowed = Fields::new(br#"{"a":1 "b":2}"#).next().unwrap().1;
        assert_eq!(scalar(swallowed), Err(InvalidJson));
    }

    #[test]
    fn strings_of_any_length_end_at_their_closing_quote() {
        for length in 0..3 * SHORT_STRING {
            for escapes in ["", r#"\""#, r"\\", r#"\"\\"#] {
                let text = format!("\"{}{escapes}\": 1, \"z\": 2}}", "a".repeat(length));
                assert_eq!(string_end(text.as_bytes()), Some(2 + length + escapes.len()), "{text}");
                let all = format!("{{{text}");
                assert_eq!(Fields::new(all.as_bytes()).last().map(|(key, _)| key), Some(&b"z"[..]), "{all}");
            }
        }
    }

    #[test]
    fn integers_are_parsed_up_to_the_limit_of_u64() {
        let cases: [(&[u8], Option<u64>); 8] = [
            (b"0,", Some(0)),
            (b"17}", Some(17)),
            (b"12", Some(12)),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"18446744073709551616", None),
            (b"-1", None),
            (b"", None),
            (b"00", None),
        ];
        for (text, expected) in cases {
            assert_eq!(
                split_integer(text).map(|(number, _)| number),
                expected,
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }
}
