//! Decodes bodies compressed with gzip (RFC 1952).
//!
//! `flate2` inflates and computes checksums; this module reads headers, trailers and members. The gzip readers of
//! `flate2` are not used, because they allocate tens of kilobytes for the decompression state of every body and do not
//! limit the size of the output. In this module, each thread reuses its states, and the output is written to a reused
//! buffer. A long body is decoded in slices, between which the thread serves its other clients. The fuzz target `gzip`
//! compares this module with `flate2`.

use std::cell::RefCell;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::error::ExchangeError;
use crate::slices::{SLICE, Slices};

/// Minimum free capacity for decompressed data, in bytes.
const MIN_CAPACITY: usize = 16 * 1024;
/// Maximum number of states per thread that are kept for the next long bodies.
const MAX_IDLE: usize = 16;

const TRUNCATED: ExchangeError = ExchangeError::Gzip("it is truncated");

thread_local! {
    /// The state for short bodies, which all connections of a thread share because a short body is decoded without
    /// interruption.
    static INFLATER: RefCell<Decompress> = RefCell::new(Decompress::new(false));
    /// States for long bodies that are not in use.
    static IDLE: RefCell<Vec<SliceInflater>> = const { RefCell::new(Vec::new()) };
}

/// Decodes all members of a stream into `output`, which keeps its capacity, if they are short: compressed and
/// decompressed, no longer than a slice. Returns `None` if they are longer.
///
/// # Errors
///
/// [`ExchangeError::Gzip`] if this is not a complete gzip stream.
pub fn decode_short(encoded: &[u8], output: &mut Vec<u8>) -> Option<Result<(), ExchangeError>> {
    // A trailer ends with the length of its member, which is wrong only in an invalid stream or one of several members.
    let length = encoded.last_chunk().map_or(0, |length| u32::from_le_bytes(*length));
    if encoded.len() > SLICE || length as usize > SLICE {
        return None;
    }
    output.clear();
    let mut rest = encoded;
    loop {
        match decode_short_member(rest, output) {
            Ok(Some([])) => return Some(Ok(())),
            Ok(Some(after)) => rest = after,
            Ok(None) => return None,
            Err(error) => return Some(Err(error)),
        }
    }
}

/// Decodes one member of a stream and returns what follows it, or `None` if the output is longer than a slice.
fn decode_short_member<'a>(
    encoded: &'a [u8],
    output: &mut Vec<u8>,
) -> Result<Option<&'a [u8]>, ExchangeError> {
    let data = skip_header(encoded)?;
    let start = output.len();
    let Some(used) = INFLATER.with_borrow_mut(|inflater| inflate_short(inflater, data, output))? else {
        return Ok(None);
    };
    let mut crc = Crc::new();
    crc.update(&output[start..]);
    check_trailer(&data[used..], &crc).map(Some)
}

/// Decodes all members of a stream into `output`, which keeps its capacity, and yields to the thread's other clients
/// after each slice. Calls `reserve` with the length and the capacity of the output before it grows to them.
///
/// # Errors
///
/// [`ExchangeError::Gzip`] if this is not a complete gzip stream, or the error of `reserve`.
pub async fn decode_in_slices(
    encoded: &[u8],
    output: &mut Vec<u8>,
    mut reserve: impl FnMut(usize, usize) -> Result<(), ExchangeError>,
) -> Result<(), ExchangeError> {
    output.clear();
    let idle = IDLE.with_borrow_mut(Vec::pop);
    let mut inflater = idle.unwrap_or_else(SliceInflater::new);
    let mut slices = Slices::default();
    let mut rest = encoded;
    while {
        let data = skip_header(rest)?;
        inflater.begin_member();
        while !inflater.is_complete {
            let used = inflater.used;
            let slice = inflater.inflate_slice(data)?;
            let (before, needed) = (output.len(), output.len() + slice.len());
            let capacity = output.capacity();
            let capacity = if needed > capacity { needed.max(2 * capacity) } else { capacity };
            reserve(needed, capacity)?;
            output.reserve_exact(capacity - before);
            output.extend_from_slice(slice);
            let length = slice.len();
            slices.spend(length.max(inflater.used - used)).await;
        }
        rest = check_trailer(&data[inflater.used..], &inflater.crc)?;
        !rest.is_empty()
    } {}
    IDLE.with_borrow_mut(|idle| {
        if idle.len() < MAX_IDLE {
            idle.push(inflater);
        }
    });
    Ok(())
}

/// Compares the trailer of a member with the checksum of its content, and returns what follows it.
fn check_trailer<'a>(encoded: &'a [u8], crc: &Crc) -> Result<&'a [u8], ExchangeError> {
    let (trailer, rest) = encoded.split_first_chunk::<8>().ok_or(TRUNCATED)?;
    let [a, b, c, d, size @ ..] = *trailer;
    if crc.sum() != u32::from_le_bytes([a, b, c, d]) || crc.amount() != u32::from_le_bytes(size) {
        return Err(ExchangeError::Gzip("its checksum is wrong"));
    }
    Ok(rest)
}

/// The state for a long body, which is decoded with interruptions.
#[derive(Debug)]
struct SliceInflater {
    decompress: Decompress,
    /// The slice that was decompressed last.
    slice: Box<[u8]>,
    crc: Crc,
    /// Number of bytes of the current member's data that have been used.
    used: usize,
    /// Whether the current member's data has ended.
    is_complete: bool,
}

impl SliceInflater {
    fn new() -> Self {
        Self {
            decompress: Decompress::new(false),
            slice: vec![0; SLICE].into(),
            crc: Crc::new(),
            used: 0,
            is_complete: false,
        }
    }

