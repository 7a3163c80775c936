//! Decodes bodies compressed with gzip (RFC 1952).
//!
//! `flate2` inflates and computes checksums; this module reads headers, trailers and members. The gzip readers of
//! `flate2` are not used, because they allocate tens of kilobytes for the decompression state of every body and do not
//! limit the size of the output. In this module, each thread reuses one state, and the output is written to a reused
//! buffer whose capacity never exceeds the maximum length of a body by more than one byte. The fuzz target `gzip`
//! compares the two implementations.

use std::cell::RefCell;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::error::ExchangeError;

/// Minimum free capacity for decompressed data, in bytes.
const MIN_CAPACITY: usize = 16 * 1024;

const TRUNCATED: ExchangeError = ExchangeError::Gzip("it is truncated");

thread_local! {
    /// The state shared by all connections of a thread, which is possible because a body is decoded without
    /// interruption.
    static INFLATER: RefCell<Decompress> = RefCell::new(Decompress::new(false));
}

/// Decodes all members of a stream into `output`, which keeps its capacity.
///
/// # Errors
///
/// [`ExchangeError::Gzip`] if this is not a complete gzip stream, [`ExchangeError::Malformed`] if it decodes to
/// more than `max_len` bytes.
pub fn decode(encoded: &[u8], output: &mut Vec<u8>, max_len: usize) -> Result<(), ExchangeError> {
    output.clear();
    let mut rest = decode_member(encoded, output, max_len)?;
    while !rest.is_empty() {
        rest = decode_member(rest, output, max_len)?;
    }
    Ok(())
}

/// Decodes one member of a stream and returns what follows it.
fn decode_member<'a>(
    encoded: &'a [u8],
    output: &mut Vec<u8>,
    max_len: usize,
) -> Result<&'a [u8], ExchangeError> {
    let data = skip_header(encoded)?;
    let start = output.len();
    let used = INFLATER.with_borrow_mut(|inflater| inflate(inflater, data, output, max_len))?;
    let (trailer, rest) = data[used..].split_first_chunk::<8>().ok_or(TRUNCATED)?;
    let mut crc = Crc::new();
    crc.update(&output[start..]);
    let [a, b, c, d, size @ ..] = *trailer;
    if crc.sum() != u32::from_le_bytes([a, b, c, d]) || crc.amount() != u32::from_le_bytes(size) {
        return Err(ExchangeError::Gzip("its checksum is wrong"));
    }
    Ok(rest)
}

fn skip_header(encoded: &[u8]) -> Result<&[u8], ExchangeError> {
    let (fixed, mut rest) = encoded.split_first_chunk::<10>().ok_or(TRUNCATED)?;
    let [0x1f, 0x8b, 8, flags, ..] = *fixed else {
        return Err(ExchangeError::Gzip("its header is not that of gzip with deflate"));
    };
    // FTEXT is a hint; FHCRC, FEXTRA, FNAME and FCOMMENT indicate fields; the other flags are reserved.
    if flags & 0b1110_0000 != 0 {
        return Err(ExchangeError::Gzip("its header has reserved flags"));
    }
    if flags & 4 != 0 {
        let (length, after) = rest.split_first_chunk::<2>().ok_or(TRUNCATED)?;
        rest = after.get(usize::from(u16::from_le_bytes(*length))..).ok_or(TRUNCATED)?;
    }
    for text_flag in [8, 16] {
        if flags & text_flag != 0 {
            let end = memchr::memchr(0, rest).ok_or(TRUNCATED)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & 2 != 0 {
        rest = rest.get(2..).ok_or(TRUNCATED)?;
    }
    Ok(rest)
}

/// Appends the decompressed `data` to `output`. Returns the number of bytes of `data` that were used.
fn inflate(
    inflater: &mut Decompress,
    data: &[u8],
    output: &mut Vec<u8>,
    max_len: usize,
) -> Result<usize, ExchangeError> {
    inflater.reset(false);
    let mut used = 0;
    loop {
        if output.len() == output.capacity() {
            // This doubles the capacity, up to one byte more than the limit.
            let left = (max_len + 1).saturating_sub(output.len());
            output.reserve_exact(output.len().max(MIN_CAPACITY).min(left).max(1));
        }
        let before = output.len();
        let status = inflater
            .decompress_vec(&data[used..], output, FlushDecompress::None)
            .map_err(|_| ExchangeError::Gzip("its data is damaged"))?;
        // The number of used bytes of a slice fits into usize.
        used = usize::try_from(inflater.total_in()).unwrap_or(data.len()).min(data.len());
        if output.len() > max_len {
            return Err(ExchangeError::Malformed(
                "the response's body is longer than 512 MiB once decompressed",
            ));
        }
        match status {
            Status::StreamEnd => return Ok(used),
            _ if output.len() == output.capacity() => {}
            _ if used == data.len() || output.len() == before => return Err(TRUNCATED),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;
    use flate2::{Compression, GzBuilder};

    use super::*;

    fn compress(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn decoded(encoded: &[u8]) -> Result<Vec<u8>, ExchangeError> {
        let mut output = b"the previous body".to_vec();
        decode(encoded, &mut output, 1 << 20).map(|()| output)
    }

    #[test]
    fn several_members_and_optional_header_fields_are_decoded() {
        let mut first = GzBuilder::new()
            .filename("a")
            .comment("b")
            .extra(vec![0; 300])
            .write(Vec::new(), Compression::fast());
        first.write_all(b"first ").unwrap();
        let mut encoded = first.finish().unwrap();
        encoded.extend(compress(&vec![b'x'; 100_000]));
        encoded.extend(compress(b""));
        let text = decoded(&encoded).unwrap();
        assert!(text.starts_with(b"first xxx") && text.len() == 100_006);
    }

    #[test]
    fn truncation_at_any_byte_and_damage_of_any_byte_are_errors() {
        let encoded = compress(b"{\"took\":3,\"errors\":false}");
        assert_eq!(decoded(&encoded).unwrap(), b"{\"took\":3,\"errors\":false}");
        for end in 0..encoded.len() {
            assert!(matches!(decoded(&encoded[..end]), Err(ExchangeError::Gzip(_))), "truncated at {end}");
        }
        // Modification time, level and operating system in the header do not affect the text.
        for position in (0..4).chain(10..encoded.len()) {
            let mut damaged = encoded.clone();
            damaged[position] ^= 0xff;
            assert!(matches!(decoded(&damaged), Err(ExchangeError::Gzip(_))), "damaged at {position}");
        }
        let followed = [encoded.as_slice(), b"and more"].concat();
        assert!(matches!(decoded(&followed), Err(ExchangeError::Gzip(_))));
        // The shared state is reset after an error.
        assert_eq!(decoded(&encoded).unwrap(), b"{\"took\":3,\"errors\":false}");
    }

    #[test]
    fn a_decompression_bomb_is_rejected_within_the_memory_limit() {
        let encoded = compress(&vec![0; 8 << 20]);
        assert!(encoded.len() < 256 << 10);
        let mut output = Vec::new();
        assert!(matches!(decode(&encoded, &mut output, 1 << 20), Err(ExchangeError::Malformed(_))));
        assert!(output.capacity() <= (1 << 20) + 1, "{}", output.capacity());
        let at_the_limit = compress(&vec![0; 1 << 20]);
        assert!(decode(&at_the_limit, &mut Vec::new(), 1 << 20).is_ok());
    }
}
