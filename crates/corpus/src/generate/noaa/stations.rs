//! The weather stations, which are the same for every seed.

use super::super::append::{decimal, padded, text};
use super::super::random::{Random, WeightTable};
use super::vocabulary::{ANCHOR_NAMES, COUNTRIES, PLACES, STATES, SUFFIXES, StationCountry, UsState};

/// Number of stations whose country is drawn by weight.
const STATIONS: u32 = 30_000;
/// Number of stations for each name that queries search for.
const PER_NAME: u32 = 6;
/// Number of stations in Japan.
const JAPANESE: u32 = 24;
/// Number of high stations with a name that begins with SA.
const HIGH: u32 = 8;

/// The kind of a station, which determines what it measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StationKind {
    /// Rain and snow, measured by volunteers.
    Rain,
    /// Rain, snow and temperatures.
    Observer,
    /// All of these, and wind.
    Airport,
    /// All of these except wind, at high elevation.
    Mountain,
    /// What stations outside North America report: temperatures and rain.
    World,
}

/// A station.
#[derive(Debug, Clone)]
pub(super) struct Station {
    /// The JSON object that describes it.
    pub(super) text: Vec<u8>,
    pub(super) kind: StationKind,
    /// Latitude in degrees.
    pub(super) latitude: i64,
    /// Elevation in tenths of a metre.
    pub(super) elevation: i64,
}

/// All stations.
#[derive(Debug)]
pub(super) struct Stations {
    any: Vec<Station>,
    named: Vec<Station>,
    japanese: Vec<Station>,
    high: Vec<Station>,
}

impl Stations {
    pub(super) fn new() -> Self {
        let mut random = Random::new(1870, &[]);
        let mut maker =
            Maker { made: 0, country: WeightTable::new(&COUNTRIES.map(|country| country.weight)) };
        let (mut any, mut named, mut japanese, mut high) = (vec![], vec![], vec![], vec![]);
        for _ in 0..STATIONS {
            let country = &COUNTRIES[maker.country.draw(&mut random)];
            any.push(maker.station(country, None, &mut random));
        }
        for number in 0..PER_NAME * 5 {
            let name = ANCHOR_NAMES[(number % 5) as usize];
            named.push(maker.station(&COUNTRIES[0], Some((name, None)), &mut random));
        }
        let japan = COUNTRIES.iter().find(|country| country.code == "JA").unwrap_or(&COUNTRIES[0]);
        (0..JAPANESE).for_each(|_| japanese.push(maker.station(japan, None, &mut random)));
        for number in 0..HIGH {
            let name = if number == 0 { "SAN LUIS PEAK" } else { "SADDLE PASS" };
            let elevation = 28_500 + i64::from(random.below(6_000));
            high.push(maker.station(&COUNTRIES[0], Some((name, Some(elevation))), &mut random));
        }
        Self { any, named, japanese, high }
    }

    #[inline]
    pub(super) fn any(&self, random: &mut Random) -> &Station {
        random.one_of(&self.any)
    }

    /// Returns a random station with the name at index `name` of `ANCHOR_NAMES`.
    pub(super) fn named(&self, name: usize, random: &mut Random) -> &Station {
        &self.named[name + 5 * random.below(PER_NAME) as usize]
    }

    pub(super) fn japanese(&self, random: &mut Random) -> &Station {
        random.one_of(&self.japanese)
    }

    pub(super) fn high(&self, random: &mut Random) -> &Station {
        random.one_of(&self.high)
    }
}

/// Position of a station: latitude and longitude in thousandths of a degree, elevation in tenths of a metre.
struct Site {
    latitude: i64,
    longitude: i64,
    elevation: i64,
}

struct Maker {
    made: u64,
    country: WeightTable,
}

