//! Request bodies compressed with gzip, before the clock of their request starts.

use std::io;
use std::rc::Rc;

use flate2::{Compress, Compression, FlushCompress, Status};
use pacenote_plan::Target;
use tokio::sync::Mutex;

/// What is compressed without a pause: about 0.15 ms, for which replies to other clients of the thread may have to wait.
const SLICE: usize = 64 * 1024;
/// Least room that is offered to compressed bytes.
const LEAST_ROOM: usize = 16 * 1024;
/// The base-2 logarithm of the window, the largest there is.
const WINDOW_BITS: u8 = 15;

thread_local! {
    /// The state of compression takes hundreds of kilobytes: one per thread will do for all its clients, which wait for
    /// each other's bodies as they would for the core.
    static DEFLATER: Rc<Mutex<Compress>> = Rc::new(Mutex::new(deflater()));
}

/// The header of a body that is to be compressed, if there is one: any to a cluster that wants it so, unless it says
/// itself how it is coded.
pub fn coding<'a>(
    target: &Target,
    has_body: bool,
    mut headers: impl Iterator<Item = &'a (String, String)>,
) -> Option<(String, String)> {
    let named = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-encoding");
    let wanted = target.compress && has_body && !headers.any(named);
    wanted.then(|| ("content-encoding".to_owned(), "gzip".to_owned()))
}

/// Compresses a body at once.
///
/// # Errors
///
/// When the library refuses, which it never should.
pub fn pack(body: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
    packed.clear();
    let shared = DEFLATER.with(Rc::clone);
    let Ok(mut state) = shared.try_lock() else {
        // A bulk is under way in there.
        return squeeze(&mut deflater(), body, packed, true);
    };
    state.reset();
    squeeze(&mut state, body, packed, true)
}

/// Compresses a body slice by slice, and lets the other clients of the thread work between them. Whoever drops this has
/// nothing in `packed`.
///
/// # Errors
///
/// As [`pack`].
pub async fn pack_in_slices(body: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
    packed.clear();
    let shared = DEFLATER.with(Rc::clone);
    let mut state = shared.lock().await;
    state.reset();
    let mut slices = body.chunks(SLICE).peekable();
    while let Some(slice) = slices.next() {
        let last = slices.peek().is_none();
        squeeze(&mut state, slice, packed, last)?;
        if !last {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// The lowest level: the driver's time is stolen from the engine's.
fn deflater() -> Compress {
    Compress::new_gzip(Compression::fast(), WINDOW_BITS)
}

/// Appends the compressed form of the next bytes.
fn squeeze(state: &mut Compress, mut bytes: &[u8], packed: &mut Vec<u8>, last: bool) -> io::Result<()> {
    let flush = if last { FlushCompress::Finish } else { FlushCompress::None };
    loop {
        packed.reserve(LEAST_ROOM);
        let before = state.total_in();
        let status = state.compress_vec(bytes, packed, flush).map_err(io::Error::other)?;
        bytes = &bytes[usize::try_from(state.total_in() - before).unwrap_or(bytes.len())..];
        if status == Status::StreamEnd || !last && bytes.is_empty() {
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

    fn unpacked(packed: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        MultiGzDecoder::new(packed).read_to_end(&mut body).unwrap();
        body
    }

    /// Lines that compress about as documents do, and bytes that do not at all.
    fn bodies() -> Vec<Vec<u8>> {
        let mut noise = SplitMix64::seed_from_u64(1);
        let lines = |count: u64| {
            (0..count).flat_map(|n| format!("{{\"n\":{n},\"m\":\"x\"}}\n").into_bytes()).collect()
        };
        let random = (0..50_000).flat_map(|_| noise.next_u64().to_le_bytes()).collect();
        vec![b"{}".to_vec(), lines(100), lines(40_000), random]
    }

    #[test]
    fn bodies_come_out_as_they_went_in_however_they_were_compressed() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        // What was in the buffer before does not matter.
        let mut packed = b"old".to_vec();
        for body in bodies() {
            pack(&body, &mut packed).unwrap();
            assert_eq!(unpacked(&packed), body);
            runtime.block_on(pack_in_slices(&body, &mut packed)).unwrap();
            assert_eq!(unpacked(&packed), body);
        }
    }

    #[test]
    fn a_body_can_be_compressed_while_another_is_under_way_on_the_thread() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bodies = bodies();
        let (mut one, mut other, mut third) = (Vec::new(), Vec::new(), Vec::new());
        runtime.block_on(async {
            let first = pack_in_slices(&bodies[2], &mut one);
            let second = pack_in_slices(&bodies[3], &mut other);
            let between = async {
                tokio::task::yield_now().await;
                pack(&bodies[1], &mut third).unwrap();
            };
            let (first, second, ()) = tokio::join!(first, second, between);
            first.and(second).unwrap();
        });
        assert_eq!(
            [one, other, third].map(|packed| unpacked(&packed)),
            [2, 3, 1].map(|n: usize| bodies[n].clone())
        );
    }
}
