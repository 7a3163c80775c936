//! `geopoint` and `geopointshape`: points distributed like the world's population, in two formats.
//!
//! With 1,000 documents or more, the operations of the tracks find points
//!
//! - inside and outside the polygon and the box of longitude -0.1 to 15 and latitude 48 to 61;
//! - in each of the 100 km rings around (7, 55), up to 400 km;
//! - between 73204.77 m and 73204.78 m from (7, 55), for `distanceFilterEQ` (its ES|QL variant compares the distance
//!   exactly and finds none);
//! - in the geohash `u0`, the tile 6/32/22 and the hexagon 811fbffffffffff (Paris is in all three), and in the box
//!   around Paris.

use std::io::{self, Write};

use super::append::{decimal, text};
use super::documents::{self, Documents, Periodic};
use super::generator::{FileSpec, Generator, single_file};
use super::random::{Random, WeightTable};

const VERSION: u32 = 1;

/// Longitude and latitude in 10^-7 degrees, the resolution of `OpenStreetMap`.
type Point = (i64, i64);

/// One degree in that unit.
const DEGREE: i64 = 10_000_000;

/// Approximate population centres: longitude, latitude and radius in hundredths of a degree, weight.
const PLACES: [(i64, i64, i64, u64); 72] = [
    (235, 4885, 30, 42),     // Paris
    (250, 4700, 500, 120),   // France
    (480, 4575, 120, 20),    // Lyon
    (-10, 5150, 60, 35),     // London
    (-150, 5280, 350, 70),   // England
    (-400, 5640, 250, 18),   // Scotland
    (-740, 5330, 250, 14),   // Ireland
    (490, 5230, 80, 40),     // Holland
    (560, 5250, 180, 40),    // Netherlands
    (440, 5080, 120, 25),    // Belgium
    (700, 5130, 80, 45),     // Ruhr
    (1000, 5355, 60, 25),    // Hamburg
    (840, 5390, 120, 18),    // Frisia
    (950, 5200, 250, 60),    // Germany, north
    (1150, 4850, 250, 60),   // Germany, south
    (1340, 5250, 60, 30),    // Berlin
    (880, 5470, 50, 12),     // North Frisia
    (860, 5560, 60, 10),     // Jutland, west
    (1010, 5600, 120, 20),   // Jutland, east
    (1240, 5570, 60, 14),    // Copenhagen
    (780, 5850, 200, 10),    // Norway, south
    (1080, 5990, 100, 12),   // Oslo
    (1400, 5800, 250, 20),   // Sweden, south
    (1800, 5930, 100, 12),   // Stockholm
    (1700, 6400, 500, 10),   // Scandinavia, north
    (2500, 6150, 350, 18),   // Finland
    (1500, 4830, 300, 30),   // Austria
    (830, 4690, 150, 24),    // Switzerland
    (1500, 5000, 200, 36),   // Bohemia
    (1950, 5200, 350, 40),   // Poland
    (1920, 4730, 250, 16),   // Hungary
    (1200, 4400, 350, 50),   // Italy, north
    (1500, 4000, 300, 20),   // Italy, south
    (-380, 4040, 350, 36),   // Spain
    (200, 4150, 120, 14),    // Catalonia
    (-850, 3980, 150, 10),   // Portugal
    (2100, 4400, 300, 14),   // Balkans
    (2300, 3850, 250, 12),   // Greece
    (2550, 4550, 300, 12),   // Romania
    (2400, 5600, 250, 14),   // Baltics
    (2750, 5350, 300, 12),   // Belarus
    (3100, 4950, 500, 24),   // Ukraine
    (3760, 5570, 100, 20),   // Moscow
    (4500, 5600, 900, 30),   // Russia, west
    (8500, 5500, 1500, 14),  // Siberia
    (3500, 3900, 500, 18),   // Anatolia
    (3500, 3200, 150, 8),    // Levant
    (5200, 3300, 500, 8),    // Iran
    (7750, 2300, 700, 26),   // India
    (9000, 2380, 150, 8),    // Bengal
    (10050, 1400, 300, 8),   // Siam
    (10700, -650, 200, 14),  // Java
    (12100, 1460, 150, 10),  // Luzon
    (11600, 3400, 700, 20),  // China, east
    (10500, 3000, 500, 8),   // China, west
    (12700, 3700, 150, 8),   // Korea
    (13800, 3600, 300, 40),  // Japan
    (14500, -3600, 400, 12), // Australia, south-east
    (11600, -3190, 150, 3),  // Australia, west
    (17300, -4100, 300, 6),  // New Zealand
    (3100, 3000, 150, 6),    // Egypt
    (350, 800, 400, 10),     // Nigeria
    (3700, -100, 350, 10),   // East Africa
    (2800, -2700, 350, 8),   // South Africa
    (-1500, 1400, 300, 5),   // Senegal
    (-4700, -2250, 300, 14), // Brazil, south-east
    (-5850, -3450, 300, 9),  // La Plata
    (-7400, 600, 300, 7),    // Colombia
    (-9900, 2000, 350, 12),  // Mexico
    (-7600, 4050, 450, 60),  // USA, east
    (-8900, 3900, 900, 50),  // USA, middle
    (-11950, 3650, 450, 36), // USA, west
];

