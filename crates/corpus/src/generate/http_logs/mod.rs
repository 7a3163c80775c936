//! `http_logs`: one document per request to the web site of the 1998 football World Cup.
//!
//! There are seven files for seven time spans of 1998, in the proportions of the public corpus. A corpus of any useful
//! size contains what the operations of the track search for: the request `GET / HTTP/1.0`, terms that begin with `GET
//! image`, many documents with status 200 on 1 May, exactly 20 with status 400 on that day (the track asserts that
//! number), and times after 10 June.
//!
//! Where the track asserts exactly 10,000 hits, it means "10,000 or more". These assertions need more documents, in all
//! seven files together: about 11,000 for the range from 15 May on, about 700,000 for the request `GET / HTTP/1.0`, and
//! about 3,700,000 for status 200 on 1 May.
//!
//! `http_logs_unparsed` has the same requests, each as one line of a web server log. A file whose name contains
//! `unparsed` also has this format (`documents-181998.unparsed.json`).

mod requests;
mod vocabulary;

use std::io::{self, Write};
use std::ops::Range;

use super::append::{number, text, time};
use super::daily_load::{HourOfLoad, hours};
use super::generator::{FileSpec, Generator};
use super::random::{Random, byte_of, stream_of};
use super::split::split;
use requests::Endings;

const VERSION: u32 = 1;

/// For each file, the week number in its name, the number of documents in the public corpus, and its start and end
/// (1998, UTC). The first file covers Thursday 30 April 19:30:17, when the logs begin, to Sunday; the next five cover
/// one week each, from Monday; the last covers 8 June to 26 July.
const FILES: [(u32, u64, Range<u64>); 7] = [
    (18, 2_708_746, 893_964_617..894_240_000),
    (19, 9_697_882, 894_240_000..894_844_800),
    (20, 13_053_463, 894_844_800..895_449_600),
    (21, 17_647_279, 895_449_600..896_054_400),
    (22, 10_716_760, 896_054_400..896_659_200),
    (23, 11_961_342, 896_659_200..897_264_000),
    (24, 181_463_624, 897_264_000..901_497_600),
];

/// Relative load in each hour of the day, UTC. It peaks in the afternoon and evening in Europe, which is morning and
/// midday in America.
const BY_HOUR: [u64; 24] =
    [52, 46, 42, 38, 34, 32, 34, 42, 54, 64, 70, 74, 80, 90, 100, 108, 112, 112, 108, 102, 94, 84, 72, 60];

/// 1 May 1998, UTC: the day that the operations `200s-in-range` and `400s-in-range` search.
const ANCHOR_DAY: Range<u64> = 893_980_800..894_067_200;

/// Number of documents with status 400 on that day, as in the public corpus.
const ANCHORS: u64 = 20;

/// Minimum number of documents on that day for each one with status 400, which keeps these rare in a tiny corpus.
const ANCHOR_SPACING: u64 = 12;

/// Share of documents with status 400 on all other days, in 1/65,536.
const BAD_ODDS: u64 = 3;

/// Size of a write to the sink, in bytes.
const PIECE: usize = 256 * 1024;

/// Maximum length of a line in bytes, which is reserved so that the buffer never grows.
const LONGEST: usize = 512;

/// Generates `http_logs` or `http_logs_unparsed`.
pub(super) struct HttpLogs {
    /// Whether lines are unparsed.
    pub(super) unparsed: bool,
}

/// Part of the name of a file with unparsed lines, before its extension.
const UNPARSED: &str = ".unparsed";

impl Generator for HttpLogs {
    fn name(&self) -> &'static str {
        if self.unparsed { "http_logs_unparsed" } else { "http_logs" }
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        let shares = split(documents, &FILES.each_ref().map(|(_, share, _)| *share));
        let kind = if self.unparsed { UNPARSED } else { "" };
        let names = FILES.iter().map(|(week, ..)| format!("documents-{week}1998{kind}.json"));
        names.zip(shares).map(|(name, documents)| FileSpec { name, documents }).collect()
    }

    fn write(&self, file: &FileSpec, seed: u64, _threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        if file.documents == 0 {
            return Ok(());
        }
        let (stream, span) = stretch(&file.name);
        let hours = hours(span.start, span.end, &BY_HOUR, file.documents);
        let unparsed = self.unparsed || file.name.contains(UNPARSED);
        let mut writer = Lines::new(seed, stream, unparsed, sink);
        let mut anchors = Anchors::new(&hours);
        for hour in hours {
            writer.hour(hour, &mut anchors)?;
        }
        writer.sink.write_all(&writer.buffer)
    }
}

