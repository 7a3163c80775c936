//! Compares `BulkReader` with bodies that are built in a simple, slow way.

use std::fs;
use std::sync::Arc;

use pacenote_corpus::{
    ActionLines, BulkBody, BulkReader, CorpusError, DocumentRange, LineFile, client_range,
};

const ACTION: &str = "{\"index\":{\"_index\":\"logs\"}}\n";

fn one_line() -> ActionLines {
    ActionLines::Line(ACTION.as_bytes().to_vec())
}

/// Returns document `n`; documents differ in length.
fn source(n: u64) -> String {
    format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x".repeat(usize::try_from(n * 7 % 90).unwrap()))
}

fn file(text: &str) -> Arc<LineFile> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.json");
    fs::write(&path, text).unwrap();
    Arc::new(LineFile::open(&path).unwrap()) // remains readable after it is removed from its folder
}

fn sources(documents: u64) -> Arc<LineFile> {
    file(&(0..documents).map(|n| source(n) + "\n").collect::<String>())
}

fn part(
    file: &Arc<LineFile>,
    first_document: u64,
    documents: u64,
    action_lines: ActionLines,
) -> DocumentRange {
    DocumentRange { file: Arc::clone(file), first_document, documents, action_lines }
}

/// Reads all bulks, as pairs of a number of documents and a body.
fn all(reader: &mut BulkReader) -> Vec<(u32, String)> {
    let mut body = BulkBody::new();
    let next = || {
        let documents = reader.next_into(&mut body).unwrap()?;
        Some((documents, String::from_utf8(body.as_slice().to_vec()).unwrap()))
    };
    std::iter::from_fn(next).collect()
}

#[test]
fn the_action_line_precedes_every_document() {
    let file = sources(100);
    let mut reader = BulkReader::new(vec![part(&file, 10, 25, one_line())], 10).unwrap();
    let bulks = all(&mut reader);
    let expected = |range: std::ops::Range<u64>| -> String {
        range.flat_map(|n| [ACTION.to_owned(), source(n), "\n".to_owned()]).collect()
    };
    assert_eq!(bulks, [(10, expected(10..20)), (10, expected(20..30)), (5, expected(30..35))]);
}

#[test]
fn a_body_with_action_lines_in_the_file_consists_of_its_lines() {
    let lines: Vec<String> =
        (0..40).flat_map(|n| [format!("{{\"create\":{{\"_id\":\"{n}\"}}}}\n"), source(n) + "\n"]).collect();
    let file = file(&lines.concat());
    let mut reader = BulkReader::new(vec![part(&file, 5, 30, ActionLines::InFile)], 12).unwrap();
    let bulks = all(&mut reader);
    assert_eq!(bulks.iter().map(|(documents, _)| *documents).collect::<Vec<_>>(), [12, 12, 6]);
    assert_eq!(bulks.into_iter().map(|(_, body)| body).collect::<String>(), lines[10..70].concat());
}

