//! Reads responses, logs and recordings, generates logs and recordings, and scans JSON; shared by the fuzz targets.

pub mod generated_logs;
pub mod generated_recording;
pub mod hotspot;
pub mod json_scan;
pub mod openj9;
pub mod recording;

use std::task::{Context, Poll, Waker};

use pacenote_driver::transport::http::{ExchangeError, ResponseReader};

/// Size of the largest body that the reader accepts, in bytes.
pub const MAX_BODY: usize = 1 << 20;

/// The result of reading bytes as a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadResult {
    /// A response of `used` bytes, of which `encoded` are the body before decompression.
    Response { status: u16, close: bool, used: usize, encoded: usize, body: Vec<u8> },
    /// A response whose body cannot be decompressed.
    InvalidBody,
    /// The bytes are not the beginning of any response.
    Malformed,
    /// The bytes are the beginning of a response.
    Incomplete,
}

/// How bytes are split into pieces.
#[derive(Debug, Clone, Copy)]
pub enum Split {
    /// One piece.
    Whole,
    /// Single bytes.
    Bytewise,
    /// Pieces of random lengths, drawn with this seed.
    Random(u64),
}

/// Feeds the bytes to the reader, then closes the connection; `no_body` is set for a response to HEAD. Data after a
/// response makes it malformed, whether it arrives with the response or later.
///
/// # Panics
///
/// If an invariant of the reader does not hold.
pub fn read(bytes: &[u8], no_body: bool, split: Split) -> ReadResult {
    let mut reader = ResponseReader::new(MAX_BODY);
    reader.reset(no_body);
    let mut fed = 0;
    let mut state = match split {
        Split::Random(seed) => seed | 1,
        _ => 1,
    };
    let response = loop {
        if fed == bytes.len() {
            break reader.finish();
        }
        let left = bytes.len() - fed;
        let piece = match split {
            Split::Whole => left,
            Split::Bytewise => 1,
            Split::Random(_) => {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // The lengths are distributed logarithmically.
                let most = left.min(1 << (state >> 60)) as u64;
                1 + (state >> 20) as usize % most as usize
            }
        };
        reader.receive_buffer().extend_from_slice(&bytes[fed..fed + piece]);
        fed += piece;
        match reader.advance() {
            Ok(Some(response)) => break Ok(response),
            Ok(None) => {}
            Err(error) => break Err(error),
        }
    };
    // Twice the received bytes, and free capacity for one read of either kind.
    assert!(reader.capacity() <= 2 * bytes.len() + (1 << 20) + (64 << 10), "memory exceeds its limit");
    let response = match response {
        Ok(response) => response,
        Err(ExchangeError::Closed) => return ReadResult::Incomplete,
        Err(_) => return ReadResult::Malformed,
    };
    if fed < bytes.len() {
        return ReadResult::Malformed;
    }
    assert_eq!(response.total_len, fed as u64);
    assert!((100..1000).contains(&response.status));
    let (status, close, encoded) = (response.status, response.close, reader.body(&response).len());
    assert!(encoded < fed, "the body is longer than the response");
    let headers = reader.headers();
    assert!(headers.iter().all(|(name, value)| !name.is_empty() && !value.contains('\n')));
    match block_on(reader.decompress(response)) {
        Ok(response) => {
            let body = reader.body(&response).to_vec();
            assert!(body.len() <= MAX_BODY);
            ReadResult::Response { status, close, used: fed, encoded, body }
        }
        Err(ExchangeError::Closed | ExchangeError::Io(_)) => unreachable!("decompression needs no connection"),
        Err(_) => ReadResult::InvalidBody,
    }
}

/// Reads the bytes in one piece, byte by byte, and split at random; the results must be equal.
///
/// # Panics
///
/// If the results differ.
pub fn read_with_all_splits(bytes: &[u8], no_body: bool) -> ReadResult {
    let whole = read(bytes, no_body, Split::Whole);
    let seed = bytes
        .iter()
        .fold(bytes.len() as u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    for split in [Split::Bytewise, Split::Random(seed), Split::Random(seed.rotate_left(32))] {
        assert_eq!(read(bytes, no_body, split), whole, "{split:?}");
    }
    whole
}

/// Returns the result of a future that waits for nothing but its next turn.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
    }
}
