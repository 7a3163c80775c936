//! What a sample costs: processor time of taking it down and of writing it, and bytes on disk.
//!
//! `cargo run --release -p pacenote-record --example samples [FOLDER]`

#![allow(clippy::print_stdout, reason = "a program that prints figures")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Instant;

use pacenote_record::{
    Collector, Delivery, EndedBy, ErrorClass, MeasuredWindow, Outgoing, Recorder, Sample, SampleType,
    TaskEnded, TaskInfo,
};

const SAMPLES: u64 = 4_000_000;

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
        success: true,
        status: 200,
        error_class: ErrorClass::None,
        took_ms: (jitter % 3) as i64,
        bytes_out: 230,
        bytes_in: 400 + jitter % 16,
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
        warmup_ns: Some(0),
        end_ns: None,
        interval_ns: None,
        operations: None,
    };
    let mut collector = Collector::new(&folder, vec![info])?;
    let (sender, inbox) = channel();
    let way = Outgoing::new(sender);
    way.send(Delivery::Begin { task: 0, threads: 1, started_ns: 0 });
    let mut recorder = Recorder::new(way.clone());
    recorder.begin(0, false, MeasuredWindow::Time { begin_ns: 0, end_ns: u64::MAX })?;
    let (mut noting, mut writing) = (0.0, 0.0);
    for chunk in 0..SAMPLES / 10_000 {
        let began = Instant::now();
        for number in chunk * 10_000..(chunk + 1) * 10_000 {
            recorder.note(sample(number));
        }
        noting += began.elapsed().as_secs_f64();
        let began = Instant::now();
        while let Ok(delivery) = inbox.try_recv() {
            collector.receive(delivery, &way.spare())?;
        }
        writing += began.elapsed().as_secs_f64();
    }
    recorder.end(TaskEnded {
        task: 0,
        by: EndedBy::Source,
        unanswered: 0,
        unsent: 0,
        underruns: 0,
        underrun_ns: 0,
        started_ns: 0,
    });
    let began = Instant::now();
    while let Ok(delivery) = inbox.try_recv() {
        collector.receive(delivery, &way.spare())?;
    }
    collector.close()?;
    writing += began.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(folder.join("samples.parquet"))?.len();
    let each = |seconds: f64| seconds * 1e9 / SAMPLES as f64;
    println!("taking down {:.0} ns, writing {:.0} ns, {:.2} B each", each(noting), each(writing), bytes as f64 / SAMPLES as f64);
    Ok(())
}
