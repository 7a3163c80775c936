//! Values of limited size from responses of any size.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::response::json_scan::{Fields, InvalidJson, is_name, parse_scalar, scalar};
use crate::response::json_text::beginning;

/// The fields of a JSON object.
pub type Object = Map<String, Value>;

/// Length of the longest name that is kept whole, in characters.
const MAX_NAME_CHARACTERS: usize = 100;

/// Number of fields that are kept of an object with counts, which has few.
const MAX_COUNTS: usize = 50;

/// Returns the entry of a name, or `None` if the map has as many names as it may have without it.
pub fn entry<V: Default>(map: &mut BTreeMap<String, V>, name: String, limit: usize) -> Option<&mut V> {
    let is_full = map.len() >= limit && !map.contains_key(&name);
    (!is_full).then(|| map.entry(name).or_default())
}

/// Returns the values of these fields of the object that `text` starts with, each with what follows it.
///
/// # Errors
///
/// [`InvalidJson`] if that is not a whole object.
pub fn fields_of<'a, const N: usize>(
    text: &'a [u8],
    names: [&str; N],
) -> Result<[Option<&'a [u8]>; N], InvalidJson> {
    let mut values = [None; N];
    let mut fields = Fields::new(text);
    for (key, value) in fields.by_ref() {
        if let Some(position) = names.iter().position(|name| is_name(key, name)) {
            values[position] = Some(value);
        }
    }
    if fields.is_closed() { Ok(values) } else { Err(InvalidJson) }
}

/// Returns a value of this type, or `None` if there is none or it is null.
///
/// # Errors
///
/// [`InvalidJson`] if the value is of another type.
pub fn optional<T: DeserializeOwned>(text: Option<&[u8]>) -> Result<Option<T>, InvalidJson> {
    text.map_or(Ok(None), parse_scalar)
}

/// Returns the beginning of a text, as [`optional`] returns values.
pub fn optional_text(text: Option<&[u8]>) -> Result<Option<String>, InvalidJson> {
    Ok(optional_long_text(text)?.as_deref().map(shortened))
}

/// Returns a text, or what [`scalar`] reads of it, as [`optional`] returns values.
pub fn optional_long_text(text: Option<&[u8]>) -> Result<Option<String>, InvalidJson> {
    match text {
        Some([b'"', ..]) => match text.map(scalar).transpose()? {
            Some(Value::String(text)) => Ok(Some(text)),
            _ => Err(InvalidJson),
        },
        _ => optional::<()>(text).map(|_| None),
    }
}

/// Returns what starts with an object, as [`optional`] returns values.
pub fn optional_object(text: Option<&[u8]>) -> Result<Option<&[u8]>, InvalidJson> {
    optional_nested(text, b'{')
}

/// Returns what starts with a list, as [`optional`] returns values.
pub fn optional_list(text: Option<&[u8]>) -> Result<Option<&[u8]>, InvalidJson> {
    optional_nested(text, b'[')
}

fn optional_nested(text: Option<&[u8]>, opening: u8) -> Result<Option<&[u8]>, InvalidJson> {
    match text {
        Some([first, ..]) if *first == opening => Ok(text),
        _ => optional::<()>(text).map(|_| None),
    }
}

/// Returns the fields of an object whose values are neither objects nor lists. Long texts are shortened.
///
/// # Errors
///
/// [`InvalidJson`] if a value is invalid.
pub fn scalars(object: &[u8]) -> Result<Object, InvalidJson> {
    Fields::new(object)
        .take(MAX_COUNTS)
        .filter(|(_, text)| !matches!(text.first(), Some(b'{' | b'[')))
        .map(|(name, text)| {
            let value = match scalar(text)? {
                Value::String(text) => shortened(&text).into(),
                value => value,
            };
            Ok((name_of(name), value))
        })
        .collect()
}

/// Returns the beginning of a key, whose escapes are resolved.
pub fn name_of(key: &[u8]) -> String {
    beginning(key).map_or_else(String::new, |name| shortened(&name))
}

/// Returns the beginning of a name; an ellipsis marks one that is cut off.
pub fn shortened(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARACTERS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
