//! `geonames`: places all over the world, with their names.
//!
//! With 1,000 documents or more, the operations of the track find
//!
//! - places in Austria (`country_code` AT) and the phrase `Sankt Georgen`;
//! - time zones in America;
//! - `street` among the alternate names;
//! - the feature classes T and A;
//! - populations around and above 1,000,000;
//! - ids below and above 5,000,000;
//! - names in the track's `terms.txt`. One document in 50 gets one of a few dozen names from that file that are common
//!   worldwide, some of them names of mountains; random combinations of the same words add more (Cedar Creek, Cerro
//!   Alto).

mod countries;
mod names;

use std::io::{self, Write};

use super::append::{decimal, number, padded, text};
use super::documents::{self, Documents, Periodic};
use super::generator::{FileSpec, Generator, single_file};
use super::random::{Random, WeightTable, u16_of};
use countries::{COUNTRIES, Country};
use names::{COMMON, FEATURES, Feature, FeatureKind, Language, STYLES, SYNONYMS, Style};

const VERSION: u32 = 1;

/// Approximate upper limit of place ids.
const HIGHEST: u64 = 11_900_000;

/// Places named Sankt Georgen, and suffixes of that name.
const SANKT_GEORGEN: Periodic = Periodic { period: 331, first: 17 };
const GEORGENS: [&str; 8] =
    ["", "", " am Walde", " im Attergau", " an der Gusen", " ob Judenburg", " am Längsee", " bei Salzburg"];
/// Places in Austria; random draws add more.
const AUSTRIA: Periodic = Periodic { period: 150, first: 71 };
/// Places with a name that is common worldwide.
const COMMON_NAME: Periodic = Periodic { period: 50, first: 9 };
/// Cities and regions with more than a million people.
const MILLIONS: Periodic = Periodic { period: 211, first: 29 };
/// Places with a street in their alternate names.
const STREET: Periodic = Periodic { period: 125, first: 43 };

/// Tables from which weighted values are drawn.
struct Places {
    documents: u64,
    country: WeightTable,
    feature: WeightTable,
    austria: usize,
    /// Indexed by style.
    languages: Vec<Language>,
}

impl Places {
    fn new(documents: u64) -> Self {
        let austria = COUNTRIES.iter().position(|country| country.code == "AT").unwrap_or(0);
        Self {
            documents,
            country: WeightTable::new(&COUNTRIES.map(|country| country.weight)),
            feature: WeightTable::new(&FEATURES.map(|feature| feature.weight)),
            austria,
            languages: STYLES.iter().map(Style::language).collect(),
        }
    }

    fn number(&self, index: u64) -> u64 {
        let spread = u128::from(index) * u128::from(HIGHEST) / u128::from(self.documents);
        49_518 + index.max(u64::try_from(spread).unwrap_or(0))
    }
}

