//! Writing on a thread of its own while the decoder goes on, and bringing what was written to the disk on another, so
//! that unpacking takes no longer than the slowest of the three.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::error::CorpusError;
use crate::writer::Output;

/// Buffers on their way: their bytes stay in the cache that cores share.
const BUFFERS: usize = 8;

/// Bytes written from one call that brings them to the disk to the next. No more than three times as many wait for
/// the disk, so that little is left to wait for at the end, or when the work is stopped.
const SYNC_EVERY: u64 = 32 << 20;

/// Takes buffers to the writer.
pub(super) struct Belt {
    full: SyncSender<(Vec<u8>, usize)>,
    empty: Receiver<Vec<u8>>,
}

impl Belt {
    /// Gives the first `filled` bytes to the writer and puts another buffer of the same size in place. False: the
    /// writer has failed, and [`write`] will say how.
    pub(super) fn pass(&self, buffer: &mut Vec<u8>, filled: usize) -> bool {
        let Ok(empty) = self.empty.recv() else { return false };
        self.full.send((std::mem::replace(buffer, empty), filled)).is_ok()
    }
}

/// Writes to `output` what `unpack` passes on in buffers of `size` bytes, and returns when all is written.
///
/// # Errors
///
/// Those of `unpack`, then those of the writer.
pub(super) fn write(
    output: &mut Output,
    size: usize,
    unpack: impl FnOnce(&Belt) -> Result<(), CorpusError>,
) -> Result<(), CorpusError> {
    let target = output.target().to_path_buf();
    let failed = |cause| CorpusError::write(&target, cause);
    let file = output.file().try_clone().map_err(failed)?;
    thread::scope(|scope| {
        let (full, to_write) = sync_channel(BUFFERS);
        let (used, empty) = channel();
        let (kick, kicks) = sync_channel(1);
        for _ in 0..BUFFERS {
            // The other end is here, too.
            let _sent = used.send(vec![0; size]);
        }
        let disk = spawn(scope, "sync", move || sync(&file, &kicks)).map_err(failed)?;
        let writer =
            spawn(scope, "write", move || write_all(output, &to_write, &used, &kick)).map_err(failed)?;
        let belt = Belt { full, empty };
        let unpacked = unpack(&belt);
        // The writer ends with the belt, the other thread with the writer.
        drop(belt);
        let died = |_| Err(io::Error::other("a thread died"));
        let wrote = writer.join().unwrap_or_else(|panic| died(panic).map_err(failed));
        let brought = disk.join().unwrap_or_else(died).map_err(failed);
        unpacked.and(wrote).and(brought)
    })
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    thread::Builder::new().name(name.into()).spawn_scoped(scope, work)
}

fn write_all(
    output: &mut Output,
    to_write: &Receiver<(Vec<u8>, usize)>,
    used: &Sender<Vec<u8>>,
    kick: &SyncSender<()>,
) -> Result<(), CorpusError> {
    let mut sync_at = SYNC_EVERY;
    for (buffer, filled) in to_write {
        output.push(&buffer[..filled])?;
        // Nobody wants it any more after the last.
        let _sent = used.send(buffer);
        if output.bytes() >= sync_at {
            sync_at = output.bytes() + SYNC_EVERY;
            if kick.send(()).is_err() {
                break; // the disk failed, which the other thread tells
            }
        }
    }
    Ok(())
}

fn sync(file: &File, kicks: &Receiver<()>) -> io::Result<()> {
    kicks.iter().try_for_each(|()| file.sync_data())
}
