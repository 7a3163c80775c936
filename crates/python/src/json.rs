//! JSON text whose whole numbers fit into the types in which Python reads them.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// The largest whole number of a stored type of Python, which has a sign.
const MOST: u64 = i64::MAX.unsigned_abs();

/// Writes larger numbers as the largest one: the sums of a file that no JVM has written may have all 64 bits.
struct SignedNumbers;

impl Formatter for SignedNumbers {
    fn write_u64<W: ?Sized + Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        CompactFormatter.write_u64(writer, value.min(MOST))
    }
}

/// Returns a value as JSON text.
pub fn to_json<T: Serialize>(value: &T) -> serde_json::Result<String> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, SignedNumbers))?;
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}
