//! Disks that are slow, stall or are full.

use std::sync::mpsc::channel;

use pacenote_record::{
    BufferPool, Collector, Delivery, EndedBy, MeasuredWindow, RecordSender, Recorder, RecordingSettings,
    RetentionPolicy,
};

use crate::support::{MS, Race, SECOND, close_files, end, info, record, rows, sample};

#[test]
fn samples_are_dropped_and_counted_when_the_disk_is_too_slow() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    // All buffers except two wait, as if the disk had stalled, and the collector receives nothing until the end.
    let buffers = race.sender.buffers();
    let waiting: Vec<_> = std::iter::from_fn(|| buffers.try_replace()).collect();
    waiting.into_iter().take(2).for_each(|buffer| buffers.release(buffer));
    let all = 20_000;
    for number in 0..all {
        record(&mut recorder, sample(number * 1000, number * 1000 + MS));
    }
    end(&mut recorder, EndedBy::Iterations, all);
    let result = race.result();
    let samples = result.samples;
    assert_eq!((samples.kept + samples.lost, samples.left_out), (all, 0));
    assert_eq!((samples.kept, samples.missing_from_s), (2 * 4096, Some(0.009_192)));
    assert_eq!(result.operation_totals.begun, all);
    assert_eq!(close_files(race.collector), samples.kept);
}

#[test]
fn a_disk_that_stalls_for_minutes_costs_no_buffer_per_second() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    let buffers = race.sender.buffers().clone();
    // The disk is behind: the collector receives nothing until the end.
    let stalled: Vec<_> = std::iter::from_fn(|| buffers.try_replace()).take(2).collect();
    for second in 0..200 {
        record(&mut recorder, sample(second * SECOND, second * SECOND + MS));
        recorder.flush();
        assert_eq!(buffers.waiting_count(), 2, "second {second}");
    }
    for buffer in stalled {
        buffers.release(buffer);
    }
    end(&mut recorder, EndedBy::Iterations, 200);
    let samples = race.result().samples;
    assert_eq!((samples.kept, samples.lost), (200, 0));
    assert_eq!(close_files(race.collector), 200);
}

#[test]
fn nothing_is_written_and_no_sample_counts_as_kept_once_writing_is_disabled() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    (0..5000).for_each(|number| record(&mut recorder, sample(number * MS, number * MS + MS)));
    race.collect();
    wait_for_writer(&race);
    race.collector.disable_writing();
    (5000..150_000).for_each(|number| record(&mut recorder, sample(number * MS, number * MS + MS)));
    end(&mut recorder, EndedBy::Iterations, 150_000);
    let samples = race.result().samples;
    assert_eq!((samples.kept, samples.lost), (4096, 150_000 - 4096));
    assert_eq!(samples.missing_from_s, Some(4.097));
    let folder = race.folder;
    assert_eq!(close_files(race.collector), 4096);
    assert_eq!(rows(&folder.path().join("samples.parquet")).len(), 4096);
    assert!(rows(&folder.path().join("series.parquet")).len() < 5);
}

#[test]
fn no_sample_is_lost_because_there_are_many_workers() {
    for workers in [100, 300] {
        let mut race = Race::new(info(), workers);
        let mut recorders: Vec<_> = (0..workers).map(|_| race.recorder(false)).collect();
        for second in 0..3 {
            for recorder in &mut recorders {
                record(recorder, sample(second * SECOND, second * SECOND + MS));
                recorder.flush();
            }
            // The disk keeps up: the writer has released all buffers when the next ones are delivered.
            assert!(race.collect().is_none());
            wait_for_writer(&race);
        }
        for recorder in &mut recorders {
            end(recorder, EndedBy::Iterations, 3);
        }
        drop(recorders);
        let samples = race.result().samples;
        assert_eq!((samples.kept, samples.lost), (3 * u64::from(workers), 0), "{workers} workers");
    }
}

#[test]
fn a_full_disk_stops_writing_and_keeps_what_was_written() {
    for full in ["samples.parquet", "series.jsonl"] {
        let folder = tempfile::tempdir().unwrap();
        // Every write to this device fails as if the disk were full.
        std::os::unix::fs::symlink("/dev/full", folder.path().join(full)).unwrap();
        let mut collector = Collector::new(folder.path(), vec![info()]).unwrap();
        let (channel, inbox) = channel();
        let sender = RecordSender::new(channel, RetentionPolicy::All);
        sender.send(Delivery::Begin { task_index: 0, worker_count: 1, queue_count: None, step_began_ns: 0 });
        let mut recorder = Recorder::new(sender.clone());
        recorder
            .add_client(RecordingSettings {
                task_index: 0,
                paced: false,
                has_warmup: false,
                measured_window: MeasuredWindow::Operations,
            })
            .unwrap();
        for number in 0..150_000 {
            record(&mut recorder, sample(number * 100_000, number * 100_000 + MS));
        }
        end(&mut recorder, EndedBy::Iterations, 150_000);
        drop((recorder, sender));
        let buffers = BufferPool::new(RetentionPolicy::All);
        let (mut errors, mut result) = (0, None);
        for delivery in inbox {
            match collector.receive(delivery, &buffers) {
                Ok(end) => result = result.or(end),
                Err(error) => {
                    errors += 1;
                    assert!(error.to_string().contains(full) || full.starts_with("samples"), "{error}");
                    collector.disable_writing();
                }
            }
        }
        // The result of the task is complete, no matter when the error is reported.
        let result = result.expect("the task has ended").result;
        assert_eq!(result.operation_totals.begun, 150_000, "{full}");
        let closed = collector.close();
        errors += u32::from(closed.error.is_some());
        assert!(errors > 0, "{full}");
        let lost = closed.lost.get(&0).copied().unwrap_or_default();
        assert_eq!(result.samples.kept - lost.lost, closed.sample_count, "{full}");
        if full == "samples.parquet" {
            assert_eq!((closed.sample_count, lost.from_ns), (0, Some(MS)));
        } else {
            assert_eq!(rows(&folder.path().join("samples.parquet")).len() as u64, closed.sample_count);
        }
        let other = ["series.parquet", "samples.parquet"][usize::from(full == "series.jsonl")];
        assert!(!rows(&folder.path().join(other)).is_empty(), "{other}");
    }
}

/// Waits until the writer has released all buffers.
fn wait_for_writer(race: &Race) {
    while race.sender.buffers().waiting_count() > 0 {
        std::thread::yield_now();
    }
}
