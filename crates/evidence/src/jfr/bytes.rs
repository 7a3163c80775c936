//! Reads the encodings of a chunk: bytes, compressed integers and texts.

use std::borrow::Cow;
use std::num::NonZeroU64;

/// Longest text that is read, in bytes or units of UTF-16; the rest of a longer one is dropped. Names in JVMs have up to
/// some hundred.
pub(super) const MAX_TEXT: usize = 1024;

/// The high bits of eight bytes, which are set in all bytes of an integer but the last.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Reads values from the front of a slice. Every method returns `None` if the slice ends before the value does.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteReader<'a> {
    rest: &'a [u8],
}

/// A text as it is encoded in an event or constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EncodedText<'a> {
    /// No text.
    Null,
    /// The text.
    Value(Cow<'a, str>),
    /// A constant with this id.
    Pooled(u64),
}

impl<'a> ByteReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the number of bytes that have not been read.
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads a compressed integer: seven bits per byte from the lowest, and all eight of a ninth byte.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "keeps the slice in registers, in the loops over events and frames"
    )]
    pub(super) fn varint(&mut self) -> Option<u64> {
        match *self.rest {
            [first, ref rest @ ..] if first < 0x80 => {
                self.rest = rest;
                Some(u64::from(first))
            }
            [first, second, ref rest @ ..] if second < 0x80 => {
                self.rest = rest;
                Some(u64::from(first & 0x7f) | u64::from(second) << 7)
            }
            [first, ref rest @ ..] => {
                self.rest = rest;
                self.long_varint(first)
            }
            [] => None,
        }
    }

    /// Skips compressed integers, eight bytes at a time.
    pub(super) fn skip_varints(&mut self, count: usize) -> Option<()> {
        let mut left = count;
        // Number of bytes of the current integer that have been skipped.
        let mut begun = 0;
        while left > 8
            && let Some((&bytes, rest)) = self.rest.split_first_chunk::<8>()
        {
            let ends = !u64::from_le_bytes(bytes) & HIGH_BITS;
            if begun + ends.trailing_zeros() / 8 >= 8 {
                self.skip_begun(begun)?;
                (left, begun) = (left - 1, 0);
                continue;
            }
            self.rest = rest;
            left -= ends.count_ones() as usize;
            begun = ends.leading_zeros() / 8;
        }
        if begun > 0 {
            self.skip_begun(begun)?;
            left -= 1;
        }
        for _ in 0..left {
            self.varint()?;
        }
        Some(())
    }

    /// Skips the rest of an integer of which some bytes, at most eight, have been skipped.
    fn skip_begun(&mut self, begun: u32) -> Option<()> {
        for _ in begun..8 {
            if self.byte()? < 0x80 {
                return Some(());
            }
        }
        self.byte().map(|_| ())
    }

    #[inline(never)]
    fn long_varint(&mut self, first: u8) -> Option<u64> {
        let Some(&bytes) = self.rest.first_chunk::<8>() else { return self.varint_near_end(first) };
        let word = u64::from_le_bytes(bytes);
        let Some(ends) = NonZeroU64::new(!word & HIGH_BITS) else { return self.varint_near_end(first) };
        // The first byte is followed by those up to the first one without a high bit.
        let length = ends.trailing_zeros() as usize / 8 + 1;
        self.rest = self.rest.get(length..)?;
        let mut value = word & (ends.get() ^ (ends.get() - 1)) & !HIGH_BITS;
        value = (value & 0x7f00_7f00_7f00_7f00) >> 1 | value & 0x007f_007f_007f_007f;
        value = (value & 0x3fff_0000_3fff_0000) >> 2 | value & 0x0000_3fff_0000_3fff;
        value = (value & 0x0fff_ffff_0000_0000) >> 4 | value & 0x0000_0000_0fff_ffff;
        Some(value << 7 | u64::from(first & 0x7f))
    }

    /// Reads the rest of an integer byte by byte.
    fn varint_near_end(&mut self, first: u8) -> Option<u64> {
        let mut value = u64::from(first & 0x7f);
        for shift in (7..56).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        Some(value | u64::from(self.byte()?) << 56)
    }

    /// Reads the bits of a floating-point number, which is not compressed.
    pub(super) fn float_bits(&mut self) -> Option<u32> {
        let (&bytes, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(u32::from_be_bytes(bytes))
    }

    /// Reads a compressed integer that counts bytes or elements.
    pub(super) fn count(&mut self) -> Option<usize> {
        self.varint().and_then(|count| usize::try_from(count).ok())
    }

    /// Reads a text and all of its bytes.
    pub(super) fn text(&mut self) -> Option<EncodedText<'a>> {
        let start = *self;
        self.skip_text()?;
        start.begin_of_text()
    }

    /// Returns the text at the front. Reads no further than the part of a long text that is kept, so that a text that many
    /// events refer to is not read to its end by each of them.
    pub(super) fn begin_of_text(mut self) -> Option<EncodedText<'a>> {
        Some(match self.byte()? {
            0 => EncodedText::Null,
            1 => EncodedText::Value(Cow::Borrowed("")),
            2 => EncodedText::Pooled(self.varint()?),
            3 => EncodedText::Value(String::from_utf8_lossy(self.text_bytes()?)),
            4 => EncodedText::Value(Cow::Owned(self.begin_of_utf16()?)),
            5 => EncodedText::Value(Cow::Owned(
                self.text_bytes()?.iter().map(|&byte| char::from(byte)).collect(),
            )),
            _ => return None,
        })
    }

    pub(super) fn skip_text(&mut self) -> Option<()> {
        match self.byte()? {
            0 | 1 => {}
            2 => _ = self.varint()?,
            3 | 5 => _ = self.text_bytes()?,
            4 => {
                let count = self.count()?;
                self.skip_varints(count)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn text_bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take(count).map(|bytes| &bytes[..count.min(MAX_TEXT)])
    }

    fn begin_of_utf16(&mut self) -> Option<String> {
        let count = self.count()?;
        let mut units = Vec::new();
        for _ in 0..count.min(MAX_TEXT) {
            units.push(u16::try_from(self.varint()?).unwrap_or(0xfffd));
        }
        Some(String::from_utf16_lossy(&units))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_up_to_nine_bytes() {
        for (bytes, expected) in [
            (&[0x00_u8][..], Some(0)),
            (&[0x7f], Some(127)),
            (&[0x80, 0x01], Some(128)),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], Some(u64::from(u32::MAX))),
            (&[0xff; 9], Some(u64::MAX)),
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80], Some(1 << 63)),
            (&[], None),
            (&[0x80; 8], None),
        ] {
            let mut reader = ByteReader::new(bytes);
            assert_eq!(reader.varint(), expected, "{bytes:?}");
            assert_eq!(reader.remaining(), 0, "{bytes:?}");
        }
    }

    #[test]
    fn integers_do_not_depend_on_what_follows() {
        for count in 1..=9_usize {
            let mut bytes: Vec<u8> = (1..=9_u8).map(|byte| 0x80 | byte.wrapping_mul(29)).collect();
            bytes.truncate(count);
            if count < 9 {
                bytes[count - 1] &= 0x7f;
            }
            let expected = ByteReader::new(&bytes).varint();
            assert!(expected.is_some_and(|value| value >> (7 * (count - 1)) != 0));
            for filler in [0_u8, 0x7f, 0xff] {
                let followed = [&bytes[..], &[filler; 9]].concat();
                let mut reader = ByteReader::new(&followed);
                assert_eq!((reader.varint(), reader.remaining()), (expected, 9), "{count} bytes");
            }
        }
    }

    #[test]
    fn integers_are_skipped_as_they_are_read() {
        // The lengths of integers in bytes, in an order that is neither regular nor random.
        let lengths: Vec<usize> = (0..400_usize).map(|at| 1 + at * at * 7 / 5 % 11 % 9).collect();
        assert!((1..=9).all(|length| lengths.contains(&length)));
        let mut bytes = Vec::new();
        let mut ends = vec![0];
        for &length in &lengths {
            bytes.extend(std::iter::repeat_n(0xff, length - 1));
            bytes.push(if length == 9 { 0xff } else { 0x01 });
            ends.push(bytes.len());
        }
        for (count, &end) in ends.iter().enumerate() {
            let mut skipping = ByteReader::new(&bytes);
            assert_eq!(skipping.skip_varints(count), Some(()), "{count}");
            assert_eq!(skipping.remaining(), bytes.len() - end, "{count}");
            let cut = &bytes[..end.saturating_sub(1)];
            assert_eq!(ByteReader::new(cut).skip_varints(count).is_some(), count == 0, "{count}");
        }
        assert_eq!(ByteReader::new(&bytes).skip_varints(usize::MAX), None);
    }

    #[test]
    fn texts_have_six_encodings() {
        let value = |text: &'static str| Some(EncodedText::Value(Cow::Borrowed(text)));
        for (bytes, expected) in [
            (&[0_u8][..], Some(EncodedText::Null)),
            (&[1], value("")),
            (&[2, 0x81, 0x01], Some(EncodedText::Pooled(129))),
            (&[3, 3, b'a', 0xc3, 0xa9], value("aé")),
            (&[4, 2, b'a', 0xe9, 0x01], value("aé")),
            (&[4, 1, 0x80, 0x80, 0x04], value("\u{fffd}")),
            (&[5, 2, b'a', 0xe9], value("aé")),
            (&[6, 1, b'a'], None),
            (&[3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], None),
            (&[4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, b'a'], None),
        ] {
            let mut reader = ByteReader::new(bytes);
            assert_eq!(reader.text(), expected, "{bytes:?}");
            let skipped = ByteReader::new(bytes).skip_text();
            assert_eq!(skipped.is_some(), expected.is_some(), "{bytes:?}");
        }
        let long = [&[3, 0x90, 0x4e][..], &[b'x'; 10_000]].concat();
        let mut reader = ByteReader::new(&long);
        assert!(matches!(reader.text(), Some(EncodedText::Value(text)) if text.len() == MAX_TEXT));
        assert_eq!(reader.remaining(), 0);
        let units = [&[4, 0x90, 0x4e][..], &[b'x'; 10_000]].concat();
        let mut reader = ByteReader::new(&units);
        assert!(matches!(reader.text(), Some(EncodedText::Value(text)) if text.len() == MAX_TEXT));
        assert_eq!(reader.remaining(), 0);
        let cut = ByteReader::new(&units[..5000]);
        assert!(matches!(cut.begin_of_text(), Some(EncodedText::Value(text)) if text.len() == MAX_TEXT));
    }
}