/// Appends the name of a `feature` in one of the styles.
fn name(style: &Language, feature: &Feature, random: &mut Random, out: &mut Vec<u8>) {
    let bits = random.next();
    let pick = |list: &[&'static str], part| list[usize::from(u16_of(bits, part)) % list.len()];
    let stem = pick(&style.stems, 0);
    let settlement = feature.kind == FeatureKind::Settlement;
    let words = &style.words[feature.kind as usize];
    let word = pick(words, 1);
    if settlement && !style.tails.is_empty() && bits >> 62 != 0 {
        text(out, stem);
        if !style.middles.is_empty() && (bits >> 59) & 1 == 0 {
            text(out, pick(&style.middles, 2));
        }
        text(out, pick(&style.tails, 3));
    } else if style.word_first {
        text(out, word);
        text(out, stem);
        if !style.attributes.is_empty() && (bits >> 58).is_multiple_of(4) {
            out.push(b' ');
            text(out, pick(&style.attributes, 2));
        }
    } else {
        if !style.attributes.is_empty() && (bits >> 58).is_multiple_of(4) {
            text(out, pick(&style.attributes, 2));
            out.push(b' ');
        }
        text(out, stem);
        text(out, word);
    }
}

/// Appends the text in `start..end` again, in ASCII. An accented letter is two bytes, the first of which is 0xC3.
fn plain(out: &mut Vec<u8>, start: usize, end: usize) {
    const LETTERS: &[u8; 64] = b"AAAAAAACEEEEIIIIDNOOOOOxOUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty";
    let mut at = start;
    while at < end {
        let byte = out[at];
        at += 1;
        if byte < 0x80 {
            out.push(byte);
        } else {
            let letter = if byte == 0xc3 { LETTERS[usize::from(out[at] & 0x3f)] } else { b'?' };
            out.push(letter);
            at += 1;
        }
    }
}

/// Appends alternate names for the place whose name is the text in `start..end`.
fn alternates(
    place: (&Language, &Feature),
    (start, end): (usize, usize),
    street: bool,
    random: &mut Random,
    out: &mut Vec<u8>,
) {
    let (language, feature) = place;
    text(out, "\", \"alternatenames\": \"");
    if street {
        out.extend_from_within(start..end);
        text(out, random.word(&[" Street", " Main Street", " High Street", " Street Station"]));
        out.push(b',');
    }
    for other in 0..random.within(1..5) {
        text(out, if other == 0 { "" } else { "," });
        match random.below(8) {
            0 | 1 => plain(out, start, end),
            2 => {
                text(out, random.word(&SYNONYMS));
                out.push(b' ');
                out.extend_from_within(start..end);
            }
            _ => name(language, feature, random, out),
        }
    }
}

/// Appends the feature class, country and regions of a place.
fn kind(feature: &Feature, country: &Country, random: &mut Random, out: &mut Vec<u8>) {
    text(out, "\", \"feature_class\": \"");
    out.push(feature.class);
    text(out, "\", \"feature_code\": \"");
    text(out, feature.code);
    text(out, "\", \"country_code\": \"");
    text(out, country.code);
    if random.permille(8) {
        text(out, "\", \"cc2\": \"");
        text(out, random.one_of(&COUNTRIES).code);
    }
    regions(country, random, out);
}

/// Appends the measured elevation, if any, and the one from the elevation model.
fn heights(random: &mut Random, out: &mut Vec<u8>) {
    let elevation = random.skewed(8 * 256, 2).min(5_200);
    if random.permille(170) {
        text(out, ", \"elevation\": ");
        number(out, elevation);
    }
    text(out, ", \"dem\": \"");
    if random.permille(30) {
        text(out, "-9999");
    } else {
        number(out, elevation + random.within(0..12));
    }
}

/// Appends the region codes of a place.
fn regions(country: &Country, random: &mut Random, out: &mut Vec<u8>) {
    text(out, "\", \"admin1_code\": \"");
    match country.regions {
        [] => padded(out, random.within(0..40), 2),
        regions => text(out, random.word(regions)),
    }
    if random.permille(620) {
        text(out, "\", \"admin2_code\": \"");
        padded(out, random.within(1..190), 3);
        if random.permille(350) {
            text(out, "\", \"admin3_code\": \"");
            padded(out, random.within(1000..99_000), 5);
            if random.permille(300) {
                text(out, "\", \"admin4_code\": \"");
                padded(out, random.within(1000..99_000), 5);
            }
        }
    }
}

/// Draws the population of a place; 0 for most places.
fn population(index: u64, feature: &Feature, random: &mut Random) -> u64 {
    if let Some(turn) = MILLIONS.occurrence(index) {
        return if turn % 8 == 0 { 1_000_000 } else { 1_000_001 + random.skewed(20 * 256, 4) };
    }
    match feature.class {
        b'P' if random.permille(180) => random.skewed(9 * 256, 4).min(900_000),
        b'A' if random.permille(400) => random.skewed(12 * 256, 4).min(990_000),
        _ => 0,
    }
}

impl Documents for Places {
    fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>) {
        let georgen = SANKT_GEORGEN.occurrence(index);
        let austrian = georgen.is_some() || AUSTRIA.matches(index);
        let common = COMMON_NAME.occurrence(index);
        let country = &COUNTRIES[if austrian { self.austria } else { self.country.draw(random) }];
        let language = &self.languages[country.style];
        let feature = match common {
            // A third of the common names belong to mountains.
            Some(turn) if turn % 3 == 0 => &FEATURES[names::MOUNTAIN],
            _ if MILLIONS.matches(index) => &FEATURES[names::REGION],
            _ => &FEATURES[self.feature.draw(random)],
        };
        text(out, "{\"geonameid\": ");
        number(out, self.number(index));
        text(out, ", \"name\": \"");
        let start = out.len();
        match (georgen, common) {
            (Some(_), _) => {
                text(out, "Sankt Georgen");
                text(out, random.word(&GEORGENS));
            }
            (_, Some(_)) => text(out, random.word(&COMMON)),
            _ => name(language, feature, random, out),
        }
        let end = out.len();
        text(out, "\", \"asciiname\": \"");
        plain(out, start, end);
        let street = STREET.matches(index);
        if street || random.permille(430) {
            alternates((language, feature), (start, end), street, random, out);
        }
        kind(feature, country, random, out);
        text(out, "\", \"population\": ");
        number(out, population(index, feature, random));
        heights(random, out);
        text(out, "\", \"timezone\": \"");
        text(out, random.word(country.zones));
        text(out, "\", \"location\": [");
        decimal(out, country.longitude * 100_000 + random.around(country.reach * 140_000), 5);
        text(out, ", ");
        decimal(out, country.latitude * 100_000 + random.around(country.reach * 100_000), 5);
        text(out, "]}\n");
    }
}

/// Generates the corpus.
pub(super) struct Geonames;

impl Generator for Geonames {
    fn name(&self) -> &'static str {
        "geonames"
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        single_file("documents-2.json", documents)
    }

    fn write(&self, file: &FileSpec, seed: u64, threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        let places = Places::new(file.documents);
        documents::write(&places, file.documents, documents::streams(seed, VERSION, file), threads, sink)
    }
}
