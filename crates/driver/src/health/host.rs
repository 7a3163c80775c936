//! What else the machine did while the race ran.

use std::fs;

use serde::Serialize;

/// How the cores of the machine spent their time during the race.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MachineUse {
    /// Not idle, whoever it was: driver, engine on the same machine, others. 0 to 1.
    pub busy_share: f64,
    /// Wanted, but taken by the hypervisor for other machines. 0 to 1.
    pub stolen_share: f64,
}

/// The machine's counters at one moment, in ticks of all cores together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTicks {
    idle: u64,
    stolen: u64,
    all: u64,
}

impl CpuTicks {
    /// Now; `None` where the system does not say.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The first line is `cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL GUEST ...`; a guest's time is in the user's.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.lines().next()?.split_ascii_whitespace();
        if fields.next() != Some("cpu") {
            return None;
        }
        let ticks: Vec<u64> = fields.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let [_, _, _, idle, waiting, _, _, stolen] = ticks[..] else { return None };
        Some(Self { idle: idle + waiting, stolen, all: ticks.iter().sum() })
    }

    /// What happened since then; `None` when no tick has passed.
    pub fn since(self, then: Self) -> Option<MachineUse> {
        let all = self.all.checked_sub(then.all).filter(|all| *all > 0)? as f64;
        // The count of idle time may go back a little.
        let of = |now: u64, then: u64| now.saturating_sub(then) as f64 / all;
        let stolen_share = of(self.stolen, then.stolen);
        let busy_share = (1.0 - of(self.idle, then.idle) - stolen_share).max(0.0);
        Some(MachineUse { busy_share, stolen_share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(line: &str) -> CpuTicks {
        CpuTicks::parse(&format!("{line}\ncpu0 1 2\n")).unwrap()
    }

    #[test]
    fn what_happened_between_two_readings_is_told_in_shares() {
        let then = ticks("cpu  1000 0 500 8000 100 0 0 50 0 0");
        let now = ticks("cpu  1050 0 520 8015 110 0 0 55 7 0");
        let used = now.since(then).unwrap();
        assert!((used.stolen_share - 0.05).abs() < 1e-9 && (used.busy_share - 0.7).abs() < 1e-9, "{used:?}");
        assert_eq!(now.since(now), None);
        assert_eq!(then.since(now), None);
    }

    #[test]
    fn what_is_no_such_line_says_nothing() {
        for text in ["", "cpu 1 2 3", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8"] {
            assert_eq!(CpuTicks::parse(text), None, "{text}");
        }
    }
}
