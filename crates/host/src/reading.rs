//! One value of a file of the kernel.

use pacenote_record::SeriesKind;

/// One value of a file of the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading<'a> {
    /// What it is.
    pub field: &'static Field,
    /// What it belongs to within the file: the name of the label and its value.
    pub label: Option<(&'static str, &'a str)>,
    /// The value in the unit of the field.
    pub value: f64,
}

/// A kind of value.
#[derive(Debug, PartialEq)]
pub struct Field {
    /// Its key in the file of the kernel; empty if the file has none.
    pub key: &'static str,
    /// Its name in `telemetry.parquet`.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Whether its differences are meant.
    pub kind: SeriesKind,
    /// What the kernel's value is multiplied with to be in the unit.
    pub factor: f64,
    /// What a counter that becomes smaller means.
    pub decrease: Decrease,
}

/// What it means that a counter becomes smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decrease {
    /// It counts from 0 again, as that of a device that was plugged in again.
    Reset,
    /// The kernel counts with 32 bits: it may also count from 0 again because it has reached 2³².
    Wrap,
    /// The kernel corrects its estimate of a time: the counter has not grown.
    Correction,
}

impl Field {
    /// Creates the field of a counter without a unit.
    pub const fn counter(key: &'static str, name: &'static str) -> Self {
        Self { key, name, unit: "", kind: SeriesKind::Counter, factor: 1.0, decrease: Decrease::Reset }
    }

    /// Creates the field of a gauge without a unit.
    pub const fn gauge(key: &'static str, name: &'static str) -> Self {
        Self { kind: SeriesKind::Gauge, ..Self::counter(key, name) }
    }

    /// Returns the field with a unit, in which the kernel counts.
    pub const fn with_unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// Returns the field with a unit; the kernel counts in multiples of it.
    pub const fn in_multiples(self, unit: &'static str, factor: f64) -> Self {
        Self { unit, factor, ..self }
    }

    /// Returns the field of a counter that begins again after 2³².
    pub const fn counted_in_32_bits(self) -> Self {
        Self { decrease: Decrease::Wrap, ..self }
    }

    /// Returns the field of a counter that the kernel corrects, also to a smaller value.
    pub const fn corrected(self) -> Self {
        Self { decrease: Decrease::Correction, ..self }
    }

    /// Returns a value of this field.
    pub fn reading<'a>(&'static self, label: Option<(&'static str, &'a str)>, value: f64) -> Reading<'a> {
        Reading { field: self, label, value: value * self.factor }
    }
}

/// Receives the values of a file.
pub type Receive<'r> = dyn FnMut(Reading<'_>) + 'r;

/// What the units of the kernel are on this machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelUnits {
    /// Length of a tick, in which the kernel counts CPU time, in milliseconds.
    pub tick_ms: f64,
    /// Size of a page, in bytes.
    pub page_bytes: f64,
}

impl KernelUnits {
    /// Units of 1, for files whose values have fixed units.
    pub const ONE: Self = Self { tick_ms: 1.0, page_bytes: 1.0 };
}

/// A function that passes the values in the text of a file to a receiver. What it does not understand is left out.
pub type Parser = fn(&str, KernelUnits, &mut Receive<'_>);

/// Parses lines of `KEY VALUE`, `KEY: VALUE` or `KEY VALUE UNIT`; keys that are not among the fields are left out.
pub fn parse_keys(text: &str, fields: &'static [Field], receive: &mut Receive<'_>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(key), Some(value)) = (words.next(), words.next()) else { continue };
        let key = key.strip_suffix(':').unwrap_or(key);
        if let Some(field) = fields.iter().find(|field| field.key == key)
            && let Some(value) = number(value)
        {
            receive(field.reading(None, value));
        }
    }
}

/// Parses a number of the kernel: digits without a sign.
pub fn number(text: &str) -> Option<f64> {
    text.parse::<u64>().ok().map(|value| value as f64)
}

/// Receives the values of a parser in tests.
#[cfg(test)]
pub mod tests {
    use super::{KernelUnits, Parser};

    /// The units of most machines.
    pub const UNITS: KernelUnits = KernelUnits { tick_ms: 10.0, page_bytes: 4096.0 };

    /// Returns the values of a text as `NAME VALUE` or `NAME[LABEL] VALUE`.
    pub fn parsed(parse: Parser, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        parse(text, UNITS, &mut |reading| {
            let label = reading.label.map(|(name, value)| format!("[{name}={value}]")).unwrap_or_default();
            found.push(format!("{}{label} {}", reading.field.name, reading.value));
        });
        found
    }

    /// Checks that a parser leaves out what it does not understand, and takes any text.
    pub fn survives(parse: Parser, sample: &str) {
        let hostile = ["", "\n\n", "\0", "cpu", ":", ": : :", "a b c", "é 1", "-1 -1", "1e400 nan"];
        for text in hostile {
            assert_eq!(parsed(parse, text), [""; 0], "{text:?}");
        }
        let whole = parsed(parse, sample);
        for end in (0..sample.len()).filter(|end| sample.is_char_boundary(*end)) {
            // A limit may be missing only at its end, as in a number that means that there is none.
            assert!(parsed(parse, &sample[..end]).len() <= whole.len().max(1), "{end}");
        }
        let large = sample.replace(|character: char| character.is_ascii_digit(), "99999999999999999999");
        parsed(parse, &large);
        parsed(parse, &sample.replace(char::is_whitespace, " "));
    }
}
