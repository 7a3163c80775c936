//! `nyc_taxis`: taxi rides in New York in 2015, seven in yellow cabs for each one in a green cab.
//!
//! Whatever the number of documents, rides are spread over the whole year, so that the track's ranges (a few days in
//! January; January and February; nine months; the whole year) and histograms contain documents. Total amounts from 5
//! to 15 are the most frequent; most rides at the flat rate to or from the airport (`rate_code_id` 2) cost more than
//! 60. Only rides in green cabs have a `trip_type`. All codes are from the [`lookups`].

pub(super) mod lookups;

use std::io::{self, Write};

use super::append::{decimal, number, text, time};
use super::documents::{self, Documents, Periodic};
use super::generator::{FileSpec, Generator, single_file};
use super::random::{Random, WeightTable};

const VERSION: u32 = 1;

/// 1 January 2015, in seconds since 1970.
const NEW_YEAR: u64 = 1_420_070_400;

/// Relative number of rides in each hour of the day.
const BY_HOUR: [u64; 24] =
    [39, 29, 21, 15, 11, 10, 23, 40, 49, 50, 49, 51, 54, 54, 56, 54, 47, 56, 66, 68, 63, 62, 60, 51];

/// Areas in which rides begin and end: longitude, latitude and radius in thousandths of a degree, and weight.
const AREAS: [(i64, i64, i64, u64); 12] = [
    (-73_985, 40_750, 22, 40), // midtown
    (-73_960, 40_775, 16, 22), // upper east side
    (-73_975, 40_785, 14, 12), // upper west side
    (-74_000, 40_730, 18, 24), // downtown
    (-74_012, 40_708, 10, 6),  // the tip of the island
    (-73_945, 40_810, 20, 6),  // Harlem
    (-73_955, 40_710, 25, 8),  // Williamsburg
    (-73_985, 40_680, 30, 6),  // Brooklyn
    (-73_920, 40_755, 30, 6),  // Queens
    (-73_872, 40_774, 8, 5),   // La Guardia
    (-73_785, 40_645, 10, 4),  // Kennedy
    (-73_890, 40_840, 40, 2),  // the Bronx
];
const KENNEDY: usize = 10;

/// Rides at the flat rate to or from Kennedy; random draws add more.
const TO_KENNEDY: Periodic = Periodic { period: 199, first: 37 };

/// Tables from which weighted values are drawn.
struct Rides {
    documents: u64,
    hour: WeightTable,
    area: WeightTable,
    payment: WeightTable,
    passengers: WeightTable,
    rate: WeightTable,
}

impl Rides {
    fn new(documents: u64) -> Self {
        Self {
            documents,
            hour: WeightTable::new(&BY_HOUR),
            area: WeightTable::new(&AREAS.map(|(.., weight)| weight)),
            payment: WeightTable::new(&[615, 374, 6, 3, 2]),
            passengers: WeightTable::new(&[3, 7050, 1420, 410, 200, 540, 340]),
            rate: WeightTable::new(&[9745, 205, 16, 6, 26, 2]),
        }
    }

    /// Returns a position in 10^-14 degrees, with as many digits as a 4-byte floating point number.
    fn place(area: usize, random: &mut Random) -> (i64, i64) {
        const UNIT: i64 = 100_000_000_000;
        let (lon, lat, reach, _) = AREAS[area];
        (lon * UNIT + random.around(reach * UNIT), lat * UNIT + random.around(reach * UNIT))
    }
}

/// The parts of the price of a ride in cents, and its distance in hundredths of a mile.
struct Fare {
    distance: i64,
    metered: i64,
    extra: i64,
    tax: i64,
    tip: i64,
    tolls: i64,
    improvement: i64,
}

impl Fare {
    fn new(flat: bool, hour: u64, by_card: bool, random: &mut Random) -> Self {
        let skewed = |random: &mut Random, median, spread| {
            i64::try_from(random.skewed(median, spread)).unwrap_or(i64::MAX)
        };
        let distance =
            if flat { 1750 + random.around(500) } else { skewed(random, 7 * 256 + 100, 2).min(4_900) };
        // Metered: an initial 2.50, then 50 cents for each fifth of a mile or each minute.
        let metered = if flat {
            5_200
        } else {
            250 + 50 * (distance / 20 + distance / 30 + random.around(6) + 2).max(0)
        };
        let extra = match hour {
            _ if flat => 0,
            20..=23 | 0..=5 => 50,
            16..=19 => 100,
            _ => 0,
        };
        let bits = random.below(100);
        let tolls = if (flat && bits < 60) || bits < 3 { 554 } else { 0 };
        let tip = if by_card && !bits.is_multiple_of(32) {
            (metered + extra + tolls) * (18 + random.around(9)) / 100
        } else {
            0
        };
        Self { distance, metered, extra, tax: 50, tip, tolls, improvement: 30 }
    }

