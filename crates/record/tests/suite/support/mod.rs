//! Helpers of the tests of recorders and the collector: samples, and a race without a driver.

pub mod engine;

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use pacenote_record::{
    ClientEnd, ClientSpan, ClosedFiles, Collector, Delivery, EndedBy, ErrorClass, Failure, FailureUnit,
    MeasuredWindow, OperationTimes, RecordSender, Recorder, RecordingSettings, RetentionPolicy, Sample,
    SampleResult, SampleType, TaskInfo, TaskResult, Traffic,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1000 * MS;

pub fn info() -> TaskInfo {
    TaskInfo {
        name: "index".into(),
        operation: "index-append".into(),
        operation_type: "bulk".into(),
        unit: "docs".into(),
        clients: 2,
        ..TaskInfo::default()
    }
}

pub fn sample(service_start_ns: u64, done_ns: u64) -> Sample {
    Sample {
        task_index: 0,
        sub_operation: None,
        client_number: 1,
        sample_type: SampleType::Measured,
        times: OperationTimes {
            paced: false,
            due_ns: service_start_ns,
            free_since_ns: 0,
            first_sent_ns: service_start_ns,
            service_start_ns,
            done_ns,
            processing_ns: done_ns - service_start_ns,
        },
        result: SampleResult {
            error_class: ErrorClass::None,
            status: 200,
            retries: 0,
            weight: 10,
            failed_weight: 0,
            took_ms: 3,
        },
        traffic: Traffic {
            requests: 1,
            reconnects: 1,
            bytes_out: 100,
            bytes_in: 50,
            content_out: 400,
            content_in: 20,
        },
    }
}

/// Returns a sample whose operation was due before it was sent.
pub fn paced(due_ns: u64, free_since_ns: u64, sample: Sample) -> Sample {
    Sample { times: OperationTimes { paced: true, due_ns, free_since_ns, ..sample.times }, ..sample }
}

pub fn weighing(weight: u64, sample: Sample) -> Sample {
    Sample { result: SampleResult { weight, ..sample.result }, ..sample }
}

pub fn failing(error_class: ErrorClass, failed_weight: u64, sample: Sample) -> Sample {
    let result = SampleResult { error_class, weight: 0, failed_weight, ..sample.result };
    Sample { result, ..sample }
}

/// Begins an operation and records its end.
pub fn record(recorder: &mut Recorder, sample: Sample) {
    recorder.begin_operation(sample.task_index, sample.sample_type);
    recorder.record(sample, None, []);
}

/// Ends the task for the recorder's only client, whose schedule admitted `admitted` operations.
pub fn end(recorder: &mut Recorder, ended_by: EndedBy, admitted: u64) {
    recorder.end_client(ClientEnd { task_index: 0, ended_by, admitted, task_began_ns: 0 });
}

/// Ends the task for several clients, the last operation of each of which ended at one of these times, and whose schedules
/// admitted `admitted` operations together.
pub fn end_clients(recorder: &mut Recorder, ended_by: EndedBy, left_ns: &[u64], admitted: u64) {
    for (number, left_ns) in left_ns.iter().enumerate() {
        recorder.leave_client(0, ClientSpan::new(0).until(*left_ns));
        end(recorder, ended_by, if number == 0 { admitted } else { 0 });
    }
}

pub struct Race {
    pub sender: RecordSender,
    pub inbox: Receiver<Delivery>,
    pub collector: Collector,
    pub folder: tempfile::TempDir,
}

impl Race {
    pub fn new(info: TaskInfo, worker_count: u32) -> Self {
        Self::keeping(info, worker_count, RetentionPolicy::All)
    }

    pub fn keeping(info: TaskInfo, worker_count: u32, policy: RetentionPolicy) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let collector = Collector::new(folder.path(), vec![info]).unwrap();
        let (channel, inbox) = channel();
        let sender = RecordSender::new(channel, policy);
        sender.send(Delivery::Begin { task_index: 0, worker_count, queue_count: None, step_began_ns: 0 });
        Self { sender, inbox, collector, folder }
    }

    pub fn recorder(&self, paced: bool) -> Recorder {
        self.recorder_of(paced, MeasuredWindow::Operations)
    }

    pub fn recorder_of(&self, paced: bool, measured_window: MeasuredWindow) -> Recorder {
        let mut recorder = Recorder::new(self.sender.clone());
        recorder
            .add_client(RecordingSettings { task_index: 0, paced, has_warmup: paced, measured_window })
            .unwrap();
        recorder
    }

    /// Returns the recorder of several clients with a schedule.
    pub fn recorder_of_clients(&self, clients: usize, has_warmup: bool) -> Recorder {
        let mut recorder = Recorder::new(self.sender.clone());
        let measured_window = MeasuredWindow::Operations;
        let settings = RecordingSettings { task_index: 0, paced: true, has_warmup, measured_window };
        (0..clients).for_each(|_| recorder.add_client(settings).unwrap());
        recorder
    }

    /// Passes everything that the recorders have delivered to the collector.
    pub fn collect(&mut self) -> Option<TaskResult> {
        let mut finished = None;
        while let Ok(delivery) = self.inbox.try_recv() {
            finished = finished.or(self.collector.receive(delivery, self.sender.buffers()).unwrap());
        }
        finished.map(|finished| finished.result)
    }

    /// Returns the result of the task, and checks that its counts add up.
    pub fn result(&mut self) -> TaskResult {
        let result = self.collect().expect("the task has not ended");
        assert!(self.collector.contradictions().is_empty(), "{:?}", self.collector.contradictions());
        result
    }
}

/// Closes the files, and checks that none of them has an error. Returns the number of samples on disk.
pub fn close_files(collector: Collector) -> u64 {
    let ClosedFiles { sample_count, error, .. } = collector.close();
    assert!(error.is_none(), "{error:?}");
    sample_count
}

pub fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::try_from(path).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

/// Returns a failure without status and error type.
pub fn failure(error_class: ErrorClass, reason: &str) -> Failure {
    let unit = FailureUnit::Operations;
    Failure { error_class, status: 0, error_type: String::new(), reason: reason.to_owned(), unit, count: 1 }
}
