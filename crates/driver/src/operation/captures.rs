//! Values from responses that later requests of the same operation need.

use pacenote_record::ErrorClass;

use crate::response::outcome::WorkOutcome;

/// Length, in bytes, of the longest value that is kept for later requests. The id of a scroll or of a point in time
/// grows with the number of shards, by up to some hundred bytes for each, of which clusters have tens of thousands.
pub const MAX_KEPT_BYTES: usize = 16 << 20;

/// Returns the failure of a response whose value, here as JSON, is too long to be kept.
pub fn too_long(name: &str, value: &[u8]) -> Option<WorkOutcome> {
    (value.len() > MAX_KEPT_BYTES).then(|| {
        let reason = format!(
            "{name} has {} bytes; a value that later requests send may have at most {MAX_KEPT_BYTES}",
            value.len()
        );
        WorkOutcome::failure(ErrorClass::Protocol, reason)
    })
}

/// The values captured since the operation began.
#[derive(Debug, Default)]
pub struct Captures {
    entries: Vec<(String, Option<String>)>,
}

/// The state of one captured value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Captured<'a> {
    /// No earlier request captured a value under this name.
    Unknown,
    /// The response lacked the value.
    Missing,
    /// The value.
    Value(&'a str),
}

impl Captures {
    /// Removes all values.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Stores a value, or records that the response lacked it.
    pub fn set(&mut self, name: &str, value: Option<String>) {
        match self.entries.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.entries.push((name.to_owned(), value)),
        }
    }

    /// Returns the value captured under a name.
    pub fn get(&self, name: &str) -> Captured<'_> {
        match self.entries.iter().find(|(known, _)| known == name) {
            None => Captured::Unknown,
            Some((_, None)) => Captured::Missing,
            Some((_, Some(value))) => Captured::Value(value),
        }
    }
}
