//! Builds chunks for tests.

/// Ids of the types of a [`TestChunk`].
pub(super) const STACK_TYPE: u64 = 11;
pub(super) const ALLOCATION: u64 = 20;
pub(super) const PARK: u64 = 21;
pub(super) const FILE_READ: u64 = 22;
pub(super) const SETTING: u64 = 23;
pub(super) const PAUSE: u64 = 24;

const CLASS_TYPE: u64 = 6;
const THREAD_TYPE: u64 = 7;

/// A field of a type: its name, its type, and whether it is the id of a constant, or an array.
pub(super) type TestField = (&'static str, u64, &'static str);

/// A type: its id, its name and its fields.
pub(super) type TestType = (u64, String, Vec<TestField>);

/// A chunk that consists of types, constants and events.
#[derive(Clone)]
pub(super) struct TestChunk {
    pub(super) version: (u16, u16),
    /// Added to the ids of all constants.
    pub(super) first_id: u64,
    pub(super) types: Vec<TestType>,
    /// The content of checkpoint events after their header: pools.
    pub(super) pools: Vec<Vec<u8>>,
    /// Events: type and content.
    pub(super) events: Vec<(u64, Vec<u8>)>,
}

/// Encodes an integer.
pub(super) fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f && bytes.len() < 8 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

/// Encodes integers.
pub(super) fn varints(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|&value| varint(value)).collect()
}

/// Encodes a text as UTF-8.
pub(super) fn text(value: &str) -> Vec<u8> {
    [&[3], varint(value.len() as u64).as_slice(), value.as_bytes()].concat()
}

/// Encodes an event with its size.
pub(super) fn event(type_id: u64, content: &[u8]) -> Vec<u8> {
    let size = 4 + varint(type_id).len() + content.len();
    let size: Vec<u8> = (0..4)
        .map(|at| u8::try_from(size >> (7 * at) & 0x7f).unwrap() | if at < 3 { 0x80 } else { 0 })
        .collect();
    [size.as_slice(), &varint(type_id), content].concat()
}

/// Returns the bytes of a chunk as another one, which begins some ns later; its events keep their times.
pub(super) fn begun_later(mut bytes: Vec<u8>, by_ns: u64) -> Vec<u8> {
    for (at, value) in [(32, 1_000_000 + by_ns), (48, 500 + 2 * by_ns)] {
        bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
    }
    bytes
}

impl TestChunk {
    /// Returns a chunk whose events have names with a prefix, without constants and events.
    pub(super) fn new(prefix: &str) -> Self {
        let plain = |id, name: &str, fields: &[TestField]| (id, name.to_owned(), fields.to_vec());
        let named = |id, name: &str, fields: &[TestField]| (id, format!("{prefix}{name}"), fields.to_vec());
        let common = [
            ("startTime", 2, ""),
            ("duration", 2, ""),
            ("eventThread", 7, "pooled"),
            ("stackTrace", 11, "pooled"),
        ];
        let of_thread = |more: &[TestField]| [&common[..], more].concat();
        let types = vec![
            plain(1, "int", &[]),
            plain(2, "long", &[]),
            plain(3, "boolean", &[]),
            plain(4, "java.lang.String", &[]),
            plain(5, "jdk.types.Symbol", &[("string", 4, "")]),
            plain(CLASS_TYPE, "java.lang.Class", &[("name", 5, "pooled"), ("modifiers", 1, "")]),
            plain(
                THREAD_TYPE,
                "java.lang.Thread",
                &[
                    ("osName", 4, ""),
                    ("osThreadId", 2, ""),
                    ("javaName", 4, ""),
                    ("javaThreadId", 2, ""),
                    ("virtual", 3, ""),
                ],
            ),
            plain(
                8,
                "jdk.types.Method",
                &[("type", 6, "pooled"), ("name", 5, "pooled"), ("modifiers", 1, "")],
            ),
            plain(9, "jdk.types.FrameType", &[("description", 4, "")]),
            plain(
                10,
                "jdk.types.StackFrame",
                &[("method", 8, "pooled"), ("lineNumber", 1, ""), ("type", 9, "pooled")],
            ),
            plain(STACK_TYPE, "jdk.types.StackTrace", &[("truncated", 3, ""), ("frames", 10, "array")]),
            named(
                ALLOCATION,
                "ObjectAllocationInNewTLAB",
                &of_thread(&[("objectClass", 6, "pooled"), ("tlabSize", 2, "")]),
            ),
            named(PARK, "ThreadPark", &of_thread(&[("parkedClass", 6, "pooled")])),
            named(FILE_READ, "FileRead", &of_thread(&[("path", 4, ""), ("bytesRead", 2, "")])),
            named(
                SETTING,
                "ActiveSetting",
                &[("startTime", 2, ""), ("id", 2, ""), ("name", 4, ""), ("value", 4, "")],
            ),
            named(
                PAUSE,
                "GCPhasePause",
                &[("startTime", 2, ""), ("duration", 2, ""), ("gcId", 1, ""), ("name", 4, "")],
            ),
        ];
        Self { version: (2, 1), first_id: 1, types, pools: Vec::new(), events: Vec::new() }
    }

