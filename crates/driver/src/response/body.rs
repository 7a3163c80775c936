//! Helpers of all checks of responses: the failures that they report, and the values that they read.

use pacenote_record::ErrorClass;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::response::json_scan::{
    Fields, InvalidJson, field_in_slices, first_value_in_slices, parse_first, parse_scalar, scalar,
    value_at_path_in_slices,
};
use crate::response::json_text::MAX_SCALAR_BYTES;
use crate::response::outcome::WorkOutcome;
use crate::slices::Slices;

/// The duration that the engine reports in a successful response, in milliseconds, or the failure. What was read of the
/// body may also be invalid.
pub type CheckResult = Result<Result<Option<u64>, WorkOutcome>, InvalidJson>;

/// What failed if the response to a request reports an error under a successful status.
pub const REQUEST_FAILED: &str = "the engine reports an error";

/// Maximum length of the part of a response that a message shows.
const MAX_EXCERPT_BYTES: usize = 300;

/// Length of the longest object or array that is parsed for a comparison.
const MAX_PARSED_BYTES: usize = 4096;

/// Returns the failure of a response that is not valid JSON where it had to be read, or has a value of the wrong type
/// there.
pub fn invalid_json(status: u16, body: &[u8]) -> WorkOutcome {
    let reason = format!("the response has invalid JSON or a value of the wrong type: {}", excerpt(body));
    WorkOutcome::failure(ErrorClass::Protocol, reason).with_status(status)
}

/// Returns whether a body ends with the bracket that closes an object. Where the rest of a response is not read, this
/// detects one that was cut off or is followed by something else.
pub fn ends_object(body: &[u8]) -> bool {
    body.trim_ascii_end().ends_with(b"}")
}

