//! `/proc/pressure/*` and the pressure files of control groups: time for which tasks were stalled.

use crate::reading::{Field, KernelUnits, Parser, Receive, number};

const fn stalled(key: &'static str, name: &'static str) -> Field {
    Field::counter(key, name).in_multiples("ms", 0.001)
}

/// Defines the parser of one resource.
macro_rules! pressure_of {
    ($parser:ident, $some:literal, $full:literal) => {
        fn $parser(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
            static FIELDS: [Field; 2] = [stalled("some", $some), stalled("full", $full)];
            parse(text, &FIELDS, receive);
        }
    };
}

pressure_of!(cpu, "pressure.cpu.some", "pressure.cpu.full");
pressure_of!(io, "pressure.io.some", "pressure.io.full");
pressure_of!(memory, "pressure.memory.some", "pressure.memory.full");
pressure_of!(irq, "pressure.irq.some", "pressure.irq.full");
pressure_of!(group_cpu, "cgroup.pressure.cpu.some", "cgroup.pressure.cpu.full");
pressure_of!(group_io, "cgroup.pressure.io.some", "cgroup.pressure.io.full");
pressure_of!(group_memory, "cgroup.pressure.memory.some", "cgroup.pressure.memory.full");

/// The files in `/proc/pressure` and their parsers.
pub const HOST: [(&str, Parser); 4] = [("cpu", cpu), ("io", io), ("memory", memory), ("irq", irq)];

/// The pressure files of control groups and their parsers.
pub const CONTROL_GROUP: [(&str, Parser); 3] =
    [("cpu.pressure", group_cpu), ("io.pressure", group_io), ("memory.pressure", group_memory)];

/// Parses lines of `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS`.
fn parse(text: &str, fields: &'static [Field], receive: &mut Receive<'_>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(field) = words.next().and_then(|first| fields.iter().find(|field| field.key == first))
        else {
            continue;
        };
        if let Some(total) = words.find_map(|word| number(word.strip_prefix("total=")?)) {
            receive(field.reading(None, total));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{parsed, survives};

    #[test]
    fn the_totals_are_in_milliseconds() {
        let text = "some avg10=84.63 avg60=48.10 avg300=32.61 total=195165334\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n";
        assert_eq!(parsed(cpu, text), ["pressure.cpu.some 195165.334", "pressure.cpu.full 1"]);
        for (_, parse) in HOST.into_iter().chain(CONTROL_GROUP) {
            assert_eq!(parsed(parse, text).len(), 2);
            survives(parse, text);
        }
        // Linux before 5.13 has no full stall of the CPU.
        assert_eq!(parsed(cpu, "some avg10=1 total=2000\nfull total=x\n"), ["pressure.cpu.some 2"]);
    }
}
