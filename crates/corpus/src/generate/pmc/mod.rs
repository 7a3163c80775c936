//! `pmc`: medical and biological articles, with full text.
//!
//! The operations of the track find the word `physician` in a few percent of the articles, the phrase `newspaper
//! coverage` in one percent, and articles from every month of nine years.

mod vocabulary;

use std::io::{self, Write};

use super::append::{date_of, number, padded, text, time};
use super::documents::{self, Documents, Periodic};
use super::generator::{FileSpec, Generator, single_file};
use super::prose::{Words, capitalize, english};
use super::random::Random;
use vocabulary::{JOURNALS, MONTHS, NAMES};

const VERSION: u32 = 1;

/// 1 January 2008 in days since 1970, and the number of days from that date.
const FIRST_DAY: u64 = 13_879;
const DAYS: u32 = 9 * 365;

/// Articles with the phrase `newspaper coverage`.
const NEWSPAPERS: Periodic = Periodic { period: 97, first: 5 };

/// Articles with the word `physician`; random draws add more.
const PHYSICIANS: Periodic = Periodic { period: 29, first: 3 };

/// The sections of an article and their shares of its text, in percent.
const SECTIONS: [(&str, usize); 5] =
    [("Introduction", 15), ("Methods", 22), ("Results", 28), ("Discussion", 26), ("Conclusions", 4)];

/// The articles.
struct Articles {
    words: Words,
    terms: Words,
}

impl Articles {
    fn new() -> Self {
        let (written, made) = vocabulary::terms();
        // After the most common words, technical terms alternate with other English words; rare terms come last.
        let mut english = english::WORDS.split_whitespace();
        let mut words: Vec<&str> = english.by_ref().take(150).collect();
        for term in &written {
            words.push(term);
            words.extend(english.next());
        }
        words.extend(english);
        words.extend(made.iter().map(String::as_str));
        let terms = written.iter().copied().chain(made.iter().map(String::as_str));
        Self { words: Words::zipf(words, 2), terms: Words::zipf(terms, 30) }
    }

    fn paragraphs(&self, bytes: usize, random: &mut Random, out: &mut Vec<u8>) {
        let end = out.len() + bytes;
        while out.len() < end {
            let rest = end - out.len();
            self.words.sentences(rest.min(400 + random.below(1200) as usize), random, out);
            out.pop();
            text(out, "\\n");
        }
    }

    fn title(&self, random: &mut Random, out: &mut Vec<u8>) {
        let start = out.len();
        self.terms.several(random.within(2..4), random, out);
        text(out, random.word(&[" in ", " and ", " of ", " after ", ": a study of ", " as a marker of "]));
        self.terms.several(random.within(2..5), random, out);
        capitalize(out, start);
    }

    fn reference(&self, year: u64, random: &mut Random, out: &mut Vec<u8>) {
        for author in 0..random.within(1..5) {
            text(out, if author == 0 { "" } else { ", " });
            text(out, random.word(&NAMES));
            out.extend_from_slice(&[b' ', b'A' + u8::try_from(random.below(26)).unwrap_or(0)]);
        }
        text(out, ". ");
        self.title(random, out);
        text(out, ". ");
        text(out, random.word(&JOURNALS));
        out.push(b' ');
        number(out, year.saturating_sub(random.within(0..20)));
        text(out, ";");
        number(out, random.within(1..120));
        text(out, ":");
        number(out, random.within(1..900));
        text(out, ".\\n");
    }

    fn body(&self, index: u64, year: u64, random: &mut Random, out: &mut Vec<u8>) {
        let total = usize::try_from(random.skewed(14 * 256 + 230, 1)).unwrap_or(0).clamp(2_000, 400_000);
        text(out, "\\n==== Front\\n");
        text(out, random.word(&JOURNALS));
        text(out, "\\n");
        self.title(random, out);
        text(out, "\\n");
        self.paragraphs(total * 5 / 100, random, out);
        text(out, "==== Body\\n");
        for (section, share) in SECTIONS {
            text(out, section);
            text(out, "\\n");
            self.paragraphs(total * share / 100, random, out);
            if NEWSPAPERS.matches(index) && section == "Results" {
                text(out, "The newspaper coverage of the programme was followed for a year.\\n");
            }
            if PHYSICIANS.matches(index) && section == "Methods" {
                text(out, "Each patient was seen by a physician before and after the treatment.\\n");
            }
        }
        text(out, "==== Refs\\nReferences\\n");
        for item in 1..=random.within(10..50) {
            number(out, item);
            out.push(b' ');
            self.reference(year, random, out);
        }
    }
}

impl Documents for Articles {
    fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>) {
        let journal = random.word(&JOURNALS);
        let days = FIRST_DAY + random.within(0..DAYS);
        let (year, month, day) = date_of(days);
        let month = MONTHS[usize::try_from(month - 1).unwrap_or(0)];
        let (volume, issue) = (random.within(1..60), random.within(1..13));
        let page = random.within(1..2000);
        let last_page = page + random.within(4..20);
        let date = |out: &mut Vec<u8>, between| {
            number(out, year);
            out.push(between);
            text(out, month);
            out.push(between);
            number(out, day);
        };
        let in_volume = |out: &mut Vec<u8>| {
            number(out, volume);
            out.push(b'(');
            number(out, issue);
            out.push(b')');
        };
        let pages = |out: &mut Vec<u8>| {
            number(out, page);
            out.push(b'-');
            number(out, last_page);
        };
        text(out, "{\"name\": \"");
        out.extend(journal.bytes().map(|byte| if byte == b' ' { b'_' } else { byte }));
        out.push(b'_');
        date(out, b'_');
        out.push(b'_');
        in_volume(out);
        out.push(b'_');
        pages(out);
        text(out, "\", \"journal\": \"");
        text(out, journal);
        text(out, "\", \"date\": \"");
        date(out, b' ');
        text(out, "\", \"volume\": \"");
        in_volume(out);
        text(out, "\", \"issue\": \"");
        pages(out);
        text(out, "\", \"accession\": \"PMC");
        number(out, 2_000_000 + index);
        text(out, "\", \"timestamp\": \"");
        time(out, days * 86_400 + random.within(0..86_400), b' ');
        text(out, "\", \"pmid\": \"");
        if random.permille(850) {
            padded(out, 18_000_000 + random.within(0..9_000_000), 8);
        }
        text(out, "\", \"body\": \"");
        self.body(index, year, random, out);
        text(out, "\"}\n");
    }
}

/// Generates the corpus.
pub(super) struct Pmc;

impl Generator for Pmc {
    fn name(&self) -> &'static str {
        "pmc"
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        single_file("documents.json", documents)
    }

    fn write(&self, file: &FileSpec, seed: u64, threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        let streams = documents::streams(seed, VERSION, file);
        documents::write(&Articles::new(), file.documents, streams, threads, sink)
    }
}
