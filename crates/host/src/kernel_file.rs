//! A file of the kernel that is kept open, with the numbers of its series.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use pacenote_record::{SeriesNumber, TelemetrySeries};

use crate::reading::{Decrease, Field, KernelUnits, Parser, Reading};

/// The source of all series of this crate.
pub const HOST: &str = "host";

/// Largest number of bytes of a file that are read: hosts with many CPUs and interfaces have 1 MB.
const MAX_BYTES: usize = 16 << 20;

/// Number of bytes that are read at once.
const CHUNK_BYTES: usize = 16 << 10;

/// The number of values that 32 bits can count.
const WRAP: f64 = (1_u64 << 32) as f64;

/// The largest growth between two readings that a counter of 32 bits may have when it begins again: more milliseconds
/// or packets are not counted in seconds, so that it has been reset.
const MAX_WRAPPED_GROWTH: f64 = (1_u64 << 28) as f64;

/// By how much a corrected time may become smaller, in milliseconds; after a larger step, it counts from 0 again.
const MAX_CORRECTION_MS: f64 = 10_000.0;

/// Largest number of series of a file: those of several hundred CPUs or devices. Interfaces of containers that come and
/// go would have ever more.
const MAX_SERIES: usize = 1 << 14;

/// Values of one instant, by series.
pub type SweepValues = Vec<(SeriesNumber, Option<f64>)>;

/// Returns the number of a series.
pub type Number<'a> = &'a dyn Fn(&TelemetrySeries) -> SeriesNumber;

/// How often a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// In each sweep.
    EachSweep,
    /// In every fifth sweep: a file that costs the kernel much, or that rarely changes.
    EveryFifth,
}

impl Pace {
    /// Returns whether a file is read in this sweep, counted from 0.
    pub fn is_due(self, sweep: u64) -> bool {
        self == Self::EachSweep || sweep.is_multiple_of(5)
    }
}

/// A file of the kernel that is kept open.
#[derive(Debug)]
pub struct KernelFile {
    /// How often it is read.
    pub pace: Pace,
    /// Its name for users; empty unless it was given one.
    name: String,
    path: PathBuf,
    parse: Parser,
    /// Whether it is opened again after it could not be read.
    is_reopened: bool,
    /// `None` while the file cannot be read.
    file: Option<File>,
    series: SeriesNumbers,
}

impl KernelFile {
    /// Opens a file whose values have these labels.
    ///
    /// # Errors
    ///
    /// An error if the file does not exist or may not be read.
    pub fn open(
        path: PathBuf,
        (parse, pace): (Parser, Pace),
        labels: BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let file = File::open(&path)?;
        // Some files can be opened, but not read, as those of a feature that is switched off.
        read_all(&file, &mut Vec::new())?;
        let series = SeriesNumbers::new(labels);
        Ok(Self { pace, name: String::new(), path, parse, is_reopened: true, file: Some(file), series })
    }

    /// Returns the file with a name for users.
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Returns its name for users.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the file as that of a process: after its end, the same path may be that of another process.
    pub fn of_process(self) -> Self {
        Self { is_reopened: false, ..self }
    }

    /// Returns whether it had more values than can be stored.
    pub fn has_too_many_values(&self) -> bool {
        self.series.has_left_out
    }

    /// Reads the file into `buffer`, and adds its values to `values`; gaps if it cannot be read any more, as when its
    /// process has ended.
    pub fn read(
        &mut self,
        buffer: &mut Vec<u8>,
        units: KernelUnits,
        number: Number<'_>,
        values: &mut SweepValues,
    ) {
        if self.file.is_none() && self.is_reopened {
            self.file = File::open(&self.path).ok();
        }
        let read = self.file.as_ref().map(|file| read_all(file, buffer));
        let Some(Ok(length)) = read else {
            self.file = None;
            self.series.add_gaps(values);
            return;
        };
        let (series, parse) = (&mut self.series, self.parse);
        series.begin();
        let text = String::from_utf8_lossy(&buffer[..length]);
        parse(&text, units, &mut |reading| values.extend(series.value(&reading, number)));
    }
}

/// Reads a whole file from its beginning, at most [`MAX_BYTES`], and returns its length. The buffer never shrinks.
///
/// # Errors
///
/// An error if the file cannot be read.
fn read_all(file: &File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        if buffer.len() < length + CHUNK_BYTES {
            buffer.resize(length + CHUNK_BYTES, 0);
        }
        let read = match file.read_at(&mut buffer[length..], length as u64) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        length += read;
        if read == 0 || length >= MAX_BYTES {
            return Ok(length);
        }
    }
}

/// The series of a file, in the order in which they were found.
#[derive(Debug)]
pub struct SeriesNumbers {
    labels: BTreeMap<String, String>,
    known: Vec<KnownSeries>,
    /// Where the next value of a file is expected that has not changed.
    next: usize,
    /// Whether values were left out because there are too many series.
    has_left_out: bool,
}

#[derive(Debug)]
struct KnownSeries {
    field: &'static Field,
    label: String,
    number: SeriesNumber,
    last: f64,
    /// What is added because the counter of the kernel has begun again after 2³².
    wrapped: f64,
}