/// Returns lines of very different lengths, among them lines that are longer than what is read at once.
fn uneven(lines: u64) -> Vec<String> {
    let length = |n: u64| if n % 50 == 49 { 70_000 + n * 3_000 } else { n * 7 % 300 };
    (0..lines)
        .map(|n| format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x".repeat(usize::try_from(length(n)).unwrap())))
        .collect()
}

#[test]
fn lines_of_any_length_are_read_whole() {
    let lines = uneven(400);
    for last_newline in ["\n", ""] {
        let file = file(&(lines.join("\n") + last_newline));
        for (action_lines, per_document, action) in [(one_line(), 1, ACTION), (ActionLines::InFile, 2, "")] {
            for bulk_size in [1, 7, 150, 1000] {
                let parts = vec![part(&file, 0, 400 / per_document, action_lines.clone())];
                let bulks = all(&mut BulkReader::new(parts, bulk_size).unwrap());
                let expected: String = lines.iter().flat_map(|line| [action, line, "\n"]).collect();
                let bodies: String = bulks.iter().map(|(_, body)| body.as_str()).collect();
                assert!(bodies == expected, "bulks of {bulk_size}");
                assert!(bulks[..bulks.len() - 1].iter().all(|(documents, _)| *documents == bulk_size));
            }
        }
    }
}

#[test]
fn a_file_that_becomes_shorter_is_an_error_and_not_a_signal() {
    for (action_lines, documents) in [(one_line(), 50_000), (ActionLines::InFile, 25_000)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.json");
        fs::write(&path, (0..50_000).map(|n| source(n) + "\n").collect::<String>()).unwrap();
        let file = Arc::new(LineFile::open(&path).unwrap());
        let mut reader = BulkReader::new(vec![part(&file, 0, documents, action_lines)], 100).unwrap();
        let mut body = BulkBody::new();
        assert_eq!(reader.next_into(&mut body).unwrap(), Some(100));
        fs::File::options().write(true).open(&path).unwrap().set_len(300_000).unwrap();
        let error = std::iter::repeat_with(|| reader.next_into(&mut body)).find_map(Result::err).unwrap();
        assert!(matches!(&error, CorpusError::Changed { end: 300_000, .. }), "{error}");
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("{} has changed since it was opened: ", path.display())),
            "{message}"
        );
        assert!(matches!(file.line_start(49_999).unwrap_err(), CorpusError::Changed { .. }));
    }
}

#[test]
fn a_file_that_loses_lines_is_an_error() {
    for (action_lines, documents) in [(one_line(), 1000), (ActionLines::InFile, 500)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.json");
        fs::write(&path, "{}\n".repeat(1000)).unwrap();
        let file = Arc::new(LineFile::open(&path).unwrap());
        let mut reader = BulkReader::new(vec![part(&file, 0, documents, action_lines)], 1000).unwrap();
        fs::write(&path, "x".repeat(3000)).unwrap();
        let error = reader.next_into(&mut BulkBody::new()).unwrap_err();
        assert!(matches!(error, CorpusError::Changed { .. }), "{error}");
    }
}

#[test]
fn bodies_end_with_a_newline_even_if_the_file_does_not() {
    let bare = file("{\"a\":1}\n{\"a\":2}\n{\"a\":3}");
    let mut reader = BulkReader::new(vec![part(&bare, 0, 3, one_line())], 2).unwrap();
    assert_eq!(all(&mut reader)[1], (1, format!("{ACTION}{{\"a\":3}}\n")));
    let with_actions = file("{\"index\":{}}\n{\"a\":1}\n{\"index\":{}}\n{\"a\":2}");
    let mut reader = BulkReader::new(vec![part(&with_actions, 0, 2, ActionLines::InFile)], 1).unwrap();
    assert_eq!(all(&mut reader)[1], (1, "{\"index\":{}}\n{\"a\":2}\n".to_owned()));
    let blank_end = file("{\"a\":1}\n{\"a\":2}\n\n\n");
    let mut reader = BulkReader::new(vec![part(&blank_end, 0, 2, one_line())], 9).unwrap();
    assert_eq!(all(&mut reader), [(2, format!("{ACTION}{{\"a\":1}}\n{ACTION}{{\"a\":2}}\n"))]);
}

#[test]
fn bulks_never_span_ranges_of_any_kind() {
    let (one, two) = (sources(7), file("{\"index\":{}}\n{\"b\":1}\n{\"index\":{}}\n{\"b\":2}\n"));
    let parts = vec![
        part(&one, 0, 7, one_line()),
        part(&one, 3, 0, one_line()), // an empty range is skipped
        part(&two, 0, 2, ActionLines::InFile),
        part(&one, 5, 2, one_line()),
    ];
    let mut reader = BulkReader::new(parts, 5).unwrap();
    let first = all(&mut reader);
    assert_eq!(first.iter().map(|(documents, _)| *documents).collect::<Vec<_>>(), [5, 2, 2, 2]);
    assert_eq!(first[2].1, "{\"index\":{}}\n{\"b\":1}\n{\"index\":{}}\n{\"b\":2}\n");
    reader.rewind();
    assert_eq!(all(&mut reader), first, "the second pass differs from the first");
}

