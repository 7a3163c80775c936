//! Tests documents with ids: the exact bodies, and the distribution of random choices over many documents.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use pacenote_corpus::{
    ActionLines, BulkBody, BulkReader, DocumentRange, IdActionLines, IdConflicts, IdStreamKey, LineFile,
    client_range,
};

const NONE: IdConflicts = IdConflicts { shuffled: false, probability: 0.0, update: false, recency: 0.0 };

fn file(text: &str) -> Arc<LineFile> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.json");
    fs::write(&path, text).unwrap();
    Arc::new(LineFile::open(&path).unwrap()) // remains readable after it is removed from its folder
}

fn reader(file: &Arc<LineFile>, place: (u32, u32), conflicts: IdConflicts, seed: u64) -> BulkReader {
    let range = client_range(file.line_count(), place.0, place.1);
    let seed = IdStreamKey { seed, task: "index", client_number: place.0, file_index: 0 };
    let part = DocumentRange {
        file: Arc::clone(file),
        first_document: range.start,
        documents: range.end - range.start,
        action_lines: ActionLines::WithIds(Box::new(IdActionLines::new("\"logs\"", &range, conflicts, seed))),
    };
    BulkReader::new(vec![part], 100).unwrap()
}

/// Returns all bodies of one pass, concatenated.
fn text(reader: &mut BulkReader) -> String {
    let (mut body, mut text) = (BulkBody::new(), String::new());
    while reader.next_into(&mut body).unwrap().is_some() {
        text += std::str::from_utf8(body.as_slice()).unwrap();
    }
    text
}

/// Returns the action and id of every document, in order.
fn actions(text: &str) -> Vec<(&str, u64)> {
    let action = |line: &'_ str| -> Option<(usize, u64)> {
        let (verb, rest) = line.strip_prefix("{\"")?.split_once('"')?;
        let id = rest.strip_suffix("\"}}")?.rsplit_once('"')?.1;
        assert_eq!(id.len(), 10);
        Some((verb.len(), id.parse().ok()?))
    };
    let lines = text.lines().step_by(2);
    lines
        .map(|line| (action(line).unwrap(), line))
        .map(|((verb, id), line)| (&line[2..2 + verb], id))
        .collect()
}

fn numbered(lines: u64) -> Arc<LineFile> {
    let line = |n: u64| ["{\"n\":".to_owned(), n.to_string(), "}\n".to_owned()];
    file(&(0..lines).flat_map(line).collect::<String>())
}

#[test]
fn new_ids_are_numbers_from_the_clients_range() {
    let file = file("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":4}");
    let expected = concat!(
        "{\"index\":{\"_index\":\"logs\",\"_id\":\"0000000002\"}}\n{\"a\":3}\n",
        "{\"index\":{\"_index\":\"logs\",\"_id\":\"0000000003\"}}\n{\"a\":4}\n"
    );
    assert_eq!(text(&mut reader(&file, (1, 2), NONE, 1)), expected);
}

#[test]
fn an_update_wraps_the_document() {
    let file = file("{\"a\":1}\n {\"a\":2} \r\n{\"a\":3}");
    let always = IdConflicts { probability: 1.0, update: true, ..NONE };
    let expected = concat!(
        "{\"index\":{\"_index\":\"logs\",\"_id\":\"0000000000\"}}\n{\"a\":1}\n",
        "{\"update\":{\"_index\":\"logs\",\"_id\":\"0000000000\"}}\n{\"doc\":{\"a\":2}}\n",
        "{\"update\":{\"_index\":\"logs\",\"_id\":\"0000000000\"}}\n{\"doc\":{\"a\":3}}\n"
    );
    assert_eq!(text(&mut reader(&file, (0, 1), always, 1)), expected);
    let replaced = text(&mut reader(&file, (0, 1), IdConflicts { update: false, ..always }, 1));
    assert_eq!(replaced.matches("\"_id\":\"0000000000\"").count(), 3);
    assert!(!replaced.contains("doc"), "{replaced}");
}

