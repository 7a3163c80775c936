//! The texts of the series of a race's telemetry, and how many of them there may be.
//!
//! Servers choose the names and labels of most series. What is kept of them is limited so that memory is bounded while
//! the race runs, and so that the file is not too large for its [reader](crate::telemetry_reader).

use std::collections::HashMap;
use std::io;

use bytes::Bytes;
use parquet::data_type::ByteArray;

use crate::telemetry::{SeriesNumber, TelemetrySeries};

/// Source of the series of the host's sampler.
const HOST: &str = "host";

/// Ends each text of a series but the last; UTF-8 has no such byte.
const SEPARATOR: u8 = 0xff;

/// How many series are kept.
#[derive(Debug, PartialEq, Eq)]
pub struct SeriesLimit {
    /// Number of series.
    pub series: usize,
    /// Length of all their texts, in bytes.
    pub bytes: usize,
}

impl SeriesLimit {
    /// Returns the error of the first series that is not kept.
    #[must_use]
    pub fn reached(&self) -> io::Error {
        let Self { series, bytes } = self;
        io::Error::other(format!(
            "there are more than {series} series, or more than {bytes} bytes of their names and labels; the values \
             of further ones are left out"
        ))
    }
}

/// Series of the host's sampler: a few for each of its CPUs, devices and processes.
pub const HOST_LIMIT: SeriesLimit = SeriesLimit { series: 1 << 14, bytes: 8 << 20 };
/// Series of all other sources: those of a large cluster with statistics of each shard.
pub const OTHER_LIMIT: SeriesLimit = SeriesLimit { series: 1 << 17, bytes: 64 << 20 };

/// The series that are kept, counted apart for the host: those that a server reports do not take its place.
#[derive(Debug, Default)]
pub struct SeriesCounts {
    host: SeriesCount,
    others: SeriesCount,
}

#[derive(Debug, Default)]
struct SeriesCount {
    series: usize,
    bytes: usize,
}

impl SeriesCounts {
    /// Counts a series of this source whose texts have so many bytes.
    ///
    /// # Errors
    ///
    /// The limit, if it has been reached: the series is not kept.
    pub fn add(&mut self, source: &str, bytes: usize) -> Result<(), &'static SeriesLimit> {
        let (count, limit) =
            if source == HOST { (&mut self.host, &HOST_LIMIT) } else { (&mut self.others, &OTHER_LIMIT) };
        if count.series >= limit.series || bytes > limit.bytes - count.bytes {
            return Err(limit);
        }
        count.series += 1;
        count.bytes += bytes;
        Ok(())
    }
}

/// Returns the texts of a series in one piece, which is different for each series.
///
/// # Errors
///
/// An error if the labels cannot be written as JSON.
pub fn joined(series: &TelemetrySeries) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for part in [&series.source, &series.name, &series.unit, series.kind.name()] {
        text.extend_from_slice(part.as_bytes());
        text.push(SEPARATOR);
    }
    serde_json::to_writer(&mut text, &series.labels)?;
    Ok(text)
}

/// The texts of a series in the file. They share their memory.
#[derive(Debug)]
pub struct SeriesTexts {
    /// What reads the series.
    pub source: ByteArray,
    /// Its name.
    pub name: ByteArray,
    /// Its unit.
    pub unit: ByteArray,
    /// Its kind.
    pub kind: ByteArray,
    /// Its labels, as JSON.
    pub labels: ByteArray,
}

impl SeriesTexts {
    /// Returns the texts that are [`joined`].
    #[must_use]
    pub fn of(joined: Vec<u8>) -> Self {
        let joined = Bytes::from(joined);
        let mut parts = joined.splitn(5, |byte| *byte == SEPARATOR).map(|part| joined.slice_ref(part).into());
        let mut next = || parts.next().unwrap_or_else(|| ByteArray::from(""));
        Self { source: next(), name: next(), unit: next(), kind: next(), labels: next() }
    }

    /// Returns the length of all texts, in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        [&self.source, &self.name, &self.unit, &self.kind, &self.labels].map(ByteArray::len).iter().sum()
    }
}

/// The series of a journal.
#[derive(Debug, Default)]
pub struct JournalSeries {
    texts: HashMap<SeriesNumber, SeriesTexts>,
    counts: SeriesCounts,
}

impl JournalSeries {
    /// Adds a series, unless there are more than Pacenote writes.
    ///
    /// # Errors
    ///
    /// An error if the labels cannot be written as JSON.
    pub fn add(&mut self, number: SeriesNumber, series: &TelemetrySeries) -> io::Result<()> {
        let joined = joined(series)?;
        if self.counts.add(&series.source, joined.len()).is_ok() {
            self.texts.insert(number, SeriesTexts::of(joined));
        }
        Ok(())
    }

    /// Returns the texts of a series.
    #[must_use]
    pub fn get(&self, number: SeriesNumber) -> Option<&SeriesTexts> {
        self.texts.get(&number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::telemetry::SeriesKind;

    fn series(source: &str, label: &str) -> TelemetrySeries {
        TelemetrySeries {
            source: source.into(),
            name: "heap".into(),
            unit: String::new(),
            kind: SeriesKind::Gauge,
            labels: BTreeMap::from([("node".to_owned(), label.to_owned())]),
        }
    }

    #[test]
    fn the_texts_of_a_series_are_parts_of_one() {
        let joined = joined(&series("s", "é\"\0")).unwrap();
        let length = joined.len();
        let texts = SeriesTexts::of(joined);
        let shown = [&texts.source, &texts.name, &texts.unit, &texts.kind, &texts.labels];
        let shown = shown.map(|text| std::str::from_utf8(text.data()).unwrap());
        assert_eq!(shown, ["s", "heap", "", "gauge", r#"{"node":"é\"\u0000"}"#]);
        assert_eq!(texts.len() + 4, length);
    }

    #[test]
    fn servers_do_not_take_the_place_of_the_series_of_the_host() {
        let mut counts = SeriesCounts::default();
        for (source, limit) in [("node-stats", &OTHER_LIMIT), ("host", &HOST_LIMIT)] {
            let part = limit.bytes / limit.series;
            for _ in 0..limit.series - 1 {
                assert_eq!(counts.add(source, part), Ok(()));
            }
            assert_eq!(counts.add(source, part + 1), Err(limit), "bytes");
            assert_eq!(counts.add(source, 1), Ok(()));
            assert_eq!(counts.add(source, 1), Err(limit), "number");
        }
    }

    #[test]
    fn a_journal_of_others_has_no_more_series_than_those_that_pacenote_writes() {
        let mut journal = JournalSeries::default();
        let long = "x".repeat(OTHER_LIMIT.bytes / 4);
        for number in 0..8 {
            let series = TelemetrySeries { name: long.clone(), ..series("s", "node") };
            journal.add(SeriesNumber(number), &series).unwrap();
        }
        assert_eq!(journal.texts.len(), 3);
        assert!(journal.get(SeriesNumber(2)).is_some() && journal.get(SeriesNumber(3)).is_none());
    }
}
