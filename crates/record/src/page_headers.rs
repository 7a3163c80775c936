//! The sizes of Parquet pages, read from their headers without decompressing anything.
//!
//! A header is a structure in Thrift's compact protocol, described in the Parquet format: field 1 is the type of the
//! page, field 2 its size without compression, field 3 the size that it has in the file.

use crate::column_reader::ReadError;

/// Type of a page that contains a dictionary.
const DICTIONARY: i64 = 2;
/// Type of a field that is an integer of 32 bits.
const INT32: u8 = 5;
/// Type of a field that is a list.
const LIST: u8 = 9;
/// Number of the field of a footer that contains the schema.
const SCHEMA: i64 = 2;
/// Numbers of the fields of a footer, with room for those of later versions.
const FOOTER_FIELDS: std::ops::Range<i64> = 1..100;
/// Deepest nesting of structures and lists in a footer: that of sizes of a column is 8.
const FOOTER_LEVELS: u32 = 16;
/// Largest number of columns and groups in a schema; those of Pacenote have up to 20.
const MOST_ELEMENTS: u64 = 256;
/// Deepest nesting of structures: that of statistics in a header is 2.
const MOST_LEVELS: u32 = 8;

/// What the header of a page says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageHeader {
    /// Whether it contains the dictionary of its column.
    pub is_dictionary: bool,
    /// Size without compression, in bytes.
    pub uncompressed_bytes: u64,
    /// Size in the file, in bytes, without the header.
    pub stored_bytes: u64,
    /// Size of the header, in bytes.
    pub header_bytes: u64,
}

impl PageHeader {
    /// Reads the header at the beginning of `bytes`. Returns `None` if they end before it does.
    ///
    /// # Errors
    ///
    /// An error if it is not a header.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, ReadError> {
        let mut input = Input { bytes, position: 0, is_footer: false };
        let (mut kind, mut uncompressed, mut stored) = (None, None, None);
        let mut fields = Fields::default();
        loop {
            let (number, of_type) = match fields.next(&mut input) {
                Next::Field(number, of_type) => (number, of_type),
                Next::End => break,
                Next::Cut => return Ok(None),
            };
            let target = match number {
                1 => &mut kind,
                2 => &mut uncompressed,
                3 => &mut stored,
                _ => {
                    if input.skip(of_type, MOST_LEVELS)?.is_none() {
                        return Ok(None);
                    }
                    continue;
                }
            };
            if of_type != INT32 {
                return Err(not_a_header());
            }
            let Some(value) = input.integer() else { return Ok(None) };
            *target = Some(value);
        }
        let size = |value: Option<i64>| value.and_then(|size| u64::try_from(size).ok());
        let (Some(kind), Some(uncompressed_bytes), Some(stored_bytes)) =
            (kind, size(uncompressed), size(stored))
        else {
            return Err(not_a_header());
        };
        Ok(Some(Self {
            is_dictionary: kind == DICTIONARY,
            uncompressed_bytes,
            stored_bytes,
            header_bytes: input.position as u64,
        }))
    }
}

/// Checks that the schema in a footer has so few elements that its levels can be read by a function that calls itself.
///
/// # Errors
///
/// An error if it has too many, or if it is not a footer of the form that Pacenote writes.
pub fn check_schema(footer: &[u8]) -> Result<(), ReadError> {
    let mut input = Input { bytes: footer, position: 0, is_footer: true };
    let mut fields = Fields::default();
    loop {
        let (number, of_type) = match fields.next(&mut input) {
            Next::Field(number, of_type) => (number, of_type),
            Next::End => return Ok(()),
            Next::Cut => return Err(not_a_footer()),
        };
        if !FOOTER_FIELDS.contains(&number) || (number == SCHEMA && of_type != LIST) {
            return Err(not_a_footer());
        }
        if number == SCHEMA {
            let begin = input.position;
            let count = input.list().map_or(0, |(count, _)| count);
            if count > MOST_ELEMENTS {
                return Err(ReadError::TooLarge(format!(
                    "has a schema of {count} elements; at most {MOST_ELEMENTS} are read"
                )));
            }
            input.position = begin;
        }
        if input.skip(of_type, FOOTER_LEVELS)?.is_none() {
            return Err(not_a_footer());
        }
    }
}

fn not_a_footer() -> ReadError {
    ReadError::Damaged("its footer is not valid".into())
}

