//! Recordings that no JVM writes: another user can write what Pacenote reads.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::constants::read_count;
use super::test_chunk::{
    ALLOCATION, FILE_READ, PAUSE, STACK_TYPE, TestChunk, begun_later, text, varint, varints,
};
use super::*;

const SYMBOL: u64 = 5;
const CLASS: u64 = 6;
const METHOD: u64 = 8;
const FRAME: u64 = 10;

fn read(bytes: &[u8]) -> Recording {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    read_recordings(&[file.path().to_path_buf()], None, &mut || ControlFlow::Continue(())).unwrap()
}

fn problems(recording: &Recording) -> String {
    recording.files[0].problems.join("\n")
}

fn fields(chunk: &mut TestChunk, type_id: u64) -> &mut Vec<test_chunk::TestField> {
    &mut chunk.types.iter_mut().find(|(id, ..)| *id == type_id).unwrap().2
}

/// Returns a chunk with one allocation by a thread with a stack of two methods.
fn chunk() -> TestChunk {
    let mut chunk = TestChunk::with_constants("jdk.", 1);
    chunk.add_allocation(500, 0, 100);
    chunk
}

#[test]
fn a_type_may_name_a_field_twice() {
    // What is a text and the id of a constant of the same type used to lead from one to the other without end.
    for (first, second) in [
        (("name", 4, ""), ("name", SYMBOL, "pooled")),
        (("name", SYMBOL, "pooled"), ("name", 4, "")),
        (("string", 4, ""), ("name", SYMBOL, "pooled")),
        (("name", SYMBOL, "pooled"), ("name", CLASS, "pooled")),
        (("name", CLASS, "pooled"), ("name", CLASS, "pooled")),
    ] {
        let mut chunk = chunk();
        *fields(&mut chunk, SYMBOL) = vec![first, second];
        let value = |field: &test_chunk::TestField| if field.2.is_empty() { text("[B") } else { varint(1) };
        chunk.pools.retain(|pool| u64::from(pool[1]) != SYMBOL);
        chunk.add_pool(SYMBOL, &vec![[value(&first), value(&second)].concat(); 4]);
        let recording = read(&chunk.bytes());
        assert_eq!((problems(&recording), recording.in_new_tlab.len()), (String::new(), 1), "{first:?}");
        let is_first = first.2.is_empty() && first.0 == "name";
        assert_eq!(
            recording.classes.len(),
            usize::from(is_first || second.2.is_empty() || first.0 == "string")
        );
    }
}

#[test]
fn constants_may_refer_to_themselves() {
    for (type_id, name) in [(SYMBOL, "name"), (CLASS, "name"), (METHOD, "type"), (METHOD, "name")] {
        let mut chunk = chunk();
        *fields(&mut chunk, type_id) = vec![(name, type_id, "pooled")];
        chunk.pools.retain(|pool| u64::from(pool[1]) != type_id);
        chunk.add_pool(type_id, &[varint(1), varint(2)]);
        let recording = read(&chunk.bytes());
        assert_eq!(
            (problems(&recording), recording.in_new_tlab.len()),
            (String::new(), 1),
            "{type_id} {name}"
        );
    }
    let mut chunk = chunk();
    *fields(&mut chunk, SYMBOL) = vec![("name", 4, "")];
    chunk.pools.retain(|pool| u64::from(pool[1]) != SYMBOL);
    // A text that is a constant of texts, which is itself.
    chunk.add_pool(SYMBOL, &vec![varints(&[2, 1]); 4]);
    chunk.add_pool(4, &[varints(&[2, 1])]);
    assert_eq!(read(&chunk.bytes()).classes, []);
}

