//! Division of long work into slices, between which a thread serves its other clients.

/// Number of bytes that are processed without a pause. Compressing them takes about 0.15 ms, and decompressing or
/// scanning them less; responses to the thread's other clients may have to wait that long.
pub const SLICE: usize = 64 * 1024;

/// Counts processed bytes, and yields to the thread's other clients after each slice.
#[derive(Debug)]
pub struct Slices {
    /// Number of bytes until the next pause.
    left: usize,
}

impl Default for Slices {
    fn default() -> Self {
        Self { left: SLICE }
    }
}

impl Slices {
    /// Counts bytes that have been processed, and yields if they complete a slice.
    pub async fn spend(&mut self, bytes: usize) {
        if bytes < self.left {
            self.left -= bytes;
        } else {
            self.left = SLICE;
            tokio::task::yield_now().await;
        }
    }
}
