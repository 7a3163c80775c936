//! Reads the plan documents that Python writes; `tests/plan/test_document.py` compares them with the documents that
//! Python currently writes.

use std::path::{Path, PathBuf};

use pacenote_plan::{Plan, TaskWork};

#[test]
fn a_document_with_every_variant_survives_the_round_trip() {
    let text = document("every-variant.json");
    let plan = Plan::from_json(&text).unwrap();
    let written = serde_json::to_string(&plan).unwrap();
    assert_eq!(Plan::from_json(&written).unwrap(), plan);
}

/// Fails if a variant is renamed in one language only.
#[test]
fn the_golden_document_has_every_variant() {
    let text = document("every-variant.json");
    let work = ["bulk", "calls", "sleep", "supplied", "lane"];
    let calls = ["request", "pages", "wait", "composite", "operation", "stream"];
    let next = ["search_after", "scroll", "after_key", "cursor"];
    let bulk = ["share", "documents", "in_file", "line", "with_id"];
    let checks = ["status", "search", "health", "condition", "esql", "empty"];
    let paces = ["unpaced", "deterministic", "poisson", "uniform", "scheduled"];
    let ends = ["iterations", "time", "task", "any"];
    for kind in [&work[..], &calls[..], &next[..], &bulk[..], &checks[..], &paces[..], &ends[..]].concat() {
        assert!(text.contains(&format!("\"kind\":\"{kind}\"")), "no document has the variant {kind}");
    }
}

#[test]
fn the_bundled_track_indexes_a_million_documents_with_four_clients() {
    let plan = Plan::from_json(&document("http_logs.json")).unwrap();
    let mut files = plan.tasks.iter().filter_map(|task| match &task.work {
        TaskWork::Bulk(bulk) => Some(bulk.files.iter().map(|file| file.documents).sum::<u64>()),
        _ => None,
    });
    assert_eq!(files.next(), Some(1_000_000));
    assert_eq!(plan.clients(), 4);
}

#[test]
fn every_golden_document_is_a_valid_plan() {
    let mut seen = 0;
    for entry in golden().read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let plan = Plan::from_json(&document(&name));
        assert!(plan.is_ok(), "{name}: {plan:?}");
        seen += 1;
    }
    assert!(seen >= 2, "{seen} golden documents found");
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/plan/golden")
}

fn document(name: &str) -> String {
    std::fs::read_to_string(golden().join(name)).unwrap_or_default()
}