#[test]
fn types_may_contain_themselves() {
    for field in [("self", 30, ""), ("self", 30, "array"), ("frames", 30, "array"), ("name", 30, "")] {
        let mut chunk = chunk();
        chunk.types.push((30, "jdk.types.Odd".to_owned(), vec![field, field]));
        fields(&mut chunk, CLASS).push(("odd", 30, "pooled"));
        fields(&mut chunk, STACK_TYPE).push(("frames", FRAME, "array"));
        chunk.add_pool(30, &[vec![0; 20]]);
        assert!(problems(&read(&chunk.bytes())).contains("constants at byte"), "{field:?}");
    }
    // Each type has two fields of the next one: 2^40 fields.
    let mut chunk = chunk();
    for id in 30..70 {
        let next = ("next", id + 1, "array");
        chunk.types.push((id, "jdk.types.Odd".to_owned(), vec![next, next]));
    }
    chunk.types.push((70, "jdk.types.Odd".to_owned(), vec![]));
    chunk.add_pool(30, &[vec![0; 20]]);
    assert!(problems(&read(&chunk.bytes())).contains("constants at byte"));
}

#[test]
fn the_second_array_of_frames_is_not_read_as_the_first() {
    let mut chunk = chunk();
    fields(&mut chunk, STACK_TYPE).push(("frames", 1, "array"));
    chunk.pools.retain(|pool| u64::from(pool[1]) != STACK_TYPE);
    let frames = varints(&[2, 1, 12, 1, 2, 0, 1]);
    chunk.add_pool(STACK_TYPE, &[[vec![0], frames, varints(&[3, 1, 1, 1])].concat()]);
    let recording = read(&chunk.bytes());
    assert_eq!((problems(&recording), recording.stacks[0].frames.len()), (String::new(), 2));
    assert_eq!(recording.name(recording.frames[0].method), "a.B.run");
}

/// Returns a chunk of which each byte is worth much in memory: frames whose methods have one long name.
fn long_names(stacks: u64, frames: u64) -> TestChunk {
    let mut chunk = TestChunk::with_constants("jdk.", 1);
    chunk.pools.retain(|pool| u64::from(pool[1]) != SYMBOL && u64::from(pool[1]) != STACK_TYPE);
    chunk.add_pool(SYMBOL, &vec![text(&"n".repeat(1000)); 4]);
    let stack = |number: u64| {
        let lines = (0..frames).flat_map(|frame| varints(&[1, number * frames + frame + 1, 1]));
        [vec![0], varint(frames), lines.collect()].concat()
    };
    let values: Vec<_> = (0..stacks).map(stack).collect();
    chunk.add_pool(STACK_TYPE, &values);
    for id in 1..=stacks {
        chunk.events.push((ALLOCATION, varints(&[500, 0, 1, id, 1, 10])));
    }
    chunk
}

#[test]
fn a_name_that_occurs_often_is_returned_once() {
    let mut chunk = long_names(200, 100);
    for number in 0..20_000 {
        chunk.events.push((PAUSE, [varints(&[1000, 7, number]), text(&"p".repeat(1000))].concat()));
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&chunk.bytes()).unwrap();
    let recording = read(&encoder.finish().unwrap());
    assert_eq!((recording.frames.len(), recording.pauses.len()), (20_000, 20_000));
    assert_eq!(recording.names.iter().map(|name| name.len()).collect::<Vec<_>>()[..1], [1000]);
    assert!(serde_json::to_string(&recording).unwrap().len() < 5 << 20);
}

#[test]
fn what_is_returned_is_limited_and_the_limit_stated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jfr");
    let chunk = long_names(200, 50).bytes();
    std::fs::write(&path, [chunk.clone(), begun_later(chunk, 1)].concat()).unwrap();
    let windows = [None, Some((0, i64::MAX)), None];
    let read = |bytes| {
        let budget = MemoryBudget::of(bytes);
        let mut go_on = || ControlFlow::Continue(());
        read_within(std::slice::from_ref(&path), &windows, &budget, &mut go_on).unwrap()
    };
    for recording in read(256 << 20) {
        assert_eq!(
            (recording.stacks.len(), recording.merged_events, problems(&recording)),
            (200, 0, String::new())
        );
    }
    let limited = read(4 << 20);
    let stacks: usize = limited.iter().map(|recording| recording.stacks.len()).sum();
    assert!((100..600).contains(&stacks), "{stacks}");
    for recording in &limited {
        let counted: u64 = recording.in_new_tlab.iter().map(|group| group.values.count).sum();
        assert_eq!(counted, 400);
        let limits = "chunk 1 and those after it have more names, stacks and groups than are kept";
        assert_eq!(problems(recording).matches(limits).count(), 1, "{}", problems(recording));
    }
    let json: usize = limited.iter().map(|recording| serde_json::to_string(recording).unwrap().len()).sum();
    assert!(json < 4 << 20, "{json}");
    assert!(limited[2].merged_events > 0);
}

