//! Damaged unified logs of `HotSpot`.

#[path = "../../../../fuzz/src/hotspot.rs"]
mod invariants;

use std::fs;
use std::path::Path;

#[test]
fn damaged_logs_are_read() {
    let mut logs = 0;
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/hotspot");
    for seed in fs::read_dir(seeds).unwrap() {
        let log = fs::read(seed.unwrap().path()).unwrap();
        for end in (0..=log.len()).step_by(41) {
            invariants::check(&log[..end]);
            let mut damaged = log.clone();
            damaged.insert(end, b"9(-\n]"[end % 5]);
            invariants::check(&damaged);
        }
        logs += 1;
    }
    assert!(logs > 5, "{logs}");
}
