//! The sizes of Parquet pages, read from their headers without decompressing anything.
//!
//! A header is a structure in Thrift's compact protocol, described in the Parquet format: field 1 is the type of the
//! page, field 2 its size without compression, field 3 the size that it has in the file; fields 5, 7 and 8 describe the
//! values of the kinds of pages. The Parquet library reads a field that it knows as if it had the type that it should
//! have, and drops the upper bits of numbers: a header for which that makes a difference is not valid here.

use crate::column_reader::ReadError;

/// Type of a page that contains a dictionary.
const DICTIONARY: i32 = 2;
/// Type of a field that is an integer of 32 bits.
const INT32: u8 = 5;
/// Type of a field that is a structure.
const STRUCTURE: u8 = 12;
/// Type of a field that is a list.
const LIST: u8 = 9;
/// Number of the field of a footer that contains the schema.
const SCHEMA: i64 = 2;
/// Numbers of the fields of a structure, with room for those of later versions.
const FIELDS: std::ops::Range<i64> = 1..100;
/// Encodings that are read, as Parquet numbers them: plain values, both of dictionaries, run lengths, and differences of
/// integers. They need no more memory than the number of rows and the size of the page say. Of the other ones, which no
/// file of Pacenote has, some repeat a part of the value before, or reserve memory for any number of values.
const READ_ENCODINGS: [i32; 5] = [0, 2, 3, 5, 8];
/// The structures that describe the values of a page of data, of a dictionary, and of a page of data of version 2.
const DATA_VALUES: ValueFields = ValueFields { integers: 4, encoding: 2 };
const DICTIONARY_VALUES: ValueFields = ValueFields { integers: 2, encoding: 2 };
const DATA_VALUES_2: ValueFields = ValueFields { integers: 6, encoding: 4 };
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
    /// Number of its values, with those that are null.
    pub values: u64,
    /// The number that Parquet gives to the encoding of its values, if it is none of those that are read.
    pub unread_encoding: Option<i32>,
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
        let mut numbers = HeaderNumbers::default();
        match numbers.read(&mut input) {
            Ok(()) => {}
            Err(Stop::Cut) => return Ok(None),
            Err(Stop::Invalid) => return Err(not_a_header()),
        }
        let size = |value: Option<i32>| value.and_then(|size| u64::try_from(size).ok());
        let HeaderNumbers { kind, uncompressed, stored, values, unread_encoding } = numbers;
        let (Some(kind), Some(uncompressed_bytes), Some(stored_bytes), Some(values)) =
            (kind, size(uncompressed), size(stored), size(values))
        else {
            return Err(not_a_header());
        };
        Ok(Some(Self {
            is_dictionary: kind == DICTIONARY,
            values,
            unread_encoding,
            uncompressed_bytes,
            stored_bytes,
            header_bytes: input.position as u64,
        }))
    }
}

/// Why a header is not read to its end.
enum Stop {
    /// The input ends before it.
    Cut,
    /// It is not one.
    Invalid,
}

/// The numbers in a header. Of those that it has twice, as no program writes it, the larger number of values, any
/// encoding that is not read, and otherwise the last one count.
#[derive(Default)]
struct HeaderNumbers {
    kind: Option<i32>,
    uncompressed: Option<i32>,
    stored: Option<i32>,
    values: Option<i32>,
    unread_encoding: Option<i32>,
}

/// The first fields of a structure about the values of a page, of which field 1 is their number.
#[derive(Clone, Copy)]
struct ValueFields {
    /// Number of fields that are integers of 32 bits.
    integers: i64,
    /// Number of the field that contains the encoding.
    encoding: i64,
}

impl HeaderNumbers {
    fn read(&mut self, input: &mut Input<'_>) -> Result<(), Stop> {
        let mut fields = Fields::default();
        while let Some((number, of_type)) = fields.next_valid(input)? {
            match (number, of_type) {
                (1, INT32) => self.kind = Some(input.int32()?),
                (2, INT32) => self.uncompressed = Some(input.int32()?),
                (3, INT32) => self.stored = Some(input.int32()?),
                (5, STRUCTURE) => self.read_values(input, DATA_VALUES)?,
                (7, STRUCTURE) => self.read_values(input, DICTIONARY_VALUES)?,
                (8, STRUCTURE) => self.read_values(input, DATA_VALUES_2)?,
                (4, INT32) | (6, STRUCTURE) | (9.., _) => input.skip_whole(of_type)?,
                _ => return Err(Stop::Invalid),
            }
        }
        Ok(())
    }

