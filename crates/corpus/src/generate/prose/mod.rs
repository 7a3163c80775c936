//! Prose: sentences of words that are drawn according to Zipf's law.
//!
//! The text has no meaning, but its sentence lengths, word frequencies and punctuation are those of prose.

pub(crate) mod english;

use super::random::{Random, WeightTable, u16_of};

/// Size of the buffer for a word, in bytes.
const ROOM: usize = 23;

/// A word in a buffer of fixed size, so that it is copied without checking its length.
#[derive(Debug, Clone, Copy)]
struct Word {
    text: [u8; ROOM],
    len: u8,
}

/// Words to draw from, the most frequent first.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    words: Vec<Word>,
    urn: WeightTable,
}

impl Words {
    /// Creates a table of words, the most frequent first, whose frequencies follow the Zipf–Mandelbrot law; a larger
    /// `flat` makes the first words less dominant. Words that do not fit into the buffer are omitted.
    pub(crate) fn zipf<'a>(words: impl IntoIterator<Item = &'a str>, flat: u64) -> Self {
        let word = |word: &str| {
            let mut text = [b' '; ROOM];
            text.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
            Some(Word { text, len: u8::try_from(word.len()).ok()? })
        };
        let words: Vec<Word> = words.into_iter().filter_map(word).collect();
        let urn = WeightTable::zipf(words.len(), flat);
        Self { words, urn }
    }

    /// Appends the word that 16 random bits select.
    #[inline]
    pub(crate) fn append(&self, bits: u16, out: &mut Vec<u8>) {
        let word = &self.words[self.urn.pick(bits)];
        let end = out.len() + usize::from(word.len);
        out.extend_from_slice(&word.text);
        out.truncate(end);
    }

    /// Appends `count` words, separated by spaces.
    #[inline]
    pub(crate) fn several(&self, count: u64, random: &mut Random, out: &mut Vec<u8>) {
        let mut bits = 0;
        for number in 0..count {
            if number % 4 == 0 {
                bits = random.next();
            }
            if number > 0 {
                out.push(b' ');
            }
            self.append(u16_of(bits, 0), out);
            bits >>= 16;
        }
    }

    /// Appends sentences, each followed by a space, until at least `bytes` bytes have been appended.
    pub(crate) fn sentences(&self, bytes: usize, random: &mut Random, out: &mut Vec<u8>) {
        let end = out.len() + bytes;
        while out.len() < end {
            self.sentence(random, out);
        }
    }

    /// Appends a sentence of 6 to 29 words, followed by a space.
    fn sentence(&self, random: &mut Random, out: &mut Vec<u8>) {
        let bits = random.next();
        let start = out.len();
        // The mean of two uniform numbers makes sentences of medium length the most frequent.
        let words = 6 + (bits & 0xff) * 12 / 256 + ((bits >> 8) & 0xff) * 13 / 256;
        let comma = (bits >> 16) & 0x1f;
        if comma > 2 && comma + 2 < words {
            self.several(comma, random, out);
            out.extend_from_slice(b", ");
            self.several(words - comma, random, out);
        } else {
            self.several(words, random, out);
        }
        out[start].make_ascii_uppercase();
        out.extend_from_slice(b". ");
    }
}

/// Converts the first letter of a piece of text, which begins at `start`, to upper case.
#[inline]
pub(crate) fn capitalize(out: &mut [u8], start: usize) {
    if let Some(first) = out.get_mut(start) {
        first.make_ascii_uppercase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_look_like_sentences() {
        let words = Words::zipf(english::WORDS.split_whitespace(), 2);
        let (mut random, mut out) = (Random::new(1, &[]), Vec::new());
        words.sentences(50_000, &mut random, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!((50_000..50_300).contains(&text.len()));
        for sentence in text.trim_end().split_inclusive(". ") {
            let count = sentence.split_whitespace().count();
            assert!((6..=30).contains(&count) && sentence.as_bytes()[0].is_ascii_uppercase(), "{sentence}");
        }
        assert!(text.contains(", ") && !text.contains("  ") && !text.contains(" ,"));
    }

    #[test]
    fn words_are_lower_case_and_distinct() {
        let mut words: Vec<&str> = english::WORDS.split_whitespace().collect();
        assert!(
            words.iter().all(|word| word.len() < ROOM && word.bytes().all(|byte| byte.is_ascii_lowercase()))
        );
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count, "a word occurs twice");
        assert!(count > 700, "{count} words");
    }
}