fn not_a_header() -> ReadError {
    ReadError::Damaged("a page has no valid header".into())
}

/// What follows in a structure.
enum Next {
    /// A field with its number and type.
    Field(i64, u8),
    /// The end of the structure.
    End,
    /// The end of the input.
    Cut,
}

/// The fields of a structure.
#[derive(Default)]
struct Fields {
    last: i64,
}

impl Fields {
    fn next(&mut self, input: &mut Input<'_>) -> Next {
        let Some(byte) = input.byte() else { return Next::Cut };
        if byte == 0 {
            return Next::End;
        }
        let step = i64::from(byte >> 4);
        let number = if step == 0 { input.integer() } else { Some(self.last.saturating_add(step)) };
        let Some(number) = number else { return Next::Cut };
        self.last = number;
        Next::Field(number, byte & 0xf)
    }
}

struct Input<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Whether this is a footer: it may have lists, and its numbers are read as the Parquet library reads them.
    is_footer: bool,
}

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.position)?;
        self.position += 1;
        Some(byte)
    }

    /// Returns a number in LEB128, whose bits above the 64th are dropped.
    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0_u32..).step_by(7) {
            let byte = self.byte()?;
            if self.is_footer && shift >= u64::BITS {
                return None;
            }
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(value)
    }

    /// Returns an integer of any width, which is zigzag encoded.
    fn integer(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Returns the number and the type of the elements of a list.
    fn list(&mut self) -> Option<(u64, u8)> {
        let byte = self.byte()?;
        let count = if byte >> 4 == 15 { self.unsigned()? } else { u64::from(byte >> 4) };
        Some((count, byte & 0xf))
    }

    fn advance(&mut self, bytes: u64) -> Option<()> {
        let end = self.position.checked_add(usize::try_from(bytes).ok()?)?;
        self.position = end;
        (end <= self.bytes.len()).then_some(())
    }

    /// Skips a value. Returns `None` at the end of the input.
    fn skip(&mut self, of_type: u8, levels: u32) -> Result<Option<()>, ReadError> {
        let Some(levels) = levels.checked_sub(1) else { return Err(not_a_header()) };
        match of_type {
            1 | 2 => Ok(Some(())),
            3 => Ok(self.byte().map(drop)),
            4..=6 => Ok(self.unsigned().map(drop)),
            7 => Ok(self.advance(8)),
            8 => {
                let Some(length) = self.unsigned() else { return Ok(None) };
                Ok(self.advance(length))
            }
            12 => {
                let mut fields = Fields::default();
                loop {
                    match fields.next(self) {
                        Next::Field(_, of_type) if self.skip(of_type, levels)?.is_some() => {}
                        Next::End => return Ok(Some(())),
                        Next::Field(..) | Next::Cut => return Ok(None),
                    }
                }
            }
            LIST if self.is_footer => {
                let Some((count, of_type)) = self.list() else { return Ok(None) };
                // No footer has a list of booleans, whose values could have any length.
                if of_type < 3 {
                    return Err(not_a_footer());
                }
                for _ in 0..count {
                    if self.skip(of_type, levels)?.is_none() {
                        return Ok(None);
                    }
                }
                Ok(Some(()))
            }
            // Headers of pages contain neither lists nor maps.
            _ => Err(not_a_header()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_past_its_statistics() {
        // Type 0, 300 and 20 bytes, then a structure with a structure of a text, a flag and a number; one more byte.
        let bytes = [0x15, 0, 0x15, 0xd8, 4, 0x15, 40, 0x2c, 0x1c, 0x18, 2, 9, 9, 0x11, 0, 0x25, 6, 0, 0, 77];
        let header = PageHeader::parse(&bytes).unwrap().unwrap();
        let expected = PageHeader {
            is_dictionary: false,
            uncompressed_bytes: 300,
            stored_bytes: 20,
            header_bytes: bytes.len() as u64 - 1,
        };
        assert_eq!(header, expected);
        for length in 0..bytes.len() - 1 {
            assert_eq!(PageHeader::parse(&bytes[..length]).unwrap(), None, "{length}");
        }
    }

    #[test]
    fn other_bytes_are_an_error() {
        let nested: Vec<u8> = [0x4c; 99].to_vec();
        for bytes in [&[0, 0][..], &[0x15, 0, 0x15, 1, 0x15, 2, 0], &[0x19, 0x2c], &nested] {
            assert!(PageHeader::parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