#[test]
fn the_fraction_of_conflicts_is_the_probability() {
    let file = numbered(100_000);
    for probability in [0.25, 0.9] {
        let conflicts = IdConflicts { probability, update: true, ..NONE };
        let text = text(&mut reader(&file, (0, 1), conflicts, 3));
        let actions = actions(&text);
        let updates = actions.iter().filter(|(verb, _)| *verb == "update").count() as f64;
        let deviation = (100_000.0 * probability * (1.0 - probability)).sqrt();
        assert!((updates - 100_000.0 * probability).abs() < 4.0 * deviation, "{updates}");
        let mut next = 0;
        for (verb, id) in actions {
            if verb == "index" {
                assert_eq!(id, next, "new ids are not consecutive");
                next += 1;
            } else {
                assert!(id < next, "a repeated id had not been assigned before");
            }
        }
    }
}

#[test]
fn repeated_ids_are_uniform_or_prefer_recent_ones() {
    // Distance of a repeated id from the newest one, as a fraction of the ids assigned so far.
    let file = numbered(60_000);
    let distance = |recency: f64| {
        let conflicts = IdConflicts { probability: 0.5, update: true, recency, ..NONE };
        let (mut used, mut sum, mut count) = (0_u64, 0.0, 0_u32);
        for (verb, id) in actions(&text(&mut reader(&file, (0, 1), conflicts, 5))) {
            match verb {
                "index" => used += 1,
                _ if used > 1000 => {
                    sum += (used - 1 - id) as f64 / used as f64;
                    count += 1;
                }
                _ => {}
            }
        }
        sum / f64::from(count)
    };
    // The mean is one half for uniform choices; otherwise it is that of the exponential distribution with slope 30 ·
    // recency.
    for (recency, mean, error) in
        [(0.0, 0.5, 0.01), (0.2, 1.0 / 6.0, 0.006), (0.5, 1.0 / 15.0, 0.003), (1.0, 1.0 / 30.0, 0.002)]
    {
        let found = distance(recency);
        assert!((found - mean).abs() < error, "recency {recency}: {found}");
    }
}

#[test]
fn no_two_clients_share_an_id_and_shuffling_keeps_the_range() {
    let file = numbered(10_007);
    for shuffled in [false, true] {
        let mut owner: HashMap<u64, u32> = HashMap::new();
        for client in 0..7 {
            let range = client_range(10_007, client, 7);
            let all_new = text(&mut reader(&file, (client, 7), IdConflicts { shuffled, ..NONE }, 1));
            let mut ids: Vec<u64> = actions(&all_new).into_iter().map(|(_, id)| id).collect();
            assert_eq!(ids.is_sorted(), !shuffled);
            ids.sort_unstable();
            assert!(ids.into_iter().eq(range), "without conflicts, not all ids of the range are used");
            let conflicts = IdConflicts { shuffled, probability: 0.5, update: false, recency: 0.0 };
            for (_, id) in actions(&text(&mut reader(&file, (client, 7), conflicts, 1))) {
                assert_eq!(*owner.entry(id).or_insert(client), client);
            }
        }
    }
}

#[test]
fn random_choices_depend_on_the_seed_and_the_client() {
    let file = numbered(1000);
    let conflicts = IdConflicts { shuffled: true, probability: 0.5, update: true, recency: 0.5 };
    let of = |place, seed| text(&mut reader(&file, place, conflicts, seed));
    assert_eq!(of((0, 1), 1), of((0, 1), 1));
    assert_ne!(of((0, 1), 1), of((0, 1), 2));
    let verbs = |text: String| actions(&text).into_iter().map(|(verb, _)| verb.len()).collect::<Vec<_>>();
    assert_ne!(verbs(of((0, 2), 1)), verbs(of((1, 2), 1)));
}

#[test]
fn a_second_pass_has_the_same_new_ids_and_does_not_allocate() {
    let file = numbered(1000);
    let conflicts = IdConflicts { shuffled: true, probability: 0.3, update: true, recency: 0.0 };
    let mut reader = reader(&file, (0, 1), conflicts, 1);
    let first = text(&mut reader);
    reader.rewind();
    let again = text(&mut reader);
    let new = |text: &str| {
        let new = |(verb, id): (&str, u64)| (verb == "index").then_some(id);
        actions(text).into_iter().filter_map(new).take(600).collect::<Vec<_>>()
    };
    assert_eq!(new(&first), new(&again));
    assert_ne!(first, again, "both passes make the same random choices");
    let mut body = BulkBody::new();
    reader.rewind();
    reader.next_into(&mut body).unwrap().unwrap();
    let place = body.as_slice().as_ptr();
    while reader.next_into(&mut body).unwrap().is_some() {
        assert_eq!(body.as_slice().as_ptr(), place);
    }
}
