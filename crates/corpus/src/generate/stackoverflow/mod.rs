//! Code that `nested` and `so` share: a site for questions and answers about programming, August 2008 to June 2016.

pub(super) mod nested;
pub(super) mod so;
mod vocabulary;

use super::append::{number, text, time_millis};
use super::prose::{Words, capitalize, english};
use super::random::{Random, WeightTable};
use vocabulary::{CODE, OPENINGS, PROGRAMMING, TAGS};

/// 1 August 2008 and 10 June 2016, in milliseconds since 1970.
const START: u64 = 1_217_548_800_000;
const END: u64 = 1_465_516_800_000;

/// Number of users of the site.
const USERS: u32 = 5_000_000;

/// The vocabulary of the site: its tags, and the words of its posts.
struct Site {
    words: Words,
    code: Words,
    tags: WeightTable,
}

impl Site {
    fn new() -> Self {
        // Programming terms alternate with everyday English.
        let programming = PROGRAMMING.split_whitespace();
        let mut english = english::WORDS.split_whitespace();
        let mut words: Vec<&str> = english.by_ref().take(60).collect();
        for word in programming {
            words.push(word);
            words.extend(english.next());
        }
        words.extend(english);
        Self {
            words: Words::zipf(words, 6),
            code: Words::zipf(CODE.split_whitespace(), 12),
            tags: WeightTable::new(&TAGS.map(|(_, weight, _)| weight)),
        }
    }

    /// Appends a list of one to five tags: first `wanted`, if any, then tags related to the first.
    fn tags(&self, wanted: Option<usize>, random: &mut Random, out: &mut Vec<u8>) {
        let (tag, _, others) = TAGS[wanted.unwrap_or_else(|| self.tags.draw(random))];
        text(out, "[\"");
        text(out, tag);
        // The related tags of a tag are ordered by frequency, the most frequent first.
        let bits = random.next();
        let odds = [190, 150, 110, 70, 40, 20];
        let chosen = others.iter().zip(odds).enumerate();
        let chosen = chosen.filter(|(at, (_, odds))| (bits >> (8 * at)) & 0xff < *odds);
        for (_, (other, _)) in chosen.take(4) {
            text(out, "\", \"");
            text(out, other);
        }
        text(out, "\"]");
    }

    fn title(&self, random: &mut Random, out: &mut Vec<u8>) {
        text(out, random.word(&OPENINGS));
        out.push(b' ');
        self.words.several(random.within(4..10), random, out);
        if random.permille(600) {
            out.push(b'?');
        }
    }

    /// Appends about `bytes` bytes of text: sentences and pieces of code.
    fn body(&self, bytes: usize, random: &mut Random, out: &mut Vec<u8>) {
        let end = out.len() + bytes;
        while out.len() < end {
            let rest = end - out.len();
            self.words.sentences(rest.min(60 + random.below(240) as usize), random, out);
            if out.len() < end && random.permille(450) {
                self.code.several(random.within(6..24), random, out);
                out.push(b' ');
            }
        }
    }

    /// Draws a user number; a few users write most of the posts.
    fn user(random: &mut Random) -> u64 {
        let class = 1 << random.within(2..23);
        (class + u64::from(random.below(u32::try_from(class).unwrap_or(1)))).min(u64::from(USERS))
    }

    /// Appends a user's name and number; the same number always has the same name.
    fn full_user(random: &mut Random, out: &mut Vec<u8>) {
        let user = Self::user(random);
        let pick = |list: &[&'static str], salt: u64| {
            let mixed = user.wrapping_add(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            list[usize::try_from(mixed % list.len() as u64).unwrap_or(0)]
        };
        match user % 4 {
            0 => {
                let start = out.len();
                text(out, pick(&vocabulary::HANDLES, 1));
                if user.is_multiple_of(3) {
                    capitalize(out, start);
                }
                number(out, user % 1000);
            }
            1 => text(out, pick(&vocabulary::GIVEN, 2)),
            _ => {
                text(out, pick(&vocabulary::GIVEN, 3));
                out.push(b' ');
                text(out, pick(&vocabulary::FAMILY, 4));
            }
        }
        text(out, " (");
        number(out, user);
        out.push(b')');
    }

    /// Draws a timestamp, in milliseconds since 1970. Later ones are more frequent, because the site grew.
    fn moment(index: u64, documents: u64, random: &mut Random) -> u64 {
        let share = u64::try_from((u128::from(index) << 32) / u128::from(documents)).unwrap_or(0);
        // Half constant, half growing: position p of the corpus is at (p + sqrt(p)) / 2 of the time span.
        let moment = u128::from(u64::midpoint(share, (share << 32).isqrt())) * u128::from(END - START);
        START + u64::try_from(moment >> 32).unwrap_or(0) + u64::from(random.below(600_000))
    }
}

/// Appends a timestamp in the site's format.
fn when(out: &mut Vec<u8>, millis: u64) {
    time_millis(out, millis);
}
