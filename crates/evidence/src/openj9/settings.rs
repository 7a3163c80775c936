//! The configuration of the JVM, as its log states it.

use super::tags::{Tag, unescape};
use super::values::{parse_integer, parse_size};

/// Most options that are kept.
const MAX_OPTIONS: usize = 256;
/// Longest text that is kept, in bytes.
pub(super) const MAX_TEXT: usize = 512;

/// The configuration of the JVM (`initialized`). What the log does not contain is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenJ9Settings {
    /// Version of the format, which names the JVM in older logs.
    pub version: Option<String>,
    /// The policy, for example `gencon`.
    pub policy: Option<String>,
    /// Largest size of the heap in bytes.
    pub max_heap_bytes: Option<u64>,
    /// Initial size of the heap in bytes.
    pub initial_heap_bytes: Option<u64>,
    /// Whether references to objects are compressed to 32 bits.
    pub compressed_references: Option<bool>,
    /// Threads of the collector.
    pub gc_threads: Option<u64>,
    /// Size of the heap's memory pages in bytes.
    pub page_bytes: Option<u64>,
    /// NUMA nodes that the JVM uses.
    pub numa_nodes: Option<u64>,
    /// Memory of the machine in bytes.
    pub physical_memory_bytes: Option<u64>,
    /// CPUs of the machine.
    pub cpus: Option<u64>,
    /// The operating system and its version.
    pub system: Option<String>,
    /// Options that begin with `-X`. Others are omitted, because they can contain passwords.
    pub options: Vec<String>,
}

impl OpenJ9Settings {
    /// Reads an `attribute` element of `initialized` or `system`.
    pub(super) fn read_attribute(&mut self, tag: &Tag<'_>) {
        let (mut name, mut value): (&[u8], &[u8]) = (b"", b"");
        for (key, text) in tag.attributes() {
            match key {
                b"name" => name = text,
                b"value" => value = text,
                _ => {}
            }
        }
        match name {
            b"gcPolicy" => self.policy = Some(text(value.strip_prefix(b"-Xgcpolicy:").unwrap_or(value))),
            b"maxHeapSize" => self.max_heap_bytes = parse_size(value),
            b"initialHeapSize" => self.initial_heap_bytes = parse_size(value),
            b"compressedRefs" => self.compressed_references = Some(value == b"true"),
            b"gcthreads" => self.gc_threads = parse_integer(value),
            b"pageSize" => self.page_bytes = parse_size(value),
            b"numaNodes" => self.numa_nodes = parse_integer(value),
            b"physicalMemory" => self.physical_memory_bytes = parse_integer(value),
            b"numCPUs" => self.cpus = parse_integer(value),
            b"os" => self.system = Some(text(value)),
            b"osVersion" => {
                // A log may repeat the element, but the text must not grow with each of them.
                if let Some(name) = self.system.as_mut().filter(|name| name.len() <= MAX_TEXT) {
                    *name = format!("{name} {}", text(value));
                }
            }
            _ => {}
        }
    }

    /// Reads a `vmarg` element.
    pub(super) fn read_option(&mut self, tag: &Tag<'_>) {
        let Some(value) = tag.value(b"name") else { return };
        let option = text(value);
        if value.starts_with(b"-X") && self.options.len() < MAX_OPTIONS && !self.options.contains(&option) {
            self.options.push(option);
        }
    }
}

/// Returns a value as text, shortened to [`MAX_TEXT`] bytes.
pub(super) fn text(value: &[u8]) -> String {
    unescape(&value[..value.len().min(MAX_TEXT)])
}
