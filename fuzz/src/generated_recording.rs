//! Well-formed recordings that no JVM writes: types with any fields, of any types, and constants and events as these
//! describe them.

use std::cell::Cell;

use arbitrary::{Result, Unstructured};

/// Ids of the types whose values are no structures.
const INTEGER: u64 = 1;
const BOOLEAN: u64 = 2;
const TEXT: u64 = 3;
const FLOAT: u64 = 4;
const DOUBLE: u64 = 5;
const PLAIN: [(u64, &str); 5] = [
    (INTEGER, "long"),
    (BOOLEAN, "boolean"),
    (TEXT, "java.lang.String"),
    (FLOAT, "float"),
    (DOUBLE, "double"),
];

/// The types of constants by their ids, from 6; the fields as a JVM describes them.
const CONSTANTS: [(&str, &[Field]); 9] = [
    ("jdk.types.Symbol", &[("string", TEXT, Form::Value)]),
    ("java.lang.Class", &[("name", 6, Form::Pooled), ("modifiers", INTEGER, Form::Value)]),
    (
        "java.lang.Thread",
        &[
            ("osName", TEXT, Form::Value),
            ("osThreadId", INTEGER, Form::Value),
            ("javaName", TEXT, Form::Value),
            ("javaThreadId", INTEGER, Form::Value),
            ("virtual", BOOLEAN, Form::Value),
        ],
    ),
    ("jdk.types.Method", &[("type", 7, Form::Pooled), ("name", 6, Form::Pooled)]),
    ("jdk.types.FrameType", &[("description", TEXT, Form::Value)]),
    (
        "jdk.types.StackFrame",
        &[("method", 9, Form::Pooled), ("lineNumber", INTEGER, Form::Value), ("type", 10, Form::Pooled)],
    ),
    ("jdk.types.StackTrace", &[("truncated", BOOLEAN, Form::Value), ("frames", 11, Form::Array)]),
    ("jdk.types.GCName", &[("name", TEXT, Form::Value)]),
    ("jdk.types.VirtualSpace", &[("start", INTEGER, Form::Value), ("committedSize", INTEGER, Form::Value)]),
];

/// The types of events, with the fields that they have beside the common ones.
const EVENTS: [(&str, &[Field]); 14] = [
    ("ObjectAllocationInNewTLAB", &[("objectClass", 7, Form::Pooled), ("tlabSize", INTEGER, Form::Value)]),
    ("ObjectAllocationSample", &[("objectClass", 7, Form::Pooled), ("weight", INTEGER, Form::Value)]),
    ("ExecutionSample", &[("sampledThread", 8, Form::Pooled)]),
    ("JavaMonitorEnter", &[("monitorClass", 7, Form::Pooled)]),
    ("ThreadPark", &[("parkedClass", 7, Form::Pooled)]),
    ("FileRead", &[("path", TEXT, Form::Value), ("bytesRead", INTEGER, Form::Value)]),
    ("FileForce", &[("path", TEXT, Form::Value)]),
    (
        "SocketRead",
        &[
            ("host", TEXT, Form::Value),
            ("address", TEXT, Form::Value),
            ("port", INTEGER, Form::Value),
            ("bytesRead", INTEGER, Form::Value),
        ],
    ),
    ("GCPhasePause", &[("gcId", INTEGER, Form::Value), ("name", TEXT, Form::Value)]),
    (
        "GarbageCollection",
        &[
            ("gcId", INTEGER, Form::Value),
            ("name", 13, Form::Pooled),
            ("cause", 13, Form::Pooled),
            ("sumOfPauses", INTEGER, Form::Value),
            ("longestPause", INTEGER, Form::Value),
        ],
    ),
    ("ExecuteVMOperation", &[("operation", 13, Form::Pooled), ("safepoint", BOOLEAN, Form::Value)]),
    ("ThreadCPULoad", &[("user", FLOAT, Form::Value), ("system", FLOAT, Form::Value)]),
    (
        "GCHeapSummary",
        &[("when", 13, Form::Pooled), ("heapSpace", 14, Form::Value), ("heapUsed", INTEGER, Form::Value)],
    ),
    (
        "ActiveSetting",
        &[("id", INTEGER, Form::Value), ("name", TEXT, Form::Value), ("value", TEXT, Form::Value)],
    ),
];

/// Fields that events of most types have.
const COMMON: [Field; 4] = [
    ("startTime", INTEGER, Form::Value),
    ("duration", INTEGER, Form::Value),
    ("eventThread", 8, Form::Pooled),
    ("stackTrace", 12, Form::Pooled),
];

const FIRST_CONSTANT: u64 = 6;
const FIRST_EVENT: u64 = 20;

