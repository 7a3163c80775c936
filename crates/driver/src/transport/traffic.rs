//! Counts of requests, connections and bytes.

use std::ops::{Add, AddAssign};

/// Bytes that a socket has sent and received since it was connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteCounts {
    /// Bytes written to the socket.
    pub sent: u64,
    /// Bytes read from the socket.
    pub received: u64,
}

/// Requests and bytes that an operation sent and received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests sent.
    pub requests: u32,
    /// Connections that were opened again because the previous one was closed.
    pub reconnects: u32,
    /// Bytes written to sockets, including heads and TLS.
    pub bytes_out: u64,
    /// Bytes read from sockets, including heads and TLS.
    pub bytes_in: u64,
    /// Bytes of request bodies before compression.
    pub content_out: u64,
    /// Bytes of response bodies after decompression.
    pub content_in: u64,
}

impl Add for Traffic {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.reconnects += other.reconnects;
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
        self.content_out += other.content_out;
        self.content_in += other.content_in;
    }
}