#[test]
fn all_clients_together_send_every_document_once() {
    let file = sources(997);
    for clients in [1, 3, 8] {
        let mut lines = Vec::new();
        for client in 0..clients {
            let range = client_range(997, client, clients);
            let parts = vec![part(&file, range.start, range.end - range.start, one_line())];
            for (_, body) in all(&mut BulkReader::new(parts, 50).unwrap()) {
                lines.extend(body.lines().skip(1).step_by(2).map(str::to_owned));
            }
        }
        assert_eq!(lines, (0..997).map(source).collect::<Vec<_>>(), "{clients} clients");
    }
}

#[test]
fn the_buffer_of_a_body_is_reused() {
    let file = sources(1000);
    let mut reader = BulkReader::new(vec![part(&file, 0, 1000, one_line())], 90).unwrap();
    let mut body = BulkBody::new();
    reader.next_into(&mut body).unwrap().unwrap();
    let place = body.as_slice().as_ptr();
    while reader.next_into(&mut body).unwrap().is_some() {
        assert_eq!(body.as_slice().as_ptr(), place);
    }
}

#[test]
fn at_the_end_the_body_is_left_unchanged() {
    let file = sources(2);
    let mut reader = BulkReader::new(vec![part(&file, 0, 2, one_line())], 2).unwrap();
    let mut body = BulkBody::new();
    assert!(body.is_empty());
    assert_eq!(reader.next_into(&mut body).unwrap(), Some(2));
    let before = body.as_slice().to_vec();
    assert_eq!((reader.next_into(&mut body).unwrap(), reader.next_into(&mut body).unwrap()), (None, None));
    assert_eq!(body.as_slice(), before);
    let mut nothing = BulkReader::new(Vec::new(), 10).unwrap();
    assert_eq!(nothing.next_into(&mut body).unwrap(), None);
}

#[test]
fn invalid_ranges_and_settings_are_rejected() {
    let file = sources(10);
    let error = |part, size| BulkReader::new(vec![part], size).map(|_| ()).unwrap_err();
    for (first, documents) in [(0, 11), (10, 1), (5, u64::MAX)] {
        let refused = error(part(&file, first, documents, one_line()), 5);
        assert!(matches!(refused, CorpusError::TooFewLines { lines: 10, .. }), "{refused}");
    }
    let refused = error(part(&file, 0, 6, ActionLines::InFile), 5);
    let message = refused.to_string();
    assert!(message.contains("data.json has 10 lines but the corpus needs 12"), "{message}");
    assert!(matches!(error(part(&file, 0, 10, one_line()), 0), CorpusError::BadBulk { .. }));
    for line in ["", "{}", "{}\n{}\n", "\n\n"] {
        let action_lines = ActionLines::Line(line.as_bytes().to_vec());
        assert!(matches!(error(part(&file, 0, 10, action_lines), 5), CorpusError::BadBulk { .. }));
    }
}

/// Returns a sparse file with 10 documents, of which the last one is as long as this.
fn with_long_line(length: u64) -> Arc<LineFile> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.json");
    fs::write(&path, "{\"a\":1}\n".repeat(9)).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(72 + length).unwrap();
    Arc::new(LineFile::open(&path).unwrap())
}

#[test]
fn a_line_that_no_request_may_have_is_an_error_and_not_kept_in_memory() {
    let file = with_long_line((100 << 20) + 1);
    for (action_lines, documents, bulks) in [(one_line(), 10, 9), (ActionLines::InFile, 5, 4)] {
        let mut reader = BulkReader::new(vec![part(&file, 0, documents, action_lines)], 1).unwrap();
        let mut body = BulkBody::new();
        for _ in 0..bulks {
            reader.next_into(&mut body).unwrap();
        }
        let error = reader.next_into(&mut body).unwrap_err();
        assert!(matches!(error, CorpusError::TooLongLine { .. }), "{error}");
        assert!(error.to_string().contains("data.json has a line of more than 100 MiB"), "{error}");
    }
}