    /// Returns a chunk with two classes (`byte[]` and `a.B`), a thread `worker`, and a stack of two methods.
    pub(super) fn with_constants(prefix: &str, first_id: u64) -> Self {
        let mut chunk = Self { first_id, ..Self::new(prefix) };
        let id = |offset: u64| varint(first_id + offset);
        let symbols = [text("[B"), text("a/B"), text("run"), text("main")];
        chunk.add_pool(5, &symbols);
        chunk.add_pool(CLASS_TYPE, &[[id(0), varint(1)].concat(), [id(1), varint(1)].concat()]);
        chunk.add_pool(THREAD_TYPE, &[[text("os"), varint(77), text("worker"), varint(5), vec![0]].concat()]);
        chunk.add_pool(8, &[[id(1), id(2), varint(0)].concat(), [id(1), id(3), varint(0)].concat()]);
        chunk.add_pool(9, &[text("Inlined")]);
        let frames = [id(0), varint(12), id(0), id(1), varint(0), id(0)].concat();
        chunk.add_pool(STACK_TYPE, &[[vec![0], varint(2), frames].concat()]);
        chunk
    }

    /// Adds a pool of constants with consecutive ids.
    pub(super) fn add_pool(&mut self, type_id: u64, values: &[Vec<u8>]) {
        let mut pool = varints(&[1, type_id, values.len() as u64]);
        for (id, value) in (self.first_id..).zip(values) {
            pool.extend(varint(id));
            pool.extend(value);
        }
        self.pools.push(pool);
    }

    /// Adds an event of a thread at a time in ticks with a duration in ticks; `rest` are its own fields.
    pub(super) fn add_event(&mut self, type_id: u64, (start, duration): (u64, u64), rest: &[u8]) {
        let ids = [start, duration, self.first_id, self.first_id];
        self.events.push((type_id, [varints(&ids).as_slice(), rest].concat()));
    }

    /// Adds an allocation of a class, 0 or 1.
    pub(super) fn add_allocation(&mut self, start: u64, class: u64, size: u64) {
        self.add_event(ALLOCATION, (start, 0), &varints(&[self.first_id + class, size]));
    }

    /// Returns the chunk as a file, which begins at 1,000,000 ns and 500 ticks, with two ticks per ns.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut content = Vec::new();
        for (type_id, each) in &self.events {
            content.extend(event(*type_id, each));
        }
        for pool in &self.pools {
            content.extend(event(1, &[&[0, 0, 0, 1], pool.as_slice()].concat()));
        }
        content.extend(event(0, &self.metadata()));
        let mut bytes = b"FLR\0".to_vec();
        bytes.extend(self.version.0.to_be_bytes());
        bytes.extend(self.version.1.to_be_bytes());
        for value in [68 + content.len() as u64, 0, 0, 1_000_000, 0, 500, 2_000_000_000] {
            bytes.extend(value.to_be_bytes());
        }
        bytes.extend([0, 0, 0, 1]);
        bytes.extend(content);
        bytes
    }

    fn metadata(&self) -> Vec<u8> {
        let mut texts: Vec<String> = Vec::new();
        let mut index = |value: &str| {
            let at = texts.iter().position(|each| each == value).unwrap_or_else(|| {
                texts.push(value.to_owned());
                texts.len() - 1
            });
            varint(at as u64)
        };
        let mut tree =
            [index("root"), varints(&[0, 1]), index("metadata"), varints(&[0, self.types.len() as u64])]
                .concat();
        for (id, name, fields) in &self.types {
            tree.extend([index("class"), varint(2), index("id"), index(&id.to_string())].concat());
            tree.extend([index("name"), index(name), varint(fields.len() as u64)].concat());
            for (name, type_id, form) in fields {
                let attribute = match *form {
                    "pooled" => ("constantPool", "true"),
                    "array" => ("dimension", "1"),
                    _ => ("label", ""),
                };
                tree.extend([index("field"), varint(3), index("name"), index(name)].concat());
                tree.extend([index("class"), index(&type_id.to_string())].concat());
                tree.extend([index(attribute.0), index(attribute.1), varint(0)].concat());
            }
        }
        let table: Vec<u8> = texts.iter().flat_map(|each| text(each)).collect();
        [varints(&[0, 0, 1, texts.len() as u64]), table, tree].concat()
    }
}