impl Maker {
    /// Creates a station. `wanted` is its name, with an optional elevation; otherwise both are random.
    fn station(
        &mut self,
        country: &StationCountry,
        wanted: Option<(&str, Option<i64>)>,
        random: &mut Random,
    ) -> Station {
        let american = country.code == "US";
        let state = american.then(|| {
            // Prefers the higher of two random states, because mountains have more stations than their population
            // suggests.
            let (one, other) = (random.one_of(&STATES), random.one_of(&STATES));
            if random.permille(550) && other.height > one.height { other } else { one }
        });
        let (latitude, longitude, height) = match state {
            Some(state) => (state.latitude, state.longitude, state.height),
            None => (country.latitude, country.longitude, country.height),
        };
        let reach = state.map_or(country.reach, |state| state.reach);
        let height = height + i64::try_from(random.skewed(7 * 256, 2)).unwrap_or(0).min(600);
        let mut site = Site {
            latitude: latitude * 1000 + random.around(reach * 1000),
            longitude: longitude * 1000 + random.around(reach * 1400),
            elevation: height * (40 + i64::from(random.below(120))) / 10,
        };
        if let Some((_, Some(elevation))) = wanted {
            site.elevation = elevation;
        }
        let kind = match random.below(100) {
            _ if !american && country.code != "CA" => StationKind::World,
            _ if site.elevation > 21_000 => StationKind::Mountain,
            0..42 => StationKind::Rain,
            42..88 => StationKind::Observer,
            _ => StationKind::Airport,
        };
        let name = match wanted {
            Some((name, _)) => name.to_owned(),
            None => self.name(random),
        };
        self.made += 1;
        let text = self.text((country, state), &site, (kind, &name), random);
        Station { text, kind, latitude: site.latitude / 1000, elevation: site.elevation }
    }

    /// Composes a name from a town, a distance and a direction; names rarely repeat.
    fn name(&self, random: &mut Random) -> String {
        let place = PLACES[usize::try_from(self.made % PLACES.len() as u64).unwrap_or(0)];
        match random.below(10) {
            0 => place.to_owned(),
            1..4 => format!("{place} {}", random.word(&SUFFIXES)),
            _ => {
                let (whole, tenths) = (random.below(19), random.below(10));
                let direction =
                    random.word(&["N", "NE", "E", "SE", "S", "SW", "W", "NW", "NNE", "SSW", "WNW", "ESE"]);
                format!("{place} {whole}.{tenths} {direction}")
            }
        }
    }

    fn text(
        &self,
        (country, state): (&StationCountry, Option<&UsState>),
        site: &Site,
        (kind, name): (StationKind, &str),
        random: &mut Random,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        text(&mut out, "{\"elevation\": ");
        decimal(&mut out, site.elevation, 1);
        text(&mut out, ", \"name\": \"");
        text(&mut out, name);
        text(&mut out, "\", \"country\": \"");
        text(&mut out, country.name);
        if let Some(state) = state {
            text(&mut out, "\", \"state_code\": \"");
            text(&mut out, state.code);
            text(&mut out, "\", \"state\": \"");
            text(&mut out, state.name);
        }
        text(&mut out, "\", \"location\": {\"lat\": ");
        decimal(&mut out, site.latitude, 3);
        text(&mut out, ", \"lon\": ");
        decimal(&mut out, site.longitude, 3);
        text(&mut out, "}, \"country_code\": \"");
        text(&mut out, country.code);
        if matches!(kind, StationKind::World | StationKind::Airport) && random.permille(500) {
            if random.permille(250) {
                text(&mut out, "\", \"gsn_flag\": \"GSN");
            }
            text(&mut out, "\", \"wmo_id\": \"");
            padded(&mut out, random.within(1_000..99_999), 5);
        } else if kind == StationKind::Observer && random.permille(120) {
            text(&mut out, "\", \"hcn_crn_flag\": \"HCN");
        }
        text(&mut out, "\", \"id\": \"");
        text(&mut out, country.code);
        text(
            &mut out,
            match kind {
                StationKind::Rain => "1",
                StationKind::Observer => "C",
                StationKind::Airport => "W",
                StationKind::Mountain => "S",
                StationKind::World => "0",
            },
        );
        padded(&mut out, self.made * 37, 8);
        text(&mut out, "\"}");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_stations_are_at_high_elevations() {
        let stations = Stations::new();
        let name = |station: &Station| {
            let json: serde_json::Value = serde_json::from_slice(&station.text).unwrap();
            json["name"].as_str().unwrap().to_owned()
        };
        let above = |tenths| stations.any.iter().filter(move |station| station.elevation > tenths);
        let names: std::collections::HashSet<String> = above(16_000).map(name).collect();
        assert!(names.len() > 2_400, "{}", names.len());
        assert!(above(28_000).count() > 300, "{}", above(28_000).count());
        assert!(stations.any.iter().filter(|station| station.elevation < 5_000).count() > 12_000);
    }
}
