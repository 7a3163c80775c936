//! `so`: questions and answers, each of which is a document.
//!
//! The operations of the track find users who ask and answer in every hour of these years (its transforms group by user
//! and by hour), and questions with three or more tags, among them `python` and `java`, in combinations that repeat.

use std::io::{self, Write};

use super::super::append::{number, text};
use super::super::documents::{self, Documents};
use super::super::generator::{FileSpec, Generator, single_file};
use super::super::random::Random;
use super::{Site, when};

const VERSION: u32 = 1;

/// Number of questions per thousand posts.
const QUESTIONS: u32 = 390;

struct Posts {
    documents: u64,
    site: Site,
}

impl Documents for Posts {
    fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>) {
        let question = random.permille(QUESTIONS);
        let id = 4 + index;
        text(out, "{\"user\": \"");
        number(out, Site::user(random));
        text(out, "\", ");
        if question {
            text(out, "\"tags\": ");
            self.site.tags(None, random, out);
            text(out, ", \"questionId\": \"");
            number(out, id);
        } else {
            // Most answers come soon after their question.
            text(out, "\"questionId\": \"");
            number(out, id.saturating_sub(random.skewed(6 * 256, 6)).max(4));
            text(out, "\", \"answerId\": \"");
            number(out, id);
        }
        text(out, "\", \"creationDate\": \"");
        when(out, Site::moment(index, self.documents, random));
        if question {
            text(out, "\", \"title\": \"");
            self.site.title(random, out);
            if random.permille(550) {
                text(out, "\", \"acceptedAnswerId\": \"");
                number(out, id + random.skewed(4 * 256, 5));
            }
        }
        text(out, if question { "\", \"type\": \"question" } else { "\", \"type\": \"answer" });
        text(out, "\", \"body\": \"");
        let median = if question { 9 * 256 + 130 } else { 8 * 256 + 200 };
        let bytes = usize::try_from(random.skewed(median, 2)).unwrap_or(0).clamp(30, 30_000);
        self.site.body(bytes, random, out);
        text(out, "\"}\n");
    }
}

/// Generates the corpus.
pub(crate) struct StackOverflow;

impl Generator for StackOverflow {
    fn name(&self) -> &'static str {
        "so"
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        single_file("posts.json", documents)
    }

    fn write(&self, file: &FileSpec, seed: u64, threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        let posts = Posts { documents: file.documents, site: Site::new() };
        documents::write(&posts, file.documents, documents::streams(seed, VERSION, file), threads, sink)
    }
}
