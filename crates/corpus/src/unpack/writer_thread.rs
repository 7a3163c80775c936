//! A pipeline for unpacking: one thread decodes, a second one writes, and a third one syncs to the disk, so unpacking
//! takes no longer than the slowest of the three.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::error::CorpusError;
use crate::writer::CorpusWriter;

/// Number of buffers in flight, small enough for them to stay in the cache that the cores share.
const BUFFERS: usize = 8;

/// Number of bytes written between two syncs. At most three times as many wait for the disk, so little remains to be
/// synced at the end or when unpacking is stopped.
const SYNC_EVERY: u64 = 32 << 20;

/// The decoder's end of the pipe to the writer thread.
pub(super) struct WriterPipe {
    /// Buffers to write, with their numbers of filled bytes.
    filled_tx: SyncSender<(Vec<u8>, usize)>,
    empty_rx: Receiver<Vec<u8>>,
}

impl WriterPipe {
    /// Sends the first `filled` bytes to the writer and replaces the buffer with an empty one of the same size. Returns
    /// false if the writer has failed; [`write_through`] then returns its error.
    pub(super) fn send(&self, buffer: &mut Vec<u8>, filled: usize) -> bool {
        let Ok(empty) = self.empty_rx.recv() else { return false };
        self.filled_tx.send((std::mem::replace(buffer, empty), filled)).is_ok()
    }
}

/// Writes the buffers of `buffer_size` bytes that `unpack` sends to `output`, and returns when everything is written.
///
/// # Errors
///
/// The error from `unpack`, or otherwise the error from the writer.
pub(super) fn write_through(
    output: &mut CorpusWriter,
    buffer_size: usize,
    unpack: impl FnOnce(&WriterPipe) -> Result<(), CorpusError>,
) -> Result<(), CorpusError> {
    let target = output.target().to_path_buf();
    let failed = |cause| CorpusError::write(&target, cause);
    let file = output.file().try_clone().map_err(failed)?;
    thread::scope(|scope| {
        let (filled_tx, filled_rx) = sync_channel(BUFFERS);
        let (empty_tx, empty_rx) = channel();
        let (sync_tx, sync_rx) = sync_channel(1);
        for _ in 0..BUFFERS {
            // This cannot fail, because the receiver lives in this function.
            let _sent = empty_tx.send(vec![0; buffer_size]);
        }
        let disk = spawn(scope, "sync", move || sync_on_request(&file, &sync_rx)).map_err(failed)?;
        let writer = spawn(scope, "write", move || write_buffers(output, &filled_rx, &empty_tx, &sync_tx))
            .map_err(failed)?;
        let pipe = WriterPipe { filled_tx, empty_rx };
        let unpacked = unpack(&pipe);
        // Dropping the pipe ends the writer, which ends the sync thread.
        drop(pipe);
        let died = |_| Err(io::Error::other("a thread panicked"));
        let wrote = writer.join().unwrap_or_else(|panic| died(panic).map_err(failed));
        let synced = disk.join().unwrap_or_else(died).map_err(failed);
        unpacked.and(wrote).and(synced)
    })
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    thread::Builder::new().name(name.into()).spawn_scoped(scope, work)
}

fn write_buffers(
    output: &mut CorpusWriter,
    filled_rx: &Receiver<(Vec<u8>, usize)>,
    empty_tx: &Sender<Vec<u8>>,
    sync_tx: &SyncSender<()>,
) -> Result<(), CorpusError> {
    let mut sync_at = SYNC_EVERY;
    for (buffer, filled) in filled_rx {
        output.write(&buffer[..filled])?;
        // This fails after the last buffer, when the decoder has ended.
        let _sent = empty_tx.send(buffer);
        if output.bytes_written() >= sync_at {
            sync_at = output.bytes_written() + SYNC_EVERY;
            if sync_tx.send(()).is_err() {
                break; // the sync thread has failed and will return the error
            }
        }
    }
    Ok(())
}

fn sync_on_request(file: &File, sync_rx: &Receiver<()>) -> io::Result<()> {
    sync_rx.iter().try_for_each(|()| file.sync_data())
}