    fn begin_member(&mut self) {
        self.decompress.reset(false);
        self.crc.reset();
        (self.used, self.is_complete) = (0, false);
    }

    /// Decompresses the next part of a member's data: at most a slice before and after decompression.
    fn inflate_slice(&mut self, data: &[u8]) -> Result<&[u8], ExchangeError> {
        let (used, written) = (self.used, self.decompress.total_out());
        let input = &data[used..data.len().min(used + SLICE)];
        let status = self
            .decompress
            .decompress(input, &mut self.slice, FlushDecompress::None)
            .map_err(|_| ExchangeError::Gzip("its data is damaged"))?;
        // The lengths of slices fit into usize.
        self.used = usize::try_from(self.decompress.total_in()).unwrap_or(data.len()).min(data.len());
        let length = usize::try_from(self.decompress.total_out() - written).unwrap_or(0).min(SLICE);
        self.is_complete = status == Status::StreamEnd;
        if !self.is_complete && length == 0 && self.used == used {
            return Err(TRUNCATED);
        }
        let slice = &self.slice[..length];
        self.crc.update(slice);
        Ok(slice)
    }
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

/// Appends the decompressed `data` to `output`. Returns the number of bytes of `data` that were used, or `None` if the
/// output is longer than a slice.
fn inflate_short(
    inflater: &mut Decompress,
    data: &[u8],
    output: &mut Vec<u8>,
) -> Result<Option<usize>, ExchangeError> {
    inflater.reset(false);
    let mut used = 0;
    loop {
        if output.len() == output.capacity() {
            output.reserve(MIN_CAPACITY);
        }
        let before = output.len();
        let status = inflater
            .decompress_vec(&data[used..], output, FlushDecompress::None)
            .map_err(|_| ExchangeError::Gzip("its data is damaged"))?;
        // The number of used bytes of a slice fits into usize.
        used = usize::try_from(inflater.total_in()).unwrap_or(data.len()).min(data.len());
        match status {
            _ if output.len() > SLICE => return Ok(None),
            Status::StreamEnd => return Ok(Some(used)),
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

    /// Decodes a stream in slices and, if it is short, also in one piece; the results must be equal.
    fn decoded(encoded: &[u8]) -> Result<Vec<u8>, ExchangeError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut output = b"the previous body".to_vec();
        let sliced = runtime.block_on(decode_in_slices(encoded, &mut output, |length, _| {
            if length > 1 << 20 { Err(ExchangeError::Malformed("too long")) } else { Ok(()) }
        }));
        let mut short_output = b"the previous body".to_vec();
        if let Some(short) = decode_short(encoded, &mut short_output) {
            assert_eq!(short.is_ok(), sliced.is_ok());
            assert!(short.is_err() || short_output == output);
        }
        sliced.map(|()| output)
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
        assert!(matches!(decoded(&encoded), Err(ExchangeError::Malformed(_))));
        assert_eq!(decoded(&compress(&vec![0; 1 << 20])).unwrap().len(), 1 << 20);
    }

    #[test]
    fn a_body_is_decoded_in_one_piece_only_if_it_is_short() {
        let is_short = |encoded: &[u8]| decode_short(encoded, &mut Vec::new()).is_some();
        let (short, long) = (compress(&vec![0; SLICE]), compress(&vec![0; SLICE + 1]));
        assert!(is_short(&short) && !is_short(&long));
        // The last member is short, but not all together.
        assert!(!is_short(&[long.as_slice(), &short].concat()));
        assert_eq!(decoded(&[long.as_slice(), &short].concat()).unwrap().len(), 2 * SLICE + 1);
    }

    #[test]
    fn several_long_bodies_are_decoded_at_the_same_time() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let texts: Vec<Vec<u8>> = (1..5)
            .map(|n| (0..n * 100_000).map(|at| u8::try_from(at * n % 251).unwrap()).collect())
            .collect();
        let local = tokio::task::LocalSet::new();
        let bodies = texts.iter().map(|text| {
            let encoded = compress(text);
            local.spawn_local(async move {
                let mut output = Vec::new();
                decode_in_slices(&encoded, &mut output, |_, _| Ok(())).await.map(|()| output)
            })
        });
        let bodies: Vec<_> = bodies.collect();
        let decoded = local.block_on(&runtime, async {
            let mut decoded = Vec::new();
            for body in bodies {
                decoded.push(body.await.unwrap().unwrap());
            }
            decoded
        });
        assert!(decoded == texts);
    }

    #[test]
    fn another_task_runs_after_each_slice_of_a_long_body() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        // Empty blocks decompress to nothing.
        let empty_blocks =
            [&[0_u8, 0, 0, 0xff, 0xff].repeat(400_000), [1_u8, 0, 0, 0xff, 0xff].as_slice()].concat();
        let header: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff";
        for encoded in [compress(&vec![b'x'; 8 << 20]), [header, &empty_blocks, &[0; 8]].concat()] {
            let mut turns = 0;
            let mut output = Vec::new();
            let mut decoding = Box::pin(decode_in_slices(&encoded, &mut output, |_, _| Ok(())));
            let counted = std::future::poll_fn(|context| {
                turns += 1;
                decoding.as_mut().poll(context)
            });
            runtime.block_on(counted).unwrap();
            drop(decoding);
            let length = output.len().max(encoded.len());
            assert!(turns >= length / SLICE, "{turns} turns for {length} bytes");
        }
    }
}
