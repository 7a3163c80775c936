//! The channel from recorders to the collector.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use crate::buffers::{BufferPool, RetentionPolicy};
use crate::catalog::{SubOperationInfo, SubOperationNumber};
use crate::delivery::Delivery;

/// Maximum number of sub-operations of a task that are told apart. Further ones share one name, so that a source that
/// generates names cannot exhaust the memory.
const MAX_SUB_OPERATIONS: usize = 64;
/// Name and type of the sub-operations beyond the limit.
const OTHERS: &str = "others";

/// The sending half of the channel from recorders to the collector, with the buffers that are sent through it.
#[derive(Debug, Clone)]
pub struct RecordSender {
    channel: Sender<Delivery>,
    buffers: BufferPool,
    numbers: SubOperationNumbers,
}

impl RecordSender {
    /// Creates a sender to `channel` for a race with this policy.
    #[must_use]
    pub fn new(channel: Sender<Delivery>, retention: RetentionPolicy) -> Self {
        Self { channel, buffers: BufferPool::new(retention), numbers: SubOperationNumbers::default() }
    }

    /// Returns the pool of the race's buffers, to which the writing thread releases them.
    #[must_use]
    pub fn buffers(&self) -> &BufferPool {
        &self.buffers
    }

    /// Sends a delivery. If there is no receiver, the race has ended and the delivery is dropped.
    pub fn send(&self, delivery: Delivery) {
        let _ = self.channel.send(delivery);
    }

    /// Returns the number of a sub-operation, which is assigned if it is new. The collector receives it before anything
    /// that is recorded under it.
    #[must_use]
    pub fn sub_operation_number(&self, info: &SubOperationInfo) -> SubOperationNumber {
        self.numbers.find_or_assign(info, |new| self.send(Delivery::SubOperation(new)))
    }
}

/// The numbers of all sub-operations of a race, for all tasks, in the order in which they are first recorded; some only
/// become known when they run. Locked when a worker records a sub-operation for the first time, not for each sample.
#[derive(Debug, Clone, Default)]
struct SubOperationNumbers(Arc<Mutex<Vec<SubOperationInfo>>>);

impl SubOperationNumbers {
    /// Returns the number of a sub-operation, or the shared number if there are too many. `announce` is called with a
    /// new sub-operation before any other worker can get its number.
    fn find_or_assign(
        &self,
        info: &SubOperationInfo,
        announce: impl FnOnce(SubOperationInfo),
    ) -> SubOperationNumber {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let position = |info: &SubOperationInfo, known: &[SubOperationInfo]| {
            known.iter().position(|candidate| candidate == info)
        };
        let mut info = info.clone();
        let mut found = position(&info, &known);
        if found.is_none()
            && known.iter().filter(|candidate| candidate.task_index == info.task_index).count()
                >= MAX_SUB_OPERATIONS
        {
            (info.operation, info.operation_type) = (OTHERS.to_owned(), OTHERS.to_owned());
            found = position(&info, &known);
        }
        let position = found.unwrap_or_else(|| {
            known.push(info.clone());
            announce(info);
            known.len() - 1
        });
        SubOperationNumber::at(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_operations_beyond_the_limit_share_a_number_in_each_task() {
        let (numbers, mut announced) = (SubOperationNumbers::default(), Vec::new());
        let mut position = |task_index, operation: String| {
            let info = SubOperationInfo { task_index, operation, operation_type: "search".into() };
            numbers.find_or_assign(&info, |new| announced.push(new)).position()
        };
        let most = MAX_SUB_OPERATIONS;
        for name in 0..most {
            assert_eq!(position(0, name.to_string()), name);
        }
        assert_eq!((position(0, "a".into()), position(0, "b".into())), (most, most));
        assert_eq!(
            (position(7, "a".into()), position(0, "b".into()), position(0, "5".into())),
            (most + 1, most, 5)
        );
        let [.., others, other_task] = &announced[..] else { unreachable!() };
        assert_eq!(announced.len(), MAX_SUB_OPERATIONS + 2);
        assert_eq!((others.task_index, others.operation.as_str()), (0, OTHERS));
        assert_eq!((other_task.task_index, other_task.operation.as_str()), (7, "a"));
    }
}
