//! Compression of request bodies with gzip, before the request is timed.

use std::io;
use std::rc::Rc;
use std::sync::LazyLock;

use flate2::{Compress, Compression, FlushCompress, Status};
use pacenote_plan::Target;
use tokio::sync::Mutex;

/// Number of bytes that are compressed without a pause. This takes about 0.15 ms, during which responses to the
/// thread's other clients may have to wait.
const SLICE: usize = 64 * 1024;
/// Minimum free space for compressed bytes, in bytes.
const MIN_OUTPUT_SPACE: usize = 16 * 1024;
/// Base-2 logarithm of the window size, which is the largest allowed in gzip.
const WINDOW_BITS: u8 = 15;

thread_local! {
    /// The compression state takes hundreds of kilobytes. One per thread is enough: clients wait for each other's
    /// bodies, as they would otherwise wait for the CPU core.
    static DEFLATER: Rc<Mutex<Compress>> = Rc::new(Mutex::new(deflater()));
}

/// The header of a compressed body.
pub static CONTENT_ENCODING: LazyLock<(String, String)> =
    LazyLock::new(|| ("content-encoding".to_owned(), "gzip".to_owned()));

/// Returns whether a body is sent compressed: if there is one, the target compresses bodies, and `headers` declare no
/// encoding.
pub fn will_compress<'a>(
    target: &Target,
    has_body: bool,
    mut headers: impl Iterator<Item = &'a (String, String)>,
) -> bool {
    let is_encoding = |(name, _): &(String, String)| name.eq_ignore_ascii_case(&CONTENT_ENCODING.0);
    target.compress && has_body && !headers.any(is_encoding)
}

/// Compresses a body without a pause; `compressed` is overwritten.
///
/// # Errors
///
/// If the library fails, which is a bug in the driver.
pub fn compress(body: &[u8], compressed: &mut Vec<u8>) -> io::Result<()> {
    compressed.clear();
    let shared = DEFLATER.with(Rc::clone);
    let Ok(mut state) = shared.try_lock() else {
        // The shared state is in use for a body that is being compressed slice by slice.
        return append_compressed(&mut deflater(), body, compressed, FlushCompress::Finish);
    };
    state.reset();
    append_compressed(&mut state, body, compressed, FlushCompress::Finish)
}

/// Compresses a body slice by slice, and yields to the thread's other clients between slices; `compressed` is
/// overwritten.
///
/// # Errors
///
/// If the library fails, which is a bug in the driver.
pub async fn compress_in_slices(body: &[u8], compressed: &mut Vec<u8>) -> io::Result<()> {
    compressed.clear();
    let shared = DEFLATER.with(Rc::clone);
    let mut state = shared.lock().await;
    state.reset();
    let mut slices = body.chunks(SLICE).peekable();
    while let Some(slice) = slices.next() {
        let is_last = slices.peek().is_none();
        let flush = if is_last { FlushCompress::Finish } else { FlushCompress::None };
        append_compressed(&mut state, slice, compressed, flush)?;
        if !is_last {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// Creates the compression state. It uses the fastest level, because CPU time used by the driver is lost for the engine
/// if they share a machine.
fn deflater() -> Compress {
    Compress::new_gzip(Compression::fast(), WINDOW_BITS)
}

/// Compresses the next bytes and appends the result to `compressed`; `flush` is [`FlushCompress::Finish`] for the last
/// bytes.
fn append_compressed(
    state: &mut Compress,
    mut bytes: &[u8],
    compressed: &mut Vec<u8>,
    flush: FlushCompress,
) -> io::Result<()> {
    let is_last = flush == FlushCompress::Finish;
    loop {
        compressed.reserve(MIN_OUTPUT_SPACE);
        let before = state.total_in();
        let status = state.compress_vec(bytes, compressed, flush).map_err(io::Error::other)?;
        bytes = &bytes[usize::try_from(state.total_in() - before).unwrap_or(bytes.len())..];
        if status == Status::StreamEnd || !is_last && bytes.is_empty() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::MultiGzDecoder;
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    fn decompressed(compressed: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        MultiGzDecoder::new(compressed).read_to_end(&mut body).unwrap();
        body
    }

    /// Returns lines that compress about as well as documents, and bytes that cannot be compressed.
    fn bodies() -> Vec<Vec<u8>> {
        let mut noise = SplitMix64::seed_from_u64(1);
        let lines = |count: u64| {
            (0..count).flat_map(|n| format!("{{\"n\":{n},\"m\":\"x\"}}\n").into_bytes()).collect()
        };
        let random = (0..50_000).flat_map(|_| noise.next_u64().to_le_bytes()).collect();
        vec![b"{}".to_vec(), lines(100), lines(40_000), random]
    }

    #[test]
    fn decompressed_bodies_equal_the_originals() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        // Earlier contents of the buffer do not matter.
        let mut compressed = b"old".to_vec();
        for body in bodies() {
            compress(&body, &mut compressed).unwrap();
            assert_eq!(decompressed(&compressed), body);
            runtime.block_on(compress_in_slices(&body, &mut compressed)).unwrap();
            assert_eq!(decompressed(&compressed), body);
        }
    }

    #[test]
    fn a_body_can_be_compressed_while_another_is_compressed_in_slices() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bodies = bodies();
        let (mut one, mut other, mut third) = (Vec::new(), Vec::new(), Vec::new());
        runtime.block_on(async {
            let first = compress_in_slices(&bodies[2], &mut one);
            let second = compress_in_slices(&bodies[3], &mut other);
            let between = async {
                tokio::task::yield_now().await;
                compress(&bodies[1], &mut third).unwrap();
            };
            let (first, second, ()) = tokio::join!(first, second, between);
            first.and(second).unwrap();
        });
        assert_eq!(
            [one, other, third].map(|compressed| decompressed(&compressed)),
            [2, 3, 1].map(|n: usize| bodies[n].clone())
        );
    }
}
