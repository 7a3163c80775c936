//! Tests the `http_logs` generator: its bytes are stable, its distributions are realistic, and it generates everything
//! that the track searches for.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::ops::{ControlFlow, Range};

use pacenote_corpus::{
    CorpusError, CorpusSpec, FileSpec, GenerateProgress, Generator, LineFile, generate, generator,
};

const ANCHOR_DAY: Range<u64> = 893_980_800..894_067_200;

fn logs() -> &'static dyn Generator {
    generator("http_logs").expect("the generator is registered")
}

fn recipe(documents: u64, seed: u64) -> CorpusSpec {
    CorpusSpec { files: logs().files(documents), seed }
}

fn bytes(documents: u64, seed: u64, file: usize) -> Vec<u8> {
    let mut sink = Vec::new();
    logs().write(&logs().files(documents)[file], seed, 1, &mut sink).unwrap();
    sink
}

struct Document {
    time: u64,
    ip: String,
    request: String,
    status: u64,
    size: u64,
}

/// Parses lines, and checks their exact format.
fn parse(bytes: &[u8]) -> Vec<Document> {
    let text = std::str::from_utf8(bytes).unwrap();
    let one = |line: &str| {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        let number = |key: &str| json[key].as_u64().unwrap();
        let word = |key: &str| json[key].as_str().unwrap().to_owned();
        let (time, ip, request) = (number("@timestamp"), word("clientip"), word("request"));
        let (status, size) = (number("status"), number("size"));
        let spelled = format!(
            "{{\"@timestamp\": {time}, \"clientip\": \"{ip}\", \"request\": \"{request}\", \"status\": {status}, \"size\": {size}}}"
        );
        assert_eq!(line, spelled);
        Document { time, ip, request, status, size }
    };
    text.lines().map(one).collect()
}

/// Returns the 64-bit FNV-1a hash.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[test]
fn bytes_never_change() {
    // If this test fails after an intended change, raise the generator's version and replace the hashes.
    assert_eq!(logs().version(), 1);
    let first = hash(&bytes(20_000, 42, 0));
    let last = hash(&bytes(20_000, 42, 6));
    assert_eq!((first, last), (0x5bd5_703f_08c6_d3d1, 0xd4fc_d1d5_946a_6959), "{first:#018x} {last:#018x}");
}

#[test]
fn different_seeds_and_files_give_different_bytes() {
    let base = bytes(5_000, 1, 3);
    assert_eq!(base, bytes(5_000, 1, 3));
    assert_ne!(base, bytes(5_000, 2, 3));
}

#[test]
fn files_are_as_large_as_those_of_the_public_corpus() {
    let files = logs().files(247_249_096);
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let weeks = ["181998", "191998", "201998", "211998", "221998", "231998", "241998"];
    assert_eq!(names, weeks.map(|week| format!("documents-{week}.json")));
    let documents: Vec<u64> = files.iter().map(|file| file.documents).collect();
    assert_eq!(
        documents,
        [2_708_746, 9_697_882, 13_053_463, 17_647_279, 10_716_760, 11_961_342, 181_463_624]
    );
}

#[test]
fn every_line_is_valid_and_times_never_decrease_across_files() {
    let mut last = 893_964_617;
    let mut weeks = vec![];
    for (index, spec) in logs().files(20_000).iter().enumerate() {
        let documents = parse(&bytes(20_000, 5, index));
        assert_eq!(documents.len() as u64, spec.documents);
        for document in &documents {
            assert!(document.time >= last, "times decrease in {}", spec.name);
            last = document.time;
            assert!(document.request.ends_with(" HTTP/1.0") || document.request.ends_with(" HTTP/1.1"));
            assert!(document.status != 304 || document.size == 0);
            let octets: Vec<u8> = document.ip.split('.').map(|octet| octet.parse().unwrap()).collect();
            assert_eq!(octets.len(), 4);
        }
        weeks.push((documents[0].time, last));
    }
    assert!(last < 901_497_600 && last > 901_497_600 - 3600);
    assert!(weeks[5].1 < 897_264_000 && weeks[6].0 >= 897_264_000);
}

#[test]
fn a_corpus_of_100_000_documents_contains_what_the_track_searches_for() {
    for seed in [1, 2] {
        assert_eq!(logs().files(100_000)[0].documents, 1096);
        let first = parse(&bytes(100_000, seed, 0));
        let on_day =
            |status| first.iter().filter(|d| ANCHOR_DAY.contains(&d.time) && d.status == status).count();
        assert_eq!(on_day(400), 20, "the track asserts a different number");
        assert!(on_day(200) > 150, "{}", on_day(200));
        let last = parse(&bytes(100_000, seed, 6));
        let share = |wanted: &dyn Fn(&Document) -> bool| last.iter().filter(|d| wanted(d)).count();
        assert!(share(&|d| d.request == "GET / HTTP/1.0") > last.len() / 100);
        assert!(share(&|d| d.request.starts_with("GET image")) > 10);
        assert!(share(&|d| d.request.starts_with("GET /images/")) > last.len() / 10);
        assert!(share(&|d| d.time > 897_436_800) > last.len() * 9 / 10);
    }
    // The number is the same for files of any size with 1,000 documents or more.
    for documents in [91_240, 500_000] {
        let first = bytes(documents, 9, 0);
        let day = |line: &&[u8]| {
            let time: u64 = std::str::from_utf8(&line[15..24]).unwrap().parse().unwrap();
            ANCHOR_DAY.contains(&time) && memchr::memmem::find(line, b"\"status\": 400").is_some()
        };
        assert_eq!(
            first.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).filter(day).count(),
            20
        );
    }
}

