//! What must hold for every text that is scanned as JSON. The tests of the driver include this file too.

use std::task::{Context, Poll, Waker};

use pacenote_driver::Slices;
use pacenote_driver::json_scan::{
    Elements, Fields, InvalidJson, field, field_in_slices, first_value, parse_first, scalar, split_integer,
    valid_first_value, value_at_path_in_slices,
};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Number of brackets up to which validity is compared; `serde_json` limits the depth of a document.
const MAX_BRACKETS: usize = 100;

/// Scans a text as an object, as an array and as a scalar.
///
/// # Panics
///
/// If scanning does not end, accepts what `serde_json` rejects, or rejects what it accepts.
pub fn check(text: &[u8]) {
    check_fields(text);
    check_elements(text);
    check_scalar(text);
    for path in ["took", "hits.hits.0.sort", "0.error", "_shards.failed"] {
        let found = block_on(value_at_path_in_slices(text, path.split('.'), &mut Slices::default()));
        if let Ok(Some(value)) = found {
            assert!(is_within(text, value));
        }
    }
}

fn check_fields(text: &[u8]) {
    let mut fields = Fields::new(text);
    let found: Vec<_> = fields.by_ref().take(text.len() + 1).collect();
    assert!(found.len() <= text.len(), "the iteration does not end");
    assert_eq!(fields.next(), None);
    let mut sliced = Fields::new(text);
    for expected in &found {
        assert_eq!(next_field(&mut sliced), Some(*expected));
    }
    assert_eq!((next_field(&mut sliced), sliced.is_closed()), (None, fields.is_closed()));
    let is_valid = found.iter().all(|(key, value)| {
        assert!(is_within(text, value));
        is_json(&[b"\"", *key, b"\""].concat()) && parse_first::<IgnoredAny>(value).is_ok()
    });
    check_validity(text, b'{', fields.is_closed(), is_valid);
    for name in ["took", "a", ""] {
        let expected = field(text, name);
        match block_on(field_in_slices(text, name, &mut Slices::default())) {
            Ok(found) => assert_eq!(found, expected),
            Err(InvalidJson) => assert!(expected.is_none() && !fields.is_closed()),
        }
    }
    check_values(text, &found);
}

/// Compares the values of an object with those of `serde_json`, which keeps the last of two fields with one name.
fn check_values(text: &[u8], found: &[(&[u8], &[u8])]) {
    let Ok(Value::Object(map)) = serde_json::from_slice::<Value>(text) else { return };
    assert!(map.len() <= found.len());
    if map.len() == found.len() {
        for (key, expected) in &map {
            let value = field(text, key).map(parse_first::<Value>);
            assert_eq!(value, Some(Ok(expected.clone())), "{key}");
        }
    }
}

fn check_elements(text: &[u8]) {
    let mut elements = Elements::new(text);
    let found: Vec<_> = elements.by_ref().take(text.len() + 1).collect();
    assert!(found.len() <= text.len(), "the iteration does not end");
    assert_eq!(elements.next(), None);
    let mut sliced = Elements::new(text);
    for expected in &found {
        assert_eq!(next_element(&mut sliced), Some(*expected));
    }
    assert_eq!((next_element(&mut sliced), sliced.is_closed()), (None, elements.is_closed()));
    let is_valid = found.iter().all(|element| {
        assert!(is_within(text, element));
        parse_first::<IgnoredAny>(element).is_ok()
    });
    check_validity(text, b'[', elements.is_closed(), is_valid);
    if let Ok(Value::Array(items)) = serde_json::from_slice::<Value>(text) {
        let values: Vec<_> = found.iter().map(|element| parse_first::<Value>(element)).collect();
        assert_eq!(values, items.into_iter().map(Ok).collect::<Vec<_>>());
    }
}

/// Asserts that an object or array is valid if and only if it was scanned to its bracket and all its members are valid.
fn check_validity(text: &[u8], bracket: u8, is_closed: bool, members_are_valid: bool) {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let text = &text[text.iter().take_while(|byte| is_space(byte)).count()..];
    if text.first() != Some(&bracket) {
        assert!(!is_closed);
    } else if text.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() <= MAX_BRACKETS {
        assert_eq!(is_closed && members_are_valid, is_json(first_value(text)));
    }
}

fn check_scalar(text: &[u8]) {
    if let Some((number, rest)) = split_integer(text) {
        let digits = &text[..text.len() - rest.len()];
        assert_eq!(serde_json::from_slice::<u64>(digits).ok(), Some(number));
    }
    if let Ok(value) = scalar(text) {
        assert!(value.is_null() || !value.is_object() && !value.is_array());
    }
    if let Ok(value) = valid_first_value(text) {
        assert!(is_json(value) && std::str::from_utf8(value).is_ok());
    }
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

fn is_within(text: &[u8], part: &[u8]) -> bool {
    text.as_ptr_range().end == part.as_ptr_range().end
}

fn next_field<'a>(fields: &mut Fields<'a>) -> Option<(&'a [u8], &'a [u8])> {
    block_on(fields.next_in_slices(&mut Slices::default()))
}

fn next_element<'a>(elements: &mut Elements<'a>) -> Option<&'a [u8]> {
    block_on(elements.next_in_slices(&mut Slices::default()))
}

/// Returns the result of a future that waits for nothing but its next turn.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
    }
}