#[test]
fn a_text_is_not_read_by_each_event_that_refers_to_it() {
    let mut chunk = TestChunk::with_constants("jdk.", 1);
    let units = vec![0x4e2d; 1024];
    chunk.first_id = 9;
    chunk.add_pool(4, &[[&[4], varint(1024).as_slice(), &varints(&units)].concat()]);
    chunk.first_id = 1;
    let read_of_file = [varints(&[500, 0, 1, 1]), varints(&[2, 9]), varint(5)].concat();
    for _ in 0..1000 {
        chunk.events.push((FILE_READ, read_of_file.clone()));
    }
    let bytes = chunk.bytes();
    read_count::take();
    let recording = read(&bytes);
    assert_eq!((problems(&recording), recording.io.len()), (String::new(), 1));
    assert_eq!(recording.name(recording.io[0].target).chars().count(), 1024);
    // The text has 3 KiB; what else is read are the names of the thread.
    let bytes_read = read_count::take();
    assert!((3072..4096).contains(&bytes_read), "{bytes_read}");
}

#[test]
fn a_large_constant_is_not_read_by_each_event() {
    let mut chunk = TestChunk::with_constants("jdk.", 1);
    let data = ("data", 3, "array");
    *fields(&mut chunk, PAUSE) =
        vec![("startTime", 2, ""), ("duration", 2, ""), ("gcId", 1, ""), ("name", SYMBOL, "pooled")];
    *fields(&mut chunk, SYMBOL) = vec![data, ("name", 4, "")];
    *fields(&mut chunk, CLASS) = vec![data, ("name", SYMBOL, "pooled")];
    let large = [varint(1 << 20), vec![0; 1 << 20]].concat();
    chunk.pools.clear();
    chunk.add_pool(SYMBOL, &[[&large[..], &text("a")].concat()]);
    chunk.add_pool(CLASS, &[[&large[..], &varint(1)].concat()]);
    chunk.add_pool(METHOD, &vec![varints(&[1, 1, 0]); 2000]);
    let frames: Vec<u8> = (0..2000).flat_map(|method| varints(&[method + 1, 1, 1])).collect();
    chunk.add_pool(STACK_TYPE, &[[vec![0], varint(2000), frames].concat()]);
    chunk.add_allocation(500, 0, 100);
    for _ in 0..2000 {
        chunk.events.push((PAUSE, varints(&[1000, 7, 3, 1])));
    }
    read_count::take();
    let recording = read(&chunk.bytes());
    assert_eq!((problems(&recording), recording.pauses.len()), (String::new(), 2000));
    assert_eq!((recording.name(recording.pauses[0].name), recording.frames.len()), ("a", 1));
    // Both large constants once for each of what is read of them: a label, the name of a class, and that class.
    let bytes_read = read_count::take();
    assert!((2 << 20..4 << 20).contains(&bytes_read), "{bytes_read}");
}

#[test]
fn constants_that_do_not_exist_use_no_memory() {
    let mut chunk = TestChunk::with_constants("jdk.", 1);
    for id in 0..5000 {
        chunk.events.push((ALLOCATION, varints(&[500, 0, 100 + id, 100 + id, 100 + id, 10])));
    }
    let recording = read(&chunk.bytes());
    assert_eq!((recording.in_new_tlab.len(), recording.in_new_tlab[0].values.count), (1, 5000));
    assert_eq!((recording.threads.len(), recording.stacks.len(), recording.names.len()), (0, 0, 0));
}
