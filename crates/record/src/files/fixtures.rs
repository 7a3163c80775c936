//! A sample and a catalog for the tests of this folder.

use crate::catalog::{Catalog, TaskInfo};
use crate::sample::{OperationTimes, Sample, SampleResult, SampleType, Traffic};

/// Returns a sample of the only task, whose numbers are all 0.
pub(super) fn sample() -> Sample {
    Sample {
        task_index: 0,
        sub_operation: None,
        client_number: 0,
        sample_type: SampleType::Measured,
        times: OperationTimes::default(),
        result: SampleResult::default(),
        traffic: Traffic::default(),
    }
}

/// Returns the catalog of one task.
pub(super) fn catalog() -> Catalog {
    Catalog { tasks: vec![TaskInfo::default()], sub_operations: Vec::new() }
}
