//! The second half of a document, after the client: the request, status and size, as prepared bytes.
//!
//! A resource has one size (a page has one per file, that is, per week). This is nearly always true in the public
//! corpus, and it allows every ending to be prepared and drawn as a whole.

use crate::generate::random::{AliasTable, Random};

use super::vocabulary::{Resource, ResourceKind, resources};

/// Popularity decreases with the rank as 1 / (rank + FLAT), which is Zipf's law with a flattened head: the first path
/// gets about 2 % of all requests.
const FLAT: u64 = 8;

/// Weight of the first path.
const TOP: u64 = 1 << 40;

/// Percentage of requests with HTTP/1.0.
const OLD_PROTOCOL: u64 = 78;

/// Shares of rare outcomes, in millionths of all requests.
const REDIRECTS: u64 = 2_500;
const MISSING: u64 = 5_500;
const MISSING_SLASH: u64 = 600;
const SERVER_ERRORS: u64 = 250;
const HEADS: u64 = 300;

/// Endings, and their weights.
#[derive(Debug, Default)]
struct Draft {
    unparsed: bool,
    bytes: Vec<u8>,
    ends: Vec<u32>,
    weights: Vec<u64>,
}

impl Draft {
    fn add(&mut self, request: &str, status: u16, size: u64, weight: u64) {
        let text = if self.unparsed {
            format!(" \\\"{request}\\\" {status} {size}\"}}\n")
        } else {
            format!("\", \"request\": \"{request}\", \"status\": {status}, \"size\": {size}}}\n")
        };
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
        self.weights.push(weight);
    }

    /// Adds a request with both protocol versions; HTTP/1.0 is more frequent.
    fn add_both(&mut self, request: &str, status: u16, size: u64, weight: u64) {
        self.add(&format!("{request} HTTP/1.0"), status, size, weight * OLD_PROTOCOL / 100);
        self.add(&format!("{request} HTTP/1.1"), status, size, weight * (100 - OLD_PROTOCOL) / 100);
    }

    /// Spreads `weight` evenly over requests that fail or are redirected, which have small responses.
    fn add_rare(&mut self, requests: &[String], status: u16, weight: u64) {
        for (number, request) in requests.iter().enumerate() {
            self.add_both(request, status, 200 + number as u64 * 7 % 150, weight / requests.len() as u64);
        }
    }

    fn table(self) -> Endings {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let places = starts.zip(self.ends.iter().copied()).collect();
        Endings { alias: AliasTable::new(&self.weights), places, bytes: self.bytes }
    }
}

/// A table from which endings are drawn.
#[derive(Debug)]
pub(super) struct Endings {
    alias: AliasTable,
    places: Vec<(u32, u32)>,
    bytes: Vec<u8>,
}

impl Endings {
    /// Returns the ending that 64 random bits select.
    #[inline]
    pub(super) fn pick(&self, bits: u64) -> &[u8] {
        let (start, end) = self.places[self.alias.pick(bits)];
        &self.bytes[start as usize..end as usize]
    }

    /// Creates the table of all requests except those with status 400. `fixed` draws the constant sizes, `weekly` those
    /// for this file.
    pub(super) fn usual(unparsed: bool, fixed: &mut Random, weekly: &mut Random) -> Self {
        let mut draft = Draft { unparsed, ..Draft::default() };
        for (rank, resource) in resources().iter().enumerate() {
            draft.resource(resource, TOP / (rank as u64 + FLAT), fixed, weekly);
        }
        let millionth = draft.weights.iter().sum::<u64>() / 1_000_000;
        draft.add_rare(&moved(), 302, REDIRECTS * millionth);
        draft.add_rare(&missing(), 404, MISSING * millionth);
        draft.add_rare(&without_slash(), 404, MISSING_SLASH * millionth);
        draft.add_rare(&programs(), 500, SERVER_ERRORS * millionth);
        for path in ["/", "/english/index.html", "/french/index.html"] {
            draft.add_both(&format!("HEAD {path}"), 200, 0, HEADS * millionth / 3);
        }
        draft.table()
    }

    /// Creates the table of invalid requests, all with status 400.
    pub(super) fn bad(unparsed: bool) -> Self {
        let mut draft = Draft { unparsed, ..Draft::default() };
        draft.add_rare(&without_slash(), 400, 1000);
        draft.add_rare(&["GET".to_owned(), "GET www/index.html".to_owned()], 400, 200);
        draft.table()
    }
}

impl Draft {
    /// Adds the outcomes of one resource: complete, not modified, partial.
    fn resource(&mut self, resource: &Resource, weight: u64, fixed: &mut Random, weekly: &mut Random) {
        let request = format!("GET {}", resource.path);
        // Medians of 1 kB, 6 kB and 200 kB; percentage of 304 responses; percentage of partial responses.
        let (size, unchanged, partial) = match resource.kind {
            ResourceKind::Image => (fixed.skewed(10 * 256, 2), 24, 0),
            ResourceKind::Page => (weekly.skewed(12 * 256 + 150, 2), 11, 0),
            ResourceKind::Download => (fixed.skewed(17 * 256 + 150, 3), 4, 10),
        };
        self.add_both(&request, 200, size, weight * (100 - unchanged - partial) / 100);
        self.add_both(&request, 304, 0, weight * unchanged / 100);
        if partial > 0 {
            for eighths in [1, 3, 5] {
                self.add_both(&request, 206, size * eighths / 8 + 1, weight * partial / 300);
            }
        }
    }
}

fn requests(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| format!("GET {path}")).collect()
}

fn moved() -> Vec<String> {
    requests(&[
        "/english",
        "/french",
        "/english/teams",
        "/french/teams",
        "/english/news",
        "/images",
        "/english/member",
    ])
}

fn missing() -> Vec<String> {
    let mut all =
        requests(&["/favicon.ico", "/robots.txt", "/english/scores.htm", "/index.htm", "/english/live.htm"]);
    all.extend((1..=40).map(|number| format!("GET /english/playing/mascot/old{number:02}.htm")));
    all.extend((1..=40).map(|number| format!("GET /images/old/s{}.gif", 101_000 + number * 13)));
    all
}

/// Returns paths without their leading slash; the track searches for terms that begin with `GET image`.
fn without_slash() -> Vec<String> {
    requests(&[
        "images/hm_bg.jpg",
        "images/logo_cup.gif",
        "images/space.gif",
        "images/arrow.gif",
        "english/index.html",
    ])
}

fn programs() -> Vec<String> {
    requests(&[
        "/cgi-bin/trivia.pl?lang=en",
        "/cgi-bin/trivia.pl?lang=fr",
        "/cgi-bin/search.cgi",
        "/cgi-bin/poll.pl",
    ])
}