/// Returns the random number stream and the time span of a file: those of the week in its name, or otherwise a stream
/// for the name and the whole time span.
fn stretch(name: &str) -> (u64, Range<u64>) {
    let of_week = FILES.iter().find(|(week, ..)| name.starts_with(&format!("documents-{week}1998")));
    match of_week {
        Some((week, _, span)) => (u64::from(*week), span.clone()),
        None => (stream_of(&name.replace(UNPARSED, "")), FILES[0].2.start..FILES[FILES.len() - 1].2.end),
    }
}

/// Selects the documents with status 400 on the anchor day, spread evenly over the day.
struct Anchors {
    /// Number of documents on that day before the current hour, and on the whole day.
    passed: u64,
    day: u64,
    count: u64,
    /// Index of the next selected document within the day.
    next: u64,
    placed: u64,
}

impl Anchors {
    fn new(hours: &[HourOfLoad]) -> Self {
        let day =
            hours.iter().filter(|hour| ANCHOR_DAY.contains(&hour.start)).map(|hour| hour.documents).sum();
        let mut anchors =
            Self { passed: 0, day, count: ANCHORS.min(day / ANCHOR_SPACING), next: 0, placed: 0 };
        anchors.place();
        anchors
    }

    fn place(&mut self) {
        let at =
            |day: u64| u128::from(day) * u128::from(2 * self.placed + 1) / u128::from(2 * self.count.max(1));
        let open = self.placed < self.count;
        self.next = if open { u64::try_from(at(self.day)).unwrap_or(u64::MAX) } else { u64::MAX };
    }

    /// Returns whether document `index` of the current hour is selected. Must be called with ascending indices.
    #[inline]
    fn take(&mut self, index: u64) -> bool {
        let hit = self.passed + index == self.next;
        if hit {
            self.placed += 1;
            self.place();
        }
        hit
    }
}

/// Writes lines.
struct Lines<'a> {
    sink: &'a mut dyn Write,
    buffer: Vec<u8>,
    random: Random,
    usual: Endings,
    bad: Endings,
    octets: Vec<Octet>,
    popularity: [u8; 256],
    spelling: Spelling,
}

impl<'a> Lines<'a> {
    fn new(seed: u64, week: u64, unparsed: bool, sink: &'a mut dyn Write) -> Self {
        let stream = |file: u64, purpose: u64| Random::new(seed, &[u64::from(VERSION), file, purpose]);
        Self {
            sink,
            buffer: Vec::with_capacity(PIECE + LONGEST),
            random: stream(week, 0),
            usual: Endings::usual(unparsed, &mut stream(0, 1), &mut stream(week, 2)),
            bad: Endings::bad(unparsed),
            octets: (0..=255).map(Octet::new).collect(),
            popularity: popularity(),
            spelling: Spelling { unparsed, time: 0, before: Vec::new(), after: Vec::new() },
        }
    }

