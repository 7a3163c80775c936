//! `recovery.json`: what a recovery could not keep, one sentence for each loss, for reports.

use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::durable;

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
    let stored = durable::open_regular(&path).ok().map(serde_json::from_reader::<_, Losses>);
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
