//! The thread that reads data files ahead of the clients of a step, so that workers do not wait for the disk.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::coordinator::threads::spawn;
use crate::error::DriveError;
use crate::operation::data_files::DataFiles;

/// Interval at which the positions of the readers are checked. At 1 GB/s, a quarter of what is read ahead for four
/// readers is consumed in this time.
const INTERVAL: Duration = Duration::from_millis(10);

/// The running thread; it ends when this is dropped.
#[derive(Debug)]
pub struct ReadAheadThread {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ReadAheadThread {
    /// Starts the thread if clients of the step read data files.
    ///
    /// # Errors
    ///
    /// If the operating system cannot start a thread.
    pub fn start(files: &DataFiles) -> Result<Option<Self>, DriveError> {
        let Some(mut ahead) = files.take_read_ahead() else { return Ok(None) };
        let (stop, stopped) = channel();
        ahead.advance();
        let thread = spawn("read-ahead", move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                ahead.advance();
            }
        })?;
        Ok(Some(Self { stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for ReadAheadThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
