//! Bodies compressed with gzip (RFC 1952).

use std::cell::RefCell;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::error::ExchangeError;

/// Least room that is offered to decompressed bytes.
const LEAST_ROOM: usize = 16 * 1024;

const CUT: ExchangeError = ExchangeError::Gzip("it ends too early");

thread_local! {
    /// The state of decompression takes tens of kilobytes and is of use only while a body is decoded, which nothing
    /// interrupts: one per thread will do for all its connections.
    static INFLATER: RefCell<Decompress> = RefCell::new(Decompress::new(false));
}

/// Decodes a body to the last byte into `plain`, which keeps its room.
///
/// # Errors
///
/// [`ExchangeError::Gzip`] for what is no whole gzip stream, [`ExchangeError::Malformed`] for one of more than
/// `longest` bytes.
pub fn decode(coded: &[u8], plain: &mut Vec<u8>, longest: usize) -> Result<(), ExchangeError> {
    plain.clear();
    let mut rest = member(coded, plain, longest)?;
    while !rest.is_empty() {
        rest = member(rest, plain, longest)?;
    }
    Ok(())
}

/// Decodes one member of the stream; tells what follows it.
fn member<'a>(coded: &'a [u8], plain: &mut Vec<u8>, longest: usize) -> Result<&'a [u8], ExchangeError> {
    let data = skip_header(coded)?;
    let begin = plain.len();
    let used = INFLATER.with_borrow_mut(|inflater| inflate(inflater, data, plain, longest))?;
    let (trailer, rest) = data[used..].split_first_chunk::<8>().ok_or(CUT)?;
    let mut crc = Crc::new();
    crc.update(&plain[begin..]);
    let [a, b, c, d, size @ ..] = *trailer;
    if crc.sum() != u32::from_le_bytes([a, b, c, d]) || crc.amount() != u32::from_le_bytes(size) {
        return Err(ExchangeError::Gzip("its checksum is wrong"));
    }
    Ok(rest)
}

fn skip_header(coded: &[u8]) -> Result<&[u8], ExchangeError> {
    let (fixed, mut rest) = coded.split_first_chunk::<10>().ok_or(CUT)?;
    let [0x1f, 0x8b, 8, flags, ..] = *fixed else {
        return Err(ExchangeError::Gzip("it does not begin as one"));
    };
    // FTEXT is a hint, FHCRC, FEXTRA, FNAME and FCOMMENT say what follows, the rest is reserved.
    if flags & 0b1110_0000 != 0 {
        return Err(ExchangeError::Gzip("its header has flags that nobody knows"));
    }
    if flags & 4 != 0 {
        let (length, after) = rest.split_first_chunk::<2>().ok_or(CUT)?;
        rest = after.get(usize::from(u16::from_le_bytes(*length))..).ok_or(CUT)?;
    }
    for text in [8, 16] {
        if flags & text != 0 {
            let end = memchr::memchr(0, rest).ok_or(CUT)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & 2 != 0 {
        rest = rest.get(2..).ok_or(CUT)?;
    }
    Ok(rest)
}

/// Appends what `data` decompresses to; tells how much of it was used.
fn inflate(
    inflater: &mut Decompress,
    data: &[u8],
    plain: &mut Vec<u8>,
    longest: usize,
) -> Result<usize, ExchangeError> {
    inflater.reset(false);
    let mut used = 0;
    loop {
        if plain.len() == plain.capacity() {
            // Doubled, but never more than one byte beyond what is allowed.
            let room = plain.len().max(LEAST_ROOM).min((longest + 1).saturating_sub(plain.len())).max(1);
            plain.reserve_exact(room);
        }
        let before = plain.len();
        let status = inflater
            .decompress_vec(&data[used..], plain, FlushDecompress::None)
            .map_err(|_| ExchangeError::Gzip("its data are damaged"))?;
        // What was used of a slice fits into its length's type.
        used = usize::try_from(inflater.total_in()).unwrap_or(data.len()).min(data.len());
        if plain.len() > longest {
            return Err(ExchangeError::Malformed(
                "the reply's body is longer than 512 MiB once decompressed",
            ));
        }
        match status {
            Status::StreamEnd => return Ok(used),
            _ if plain.len() == plain.capacity() => {}
            _ if used == data.len() || plain.len() == before => return Err(CUT),
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

    fn decoded(coded: &[u8]) -> Result<Vec<u8>, ExchangeError> {
        let mut plain = b"of the reply before".to_vec();
        decode(coded, &mut plain, 1 << 20).map(|()| plain)
    }

    #[test]
    fn members_follow_each_other_and_headers_may_say_more() {
        let mut encoder = GzBuilder::new()
            .filename("a")
            .comment("b")
            .extra(vec![0; 300])
            .write(Vec::new(), Compression::fast());
        encoder.write_all(b"first ").unwrap();
        let mut coded = encoder.finish().unwrap();
        coded.extend(compress(&vec![b'x'; 100_000]));
        coded.extend(compress(b""));
        let text = decoded(&coded).unwrap();
        assert!(text.starts_with(b"first xxx") && text.len() == 100_006);
    }

    #[test]
    fn every_cut_and_every_damage_is_seen() {
        let coded = compress(b"{\"took\":3,\"errors\":false}");
        assert_eq!(decoded(&coded).unwrap(), b"{\"took\":3,\"errors\":false}");
        for end in 0..coded.len() {
            assert!(matches!(decoded(&coded[..end]), Err(ExchangeError::Gzip(_))), "cut at {end}");
        }
        // Time, level and system in the header mean nothing to the text.
        for at in (0..4).chain(10..coded.len()) {
            let mut damaged = coded.clone();
            damaged[at] ^= 0xff;
            assert!(matches!(decoded(&damaged), Err(ExchangeError::Gzip(_))), "damaged at {at}");
        }
        let followed = [coded.as_slice(), b"and more"].concat();
        assert!(matches!(decoded(&followed), Err(ExchangeError::Gzip(_))));
        // An error leaves nothing behind.
        assert_eq!(decoded(&coded).unwrap(), b"{\"took\":3,\"errors\":false}");
    }

    #[test]
    fn a_bomb_stays_small() {
        let coded = compress(&vec![0; 8 << 20]);
        assert!(coded.len() < 256 << 10);
        let mut plain = Vec::new();
        assert!(matches!(decode(&coded, &mut plain, 1 << 20), Err(ExchangeError::Malformed(_))));
        assert!(plain.capacity() <= (1 << 20) + 1, "{}", plain.capacity());
        let just = compress(&vec![0; 1 << 20]);
        assert!(decode(&just, &mut Vec::new(), 1 << 20).is_ok());
    }
}
