//! `percolator`: stored queries, nearly all of which search for `ignore me`.
//!
//! One in a hundred is a different query. With 1,000 documents or more, each document that the track percolates matches
//! some of them: `president bush`, `saddam hussein`, `hurricane katrina`, `google`, and the sentence on Ariel Sharon's
//! stroke (queries for his name, for Israel and for prime ministers).

use std::io::{self, Write};

use super::append::text;
use super::documents::{self, Documents, Periodic};
use super::generator::{FileSpec, Generator, single_file};
use super::prose::Words;
use super::random::Random;

const VERSION: u32 = 1;

/// Queries that match a document percolated by the track; `QUERIES` contains a group of them for each document.
const WANTED: Periodic = Periodic { period: 200, first: 23 };
const QUERIES: [[&str; 4]; 5] = [
    ["president bush", "president bush speech", "laura bush", "bush administration"],
    ["saddam hussein", "saddam hussein trial", "hussein capture", "saddam"],
    ["hurricane katrina", "hurricane katrina pictures", "costa rica hurricanes", "katrina relief"],
    ["google", "google maps", "google earth", "www google com"],
    ["ariel sharon", "ariel sharon stroke", "prime minister of israel", "ehud olmert"],
];

/// Other queries: words typical of web searches.
const OTHER: Periodic = Periodic { period: 200, first: 129 };
const TOPICS: &str = "free music lyrics school county city home for sale new york pictures of florida texas games \
    online movie high cars used jobs real estate hotels beach cheap tickets airline university state recipes chicken \
    baby names dog breeds weather news bank credit card phone number yahoo myspace ebay mapquest craigslist health \
    insurance wedding dresses furniture store parts ford truck baseball football schedule lottery results tax forms \
    history of american bible church christian poems quotes birthday party ideas garden flowers spring hair styles \
    tattoo designs video codes cheats world cup soccer vacation rental apartments in san francisco los angeles chicago";

/// The stored queries.
struct Queries {
    topics: Words,
}

impl Documents for Queries {
    fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>) {
        text(out, "{\"query\": {\"match\": {\"body\": {\"query\": \"");
        if let Some(turn) = WANTED.occurrence(index) {
            let kind = &QUERIES[usize::try_from(turn % 5).unwrap_or(0)];
            // The first query from each group is its simplest.
            text(out, if turn < 5 { kind[0] } else { random.word(kind) });
        } else if OTHER.matches(index) {
            self.topics.several(random.within(2..5), random, out);
        } else {
            text(out, "ignore me");
        }
        text(out, "\"}}}}\n");
    }
}

/// Generates the corpus.
pub(super) struct Percolator;

impl Generator for Percolator {
    fn name(&self) -> &'static str {
        "percolator"
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        single_file("queries-2.json", documents)
    }

    fn write(&self, file: &FileSpec, seed: u64, threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        let queries = Queries { topics: Words::zipf(TOPICS.split_whitespace(), 8) };
        documents::write(&queries, file.documents, documents::streams(seed, VERSION, file), threads, sink)
    }
}
