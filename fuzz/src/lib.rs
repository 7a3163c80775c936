//! What the targets share: a reply fed in pieces, and what it came to.

use pacenote_driver::transport::http::{ExchangeError, ResponseReader};

/// Bodies may be no longer.
pub const LONGEST_BODY: usize = 1 << 20;

/// What bytes came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A reply, made of so many bytes.
    Reply { status: u16, close: bool, used: usize, coded: usize, body: Vec<u8> },
    /// A reply whose body cannot be decompressed.
    Coded,
    /// No reply, and none can come of it.
    Malformed,
    /// No reply yet.
    Closed,
}

/// How bytes are cut.
#[derive(Debug, Clone, Copy)]
pub enum Cut {
    /// Not at all.
    Whole,
    /// At every byte.
    Bytewise,
    /// Anywhere, as the number says.
    Anywhere(u64),
}

/// Feeds the bytes, then closes the connection; `bodiless`: as the reply to HEAD. What follows a reply makes it
/// malformed, whether it comes with it or after it.
///
/// # Panics
///
/// When something holds that never may.
pub fn receive(bytes: &[u8], bodiless: bool, cut: Cut) -> Seen {
    let mut reader = ResponseReader::new(LONGEST_BODY);
    reader.reset(bodiless);
    let mut fed = 0;
    let mut state = match cut {
        Cut::Anywhere(seed) => seed | 1,
        _ => 1,
    };
    let reply = loop {
        if fed == bytes.len() {
            break reader.finish();
        }
        let left = bytes.len() - fed;
        let piece = match cut {
            Cut::Whole => left,
            Cut::Bytewise => 1,
            Cut::Anywhere(_) => {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Short pieces are as likely as long ones.
                let most = left.min(1 << (state >> 60)) as u64;
                1 + (state >> 20) as usize % most as usize
            }
        };
        reader.read_buffer().extend_from_slice(&bytes[fed..fed + piece]);
        fed += piece;
        match reader.advance() {
            Ok(Some(reply)) => break Ok(reply),
            Ok(None) => {}
            Err(error) => break Err(error),
        }
    };
    // Twice what came, and room for a read of either kind.
    assert!(reader.capacity() <= 2 * bytes.len() + (1 << 20) + (64 << 10), "memory without bound");
    let reply = match reply {
        Ok(reply) => reply,
        Err(ExchangeError::Closed) => return Seen::Closed,
        Err(_) => return Seen::Malformed,
    };
    if fed < bytes.len() {
        return Seen::Malformed;
    }
    assert_eq!(reply.bytes_in, fed as u64);
    assert!((100..1000).contains(&reply.status));
    let (status, close, coded) = (reply.status, reply.close, reader.body(&reply).len());
    assert!(coded < fed, "more body than bytes");
    let headers = reader.headers();
    assert!(headers.iter().all(|(name, value)| !name.is_empty() && !value.contains('\n')));
    match reader.decompress(reply) {
        Ok(reply) => {
            let body = reader.body(&reply).to_vec();
            assert!(body.len() <= LONGEST_BODY);
            Seen::Reply { status, close, used: fed, coded, body }
        }
        Err(ExchangeError::Closed | ExchangeError::Io(_)) => unreachable!("there is no connection"),
        Err(_) => Seen::Coded,
    }
}

/// What the bytes come to, which must not depend on how they are cut.
///
/// # Panics
///
/// When it does.
pub fn receive_anyhow(bytes: &[u8], bodiless: bool) -> Seen {
    let whole = receive(bytes, bodiless, Cut::Whole);
    let seed = bytes
        .iter()
        .fold(bytes.len() as u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    for cut in [Cut::Bytewise, Cut::Anywhere(seed), Cut::Anywhere(seed.rotate_left(32))] {
        assert_eq!(receive(bytes, bodiless, cut), whole, "{cut:?}");
    }
    whole
}
