//! Measures the cost of a sample: the CPU time for recording, merging and writing it, and its size on disk.
//!
//! `cargo run --release -p pacenote-record --example samples -- MODE [SAMPLES] [FOLDER]`
//!
//! | mode | does |
//! | --- | --- |
//! | `recorder` | records, merges and writes, as in a race |
//! | `row-groups` | writes one file with the Parquet library alone |
//! | `rolling-files` | writes a file per row group with the Parquet library alone; concatenates them at the end |

#![allow(clippy::print_stdout, reason = "a program that prints figures")]

mod library;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use pacenote_record::{
    ClientEnd, ClosedFiles, Collector, Delivery, EndedBy, ErrorClass, MeasuredWindow, OperationTimes,
    RecordSender, Recorder, RecordingSettings, RetentionPolicy, Sample, SampleResult, SampleType, TaskInfo,
    Traffic,
};

/// Default number of samples.
const SAMPLES: u64 = 4_000_000;
/// Number of samples between two pauses; this gives 500,000 samples per second.
const CHUNK: u64 = 5_000;
const PAUSE: Duration = Duration::from_millis(10);

/// Returns the sample of a search against a fast engine, with 64 clients and 100,000 searches per second.
fn sample(number: u64) -> Sample {
    let mut jitter = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    jitter = (jitter ^ (jitter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 44;
    let service_start_ns = number * 10_000;
    let done_ns = service_start_ns + 600_000 + jitter / 4;
    Sample {
        task_index: 0,
        sub_operation: None,
        client_number: (number % 64) as u32,
        sample_type: SampleType::Measured,
        times: OperationTimes {
            paced: false,
            due_ns: service_start_ns,
            free_since_ns: service_start_ns - service_start_ns.min(2_000),
            first_sent_ns: service_start_ns,
            service_start_ns,
            done_ns,
            processing_ns: done_ns - service_start_ns + 3_000 + jitter % 1000,
        },
        result: SampleResult {
            error_class: ErrorClass::None,
            status: 200,
            retries: 0,
            weight: 1,
            failed_weight: 0,
            took_ms: (jitter % 3).cast_signed(),
        },
        traffic: Traffic {
            requests: 1,
            reconnects: 0,
            bytes_out: 230,
            bytes_in: 400 + jitter % 16,
            content_out: 26,
            content_in: 300,
        },
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_default();
    let count = arguments.next().map_or(Ok(SAMPLES), |count| count.parse())?;
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    match mode.as_str() {
        "recorder" => record(&folder, count)?,
        "row-groups" => compare(library::write_row_groups, &folder, count)?,
        "rolling-files" => compare(library::write_rolling_files, &folder, count)?,
        _ => return Err("the mode must be recorder, row-groups or rolling-files".into()),
    }
    let bytes = std::fs::metadata(folder.join("samples.parquet"))?.len() as f64 / count as f64;
    println!("{bytes:.2} B on disk per sample");
    Ok(())
}

/// Writes all samples on this thread with one of the other methods.
fn compare(write: library::Write, folder: &Path, count: u64) -> Result<(), Box<dyn Error>> {
    let samples: Vec<Sample> = (0..count).map(sample).collect();
    let started = own_cpu_ns()?;
    write(folder, &samples)?;
    println!("per sample: writing {} ns", (own_cpu_ns()? - started) / count);
    Ok(())
}

fn record(folder: &Path, count: u64) -> Result<(), Box<dyn Error>> {
    let info = TaskInfo {
        name: "term".into(),
        operation: "term".into(),
        operation_type: "search".into(),
        unit: "ops".into(),
        clients: 64,
        paced: false,
        open_loop: false,
        warmup_ns: Some(0),
        end_ns: None,
        interval_ns: None,
        document_interval_ns: None,
        planned_documents: None,
        planned_operations: None,
    };
    let mut collector = Collector::new(folder, vec![info])?;
    let (channel, inbox) = channel();
    let sender = RecordSender::new(channel, RetentionPolicy::All);
    sender.send(Delivery::Begin { task_index: 0, worker_count: 1, queue_count: None, step_began_ns: 0 });
    let mut recorder = Recorder::new(sender.clone());
    let measured_window = MeasuredWindow::Time { begin_ns: 0, end_ns: u64::MAX };
    let settings = RecordingSettings { task_index: 0, paced: false, has_warmup: false, measured_window };
    recorder.add_client(settings)?;
    let started = own_cpu_ns()?;
    let mut merging = 0;
    for chunk in 0..count / CHUNK {
        for number in chunk * CHUNK..(chunk + 1) * CHUNK {
            let sample = sample(number);
            recorder.begin_operation(0, sample.sample_type);
            recorder.record(sample, None, []);
        }
        let before = own_cpu_ns()?;
        while let Ok(delivery) = inbox.try_recv() {
            collector.receive(delivery, sender.buffers())?;
        }
        merging += own_cpu_ns()? - before;
        thread::sleep(PAUSE);
    }
    let recording = own_cpu_ns()? - started - merging;
    let writing = cpu_ns_of("pacenote-write")?;
    recorder.end_client(ClientEnd {
        task_index: 0,
        ended_by: EndedBy::Source,
        admitted: count / CHUNK * CHUNK,
        task_began_ns: 0,
    });
    while let Ok(delivery) = inbox.try_recv() {
        collector.receive(delivery, sender.buffers())?;
    }
    let ClosedFiles { sample_count: written, error, .. } = collector.close();
    if let Some(error) = error {
        return Err(error.into());
    }
    let [recording, merging, writing] = [recording, merging, writing].map(|ns| ns / count);
    println!(
        "per sample: recording {recording} ns, merging {merging} ns, writing {writing} ns; {written} written"
    );
    Ok(())
}

/// Returns the CPU time that this thread has used, in nanoseconds.
fn own_cpu_ns() -> Result<u64, Box<dyn Error>> {
    read_cpu_ns(Path::new("/proc/thread-self"))
}

/// Returns the CPU time that the thread with this name has used, in nanoseconds.
fn cpu_ns_of(thread: &str) -> Result<u64, Box<dyn Error>> {
    for entry in std::fs::read_dir("/proc/self/task")? {
        let folder = entry?.path();
        if std::fs::read_to_string(folder.join("comm"))?.trim() == thread {
            return read_cpu_ns(&folder);
        }
    }
    Err(format!("there is no thread {thread}").into())
}

fn read_cpu_ns(thread: &Path) -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string(thread.join("schedstat"))?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}
