//! Four small corpora that describe the codes used in the rides. The codes are from the taxi commission's public data
//! dictionary. A file with more documents than there are codes repeats them.

use std::io::{self, Write};

use crate::generate::generator::{FileSpec, Generator, single_file};

const VERSION: u32 = 1;

/// One of these corpora: its name and its documents.
pub(crate) struct Lookup {
    name: &'static str,
    lines: &'static [&'static str],
}

/// The corpus `nyc_payment_types`.
pub(crate) const PAYMENT_TYPES: Lookup = Lookup {
    name: "nyc_payment_types",
    lines: &[
        r#"{"type": "1", "name": "Credit card", "fare": 2.5}"#,
        r#"{"type": "2", "name": "Cash", "fare": 2.5}"#,
        r#"{"type": "3", "name": "No charge", "fare": 0.0}"#,
        r#"{"type": "4", "name": "Dispute", "fare": 0.0}"#,
        r#"{"type": "5", "name": "Unknown", "fare": 0.0}"#,
    ],
};

/// The corpus `nyc_rate_codes`.
pub(crate) const RATE_CODES: Lookup = Lookup {
    name: "nyc_rate_codes",
    lines: &[
        r#"{"id": "1", "name": "Standard rate", "fare": 2.5}"#,
        r#"{"id": "2", "name": "JFK", "fare": 52.0}"#,
        r#"{"id": "3", "name": "Newark", "fare": 17.5}"#,
        r#"{"id": "4", "name": "Nassau or Westchester", "fare": 2.5}"#,
        r#"{"id": "5", "name": "Negotiated fare", "fare": 0.0}"#,
        r#"{"id": "6", "name": "Group ride", "fare": 6.0}"#,
        r#"{"id": "99", "name": "Unknown", "fare": 0.0}"#,
    ],
};

/// The corpus `nyc_trip_types`.
pub(crate) const TRIP_TYPES: Lookup = Lookup {
    name: "nyc_trip_types",
    lines: &[r#"{"type": "1", "name": "Street-hail"}"#, r#"{"type": "2", "name": "Dispatch"}"#],
};

/// The corpus `nyc_vendors`.
pub(crate) const VENDORS: Lookup = Lookup {
    name: "nyc_vendors",
    lines: &[r#"{"id": "1", "name": "Creative Mobile"}"#, r#"{"id": "2", "name": "VeriFone"}"#],
};

impl Generator for Lookup {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        single_file(&format!("{}.json", self.name), documents)
    }

    fn write(&self, file: &FileSpec, _seed: u64, _threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        let all = self.lines.join("\n") + "\n";
        let lines = self.lines.len() as u64;
        let (rounds, rest) = (file.documents / lines, file.documents % lines);
        (0..rounds).try_for_each(|_| sink.write_all(all.as_bytes()))?;
        let rest = all.split_inclusive('\n').take(usize::try_from(rest).unwrap_or(0));
        rest.into_iter().try_for_each(|line| sink.write_all(line.as_bytes()))
    }
}
