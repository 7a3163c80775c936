//! Which files have the frequencies of CPUs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::kernel_file::{KernelFile, Pace, reason};
use crate::parse::cpu;

/// Largest number of CPUs whose frequency is read: kernels before 5.18 wake an idle CPU for that, and wait for 10 ms.
const MAX_CPUS: usize = 16;

/// Folder of CPUs, relative to `/sys`.
const CPUS: &str = "devices/system/cpu";

/// File with the frequency of a CPU, relative to its folder.
const FREQUENCY: &str = "cpufreq/scaling_cur_freq";

/// Opens the files with the frequencies of CPUs, of [`MAX_CPUS`] that are spread evenly if there are more; `sys` is
/// `/sys`, except in tests. If `allowed` has some of them, only these are read: those that the nodes may use.
///
/// `/proc/cpuinfo` is not read instead: in a virtual machine, it has the nominal frequency at all times.
///
/// # Errors
///
/// Why there are none.
pub fn frequency_files(sys: &Path, allowed: &BTreeSet<u32>) -> Result<Vec<KernelFile>, String> {
    let mut cpus = numbered_cpus(&sys.join(CPUS));
    if cpus.iter().any(|cpu| allowed.contains(cpu)) {
        cpus.retain(|cpu| allowed.contains(cpu));
    }
    let step = cpus.len().div_ceil(MAX_CPUS).max(1);
    let mut files = Vec::new();
    let mut first_problem = io::Error::from(ErrorKind::NotFound);
    for cpu in cpus.into_iter().step_by(step) {
        let path = sys.join(CPUS).join(format!("cpu{cpu}")).join(FREQUENCY);
        let labels = BTreeMap::from([("cpu".to_owned(), cpu.to_string())]);
        match KernelFile::open(path, (cpu::frequency, Pace::EveryFifth), labels) {
            Ok(file) => files.push(file),
            Err(error) if first_problem.kind() == ErrorKind::NotFound => first_problem = error,
            Err(_) => {}
        }
    }
    if !files.is_empty() {
        return Ok(files);
    }
    let text = reason(&first_problem);
    let is_missing = first_problem.kind() == ErrorKind::NotFound;
    Err(if is_missing { format!("{text}, as in most virtual machines") } else { text })
}

/// Returns the numbers of the CPUs that have a frequency, in their order.
fn numbered_cpus(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |name: &str| name.strip_prefix("cpu")?.parse().ok();
    let mut cpus: Vec<u32> = entries
        .filter(|entry| entry.path().join("cpufreq").is_dir())
        .filter_map(|entry| number(&entry.file_name().to_string_lossy()))
        .collect();
    cpus.sort_unstable();
    cpus
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use pacenote_record::{SeriesNumber, TelemetrySeries};

    use super::*;
    use crate::reading::tests::UNITS;

    fn with_cpus(cpus: &[(u32, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (cpu, text) in cpus {
            let file = folder.path().join(CPUS).join(format!("cpu{cpu}")).join(FREQUENCY);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        folder
    }

    /// Returns the values of all files as `CPU VALUE`.
    fn values(files: &mut [KernelFile]) -> Vec<String> {
        let found = RefCell::new(Vec::new());
        let number = |series: &TelemetrySeries| {
            found.borrow_mut().push(series.clone());
            SeriesNumber(u32::try_from(found.borrow().len() - 1).unwrap())
        };
        let mut values = Vec::new();
        for file in files {
            file.read(&mut Vec::new(), UNITS, &number, &mut values);
        }
        let series = found.borrow();
        let text = |(number, value): &(SeriesNumber, Option<f64>)| {
            let own = &series[number.0 as usize];
            assert_eq!((own.name.as_str(), own.unit.as_str()), ("cpu.frequency", "Hz"));
            format!("{} {}", own.labels["cpu"], value.unwrap())
        };
        values.iter().map(text).collect()
    }

    #[test]
    fn each_cpu_has_its_frequency_in_hertz() {
        let folder = with_cpus(&[(10, "3400000\n"), (2, "800000\n")]);
        // Folders that are not those of a CPU.
        for name in ["cpufreq", "cpuidle", "cpu3", "power"] {
            fs::create_dir_all(folder.path().join(CPUS).join(name)).unwrap();
        }
        let mut files = frequency_files(folder.path(), &BTreeSet::new()).unwrap();
        assert_eq!(values(&mut files), ["2 800000000", "10 3400000000"]);
    }

    #[test]
    fn of_many_cpus_some_are_read_that_are_spread_evenly() {
        let many: Vec<(u32, &str)> = (0..100).map(|cpu| (cpu, "1000000\n")).collect();
        let mut files = frequency_files(with_cpus(&many).path(), &BTreeSet::new()).unwrap();
        let found = values(&mut files);
        assert_eq!(found.len(), 15);
        assert_eq!(found[1], "7 1000000000");
        let exactly = frequency_files(with_cpus(&many[..MAX_CPUS]).path(), &BTreeSet::new()).unwrap();
        assert_eq!(exactly.len(), MAX_CPUS);
    }

    #[test]
    fn of_many_cpus_those_that_nodes_may_use_are_read() {
        let many: Vec<(u32, &str)> = (0..100).map(|cpu| (cpu, "1000000\n")).collect();
        let folder = with_cpus(&many);
        let read = |allowed: BTreeSet<u32>| {
            let files = frequency_files(folder.path(), &allowed);
            values(&mut files.unwrap())
                .iter()
                .map(|text| text.split_once(' ').unwrap().0.parse().unwrap())
                .collect()
        };
        let found: Vec<u32> = read((40..44).collect());
        assert_eq!(found, [40, 41, 42, 43]);
        let found: Vec<u32> = read((50..82).collect());
        assert_eq!(found, (50..82).step_by(2).collect::<Vec<u32>>());
        // CPUs that the machine does not have, as seen from another machine's process, leave all of them.
        let found: Vec<u32> = read((200..300).collect());
        assert_eq!(found.len(), 15);
    }

    #[test]
    fn a_machine_without_frequencies_has_the_reason() {
        let absent = "the kernel does not have it, as in most virtual machines";
        assert_eq!(frequency_files(Path::new("/does/not/exist"), &BTreeSet::new()).unwrap_err(), absent);
        let folder = with_cpus(&[]);
        fs::create_dir_all(folder.path().join(CPUS).join("cpu0")).unwrap();
        assert_eq!(frequency_files(folder.path(), &BTreeSet::new()).unwrap_err(), absent);
        // A file that is there, but cannot be read.
        let folder = with_cpus(&[]);
        fs::create_dir_all(folder.path().join(CPUS).join("cpu0").join(FREQUENCY)).unwrap();
        let text = frequency_files(folder.path(), &BTreeSet::new()).unwrap_err();
        assert!(!text.contains("virtual machines"), "{text}");
    }
}
