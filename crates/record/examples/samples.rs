//! What a sample costs: processor time of taking it down and of writing it, and bytes on disk.
//!
//! `cargo run --release -p pacenote-record --example samples [FOLDER]`

#![allow(clippy::print_stdout, reason = "a program that prints figures")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use pacenote_record::{
    Collector, Delivery, EndedBy, ErrorClass, Keep, MeasuredWindow, Outgoing, Recorder, Sample, SampleType,
    TaskEnded, TaskInfo,
};

const SAMPLES: u64 = 4_000_000;
/// Samples between two pauses of [`PAUSE`]: 500,000 a second.
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
        part: 0,
        client: (number % 64) as u32,
        sample_type: SampleType::Normal,
        paced: false,
        due_ns: sent_ns,
        free_ns: sent_ns - sent_ns.min(2_000),
        first_sent_ns: sent_ns,
        sent_ns,
        done_ns,
        processing_ns: done_ns - sent_ns + 3_000 + jitter % 1000,
        weight: 1,
        failed_weight: 0,
        requests: 1,
        retries: 0,
        reconnects: 0,
        success: true,
        status: 200,
        error_class: ErrorClass::None,
        took_ms: (jitter % 3).cast_signed(),
        bytes_out: 230,
        bytes_in: 400 + jitter % 16,
        content_out: 26,
        content_in: 300,
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
    let (sender, inbox) = channel();
    let way = Outgoing::new(sender, Keep::All);
    way.send(Delivery::Begin { task: 0, threads: 1, started_ns: 0 });
    let mut recorder = Recorder::new(way.clone());
    recorder.begin(0, false, MeasuredWindow::Time { begin_ns: 0, end_ns: u64::MAX })?;
    let began = processor_ns("samples")?;
    let mut merging = 0;
    for chunk in 0..SAMPLES / CHUNK {
        (chunk * CHUNK..(chunk + 1) * CHUNK).for_each(|number| recorder.note(sample(number)));
        let before = processor_ns("samples")?;
        while let Ok(delivery) = inbox.try_recv() {
            collector.receive(delivery, &way.spare())?;
        }
        merging += processor_ns("samples")? - before;
        thread::sleep(PAUSE);
    }
    let noting = processor_ns("samples")? - began - merging;
    let writing = processor_ns("pacenote-write")?;
    recorder.end(TaskEnded {
        task: 0,
        by: EndedBy::Source,
        planned: None,
        begun: SAMPLES,
        unanswered: 0,
        unsent: 0,
        underruns: 0,
        underrun_ns: 0,
        started_ns: 0,
    });
    while let Ok(delivery) = inbox.try_recv() {
        collector.receive(delivery, &way.spare())?;
    }
    let written = collector.close()?;
    let bytes = std::fs::metadata(folder.join("samples.parquet"))?.len() as f64 / written as f64;
    let [noting, merging, writing] = [noting, merging, writing].map(|ns| ns / SAMPLES);
    println!(
        "{written} samples: taking down {noting} ns, merging {merging} ns, writing {writing} ns, {bytes:.2} B each"
    );
    Ok(())
}

/// Processor time that the thread of this name has used.
fn processor_ns(thread: &str) -> Result<u64, Box<dyn Error>> {
    for entry in std::fs::read_dir("/proc/self/task")? {
        let folder = entry?.path();
        if std::fs::read_to_string(folder.join("comm"))?.trim() == thread {
            let text = std::fs::read_to_string(folder.join("schedstat"))?;
            return Ok(text.split(' ').next().unwrap_or_default().parse()?);
        }
    }
    Err(format!("no thread is called {thread}").into())
}
