//! `recovery.json`: what a recovery could not keep, one sentence for each loss, for reports.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::durable::{self, MAX_LINE_BYTES};

const LOSSES: &str = "recovery.json";

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Losses {
    losses: Vec<String>,
}

/// Adds sentences to the stored ones, unless they are already stored. A damaged file is kept under another name.
///
/// # Errors
///
/// An error if the file cannot be written.
pub fn add_losses(folder: &Path, losses: &[String]) -> io::Result<()> {
    let path = folder.join(LOSSES);
    let stored = durable::open_regular(&path).ok().map(read);
    let is_damaged = matches!(stored, Some(Err(_)));
    let mut all = stored.and_then(Result::ok).unwrap_or_default();
    let added: Vec<_> = losses.iter().filter(|loss| !all.losses.contains(loss)).cloned().collect();
    if added.is_empty() {
        return Ok(());
    }
    all.losses.extend(added);
    if is_damaged {
        durable::set_aside(&path)?;
    }
    let text = serde_json::to_vec(&all)?;
    durable::replace(&path, |mut file| {
        file.write_all(&text)?;
        Ok((file, ()))
    })
}

/// Reads the file, unless it is longer than a line of a journal may be.
fn read(file: File) -> io::Result<Losses> {
    let mut text = Vec::new();
    if file.take(MAX_LINE_BYTES as u64 + 1).read_to_end(&mut text)? > MAX_LINE_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(serde_json::from_slice(&text)?)
}