/// Names that fields may be given.
const NAMES: [&str; 14] = [
    "name",
    "type",
    "string",
    "frames",
    "method",
    "description",
    "javaName",
    "virtual",
    "truncated",
    "startTime",
    "objectClass",
    "stackTrace",
    "heapSpace",
    "committedSize",
];

/// Texts that values share.
const TEXTS: [&str; 7] = ["", "a", "[B", "enabled", "true", "Before GC", "[[La/b;"];

/// Deepest nesting of a value; the reader refuses deeper ones.
const MAX_DEPTH: usize = 12;

/// Most values of a chunk.
const MAX_VALUES: usize = 5000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Value,
    Pooled,
    Array,
}

type Field = (&'static str, u64, Form);

/// Returns a recording of one to three chunks.
///
/// # Errors
///
/// None in practice: data that has ended yields zeros.
pub fn generate(data: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for _ in 0..data.int_in_range(1..=3)? {
        let mut types = Types::of_a_jvm();
        for _ in 0..data.int_in_range(0..=12)? {
            types.change(data)?;
        }
        bytes.extend(types.chunk(data)?);
    }
    Ok(bytes)
}

struct Types {
    /// Ids, names and fields.
    all: Vec<(u64, String, Vec<Field>)>,
    /// How many more values may be generated. Types that contain each other describe very many without bytes.
    left: Cell<usize>,
}

impl Types {
    fn of_a_jvm() -> Self {
        let mut all: Vec<_> = PLAIN.iter().map(|(id, name)| (*id, (*name).to_owned(), Vec::new())).collect();
        for (id, (name, fields)) in (FIRST_CONSTANT..).zip(CONSTANTS) {
            all.push((id, name.to_owned(), fields.to_vec()));
        }
        for (id, (name, fields)) in (FIRST_EVENT..).zip(EVENTS) {
            all.push((id, format!("jdk.{name}"), [&COMMON[..], fields].concat()));
        }
        Self { all, left: Cell::new(MAX_VALUES) }
    }

    /// Makes one change that no JVM makes.
    fn change(&mut self, data: &mut Unstructured<'_>) -> Result<()> {
        let index = data.choose_index(self.all.len())?;
        let id = self.all[data.choose_index(self.all.len())?].0;
        let form = *data.choose(&[Form::Value, Form::Pooled, Form::Array])?;
        let field = (*data.choose(&NAMES)?, id, form);
        let (own, name, fields) = &mut self.all[index];
        match data.int_in_range(0..=7)? {
            0 => fields.push(field),
            1 => fields.insert(0, field),
            // Twice the same name, or a reference to itself.
            2 if !fields.is_empty() => {
                let same = fields[data.choose_index(fields.len())?].0;
                fields.insert(data.choose_index(fields.len())?, (same, id, form));
            }
            3 if !fields.is_empty() => {
                let at = data.choose_index(fields.len())?;
                (fields[at].1, fields[at].2) = (*own, form);
            }
            4 if !fields.is_empty() => _ = fields.remove(data.choose_index(fields.len())?),
            5 => "java.lang.String".clone_into(name),
            6 => *own = id,
            _ => fields.extend([field; 8]),
        }
        Ok(())
    }

    fn fields(&self, id: u64) -> Option<(&str, &[Field])> {
        self.all.iter().rev().find(|each| each.0 == id).map(|each| (each.1.as_str(), &*each.2))
    }

    fn chunk(&self, data: &mut Unstructured<'_>) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        let mut pools = vec![0, 0, 0, 1];
        let wanted = data.int_in_range(0..=24)?;
        varint(wanted, &mut pools);
        for _ in 0..wanted {
            let type_id = if data.ratio(7, 8)? {
                data.int_in_range(FIRST_CONSTANT..=14)?
            } else {
                self.all[data.choose_index(self.all.len())?].0
            };
            let count = data.int_in_range(0..=6)?;
            varint(type_id, &mut pools);
            varint(count, &mut pools);
            for id in 1..=count {
                varint(id, &mut pools);
                self.value(data, type_id, 0, &mut pools)?;
            }
        }
        for _ in 0..data.int_in_range(0..=40)? {
            let type_id = data.int_in_range(FIRST_EVENT..=FIRST_EVENT + 13)?;
            let mut event = Vec::new();
            self.value(data, type_id, 0, &mut event)?;
            for _ in 0..data.int_in_range(1..=2)? {
                add_event(type_id, &event, &mut content);
            }
        }
        add_event(1, &pools, &mut content);
        add_event(0, &self.description(), &mut content);
        let mut bytes = b"FLR\0\0\x02\0\x01".to_vec();
        for value in [68 + content.len() as u64, 0, 0, 1_000_000, 0, 500, 2_000_000_000] {
            bytes.extend(value.to_be_bytes());
        }
        bytes.extend([u8::from(data.ratio(1, 32)?), 0, 0, 1]);
        bytes.extend(content);
        Ok(bytes)
    }

    /// Adds a value of a type.
    fn value(&self, data: &mut Unstructured<'_>, id: u64, depth: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let Some((name, fields)) = self.fields(id) else { return Ok(()) };
        if depth > MAX_DEPTH || self.left.get() == 0 {
            return Ok(());
        }
        self.left.set(self.left.get() - 1);
        match name {
            "long" => varint(number(data)?, bytes),
            "boolean" => bytes.push(data.int_in_range(0..=1)?),
            "float" => bytes.extend(data.arbitrary::<f32>()?.to_be_bytes()),
            "double" => bytes.extend(data.arbitrary::<f64>()?.to_be_bytes()),
            "java.lang.String" => text(data, bytes)?,
            _ => {
                for &(_, type_id, form) in fields {
                    let count = if form == Form::Array { data.int_in_range(0..=3)? } else { 1 };
                    if form == Form::Array {
                        varint(count, bytes);
                    }
                    for _ in 0..count {
                        if form == Form::Pooled {
                            varint(data.int_in_range(0..=7)?, bytes);
                        } else {
                            self.value(data, type_id, depth + 1, bytes)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the content of the metadata event.
    fn description(&self) -> Vec<u8> {
        let mut texts: Vec<String> = Vec::new();
        let mut tree = Vec::new();
        let mut index = |text: &str, tree: &mut Vec<u8>| {
            let at = texts.iter().position(|each| each == text).unwrap_or_else(|| {
                texts.push(text.to_owned());
                texts.len() - 1
            });
            varint(at as u64, tree);
        };
        index("root", &mut tree);
        tree.extend([0, 1]);
        index("metadata", &mut tree);
        tree.push(0);
        varint(self.all.len() as u64, &mut tree);
        for (id, name, fields) in &self.all {
            for text in ["class", "\u{2}", "id", &id.to_string(), "name", name] {
                if text == "\u{2}" { tree.push(2) } else { index(text, &mut tree) }
            }
            varint(fields.len() as u64, &mut tree);
            for (name, type_id, form) in fields {
                index("field", &mut tree);
                tree.push(3);
                let (key, value) = match form {
                    Form::Pooled => ("constantPool", "true"),
                    Form::Array => ("dimension", "1"),
                    Form::Value => ("label", ""),
                };
                for text in ["name", name, "class", &type_id.to_string(), key, value] {
                    index(text, &mut tree);
                }
                tree.push(0);
            }
        }
        let mut bytes = vec![0, 0, 1];
        varint(texts.len() as u64, &mut bytes);
        for text in texts {
            bytes.push(3);
            varint(text.len() as u64, &mut bytes);
            bytes.extend(text.as_bytes());
        }
        bytes.extend(tree);
        bytes
    }
}

fn number(data: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match data.int_in_range(0..=3)? {
        0 | 1 => data.int_in_range(0..=100)?,
        2 => 500 + u64::from(data.arbitrary::<u16>()?),
        _ => data.arbitrary()?,
    })
}

fn text(data: &mut Unstructured<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    match data.int_in_range(0..=7)? {
        0 => bytes.push(0),
        1 => bytes.push(1),
        // The id of a constant.
        2 => {
            bytes.push(2);
            varint(data.int_in_range(0..=7)?, bytes);
        }
        3 => {
            bytes.push(4);
            varint(2, bytes);
            varint(u64::from(data.arbitrary::<u16>()?), bytes);
            varint(data.arbitrary()?, bytes);
        }
        // A long one that many values share.
        4 => {
            bytes.extend([5, 0xb8, 0x17]);
            bytes.extend([b'n'; 3000]);
        }
        _ => {
            let text = *data.choose(&TEXTS)?;
            bytes.push(3);
            varint(text.len() as u64, bytes);
            bytes.extend(text.as_bytes());
        }
    }
    Ok(())
}

fn add_event(type_id: u64, event: &[u8], content: &mut Vec<u8>) {
    let mut named = Vec::new();
    varint(type_id, &mut named);
    let size = 4 + named.len() + event.len();
    for at in 0..4 {
        #[expect(clippy::cast_possible_truncation, reason = "seven bits")]
        content.push((size >> (7 * at) & 0x7f) as u8 | if at < 3 { 0x80 } else { 0 });
    }
    content.extend(named);
    content.extend(event);
}

fn varint(mut value: u64, bytes: &mut Vec<u8>) {
    let mut count = 0;
    while value > 0x7f && count < 8 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
        count += 1;
    }
    bytes.push(value as u8);
}