    fn total(&self) -> i64 {
        self.metered + self.extra + self.tax + self.tip + self.tolls + self.improvement
    }
}

impl Documents for Rides {
    fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>) {
        let day = u64::try_from(u128::from(index) * 365 / u128::from(self.documents)).unwrap_or(0);
        let hour = self.hour.draw(random) as u64;
        let pickup = NEW_YEAR + day * 86_400 + hour * 3600 + u64::from(random.below(3600));
        let flat = TO_KENNEDY.matches(index);
        let rate = if flat { 1 } else { self.rate.draw(random) };
        let flat = rate == 1;
        let (from, to) = match (flat, self.area.draw(random), self.area.draw(random)) {
            (true, from, to) if to & 1 == 0 => (from % KENNEDY, KENNEDY),
            (true, _, to) => (KENNEDY, to % KENNEDY),
            (false, from, to) => (from, to),
        };
        let payment = if flat && TO_KENNEDY.matches(index) { 0 } else { self.payment.draw(random) };
        let cost = Fare::new(flat, hour, payment == 0, random);
        let minutes = u64::try_from(cost.distance).unwrap_or(0) / 32;
        let dropoff = pickup + minutes * 60 + 120 + u64::from(random.below(500));
        let (from, to, bits) = (Self::place(from, random), Self::place(to, random), random.next());

        let amount = |out: &mut Vec<u8>, name: &str, cents| {
            text(out, name);
            decimal(out, cents, 2);
        };
        let place = |out: &mut Vec<u8>, name: &str, (lon, lat)| {
            text(out, name);
            decimal(out, lon, 14);
            text(out, ", ");
            decimal(out, lat, 14);
        };
        amount(out, "{\"total_amount\": ", cost.total());
        amount(out, ", \"improvement_surcharge\": ", cost.improvement);
        place(out, ", \"pickup_location\": [", from);
        text(out, "], \"pickup_datetime\": \"");
        time(out, pickup, b' ');
        if bits.is_multiple_of(8) {
            text(out, if bits & 0x3f0 == 0 { "\", \"trip_type\": \"2" } else { "\", \"trip_type\": \"1" });
        }
        text(out, "\", \"dropoff_datetime\": \"");
        time(out, dropoff, b' ');
        text(out, "\", \"rate_code_id\": \"");
        number(out, rate as u64 + 1);
        amount(out, "\", \"tolls_amount\": ", cost.tolls);
        place(out, ", \"dropoff_location\": [", to);
        text(out, "], \"passenger_count\": ");
        number(out, self.passengers.draw(random) as u64);
        amount(out, ", \"fare_amount\": ", cost.metered);
        amount(out, ", \"extra\": ", cost.extra);
        amount(out, ", \"trip_distance\": ", cost.distance);
        amount(out, ", \"tip_amount\": ", cost.tip);
        text(out, ", \"store_and_fwd_flag\": \"");
        text(out, if (bits >> 16).is_multiple_of(128) { "Y" } else { "N" });
        text(out, "\", \"payment_type\": \"");
        number(out, payment as u64 + 1);
        amount(out, "\", \"mta_tax\": ", cost.tax);
        text(out, ", \"vendor_id\": \"");
        text(out, if (bits >> 32) % 100 < 47 { "1\"}\n" } else { "2\"}\n" });
    }
}

/// Generates the corpus.
pub(super) struct NycTaxis;

impl Generator for NycTaxis {
    fn name(&self) -> &'static str {
        "nyc_taxis"
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        single_file("documents.json", documents)
    }

    fn write(&self, file: &FileSpec, seed: u64, threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        let rides = Rides::new(file.documents);
        documents::write(&rides, file.documents, documents::streams(seed, VERSION, file), threads, sink)
    }
}