    /// Writes all documents of one hour.
    fn hour(&mut self, hour: HourOfLoad, anchors: &mut Anchors) -> io::Result<()> {
        let anchor_day = ANCHOR_DAY.contains(&hour.start);
        for index in 0..hour.documents {
            let bits = self.random.next();
            let time = hour.time(index, bits & 0xffff);
            if time != self.spelling.time {
                self.spelling.set(time);
            }
            self.buffer.extend_from_slice(&self.spelling.before);
            self.client(bits >> 16);
            self.buffer.extend_from_slice(&self.spelling.after);
            let bad = if anchor_day { anchors.take(index) } else { bits >> 48 < BAD_ODDS };
            let endings = if bad { &self.bad } else { &self.usual };
            self.buffer.extend_from_slice(endings.pick(self.random.next()));
            if self.buffer.len() >= PIECE {
                self.sink.write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        anchors.passed += if anchor_day { hour.documents } else { 0 };
        Ok(())
    }

    /// Appends the address of a client. As in the public corpus, a client is a number whose bytes are the octets,
    /// lowest first. Uses the low 29 bits: 8 select the popularity class, 21 the client within it.
    #[inline]
    fn client(&mut self, bits: u64) {
        let class = 1_u64 << self.popularity[usize::from(byte_of(bits, 0))];
        let rank = class | ((bits >> 8) & (class - 1));
        // Multiplying by an odd factor permutes the numbers, which spreads popular clients over the address space.
        let client = rank.wrapping_mul(0x9e37_79b1) & 0x1f_ffff;
        for index in 0..3 {
            let octet = self.octets[usize::from(byte_of(client, index))];
            self.buffer.extend_from_slice(&octet.text[..octet.len]);
        }
        self.buffer.push(b'0');
    }
}

/// The text before the client's address, and the text between the address and the rest of the line, for one second.
struct Spelling {
    unparsed: bool,
    time: u64,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Spelling {
    fn set(&mut self, seconds: u64) {
        self.time = seconds;
        self.before.clear();
        self.after.clear();
        if self.unparsed {
            text(&mut self.before, "{\"message\" : \"");
            text(&mut self.after, " - - [");
            // The authors of the track were in a time zone five hours behind UTC.
            time(&mut self.after, seconds - 5 * 3600, b'T');
            text(&mut self.after, "-05:00]");
        } else {
            text(&mut self.before, "{\"@timestamp\": ");
            number(&mut self.before, seconds);
            text(&mut self.before, ", \"clientip\": \"");
        }
    }
}

/// An octet of an address, followed by a dot, as text.
#[derive(Debug, Clone, Copy)]
struct Octet {
    text: [u8; 4],
    len: usize,
}

impl Octet {
    fn new(octet: u8) -> Self {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(octet).as_bytes();
        let mut text = [b'.'; 4];
        text[..digits.len()].copy_from_slice(digits);
        Self { text, len: digits.len() + 1 }
    }
}

/// Maps each of 256 draws to a popularity class. Class e contains the clients of rank 2^e to 2^(e+1) - 1, up to 2^21 -
/// 1, which is about the number of clients in the public corpus.
///
/// Class e has the weight 2^(e/4) (19/16 times that of the previous class), so each of its clients has 2^(-3e/4). This
/// approximates Zipf's law with the exponent 3/4. The first client makes one request in 256, as a large proxy did.
fn popularity() -> [u8; 256] {
    let mut weights = [1 << 16; 21];
    for class in 1..21 {
        weights[class] = weights[class - 1] * 19 / 16;
    }
    let total: u64 = weights.iter().sum();
    let mut draws = [0; 256];
    let (mut class, mut passed) = (0_u8, weights[0]);
    for (draw, hour) in (0_u64..).zip(&mut draws) {
        // The last class whose range of weights begins at or before this draw; the first draw always belongs to class
        // 0.
        while draw > 0 && passed * 256 <= draw * total {
            class += 1;
            passed += weights[usize::from(class)];
        }
        *hour = class;
    }
    draws
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_popularity_class_is_drawn_and_later_ones_more_often() {
        let mut counts = [0; 21];
        for class in popularity() {
            counts[usize::from(class)] += 1;
        }
        assert_eq!(counts.iter().sum::<usize>(), 256);
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
        assert!(counts[20] > 8 * counts[0], "{counts:?}");
    }

    #[test]
    fn time_spans_are_contiguous_and_end_on_whole_hours() {
        assert!(FILES.windows(2).all(|pair| pair[0].2.end == pair[1].2.start));
        assert!(FILES.iter().all(|(.., span)| span.end % 86_400 == 0));
        assert_eq!(FILES.iter().map(|(_, documents, _)| documents).sum::<u64>(), 247_249_096);
    }

    #[test]
    fn status_400_is_rare_in_a_tiny_corpus() {
        for (documents, expected) in [(0, 0), (11, 0), (12, 1), (120, 10), (240, 20), (1_000_000, 20)] {
            let hour = HourOfLoad { start: ANCHOR_DAY.start, seconds: 3600, documents };
            let mut anchors = Anchors::new(&[hour]);
            assert_eq!((0..documents).filter(|index| anchors.take(*index)).count(), expected, "{documents}");
        }
    }
}
