//! `/proc/stat`: CPU time by state, of all CPUs and of each, and the run queue. `scaling_cur_freq`: the frequency of a
//! CPU.

use crate::reading::{Field, KernelUnits, Receive, number};

const fn time(name: &'static str) -> Field {
    Field::counter("", name).with_unit("ms")
}

/// The states of a CPU in the order of the file. `user` includes guests. According to the manual page of the file, the
/// time of waits for disks may decrease; the kernel computes that of idle CPUs in the same way.
static STATES: [Field; 8] = [
    time("cpu.user"),
    time("cpu.nice"),
    time("cpu.system"),
    time("cpu.idle").corrected(),
    time("cpu.iowait").corrected(),
    time("cpu.irq"),
    time("cpu.softirq"),
    time("cpu.steal"),
];

static COUNT: Field = Field::gauge("", "cpu.count");

static RUNNABLE: Field = Field::gauge("procs_running", "cpu.runnable");

static OTHERS: [Field; 3] = [
    Field::counter("ctxt", "cpu.context_switches"),
    Field::counter("processes", "cpu.forks"),
    Field::gauge("procs_blocked", "cpu.blocked"),
];

/// The kernel counts in kHz.
static FREQUENCY: Field = Field::gauge("", "cpu.frequency").in_multiples("Hz", 1_000.0);

/// Parses `scaling_cur_freq` of a CPU: its frequency in kHz, which some drivers do not know.
pub fn frequency(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    if let Some(khz) = number(text.trim()).filter(|khz| *khz > 0.0) {
        receive(FREQUENCY.reading(None, khz));
    }
}

/// Parses `/proc/stat`. The thread that reads it is not counted as runnable; `cpu.count` is the number of CPUs that are
/// online.
pub fn stat(text: &str, units: KernelUnits, receive: &mut Receive<'_>) {
    let mut count = 0_u32;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        if let Some(cpu) = first.strip_prefix("cpu") {
            if !cpu.is_empty() && cpu.parse::<u32>().is_err() {
                continue;
            }
            let label = (!cpu.is_empty()).then_some(("cpu", cpu));
            let times = words.map_while(number);
            let before = count;
            for (field, ticks) in STATES.iter().zip(times) {
                count = before + u32::from(label.is_some());
                receive(field.reading(label, ticks * units.tick_ms));
            }
        } else if first == RUNNABLE.key
            && let Some(value) = words.next().and_then(number)
        {
            receive(RUNNABLE.reading(None, (value - 1.0).max(0.0)));
        } else if let Some(field) = OTHERS.iter().find(|field| field.key == first)
            && let Some(value) = words.next().and_then(number)
        {
            receive(field.reading(None, value));
        }
    }
    if count > 0 {
        receive(COUNT.reading(None, f64::from(count)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{parsed, survives};

    #[test]
    fn cpu_times_are_by_state_and_cpu() {
        let text = "cpu  12 0 3 400 5 0 6 7 0 0\ncpu0 6 0 1 200 2 0 3 4 0 0\ncpu2 6 0 2 200 3 0 3 3\n\
                    intr 99 1 2 3\nctxt 77\nbtime 1\nprocesses 8\nprocs_running 3\nprocs_blocked 1\nsoftirq 9 9\n";
        let found = parsed(stat, text);
        assert_eq!(found[0], "cpu.user 120");
        assert_eq!(found[7], "cpu.steal 70");
        assert_eq!(found[8], "cpu.user[cpu=0] 60");
        assert_eq!(found[23], "cpu.steal[cpu=2] 30");
        let others =
            ["cpu.context_switches 77", "cpu.forks 8", "cpu.runnable 2", "cpu.blocked 1", "cpu.count 2"];
        assert_eq!(found[24..], others);
        survives(stat, text);
        // Before Linux 2.6.11, there was no stolen time: it is left out, not 0.
        assert_eq!(parsed(stat, "cpu 1 2 3 4 5 6 7\n").len(), 7);
        assert_eq!(parsed(stat, "cpux 1 2 3\ncpu-1 4 5\n"), [""; 0]);
    }

    #[test]
    fn a_frequency_that_is_not_known_is_left_out() {
        assert_eq!(parsed(frequency, "2400000\n"), ["cpu.frequency 2400000000"]);
        for unknown in ["0\n", "<unknown>\n", "<not supported>\n"] {
            assert_eq!(parsed(frequency, unknown), [""; 0], "{unknown:?}");
        }
        survives(frequency, "2400000\n");
    }
}
