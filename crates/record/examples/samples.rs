//! What a sample costs: CPU time of recording, merging and writing it, and bytes on disk.
//!
//! `cargo run --release -p pacenote-record --example samples [FOLDER]`

#![allow(clippy::print_stdout, reason = "a program that prints figures")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use pacenote_record::{
    ClientEnded, Collector, Delivery, EndedBy, ErrorClass, MeasuredWindow, OperationResult, OperationTimes,
    RecordSender, Recorder, Sample, SamplePolicy, SampleType, TaskInfo, Traffic,
};

const SAMPLES: u64 = 4_000_000;
/// Samples between two pauses: 500,000 a second.
const CHUNK: u64 = 5_000;
const PAUSE: Duration = Duration::from_millis(10);

/// A search as a fast engine answers it: 64 clients, 100,000 a second.
fn sample(number: u64) -> Sample {
    let mut jitter = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    jitter = (jitter ^ (jitter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 44;
    let sent_ns = number * 10_000;
    let done_ns = sent_ns + 600_000 + jitter / 4;
    Sample {
        task: 0,
        sub_operation: 0,
        client: (number % 64) as u32,
        sample_type: SampleType::Normal,
        times: OperationTimes {
            paced: false,
            due_ns: sent_ns,
            free_ns: sent_ns - sent_ns.min(2_000),
            first_sent_ns: sent_ns,
            sent_ns,
            done_ns,
            processing_ns: done_ns - sent_ns + 3_000 + jitter % 1000,
        },
        result: OperationResult {
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
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let info = TaskInfo {
        task: "term".into(),
        operation: "term".into(),
        operation_type: "search".into(),
        unit: "ops".into(),
        clients: 64,
        paced: false,
        open_loop: false,
        warmup_ns: Some(0),
        end_ns: None,
        interval_ns: None,
        operations: None,
    };
    let mut collector = Collector::new(&folder, vec![info])?;
    let (channel, inbox) = channel();
    let sender = RecordSender::new(channel, SamplePolicy::All);
    sender.send(Delivery::Begin { task: 0, threads: 1, started_ns: 0 });
    let mut recorder = Recorder::new(sender.clone());
    recorder.add_client(0, false, MeasuredWindow::Time { begin_ns: 0, end_ns: u64::MAX })?;
    let started = cpu_ns("samples")?;
    let mut merging = 0;
    for chunk in 0..SAMPLES / CHUNK {
        for number in chunk * CHUNK..(chunk + 1) * CHUNK {
            recorder.begin_operation(0);
            recorder.record(sample(number), []);
        }
        let before = cpu_ns("samples")?;
        while let Ok(delivery) = inbox.try_recv() {
            collector.receive(delivery, sender.buffers())?;
        }
        merging += cpu_ns("samples")? - before;
        thread::sleep(PAUSE);
    }
    let recording = cpu_ns("samples")? - started - merging;
    let writing = cpu_ns("pacenote-write")?;
    recorder.end_client(ClientEnded { task: 0, by: EndedBy::Source, planned: SAMPLES, started_ns: 0 });
    while let Ok(delivery) = inbox.try_recv() {
        collector.receive(delivery, sender.buffers())?;
    }
    let written = collector.close()?;
    let bytes = std::fs::metadata(folder.join("samples.parquet"))?.len() as f64 / written as f64;
    let [recording, merging, writing] = [recording, merging, writing].map(|ns| ns / SAMPLES);
    println!(
        "{written} samples: recording {recording} ns, merging {merging} ns, writing {writing} ns, {bytes:.2} B each"
    );
    Ok(())
}

/// CPU time that the thread of this name has used, nanoseconds.
fn cpu_ns(thread: &str) -> Result<u64, Box<dyn Error>> {
    for entry in std::fs::read_dir("/proc/self/task")? {
        let folder = entry?.path();
        if std::fs::read_to_string(folder.join("comm"))?.trim() == thread {
            let text = std::fs::read_to_string(folder.join("schedstat"))?;
            return Ok(text.split(' ').next().unwrap_or_default().parse()?);
        }
    }
    Err(format!("no thread is called {thread}").into())
}
