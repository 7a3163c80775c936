//! `/proc/diskstats`: the counters behind the columns of `iostat`.

use crate::reading::{Field, KernelUnits, Receive, number};

/// Size of the sectors in which the kernel counts, whatever those of the device are.
const SECTOR_BYTES: f64 = 512.0;

/// Times have 32 bits in this file, also on 64-bit kernels.
const fn time(name: &'static str) -> Field {
    Field::counter("", name).with_unit("ms").counted_in_32_bits()
}

const fn bytes(name: &'static str) -> Field {
    Field::counter("", name).in_multiples("B", SECTOR_BYTES)
}

/// The fields after the name, in the order of the file. Discards exist since Linux 4.18, flushes since 5.5.
static FIELDS: [Field; 17] = [
    Field::counter("", "disk.reads"),
    Field::counter("", "disk.reads_merged"),
    bytes("disk.read_bytes"),
    time("disk.read_time"),
    Field::counter("", "disk.writes"),
    Field::counter("", "disk.writes_merged"),
    bytes("disk.write_bytes"),
    time("disk.write_time"),
    Field::gauge("", "disk.in_flight"),
    time("disk.busy_time"),
    time("disk.weighted_time"),
    Field::counter("", "disk.discards"),
    Field::counter("", "disk.discards_merged"),
    bytes("disk.discard_bytes"),
    time("disk.discard_time"),
    Field::counter("", "disk.flushes"),
    time("disk.flush_time"),
];

/// Number of fields of the oldest form that has all columns.
const MIN_FIELDS: usize = 11;

/// Parses `/proc/diskstats`. Devices that have never been used, such as most loop devices, are left out, and so are
/// partitions of old kernels, which have fewer fields.
pub fn diskstats(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(2);
        let Some(device) = words.next() else { continue };
        let mut values = [0.0; FIELDS.len()];
        let mut count = 0;
        for (value, own) in values.iter_mut().zip(words.map_while(number)) {
            *value = own;
            count += 1;
        }
        let values = &values[..count];
        if count < MIN_FIELDS || values.iter().all(|value| *value == 0.0) {
            continue;
        }
        for (field, value) in FIELDS.iter().zip(values) {
            receive(field.reading(Some(("device", device)), *value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{parsed, survives};

    const DISK: &str = "vda 162064 28402 7140802 116414 18987 88039 10683392 72380 3 28128 190217";

    #[test]
    fn disks_have_the_fields_of_their_kernel() {
        let text = format!(
            "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n 254       0 {DISK} 5828 42 1432880 1353 1184 68\n"
        );
        let found = parsed(diskstats, &text);
        assert_eq!(found.len(), 17);
        for (position, expected) in [
            (0, "disk.reads[device=vda] 162064"),
            (2, "disk.read_bytes[device=vda] 3656090624"),
            (8, "disk.in_flight[device=vda] 3"),
            (10, "disk.weighted_time[device=vda] 190217"),
            (16, "disk.flush_time[device=vda] 68"),
        ] {
            assert_eq!(found[position], expected);
        }
        survives(diskstats, &text);
        let lengths = [("", 11), (" 5 4 3 2", 15), (" 5 4 3 2 1 0 9 9 9", 17)];
        for (more, count) in lengths {
            assert_eq!(parsed(diskstats, &format!("8 0 {DISK}{more}\n")).len(), count, "{more}");
        }
        // A partition of Linux 2.6 before 2.6.25.
        assert_eq!(parsed(diskstats, "8 1 sda1 1 2 3 4\n"), [""; 0]);
    }
}