/// Points in the innermost ring around (7, 55), which is mostly water; they are on islands and the coast of Jutland.
const NEAR_RING: Periodic = Periodic { period: 125, first: 17 };
const ISLANDS: Point = (83 * DEGREE / 10, 549 * DEGREE / 10);

/// Points between 73204.77 m and 73204.78 m from (7, 55), even after an index has rounded them.
const AT_73_KM: Periodic = Periodic { period: 499, first: 31 };
const POINTS_AT_73_KM: [Point; 3] =
    [(81_167_977, 548_530_414), (80_915_838, 552_084_602), (81_163_481, 551_582_648)];

/// The documents of both corpora.
struct Map {
    urn: WeightTable,
    shape: bool,
}

impl Map {
    fn point(&self, index: u64, random: &mut Random) -> Point {
        if let Some(turn) = AT_73_KM.occurrence(index) {
            return POINTS_AT_73_KM[usize::try_from(turn % 3).unwrap_or(0)];
        }
        let ((lon, lat), reach) = if NEAR_RING.matches(index) {
            (ISLANDS, DEGREE / 8)
        } else {
            let (lon, lat, reach, _) = PLACES[self.urn.draw(random)];
            // Density decreases from the centre: a point lies within the whole radius, a quarter or a sixteenth of it.
            // third.
            ((lon * DEGREE / 100, lat * DEGREE / 100), (reach * DEGREE / 100) >> (2 * random.below(3)))
        };
        let (east, north) = (random.around(2 * reach), random.around(reach));
        (lon + east, lat + north)
    }
}

impl Documents for Map {
    #[inline]
    fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>) {
        let (lon, lat) = self.point(index, random);
        let (begin, between, end) =
            if self.shape { ("\"POINT (", " ", ")\"}\n") } else { ("[", ", ", "]}\n") };
        text(out, "{\"location\": ");
        text(out, begin);
        decimal(out, lon, 7);
        text(out, between);
        decimal(out, lat, 7);
        text(out, end);
    }
}

/// Generates `geopoint` or `geopointshape`.
pub(super) struct Geopoints {
    /// Whether points are formatted as well-known text, for an index of shapes.
    pub(super) shape: bool,
}

impl Generator for Geopoints {
    fn name(&self) -> &'static str {
        if self.shape { "geopointshape" } else { "geopoint" }
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        single_file("documents.json", documents)
    }

    fn write(&self, file: &FileSpec, seed: u64, threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        let map = Map { urn: WeightTable::new(&PLACES.map(|(.., weight)| weight)), shape: self.shape };
        documents::write(&map, file.documents, documents::streams(seed, VERSION, file), threads, sink)
    }
}