    fn read_values(&mut self, input: &mut Input<'_>, known: ValueFields) -> Result<(), Stop> {
        let mut fields = Fields::default();
        while let Some((number, of_type)) = fields.next_valid(input)? {
            if number > known.integers {
                input.skip_whole(of_type)?;
                continue;
            }
            if of_type != INT32 {
                return Err(Stop::Invalid);
            }
            let value = input.int32()?;
            if number == 1 {
                self.values = self.values.max(Some(value));
            } else if number == known.encoding && !READ_ENCODINGS.contains(&value) {
                self.unread_encoding = Some(value);
            }
        }
        Ok(())
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
        if !FIELDS.contains(&number) || (number == SCHEMA && of_type != LIST) {
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

    /// Returns the number and the type of the next field of a header, or `None` at the end of the structure.
    fn next_valid(&mut self, input: &mut Input<'_>) -> Result<Option<(i64, u8)>, Stop> {
        match self.next(input) {
            Next::Field(number, of_type) if FIELDS.contains(&number) => Ok(Some((number, of_type))),
            Next::Field(..) => Err(Stop::Invalid),
            Next::End => Ok(None),
            Next::Cut => Err(Stop::Cut),
        }
    }
}

struct Input<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Whether this is a footer, which may have lists.
    is_footer: bool,
}

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.position)?;
        self.position += 1;
        Some(byte)
    }

    /// Returns a number in LEB128, of at most 64 bits: the library adds further ones to the lowest bits.
    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0_u32..).step_by(7) {
            let byte = self.byte()?;
            if shift >= u64::BITS {
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

    /// Returns an integer of 32 bits in a header.
    fn int32(&mut self) -> Result<i32, Stop> {
        let number = self.integer().ok_or(Stop::Cut)?;
        i32::try_from(number).map_err(|_| Stop::Invalid)
    }

    /// Skips a value in a header.
    fn skip_whole(&mut self, of_type: u8) -> Result<(), Stop> {
        self.skip(of_type, MOST_LEVELS).map_err(|_| Stop::Invalid)?.ok_or(Stop::Cut)
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

    /// Size of 300 bytes, of which 20 are in the file, after the type of a page of data.
    const SIZES: [u8; 7] = [0x15, 0, 0x15, 0xd8, 4, 0x15, 40];
    /// What describes 7 values of a page of data in plain encoding, after these sizes.
    const VALUES: [u8; 10] = [0x2c, 0x15, 14, 0x15, 0, 0x15, 6, 0x15, 6, 0];

    fn header(parts: &[&[u8]]) -> Result<Option<PageHeader>, ReadError> {
        PageHeader::parse(&parts.concat())
    }

    #[test]
    fn a_header_is_read_past_its_statistics() {
        // A structure of a text, a flag and a number in the one about the values; one more byte.
        let statistics = [0x1c, 0x18, 2, 9, 9, 0x11, 0x25, 6, 0];
        let bytes = [&SIZES[..], &VALUES[..9], &statistics, &[0, 0, 77]].concat();
        let header = PageHeader::parse(&bytes).unwrap().unwrap();
        let expected = PageHeader {
            is_dictionary: false,
            values: 7,
            unread_encoding: None,
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
    fn the_encoding_of_each_kind_of_page_is_read() {
        let page = |field: u8, before: &[u8], encoding: u8| {
            let values = [&[field, 0x15, 14][..], before, &[0x15, encoding << 1, 0]].concat();
            header(&[&SIZES, &values, &[0]]).unwrap().unwrap()
        };
        let version_2 = [0x15, 0, 0x15, 14];
        for encoding in 0..10 {
            let pages =
                [page(0x2c, &[], encoding), page(0x4c, &[], encoding), page(0x5c, &version_2, encoding)];
            let is_read = READ_ENCODINGS.contains(&i32::from(encoding));
            let expected = (7, (!is_read).then_some(i32::from(encoding)));
            assert_eq!(pages.map(|page| (page.values, page.unread_encoding)), [expected; 3]);
        }
    }

    #[test]
    fn what_the_library_reads_differently_is_no_header() {
        assert!(header(&[&SIZES, &VALUES, &[0]]).unwrap().is_some());
        // The library reads a text in the place of the values as their structure, and 65,538 as the number of field 2.
        let as_text = [0x28, 9, 0x15, 14, 0x15, 0, 0x15, 6, 0x15, 6, 0];
        let field_65_538 = [0x05, 0x84, 0x80, 8, 0x0e];
        // It reads these numbers as 2 and 7.
        let kind_of_33_bits = [0x15, 0x84, 0x80, 0x80, 0x80, 0x20, 0x15, 8, 0x15, 8];
        let encoding_of_33_bits = [0x2c, 0x15, 14, 0x15, 0x8e, 0x80, 0x80, 0x80, 0x20, 0];
        for parts in [
            [&SIZES[..], &as_text, &[0]],
            [&SIZES, &VALUES, &[&field_65_538[..], &[0]].concat()],
            [&kind_of_33_bits, &VALUES, &[0]],
            [&SIZES, &encoding_of_33_bits, &[0]],
            // A size without a type that is one.
            [&[0x15, 0, 0x16, 8, 0x15, 8], &VALUES, &[0]],
        ] {
            assert!(header(&parts).is_err(), "{parts:?}");
        }
        // It adds bits above the 64th to the lowest ones.
        let long = [&[0x15, 0, 0x15][..], &[0x80; 10], &[0x7f, 0x15, 8]].concat();
        assert_eq!(header(&[&long, &VALUES, &[0]]).unwrap(), None);
    }

    #[test]
    fn other_bytes_are_an_error() {
        let nested: Vec<u8> = [0x4c; 99].to_vec();
        for bytes in [&[0, 0][..], &[0x15, 0, 0x15, 1, 0x15, 2, 0], &[0x19, 0x2c], &nested] {
            assert!(PageHeader::parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