#[test]
fn distributions_resemble_those_of_the_public_corpus() {
    let bytes = bytes(40_000, 11, 6);
    let documents = parse(&bytes);
    let count = documents.len();
    let mean = bytes.len() / count;
    assert!((128..142).contains(&mean), "{mean} bytes per document, 135 in the public corpus");
    let mut statuses: HashMap<u64, usize> = HashMap::new();
    for document in &documents {
        *statuses.entry(document.status).or_default() += 1;
    }
    let percent = |status| statuses.get(&status).copied().unwrap_or(0) * 100 / count;
    assert!((74..86).contains(&percent(200)) && (13..25).contains(&percent(304)), "{statuses:?}");
    for rare in [206, 302, 404, 500] {
        assert!(statuses.contains_key(&rare) && percent(rare) < 3, "{rare}: {statuses:?}");
    }
    let mut clients: HashMap<&str, usize> = HashMap::new();
    for document in &documents {
        *clients.entry(&document.ip).or_default() += 1;
    }
    let top = clients.values().max().copied().unwrap_or(0);
    assert!(
        clients.len() > count / 4 && top > count / 500,
        "{} clients, {top} requests from the most active one",
        clients.len()
    );
    let requests: HashSet<&str> = documents.iter().map(|document| document.request.as_str()).collect();
    assert!(requests.len() > 3000, "{} requests", requests.len());
    let mut sizes: Vec<u64> = documents.iter().filter(|d| d.status == 200).map(|d| d.size).collect();
    sizes.sort_unstable();
    assert!((500..5000).contains(&sizes[sizes.len() / 2]) && sizes[sizes.len() - 1] > 100_000);
    let hour = |hour| documents.iter().filter(|document| document.time / 3600 % 24 == hour).count();
    assert!(hour(16) > 2 * hour(4), "the afternoon is not busier than the morning");
}

#[test]
fn the_files_of_a_corpus_match_the_returned_description() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    let generated = generate(logs(), &recipe(3_000, 8), folder.path(), &mut |progress| {
        seen.push(progress);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((generated.generator, generated.version, generated.files.len()), ("http_logs", 1, 7));
    for (index, file) in generated.files.iter().enumerate() {
        let path = folder.path().join(&file.name);
        assert!(fs::read(&path).unwrap() == bytes(3_000, 8, index));
        let table = fs::read_to_string(folder.path().join(format!("{}.offset", file.name))).unwrap();
        assert_eq!(table, format!("{};{}\n", file.documents, file.bytes));
        assert_eq!(LineFile::open(&path).unwrap().line_count(), file.documents);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 14, "the folder contains other files");
    let total = generated.files.iter().map(|file| file.bytes).sum();
    let done = GenerateProgress { documents: 3_000, documents_total: 3_000, bytes: total };
    assert_eq!(seen.last(), Some(&done));
}

#[test]
fn tiny_corpora_are_complete() {
    for documents in [1, 6, 7] {
        let folder = tempfile::tempdir().unwrap();
        let recipe = recipe(documents, 8);
        let generated = generate(logs(), &recipe, folder.path(), &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(generated.files.iter().map(|file| file.documents).sum::<u64>(), documents);
        assert!(documents < 7 || generated.files.iter().all(|file| file.documents > 0));
    }
}

#[test]
fn an_interrupted_generation_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = 0;
    let error = generate(logs(), &recipe(3_000, 8), folder.path(), &mut |_| {
        files += 1;
        if files == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap_err();
    assert!(matches!(error, CorpusError::Interrupted { .. }), "{error}");
    assert!(error.to_string().contains("documents-201998.json"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_error_names_the_missing_folder() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    let error = generate(logs(), &recipe(10, 8), &nowhere, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, CorpusError::Write { .. }), "{error}");
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn the_caller_chooses_file_names_and_document_counts() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, documents| FileSpec { name: name.to_owned(), documents };
    let files = vec![file("documents-191998-1k.json", 1_000), file("other.json", 50)];
    let recipe = CorpusSpec { files, seed: 3 };
    generate(logs(), &recipe, folder.path(), &mut |_| ControlFlow::Continue(())).unwrap();
    let week = parse(&fs::read(folder.path().join("documents-191998-1k.json")).unwrap());
    assert_eq!(week.len(), 1_000);
    assert!(week.iter().all(|document| (894_240_000..894_844_800).contains(&document.time)));
    let any = parse(&fs::read(folder.path().join("other.json")).unwrap());
    assert!(any.len() == 50 && any[0].time < 894_240_000 && any[49].time > 901_000_000);
}

#[test]
fn invalid_file_names_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for names in [vec![""], vec![".."], vec!["a/b"], vec!["/a"], vec!["a/"], vec!["a", "b", "a"]] {
        let files = names.iter().map(|name| FileSpec { name: (*name).to_owned(), documents: 1 }).collect();
        let recipe = CorpusSpec { files, seed: 0 };
        let error = generate(logs(), &recipe, folder.path(), &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error, CorpusError::BadFileName { .. }), "{names:?}: {error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// A generator that writes one line fewer than it announces.
struct Short;

impl Generator for Short {
    fn name(&self) -> &'static str {
        "short"
    }

    fn version(&self) -> u32 {
        1
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        vec![FileSpec { name: "short.json".to_owned(), documents }]
    }

    fn write(&self, file: &FileSpec, _seed: u64, _threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        (1..file.documents).try_for_each(|_| sink.write_all(b"{}\n"))
    }
}

#[test]
fn a_generator_that_writes_too_few_documents_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = CorpusSpec { files: Short.files(5), seed: 0 };
    let error = generate(&Short, &recipe, folder.path(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, CorpusError::WrongCount { announced: 5, written: 4, .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(generator("short").is_none());
}
