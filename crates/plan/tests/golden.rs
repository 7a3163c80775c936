//! Reads the plan documents that Python wrote; `tests/plan/test_document.py` compares them with those that Python now
//! writes.

use std::path::{Path, PathBuf};

use pacenote_plan::{
    Call, Check, CompletedBy, CompositeItem, IngestLimit, NextPage, Plan, PlannedActionLines, TaskBound,
    TaskPacing, TaskWork,
};
use serde::de::DeserializeOwned;

#[test]
fn a_document_with_every_variant_survives_the_round_trip() {
    let text = document("every-variant.json");
    let plan = Plan::from_json(&text).unwrap();
    let written = serde_json::to_string(&plan).unwrap();
    assert_eq!(Plan::from_json(&written).unwrap(), plan);
}

/// Fails if a variant exists or is renamed in one language only.
#[test]
fn the_golden_document_has_every_variant() {
    let text = document("every-variant.json");
    let kinds = [
        variants::<TaskWork>(),
        variants::<Call>(),
        variants::<CompositeItem>(),
        variants::<NextPage>(),
        variants::<IngestLimit>(),
        variants::<PlannedActionLines>(),
        variants::<Check>(),
        variants::<TaskPacing>(),
        variants::<TaskBound>(),
        variants::<CompletedBy>(),
    ];
    for found in &kinds {
        assert!(found.len() >= 2, "serde does not name the variants: {found:?}");
    }
    for kind in kinds.concat() {
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
    assert_eq!(plan.race_client_count(), 4);
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

/// The kinds of an enum, which serde names in quotes in the error for an unknown kind, after the unknown one.
fn variants<T: DeserializeOwned>() -> Vec<String> {
    let error = serde_json::from_str::<T>(r#"{"kind":"?"}"#).err().map(|error| error.to_string());
    error.unwrap_or_default().split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/plan/golden")
}

fn document(name: &str) -> String {
    std::fs::read_to_string(golden().join(name)).unwrap_or_default()
}