impl SeriesNumbers {
    /// Creates the series of values with these labels.
    pub fn new(labels: BTreeMap<String, String>) -> Self {
        Self { labels, known: Vec::new(), next: 0, has_left_out: false }
    }

    /// Begins a new reading of the file.
    pub fn begin(&mut self) {
        self.next = 0;
    }

    /// Returns a value with the number of its series, without the wraps of a counter; `None` if there are too many
    /// series.
    pub fn value(
        &mut self,
        reading: &Reading<'_>,
        number: Number<'_>,
    ) -> Option<(SeriesNumber, Option<f64>)> {
        let label = reading.label.map_or("", |(_, value)| value);
        let is_it = |known: &KnownSeries| std::ptr::eq(known.field, reading.field) && known.label == label;
        let position = if self.known.get(self.next).is_some_and(is_it) {
            self.next
        } else if let Some(position) = self.known.iter().position(is_it) {
            position
        } else if self.known.len() < MAX_SERIES {
            self.add(reading, number)
        } else {
            self.has_left_out = true;
            return None;
        };
        self.next = position + 1;
        let known = &mut self.known[position];
        Some((known.number, Some(known.advance(reading.value))))
    }

    fn add(&mut self, reading: &Reading<'_>, number: Number<'_>) -> usize {
        let mut labels = self.labels.clone();
        let own = reading.label.map(|(name, value)| (name.to_owned(), value.to_owned()));
        labels.extend(own);
        let field = reading.field;
        let series = TelemetrySeries {
            source: HOST.to_owned(),
            name: field.name.to_owned(),
            unit: field.unit.to_owned(),
            kind: field.kind,
            labels,
        };
        let label = reading.label.map_or_else(String::new, |(_, value)| value.to_owned());
        self.known.push(KnownSeries { field, label, number: number(&series), last: 0.0, wrapped: 0.0 });
        self.known.len() - 1
    }

    /// Adds a gap of each series.
    pub fn add_gaps(&self, values: &mut SweepValues) {
        values.extend(self.known.iter().map(|known| (known.number, None)));
    }
}

impl KnownSeries {
    /// Returns the value to store for one of the kernel.
    fn advance(&mut self, value: f64) -> f64 {
        let step_back = self.last - value;
        if step_back > 0.0 {
            match self.field.decrease {
                Decrease::Wrap if self.last < WRAP && WRAP - step_back < MAX_WRAPPED_GROWTH => {
                    self.wrapped += WRAP;
                }
                Decrease::Correction if step_back <= MAX_CORRECTION_MS => return self.last,
                _ => self.wrapped = 0.0,
            }
        }
        self.last = value;
        value + self.wrapped
    }
}

