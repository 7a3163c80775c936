//! `noaa` and `noaa-sql` (the corpus of the track `sql`): daily weather at stations all over the world, 2014 to 2016.
//!
//! With 1,000 documents or more, the operations of the tracks find
//!
//! - stations in the United States (about half of all), in Japan (few), Australia, Canada, Sweden and Russia, and in
//!   the west of America (geohashes 9 and c);
//! - the station names MARSHALL, NEWPORT, JACKSON, FAIRFIELD and HILLSBORO;
//! - elevations above 1000 m, above 1600 m (thousands of names, for the pages of SQL cursors) and above 2800 m, where
//!   some names begin with SA and one station has long names when they are concatenated;
//! - `TRANGE` from 0 to 30 and from -20 to -10, the latter also in Japan;
//! - days from 31 December 2015 on;
//! - occasionally a document with all the fields that `deep-terms` nests.

mod stations;
mod vocabulary;

use std::io::{self, Write};

use super::append::{date, date_of, day_of, decimal, number, text};
use super::documents::{self, Documents, Periodic};
use super::generator::{FileSpec, Generator, single_file};
use super::random::Random;
use stations::{Station, StationKind, Stations};
use vocabulary::ANCHOR_NAMES;

const VERSION: u32 = 1;

/// Number of days in the three years.
const DAYS: u32 = 1096;

/// Documents from stations with a name that queries search for.
const NAMED: Periodic = Periodic { period: 199, first: 7 };
/// Documents from high stations with a name that begins with SA.
const HIGH: Periodic = Periodic { period: 400, first: 9 };
/// Documents about cold days in Japan.
const COLD: Periodic = Periodic { period: 499, first: 3 };
/// Documents with all the fields of `deep-terms`.
const DEEP: Periodic = Periodic { period: 997, first: 13 };

/// Seasonal deviation in each month in the northern hemisphere, in thousandths.
const SEASON: [i64; 12] = [-950, -870, -520, 0, 480, 840, 980, 880, 520, 30, -470, -830];

struct Weather {
    stations: Stations,
    first_day: u64,
}

/// Returns the highest and lowest temperature of a day, in tenths of a degree.
fn temperatures(station: &Station, month: u64, random: &mut Random) -> (i64, i64) {
    let from_equator = station.latitude.abs();
    let mean = 300 - from_equator * 9 / 2 - station.elevation / 150;
    let season = SEASON[usize::try_from(month - 1).unwrap_or(0)] * station.latitude.signum();
    let middle = mean + season * from_equator * 26 / 10_000 + random.around(130);
    let half = 20 + i64::from(random.below(70));
    (middle + half, middle - half)
}

/// Appends the measurements to a document.
struct Measures<'a> {
    out: &'a mut Vec<u8>,
}

