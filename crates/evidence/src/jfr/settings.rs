//! How often events are taken: two recordings with different periods or thresholds have different numbers of them.

use std::collections::{BTreeMap, BTreeSet};

use super::recording::EventSetting;

/// The settings that are read: those of JVMs, and the interval of async-profiler.
const NAMES: [&str; 4] = ["period", "threshold", "throttle", "interval"];

/// Largest number of values of a setting that are kept.
const MAX_VALUES: usize = 8;

/// Length of the longest value that is kept, in bytes.
const MAX_LENGTH: usize = 64;

/// The settings of the types of events, by the position of the type.
#[derive(Clone, Debug, Default)]
pub(super) struct SamplingSettings {
    values: BTreeMap<(usize, &'static str), BTreeSet<String>>,
}

impl SamplingSettings {
    /// Returns the name of a setting that is read.
    pub(super) fn name(text: &str) -> Option<&'static str> {
        NAMES.into_iter().find(|name| *name == text)
    }

    /// Adds a value of a setting of a type.
    pub(super) fn add(&mut self, event: usize, name: &'static str, value: &str) {
        if value.len() > MAX_LENGTH {
            return;
        }
        let values = self.values.entry((event, name)).or_default();
        if values.len() < MAX_VALUES && !values.contains(value) {
            values.insert(value.to_owned());
        }
    }

    /// Returns the settings of a type by name.
    pub(super) fn of(&self, event: usize) -> Vec<EventSetting> {
        let of_type = self.values.iter().filter(|((of, _), _)| *of == event);
        of_type
            .map(|((_, name), values)| EventSetting {
                name: (*name).to_owned(),
                values: values.iter().cloned().collect(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_once_and_in_order() {
        let mut settings = SamplingSettings::default();
        for value in ["20 ms", "10 ms", "20 ms", &"x".repeat(65)] {
            settings.add(3, "period", value);
        }
        settings.add(4, "threshold", "0 ns");
        settings.add(6, "period", &"x".repeat(65));
        (0..20).for_each(|number| settings.add(5, "throttle", &number.to_string()));
        let values = ["10 ms", "20 ms"].map(str::to_owned).to_vec();
        assert_eq!(settings.of(3), [EventSetting { name: "period".to_owned(), values }]);
        assert_eq!(settings.of(5)[0].values.len(), MAX_VALUES);
        assert_eq!(settings.of(6), []);
        assert_eq!(["period", "enabled"].map(SamplingSettings::name), [Some("period"), None]);
    }
}
