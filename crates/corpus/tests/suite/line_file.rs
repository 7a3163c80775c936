//! Tests `LineFile` with files of all kinds.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pacenote_corpus::LineFile;

/// Creates a file of `lines` numbered lines, with or without a newline after the last one.
fn numbered(folder: &tempfile::TempDir, lines: u64, last_newline: bool) -> PathBuf {
    let path = folder.path().join("data.json");
    let mut text: String =
        (0..lines).flat_map(|line| ["{\"n\":".to_owned(), line.to_string(), "}\n".to_owned()]).collect();
    if !last_newline {
        text.pop();
    }
    fs::write(&path, text).unwrap();
    path
}

fn table_path(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.offset", path.display()))
}

fn line(file: &LineFile, number: u64) -> String {
    let start = |line| usize::try_from(file.line_start(line).unwrap().unwrap()).unwrap();
    fs::read_to_string(file.path()).unwrap()[start(number)..start(number + 1)].to_owned()
}

#[test]
fn lines_are_found_with_and_without_an_offset_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = numbered(&folder, 120_345, true);
    for round in ["scanned", "from the offset table"] {
        let file = LineFile::open(&path).unwrap();
        assert_eq!((file.line_count(), file.len()), (120_345, fs::metadata(&path).unwrap().len()), "{round}");
        for number in [0, 1, 49_999, 50_000, 50_001, 99_999, 100_000, 120_344] {
            assert_eq!(line(&file, number), format!("{{\"n\":{number}}}\n"), "{round}");
        }
        assert_eq!(file.line_start(120_345).unwrap(), Some(file.len()));
        assert_eq!(file.line_start(120_346).unwrap(), None);
        assert!(table_path(&path).exists());
    }
    let rows = fs::read_to_string(table_path(&path)).unwrap();
    let rows: Vec<&str> = rows.lines().map(|row| row.split_once(';').unwrap().0).collect();
    assert_eq!(rows, ["50000", "100000", "120345"]);
}

#[test]
fn the_last_line_may_have_no_newline() {
    let folder = tempfile::tempdir().unwrap();
    let file = LineFile::open(numbered(&folder, 3, false)).unwrap();
    assert_eq!((file.line_count(), line(&file, 2)), (3, "{\"n\":2}".to_owned()));
    assert_eq!(file.line_start(3).unwrap(), Some(file.len()));
}

#[test]
fn an_empty_file_has_no_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.json");
    File::create(&path).unwrap();
    let file = LineFile::open(&path).unwrap();
    assert_eq!((file.line_count(), file.len(), file.is_empty()), (0, 0, true));
    assert_eq!((file.line_start(0).unwrap(), file.line_start(1).unwrap()), (Some(0), None));
}

#[test]
fn an_offset_table_is_used_only_if_it_is_newer_and_correct() {
    let folder = tempfile::tempdir().unwrap();
    let path = numbered(&folder, 60_000, true);
    let start = LineFile::open(&path).unwrap().line_start(50_000).unwrap().unwrap();
    // As Rally writes it, without the final row for the total that Pacenote adds.
    let foreign = format!("50000;{start}\n");
    let kept = || fs::read_to_string(table_path(&path)).unwrap();
    fs::write(table_path(&path), &foreign).unwrap();
    assert_eq!(LineFile::open(&path).unwrap().line_count(), 60_000);
    assert_eq!(kept(), foreign, "a newer table was changed");
    let old = SystemTime::now() - Duration::from_hours(1);
    File::options().write(true).open(table_path(&path)).unwrap().set_modified(old).unwrap();
    assert_eq!(LineFile::open(&path).unwrap().line_count(), 60_000);
    assert_ne!(kept(), foreign, "an older table was not replaced");
    let early = LineFile::open(&path).unwrap().line_start(49_999).unwrap().unwrap();
    fs::write(table_path(&path), format!("50000;{early}\n")).unwrap();
    assert_eq!(LineFile::open(&path).unwrap().line_count(), 60_000, "an incorrect table was used");
}

#[test]
fn an_offset_table_for_other_data_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = numbered(&folder, 60_000, true);
    for nonsense in ["", "no table", "50000;17\n", "60000;1\n", "50000;99999999\n"] {
        fs::write(table_path(&path), nonsense).unwrap();
        assert_eq!(LineFile::open(&path).unwrap().line_count(), 60_000, "{nonsense:?}");
        assert!(fs::read_to_string(table_path(&path)).unwrap().contains("\n60000;"), "{nonsense:?}");
    }
}

#[test]
fn a_pipe_instead_of_an_offset_table_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = numbered(&folder, 3, true);
    let made = std::process::Command::new("mkfifo").arg(table_path(&path)).status().unwrap();
    assert!(made.success());
    assert_eq!(LineFile::open(&path).unwrap().line_count(), 3);
    assert!(table_path(&path).is_file(), "the pipe was not replaced");
}

#[test]
fn an_error_names_the_missing_file() {
    let error = LineFile::open("no/such/file.json").unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("cannot read no/such/file.json: "), "{message}");
    assert!(!message.contains('\n'));
    assert_eq!(error.path(), PathBuf::from("no/such/file.json"));
}