/// Returns why a file of the kernel is not available, without its path.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "the kernel does not have it".to_owned(),
        ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;

    use super::*;
    use crate::parse::disks::diskstats;
    use crate::reading::tests::UNITS;

    /// Numbers series in the order in which they are found, and keeps them.
    #[derive(Default)]
    struct Numbered(RefCell<Vec<TelemetrySeries>>);

    impl Numbered {
        fn number(&self, series: &TelemetrySeries) -> SeriesNumber {
            let mut all = self.0.borrow_mut();
            all.push(series.clone());
            SeriesNumber(u32::try_from(all.len() - 1).unwrap())
        }
    }

    fn line(device: &str, reads: u64, read_ms: u64) -> String {
        format!("254 0 {device} {reads} 0 8 {read_ms} 1 0 0 0 0 0 0\n")
    }

    struct Disks {
        folder: tempfile::TempDir,
        source: KernelFile,
        numbered: Numbered,
    }

    impl Disks {
        fn new(text: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("diskstats");
            fs::write(&path, text).unwrap();
            let labels = BTreeMap::from([("process".into(), "driver".into())]);
            let source = KernelFile::open(path, (diskstats, Pace::EachSweep), labels).unwrap();
            Self { folder, source, numbered: Numbered::default() }
        }

        /// Returns the values of some series of the next sweep, as `DEVICE.NAME VALUE`.
        fn read(&mut self, names: &[&str]) -> Vec<String> {
            let mut values = Vec::new();
            let number = |series: &TelemetrySeries| self.numbered.number(series);
            self.source.read(&mut Vec::new(), UNITS, &number, &mut values);
            let series = self.numbered.0.borrow();
            let of_series = values.into_iter().map(|(number, value)| (&series[number.0 as usize], value));
            let wanted = of_series.filter(|(series, _)| names.contains(&series.name.as_str()));
            wanted
                .map(|(series, value)| format!("{}.{} {value:?}", series.labels["device"], series.name))
                .collect()
        }

        fn write(&self, text: &str) {
            fs::write(self.folder.path().join("diskstats"), text).unwrap();
        }
    }

    #[test]
    fn devices_may_come_and_go() {
        let mut disks = Disks::new(&line("vda", 1, 0));
        assert_eq!(disks.read(&["disk.reads"]), ["vda.disk.reads Some(1.0)"]);
        disks.write(&(line("nvme0n1", 5, 0) + &line("vda", 2, 0)));
        assert_eq!(disks.read(&["disk.reads"]), ["nvme0n1.disk.reads Some(5.0)", "vda.disk.reads Some(2.0)"]);
        disks.write(&line("nvme0n1", 6, 0));
        assert_eq!(disks.read(&["disk.reads"]), ["nvme0n1.disk.reads Some(6.0)"]);
        // Plugged in again, it counts from 0, which is not a wrap.
        disks.write(&line("vda", 1, 0));
        assert_eq!(disks.read(&["disk.reads"]), ["vda.disk.reads Some(1.0)"]);
        let series = disks.numbered.0.borrow();
        assert_eq!(series.len(), 22);
        assert_eq!((series[0].source.as_str(), series[0].labels["process"].as_str()), ("host", "driver"));
    }

    #[test]
    fn counters_that_become_smaller_have_wrapped_were_corrected_or_begin_again() {
        static RESET: Field = Field::counter("", "a");
        static WRAP_32: Field = Field::counter("", "b").counted_in_32_bits();
        static CORRECTED: Field = Field::counter("", "c").corrected();
        // Values of the kernel, and those that are stored.
        type Case = (&'static Field, &'static [f64], &'static [f64]);
        let cases: [Case; 6] = [
            (&RESET, &[9.0, 8.0, 9.0], &[9.0, 8.0, 9.0]),
            (
                &WRAP_32,
                &[4_294_967_000.0, 704.0, 1_704.0],
                &[4_294_967_000.0, 4_294_968_000.0, 4_294_969_000.0],
            ),
            // After a wrap, a device may still count from 0 again.
            (&WRAP_32, &[4_294_967_000.0, 704.0, 4.0], &[4_294_967_000.0, 4_294_968_000.0, 4.0]),
            // A wrap would be a growth by 35 days of milliseconds.
            (&WRAP_32, &[3_000_000_000.0, 5.0, 6.0], &[3_000_000_000.0, 5.0, 6.0]),
            (&CORRECTED, &[500.0, 490.0, 495.0, 510.0], &[500.0, 500.0, 500.0, 510.0]),
            (&CORRECTED, &[50_000.0, 20.0, 30.0], &[50_000.0, 20.0, 30.0]),
        ];
        for (field, values, expected) in cases {
            let (mut series, mut stored) = (SeriesNumbers::new(BTreeMap::new()), Vec::new());
            for value in values {
                series.begin();
                let number = |_: &TelemetrySeries| SeriesNumber(0);
                stored.push(series.value(&field.reading(None, *value), &number).unwrap().1.unwrap());
            }
            assert_eq!(stored, expected, "{values:?}");
        }
    }

    #[test]
    fn devices_that_come_and_go_do_not_have_ever_more_series() {
        static FIELD: Field = Field::counter("", "a");
        let mut series = SeriesNumbers::new(BTreeMap::new());
        let number = |_: &TelemetrySeries| SeriesNumber(7);
        for device in 0..MAX_SERIES {
            series.add(&FIELD.reading(Some(("device", &device.to_string())), 1.0), &number);
        }
        let mut value = |device| series.value(&FIELD.reading(Some(("device", device)), 1.0), &number);
        assert_eq!(value("one more"), None);
        assert_eq!(value("5"), Some((SeriesNumber(7), Some(1.0))));
        assert!(series.has_left_out);
    }

    #[test]
    fn a_process_with_the_number_of_one_that_has_ended_is_not_read() {
        let mut disks = Disks::new(&line("vda", 1, 0));
        let folder = disks.folder.path().join("diskstats");
        disks.source = KernelFile::open(folder, (diskstats, Pace::EachSweep), BTreeMap::new()).unwrap();
        disks.source = disks.source.of_process();
        disks.read(&[]);
        disks.source.file = None;
        assert_eq!(disks.read(&["disk.reads"]), ["vda.disk.reads None"]);
    }

    #[test]
    fn a_file_that_cannot_be_read_any_more_has_gaps() {
        let mut disks = Disks::new(&line("vda", 1, 0));
        disks.read(&[]);
        disks.source.file = None;
        fs::remove_file(disks.folder.path().join("diskstats")).unwrap();
        assert_eq!(disks.read(&["disk.reads"]), ["vda.disk.reads None"]);
        disks.write(&line("vda", 3, 0));
        assert_eq!(disks.read(&["disk.reads"]), ["vda.disk.reads Some(3.0)"]);
        let open = |path: PathBuf| KernelFile::open(path, (diskstats, Pace::EveryFifth), BTreeMap::new());
        let missing = open(disks.folder.path().join("none")).unwrap_err();
        assert_eq!(reason(&missing), "the kernel does not have it");
        assert!(open(disks.folder.path().to_owned()).is_err());
        let due: Vec<u64> = (0..12).filter(|sweep| Pace::EveryFifth.is_due(*sweep)).collect();
        assert_eq!(due, [0, 5, 10]);
    }
}