impl Measures<'_> {
    fn name(&mut self, name: &str) {
        text(self.out, ", \"");
        text(self.out, name);
        text(self.out, "\": ");
    }

    fn tenths(&mut self, name: &str, tenths: i64) {
        self.name(name);
        decimal(self.out, tenths, 1);
    }

    fn word(&mut self, name: &str, value: u64) {
        self.name(name);
        self.out.push(b'"');
        number(self.out, value);
        self.out.push(b'"');
    }

    fn range(&mut self, name: &str, low: i64, high: i64) {
        self.name(name);
        text(self.out, "{\"gte\": ");
        decimal(self.out, low, 1);
        text(self.out, ", \"lte\": ");
        decimal(self.out, high, 1);
        self.out.push(b'}');
    }

    fn high_and_low(&mut self, (high, low): (i64, i64)) {
        self.tenths("TMAX", high);
        self.tenths("TMIN", low);
        self.range("TRANGE", low, high);
    }

    fn rain(&mut self, random: &mut Random) {
        let wet = random.permille(280);
        let tenths = if wet { i64::try_from(random.skewed(5 * 256, 2)).unwrap_or(0) } else { 0 };
        self.tenths("PRCP", tenths);
    }

    fn snow(&mut self, cold: bool, random: &mut Random) {
        let depth = if cold { random.within(0..300) } else { 0 };
        self.word("SNOW", depth.saturating_sub(200));
        if random.permille(600) {
            self.word("SNWD", depth);
        }
    }

    fn wind(&mut self, random: &mut Random) {
        let mean = 8 + i64::from(random.below(80));
        self.tenths("AWND", mean);
        self.word("WDF2", random.within(1..37) * 10);
        self.tenths("WSF2", mean * 2 + 20);
        if random.permille(800) {
            self.word("WDF5", random.within(1..37) * 10);
            self.tenths("WSF5", mean * 3 + 25);
        }
        if random.permille(150) {
            self.word(random.word(&["WT01", "WT02", "WT03", "WT06", "WT08", "WT09"]), 1);
        }
    }

    /// Appends the fields of a station that was not read for some days, and the other fields of `deep-terms`.
    fn deep(&mut self, (high, low): (i64, i64), random: &mut Random) {
        self.word("AWDR", random.within(1..37) * 10);
        self.tenths("AWND", 31);
        for name in ["DAPR", "DASF", "DATN", "DATX", "DWPR"] {
            self.word(name, random.within(2..9));
        }
        self.tenths("EVAP", 20 + i64::from(random.below(60)));
        self.tenths("MDPR", i64::from(random.below(400)));
        self.word("MDSF", random.within(0..50));
        self.tenths("MDTN", low);
        self.tenths("MDTX", high);
        self.range("MDTRANGE", low, high);
        self.tenths("MNPN", low + 20);
        self.tenths("MXPN", high + 20);
    }

    fn of(&mut self, kind: StationKind, both: (i64, i64), random: &mut Random) {
        let (high, low) = both;
        let (mean, cold) = (i64::midpoint(high, low), high < 20);
        match kind {
            StationKind::Rain => {
                self.rain(random);
                self.snow(cold, random);
                if cold && random.permille(200) {
                    self.tenths("WESD", i64::from(random.below(300)));
                }
            }
            StationKind::Observer => {
                self.rain(random);
                if random.permille(720) {
                    self.high_and_low(both);
                    self.tenths("TOBS", mean);
                }
                if random.permille(650) {
                    self.snow(cold, random);
                }
                if random.permille(20) {
                    self.tenths("EVAP", 20 + i64::from(random.below(60)));
                    self.word("WDMV", random.within(10..200));
                }
            }
            StationKind::Airport => {
                self.wind(random);
                self.tenths("TAVG", mean);
                self.high_and_low(both);
                self.rain(random);
                self.snow(cold, random);
            }
            StationKind::Mountain => {
                self.tenths("TAVG", mean);
                self.high_and_low(both);
                self.tenths("TOBS", low + 10);
                self.rain(random);
                self.word("SNWD", if cold { random.within(0..2500) } else { 0 });
                self.tenths("WESD", i64::from(random.below(9000)));
            }
            StationKind::World => {
                self.tenths("TAVG", mean);
                match random.below(4) {
                    0 | 1 => self.high_and_low(both),
                    2 => self.tenths("TMIN", low),
                    _ => {}
                }
                if random.permille(600) {
                    self.rain(random);
                }
            }
        }
    }
}

impl Documents for Weather {
    fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>) {
        let cold = COLD.matches(index);
        let station = if cold {
            self.stations.japanese(random)
        } else if let Some(turn) = NAMED.occurrence(index) {
            self.stations.named(usize::try_from(turn).unwrap_or(0) % ANCHOR_NAMES.len(), random)
        } else if HIGH.matches(index) {
            self.stations.high(random)
        } else {
            self.stations.any(random)
        };
        let winter = u64::from(random.below(59)) + [0, 365, 730][random.below(3) as usize];
        let day = self.first_day + if cold { winter } else { random.within(0..DAYS) };
        let mut both = temperatures(station, date_of(day).1, random);
        if cold {
            both = (-60 - i64::from(random.below(30)), -120 - i64::from(random.below(60)));
        }
        text(out, "{\"date\": \"");
        date(out, day);
        text(out, "T00:00:00\", \"station\": ");
        out.extend_from_slice(&station.text);
        let mut measures = Measures { out };
        if DEEP.matches(index) {
            measures.deep(both, random);
        } else {
            measures.of(if cold { StationKind::Airport } else { station.kind }, both, random);
        }
        text(out, "}\n");
    }
}

/// Generates `noaa` or `noaa-sql`.
pub(super) struct Noaa {
    /// The name of the corpus.
    pub(super) name: &'static str,
}

impl Generator for Noaa {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        single_file("documents.json", documents)
    }

    fn write(&self, file: &FileSpec, seed: u64, threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        let weather = Weather { stations: Stations::new(), first_day: day_of("2014-01-01") };
        documents::write(&weather, file.documents, documents::streams(seed, VERSION, file), threads, sink)
    }
}
