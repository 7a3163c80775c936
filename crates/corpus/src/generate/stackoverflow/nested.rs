//! `nested`: questions, each with its answers as nested documents.
//!
//! The operations of the track search for one of 35 tags (`queries.csv`) and for an answer given before a date, the
//! earliest of which is 27 September 2010. In a file of 1,000 documents or more, every tag has such an answer, so a
//! query with any tag and date has hits.

use std::io::{self, Write};

use super::super::append::{number, text};
use super::super::documents::{self, Documents, Periodic};
use super::super::generator::{FileSpec, Generator, single_file};
use super::super::random::Random;
use super::vocabulary::WANTED;
use super::{START, Site, when};

const VERSION: u32 = 1;

/// Questions that have one of these tags and an early answer.
const EARLY: Periodic = Periodic { period: 26, first: 7 };

/// Length of the period in which an answer is early, in milliseconds: about two years.
const EARLY_MILLIS: u64 = 760 * 86_400_000;

/// Percentage of questions with each number of answers, from 0.
const ANSWERS: [u32; 8] = [12, 40, 23, 12, 6, 4, 2, 1];

struct Questions {
    documents: u64,
    site: Site,
}

impl Questions {
    fn answers(early: bool, random: &mut Random) -> u64 {
        let (mut left, mut count) = (random.below(100), 0);
        for share in ANSWERS {
            if left < share {
                break;
            }
            left -= share;
            count += 1;
        }
        if early { count.max(1) } else { count }
    }
}

impl Documents for Questions {
    fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>) {
        let early = EARLY.occurrence(index);
        let asked = match early {
            Some(_) => START + u64::from(random.below(720 * 86_400)) * 1000,
            None => Site::moment(index, self.documents, random),
        };
        text(out, "{\"title\": \"");
        self.site.title(random, out);
        text(out, "\", \"qid\": \"");
        number(out, 4 + index);
        text(out, "\", \"answers\": [");
        let mut answered = asked;
        for answer in 0..Self::answers(early.is_some(), random) {
            // Answers follow minutes to weeks later; the first one is early where required.
            answered += random.skewed(22 * 256, 5);
            if early.is_some() && answer == 0 {
                answered = answered.min(START + EARLY_MILLIS);
            }
            text(out, if answer == 0 { "{\"date\": \"" } else { ", {\"date\": \"" });
            when(out, answered);
            text(out, "\", \"user\": \"");
            Site::full_user(random, out);
            text(out, "\"}");
        }
        text(out, "], \"tag\": ");
        let wanted = early.map(|turn| usize::try_from(turn % WANTED as u64).unwrap_or(0));
        self.site.tags(wanted, random, out);
        text(out, ", \"user\": \"");
        Site::full_user(random, out);
        text(out, "\", \"creationDate\": \"");
        when(out, asked);
        text(out, "\"}\n");
    }
}

/// Generates the corpus.
pub(crate) struct NestedQuestions;

impl Generator for NestedQuestions {
    fn name(&self) -> &'static str {
        "nested"
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        single_file("documents.json", documents)
    }

    fn write(&self, file: &FileSpec, seed: u64, threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        let questions = Questions { documents: file.documents, site: Site::new() };
        documents::write(&questions, file.documents, documents::streams(seed, VERSION, file), threads, sink)
    }
}