/// Returns whether a status indicates success.
pub fn is_2xx(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Returns the failure of a response with an error status, with the error type and reason that the engine reports.
/// Reads a long body in slices.
pub async fn http_error(status: u16, body: &[u8]) -> WorkOutcome {
    let mut slices = Slices::default();
    let (error_type, reason) = match field_in_slices(body, "error", &mut slices).await {
        Ok(Some(error)) if error.first() == Some(&b'{') => engine_error(error, &mut slices).await,
        Ok(Some(error)) if error.first() == Some(&b'"') => {
            (String::new(), string(scalar(error).ok().as_ref()))
        }
        _ => (String::new(), excerpt(body)),
    };
    WorkOutcome::failure(ErrorClass::HttpStatus, reason).with_status(status).with_error_type(&error_type)
}

/// Returns the type and the reason of an engine's error.
pub async fn engine_error(error: &[u8], slices: &mut Slices) -> (String, String) {
    (most_specific(error, "type", slices).await, most_specific(error, "reason", slices).await)
}

/// Returns the failure that the field `error` of a response reports, with `what` failed, or `None` if its value is null.
///
/// # Errors
///
/// [`InvalidJson`] if the value is neither null, an object nor a valid scalar.
pub async fn reported_error(
    error: &[u8],
    what: &str,
    slices: &mut Slices,
) -> Result<Option<WorkOutcome>, InvalidJson> {
    let (error_type, reason) = if error.starts_with(b"{") {
        engine_error(error, slices).await
    } else {
        let value = scalar(error)?;
        if value.is_null() {
            return Ok(None);
        }
        (String::new(), to_text(&value))
    };
    let failure = WorkOutcome::failure(ErrorClass::Condition, format!("{what}: {reason}"));
    Ok(Some(failure.with_error_type(&error_type)))
}

/// Checks that a response reports no error. Rows are not read, because engines write an error in their place.
///
/// # Errors
///
/// [`InvalidJson`] if the response is not an object, or not valid where it was read.
pub async fn check_no_error(body: &[u8]) -> CheckResult {
    let mut slices = Slices::default();
    let mut fields = Fields::new(body);
    while let Some((key, value)) = fields.next_in_slices(&mut slices).await {
        match key {
            b"error" => {
                if let Some(failure) = reported_error(value, REQUEST_FAILED, &mut slices).await? {
                    return Ok(Err(failure));
                }
            }
            b"rows" | b"datarows" if ends_object(body) => return Ok(Ok(None)),
            _ => {}
        }
    }
    if fields.is_closed() { Ok(Ok(None)) } else { Err(InvalidJson) }
}

/// Returns a field of an engine's error, or of its first root cause, which is more specific than "all shards failed".
async fn most_specific(error: &[u8], key: &str, slices: &mut Slices) -> String {
    let path = ["root_cause", "0", key].into_iter();
    match value_at_path_in_slices(error, path, slices).await {
        Ok(Some(value)) => string(scalar(value).ok().as_ref()),
        _ => text_of_field(error, key, slices).await,
    }
}

/// Returns the text of a field of an object, or an empty text if it has none.
pub async fn text_of_field(object: &[u8], name: &str, slices: &mut Slices) -> String {
    let value = field_in_slices(object, name, slices).await.ok().flatten();
    string(value.and_then(|text| scalar(text).ok()).as_ref())
}

/// Returns the text of a value, or an empty text if it has none.
pub fn string(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the beginning of a response, for messages. An ellipsis marks one that is cut off: what is before it may be
/// the beginning of a secret, by which the redaction of messages recognizes it.
pub fn excerpt(body: &[u8]) -> String {
    if body.len() <= MAX_EXCERPT_BYTES {
        return String::from_utf8_lossy(body).into_owned();
    }
    // A character has at most four bytes. All but the first have these values.
    let is_boundary = |end: &usize| !matches!(body[*end], 0x80..0xC0);
    let end =
        (MAX_EXCERPT_BYTES - 3..=MAX_EXCERPT_BYTES).rev().find(is_boundary).unwrap_or(MAX_EXCERPT_BYTES);
    format!("{}…", String::from_utf8_lossy(&body[..end]))
}

/// Checks that a text is a valid JSON value in UTF-8, without parsing it.
///
/// # Errors
///
/// [`InvalidJson`] if it is not.
pub fn validate(json: &[u8]) -> Result<(), InvalidJson> {
    let text = std::str::from_utf8(json).map_err(|_| InvalidJson)?;
    serde_json::from_str(text).map(|IgnoredAny| ()).map_err(|_| InvalidJson)
}

/// Parses the duration in the `took` field of a response, in milliseconds. Returns `None` if it is negative.
///
/// # Errors
///
/// [`InvalidJson`] if the value is not an integer.
pub fn parse_took(value: &[u8]) -> Result<Option<u64>, InvalidJson> {
    parse_scalar::<i64>(value).map(|took_ms| u64::try_from(took_ms).ok())
}

/// A value of a response that the plan compares with another.
#[derive(Debug)]
pub enum ComparedValue {
    /// A value that is parsed.
    Parsed(Value),
    /// The beginning of a value that is too long to be that of any plan.
    Long(String),
}

impl ComparedValue {
    /// Reads the value that `text` starts with. A long one is only validated, because to parse an object or array would
    /// take many times its size in memory.
    ///
    /// # Errors
    ///
    /// [`InvalidJson`] if it is not valid, or nothing follows it.
    pub async fn read(text: &[u8], slices: &mut Slices) -> Result<Self, InvalidJson> {
        let json = first_value_in_slices(text, slices).await?;
        let is_scalar = !matches!(json.first(), Some(b'{' | b'['));
        if json.len() > if is_scalar { MAX_SCALAR_BYTES } else { MAX_PARSED_BYTES } {
            return validate(json).map(|()| Self::Long(excerpt(json)));
        }
        parse_first(text).map(Self::Parsed)
    }

    /// Returns the value as text, as [`to_text`] does.
    pub fn into_text(self) -> String {
        match self {
            Self::Parsed(Value::String(text)) | Self::Long(text) => text,
            Self::Parsed(value) => value.to_string(),
        }
    }
}

/// Returns a value as text: strings without quotes, everything else as JSON.
pub fn to_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::poll_once;

    #[test]
    fn an_excerpt_states_that_it_is_cut_off() {
        assert_eq!(excerpt(b"whole"), "whole");
        assert_eq!(excerpt(&[b'a'; 300]), "a".repeat(300));
        assert_eq!(excerpt(&[b'a'; 301]), format!("{}…", "a".repeat(300)));
    }

    #[test]
    fn an_excerpt_ends_between_characters() {
        for character in ["é", "€", "😀"] {
            let kept = format!("a{}", character.repeat(299 / character.len()));
            assert_eq!(excerpt(format!("{kept}{character}{character}").as_bytes()), format!("{kept}…"));
        }
        assert_eq!(excerpt(&[0x80; 301]).chars().count(), 301);
    }

    #[test]
    fn a_long_value_is_validated() {
        let read = |value: &str| {
            poll_once(async { ComparedValue::read(value.as_bytes(), &mut Slices::default()).await })
        };
        let long = format!("[{}1]}}", "1,".repeat(3000));
        assert!(matches!(read(&long), Ok(ComparedValue::Long(text)) if text.starts_with("[1,1,")));
        for (valid, damaged) in [("1,1", "1,,1"), ("1]", "1}"), ("[1", "[\u{0}1")] {
            assert_eq!(read(&long.replacen(valid, damaged, 1)).err(), Some(InvalidJson), "{damaged}");
        }
    }
}
