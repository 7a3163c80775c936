//! `/proc/PID/stat` and `/proc/PID/io`: what a process uses.

use crate::reading::{Field, KernelUnits, Receive, number, parse_keys};

static MINOR_FAULTS: Field = Field::counter("", "process.minor_faults");
static MAJOR_FAULTS: Field = Field::counter("", "process.major_faults");
static USER: Field = Field::counter("", "process.user").with_unit("ms");
static SYSTEM: Field = Field::counter("", "process.system").with_unit("ms");
static THREADS: Field = Field::gauge("", "process.threads");
static RESIDENT: Field = Field::gauge("", "process.resident").with_unit("B");

/// Parses `ID (NAME) STATE ...`, in which `NAME` may contain spaces and parentheses.
pub fn stat(text: &str, units: KernelUnits, receive: &mut Receive<'_>) {
    let Some((_, fields)) = text.rsplit_once(')') else { return };
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // Positions after the name: the third field of proc_pid_stat(5) is at 0.
    let values = [
        (7, &MINOR_FAULTS, 1.0),
        (9, &MAJOR_FAULTS, 1.0),
        (11, &USER, units.tick_ms),
        (12, &SYSTEM, units.tick_ms),
        (17, &THREADS, 1.0),
        (21, &RESIDENT, units.page_bytes),
    ];
    for (position, field, factor) in values {
        if let Some(value) = fields.get(position).copied().and_then(number) {
            receive(field.reading(None, value * factor));
        }
    }
}

static IO: [Field; 4] = [
    Field::counter("read_bytes", "process.read_bytes").with_unit("B"),
    Field::counter("write_bytes", "process.write_bytes").with_unit("B"),
    Field::counter("syscr", "process.read_calls"),
    Field::counter("syscw", "process.write_calls"),
];

/// Parses `/proc/PID/io`: bytes that the process had the disk read and write.
pub fn io(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    parse_keys(text, &IO, receive);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{parsed, survives};

    #[test]
    fn the_name_of_a_process_may_contain_anything() {
        let text = "17 (java) R 9) S 1 17 17 0 -1 4194304 500 0 42 0 120 30 0 0 20 0 87 0 1000 4096000 700 1844674\n";
        let expected = [
            "process.minor_faults 500",
            "process.major_faults 42",
            "process.user 1200",
            "process.system 300",
            "process.threads 87",
            "process.resident 2867200",
        ];
        assert_eq!(parsed(stat, text), expected);
        survives(stat, text);
    }

    #[test]
    fn the_bytes_are_those_of_the_disk() {
        let text = "rchar: 99\nwchar: 98\nsyscr: 5\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";
        let expected = [
            "process.read_calls 5",
            "process.write_calls 6",
            "process.read_bytes 4096",
            "process.write_bytes 8192",
        ];
        assert_eq!(parsed(io, text), expected);
        survives(io, text);
    }
}
