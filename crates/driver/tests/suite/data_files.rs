//! Data files that another process changes while a race reads them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use pacenote_record::EndedBy;
use serde_json::{Value, json};

use crate::support::{Finished, Server, bulk_task, plan, run, success_response};

/// Writes 40 MB, of which the readers of a race cannot hold more than a part in their buffers.
fn data_file(folder: &Path) -> PathBuf {
    let path = folder.join("docs.json");
    fs::write(&path, format!("{{\"pad\":\"{}\"}}\n", "x".repeat(2000)).repeat(20_000)).unwrap();
    path
}

/// Runs a race with two clients whose file is changed by `change` when the server receives its third request.
fn race_with(change: fn(&Path), action: &Value, documents: u64) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    let file = data_file(folder.path());
    let changed = file.clone();
    let server = Server::start(move |_, before| {
        if before == 2 {
            change(&changed);
        }
        Some(success_response())
    });
    let mut task = bulk_task("index", 2, &file, documents);
    task["work"]["files"][0]["action"] = action.clone();
    task["work"]["bulk_size"] = 50.into();
    run(&plan(server.port, &[task]))
}

#[test]
fn a_file_that_becomes_shorter_ends_the_race_with_one_line_and_what_was_measured() {
    let truncate = |path: &Path| File::options().write(true).open(path).unwrap().set_len(300_000).unwrap();
    let line = json!({"kind": "line", "line": "{}"});
    for (action, documents) in [(line, 20_000), (json!({"kind": "in_file"}), 10_000)] {
        let race = race_with(truncate, &action, documents);
        let reason = race.summary.aborted.unwrap();
        assert!(
            reason.starts_with("task index: /") && reason.contains("docs.json has changed since"),
            "{reason}"
        );
        assert!(!reason.contains('\n'));
        let result = &race.tasks[0];
        assert_eq!((race.tasks.len(), result.ended_by), (1, EndedBy::Aborted));
        assert!(result.operation_totals.succeeded >= 3, "{:?}", result.operation_totals);
        assert_eq!(race.samples.len() as u64, result.operation_totals.begun);
    }
}

#[test]
fn a_file_that_is_replaced_or_deleted_is_read_to_its_end() {
    let line = json!({"kind": "line", "line": "{}"});
    for change in [
        |path: &Path| fs::remove_file(path).unwrap(),
        |path: &Path| {
            let other = path.with_extension("other");
            fs::write(&other, "{}\n").unwrap();
            fs::rename(&other, path).unwrap();
        },
    ] {
        let race = race_with(change, &line, 20_000);
        assert_eq!((race.summary.aborted.clone(), race.task("index").work.weight), (None, 20_000));
    }
}
