//! Details in the rows of their samples, and the memory for them.

use pacenote_record::{Delivery, Details, EndedBy, SampleType, SubOperationName};

use crate::support::{MS, Race, close_files, end, info, rows, sample};

/// The details of a sample, as text; the text `none` has no details.
#[derive(Debug)]
struct Text(String);

impl Details for Text {
    fn size(&self) -> usize {
        self.0.len()
    }

    fn to_json(&self) -> Option<String> {
        (self.0 != "none").then(|| self.0.clone())
    }
}

#[test]
fn details_are_in_the_rows_of_their_samples() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    // More than a buffer, so that the positions of later ones begin anew.
    for number in 0..10_000_u64 {
        let details: Option<Box<dyn Details>> = match number % 5 {
            0 => Some(Box::new(Text(format!("{{\"n\":{number}}}")))),
            1 => Some(Box::new(Text("none".into()))),
            _ => None,
        };
        let sample = sample(number * MS, number * MS + MS);
        recorder.begin_operation(0, SampleType::Measured);
        recorder.record(sample, details, []);
    }
    let name = SubOperationName { operation: "open", operation_type: "search" };
    let details: Box<dyn Details> = Box::new(Text("{\"part\":true}".into()));
    recorder.record_sub_operation(name, sample(0, MS), Some(details), []).unwrap();
    end(&mut recorder, EndedBy::Source, 10_000);
    assert_eq!(race.result().samples.details_lost, 0);
    let Race { collector, folder, .. } = race;
    assert_eq!(close_files(collector), 10_001);
    let rows = rows(&folder.path().join("samples.parquet"));
    let with_details: Vec<String> = rows
        .iter()
        .map(ToString::to_string)
        .filter(|row| !row.contains("details: null"))
        .inspect(|row| {
            let number = row.split("{\"n\":").nth(1).and_then(|rest| rest.split('}').next());
            let done_ns = number.map_or(MS, |number| (number.parse::<u64>().unwrap() + 1) * MS);
            assert!(row.contains(&format!("done_ns: {done_ns},")), "{row}");
        })
        .collect();
    assert_eq!(with_details.len(), 2001);
    assert!(with_details[2000].contains("part: true") && with_details[2000].contains("{\"part\":true}"));
}

#[test]
fn large_details_are_delivered_before_a_buffer_is_full() {
    let race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    for number in 0..7 {
        recorder.begin_operation(0, SampleType::Measured);
        let details: Box<dyn Details> = Box::new(Text(" ".repeat(500_000)));
        recorder.record(sample(number * MS, number * MS + MS), Some(details), []);
    }
    let sizes = race.inbox.try_iter().filter_map(|delivery| match delivery {
        Delivery::Samples(batch) => Some((batch.samples.len(), batch.details.len())),
        _ => None,
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [(3, 3), (3, 3)]);
}

#[test]
fn details_without_memory_are_lost_and_counted_but_not_their_samples() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    for number in 0..3 {
        recorder.begin_operation(0, SampleType::Measured);
        let details: Box<dyn Details> = Box::new(Text(" ".repeat(65 << 20)));
        recorder.record(sample(number * MS, number * MS + MS), Some(details), []);
    }
    end(&mut recorder, EndedBy::Source, 3);
    let samples = race.result().samples;
    assert_eq!((samples.kept, samples.lost, samples.details_lost), (3, 0, 3));
    assert_eq!(close_files(race.collector), 3);
}
