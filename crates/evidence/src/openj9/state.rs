//! What the tags of a verbose GC log mean.

use std::collections::HashMap;

use super::counts::{
    OpenJ9Copied, OpenJ9Counts, OpenJ9Increments, OpenJ9Stop, OpenJ9StopKind, OpenJ9Trigger, add,
};
use super::log::{MOST_STOPS, OpenJ9Log};
use super::settings::{MAX_TEXT, text};
use super::stop_ids::StopIds;
use super::tags::{Tag, TagForm};
use super::values::{parse_integer, parse_ms, parse_timestamp};

/// Most threads whose allocations are summed up.
const MAX_CONSUMERS: usize = 256;

/// Most threads that are kept of a log.
const MAX_LISTED: usize = 16;

/// Most unknown types of increments that are kept of a log.
const MAX_TYPES: usize = 8;

/// Most logs of earlier JVMs that are kept.
const MAX_RUNS: usize = 64;

/// Size in bytes above which a failed allocation counts as large.
const LARGE_REQUEST: u64 = 1 << 20;

/// The type of a cycle or increment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CycleType {
    Nursery,
    Global,
    Other,
}

/// The state of the cycle that collects the whole heap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum GlobalCycle {
    #[default]
    Inactive,
    Active,
    /// The final increment of a concurrent cycle has begun.
    Final,
}

/// An increment that has not ended.
#[derive(Debug, Clone, Copy)]
struct OpenIncrement {
    cycle: CycleType,
    /// `None` before `gc-end`.
    duration_us: Option<u64>,
    free_before: Option<u64>,
    free_after: Option<u64>,
    tenure_used: Option<u64>,
}

/// The log as far as it has been read.
#[derive(Debug, Default)]
pub(super) struct ReaderState {
    log: OpenJ9Log,
    /// The logs of earlier JVMs.
    runs: Vec<OpenJ9Log>,
    /// Pauses in the logs of earlier JVMs.
    earlier_stops: usize,
    /// The pause that has not ended.
    stop: Option<OpenJ9Stop>,
    increment: Option<OpenIncrement>,
    /// What happened since the end of the previous pause.
    between: OpenJ9Counts,
    is_in_root: bool,
    is_in_concurrent_phase: bool,
    is_in_scavenge: bool,
    trigger: OpenJ9Trigger,
    global_cycle: GlobalCycle,
    consumers: HashMap<Vec<u8>, u64>,
    stop_ids: StopIds,
}

impl ReaderState {
    /// Ends a file, which ended within a tag if `is_cut`.
    pub fn end_file(&mut self, is_cut: bool) {
        self.log.problems.cut_files += u64::from(is_cut || self.is_in_root);
        self.is_in_root = false;
    }

    /// Ends the log and returns those of all JVMs; the last one has what concerns the files.
    pub fn finish(mut self) -> Vec<OpenJ9Log> {
        let mut runs = std::mem::take(&mut self.runs);
        runs.push(self.into_log());
        runs
    }

    fn into_log(mut self) -> OpenJ9Log {
        self.drop_open_stop();
        self.log.rest = self.between;
        let consumers = self.consumers.into_iter().map(|(name, bytes)| (text(&name), bytes));
        self.log.largest_consumers = consumers.collect();
        self.log
            .largest_consumers
            .sort_unstable_by(|one, two| two.1.cmp(&one.1).then_with(|| one.0.cmp(&two.0)));
        self.log.largest_consumers.truncate(MAX_LISTED);
        self.log
    }

    /// Reads a tag.
    pub fn read(&mut self, tag: &Tag<'_>) {
        if tag.form == TagForm::End {
            self.read_end(tag.name);
            return;
        }
        match tag.name {
            b"exclusive-start" => self.start_stop(tag),
            b"exclusive-end" => self.end_stop(tag),
            b"response-info" => self.read_response(tag),
            b"mem-info" => self.read_heap(tag),
            b"mem" => self.read_area(tag),
            b"gc-start" => self.start_increment(tag),
            b"gc-end" => self.end_increment(tag),
            b"gc-op" => self.start_operation(tag),
            b"memory-copied" => self.read_copied(tag),
            b"allocation-stats" | b"allocated-bytes" => self.read_allocation(tag),
            b"largest-consumer" => self.read_consumer(tag),
            b"scavenger-info" => self.read_scavenger(tag),
            b"cycle-start" => self.start_cycle(tag),
            b"cycle-end" => self.end_cycle(tag),
            b"concurrent-start" | b"concurrent-end" => self.read_concurrent_phase(tag),
            b"verbosegc" => {
                self.is_in_root = tag.form == TagForm::Start;
                self.log.settings.version = tag.value(b"version").map(text);
            }
            b"initialized" => self.read_initialized(tag),
            b"attribute" => self.log.settings.read_attribute(tag),
            b"vmarg" => self.log.settings.read_option(tag),
            b"af" | b"gc" => self.log.problems.has_old_format = true,
            _ => self.read_event(tag),
        }
    }

    fn read_end(&mut self, name: &[u8]) {
        match name {
            b"gc-end" => self.close_increment(),
            b"gc-op" => self.is_in_scavenge = false,
            b"concurrent-end" => self.is_in_concurrent_phase = false,
            b"verbosegc" => self.is_in_root = false,
            _ => {}
        }
    }

    /// Reads what triggers a collection, and what goes wrong.
    fn read_event(&mut self, tag: &Tag<'_>) {
        match tag.name {
            b"af-start" => self.start_allocation_failure(tag),
            b"sys-start" => {
                self.counts().forced += 1;
                self.set_trigger(OpenJ9Trigger::Forced);
            }
            b"af-end" | b"sys-end" => self.trigger = OpenJ9Trigger::Concurrent,
            b"concurrent-global-final" | b"concurrent-collection-start" => {
                self.global_cycle = GlobalCycle::Final;
            }
            b"concurrent-trace-info" => {
                let is_early = tag.value(b"reason") == Some(b"card cleaning threshold reached");
                self.counts().incidents.early_globals += u64::from(is_early);
            }
            b"concurrent-aborted" => self.counts().incidents.aborted_globals += 1,
            b"percolate-collect" => self.counts().incidents.percolations += 1,
            b"allocation-unsatisfied" => self.counts().incidents.unsatisfied_allocations += 1,
            b"copy-failed" => {
                let objects = tag.value(b"objects").and_then(parse_integer).unwrap_or(0);
                add(&mut self.counts().incidents.objects_not_copied, objects);
            }
            b"warning" => self.read_warning(tag),
            _ => {}
        }
    }

    fn set_trigger(&mut self, trigger: OpenJ9Trigger) {
        self.trigger = trigger;
        if let Some(stop) = &mut self.stop {
            stop.trigger = trigger;
        }
    }

    fn read_warning(&mut self, tag: &Tag<'_>) {
        let Some(details) = tag.value(b"details") else { return };
        let incidents = &mut self.counts().incidents;
        if details == b"aborted collection due to insufficient free space" {
            incidents.aborted_scavenges += 1;
        } else if details == b"remembered set overflow detected" {
            incidents.remembered_set_overflows += 1;
        } else if details == b"termination requested by GC" {
            incidents.ended_scavenges += 1;
        } else if details.starts_with(b"excessive gc activity detected") {
            incidents.excessive_activity += 1;
        }
    }

    /// Returns the counts of the pause, or of the time between pauses.
    fn counts(&mut self) -> &mut OpenJ9Counts {
        self.stop.as_mut().map_or(&mut self.between, |stop| &mut stop.counts)
    }

    fn read_initialized(&mut self, tag: &Tag<'_>) {
        // The other files of a rotated log repeat the element with a different id.
        if tag.value(b"id") == Some(b"1") && (self.log.has_start || !self.log.stops.is_empty()) {
            self.start_run();
        }
        self.log.has_start = true;
        if let Some(value) = tag.value(b"timestamp") {
            self.read_time(value);
        }
    }

    /// Begins the log of another JVM.
    fn start_run(&mut self) {
        if self.runs.len() >= MAX_RUNS {
            self.log.problems.is_limited = true;
            return;
        }
        let earlier_stops = self.earlier_stops + self.log.stops.len();
        let next = Self { is_in_root: self.is_in_root, earlier_stops, ..Self::default() };
        let mut ended = std::mem::replace(self, next);
        self.runs = std::mem::take(&mut ended.runs);
        self.log.settings.version.clone_from(&ended.log.settings.version);
        self.runs.push(ended.into_log());
    }

    fn read_time(&mut self, value: &[u8]) -> Option<i64> {
        let time = parse_timestamp(value)?;
        self.log.first_ms = Some(self.log.first_ms.map_or(time, |first| first.min(time)));
        self.log.last_ms = Some(self.log.last_ms.map_or(time, |last| last.max(time)));
        Some(time)
    }

    fn drop_open_stop(&mut self) {
        if self.stop.take().is_some() {
            self.log.problems.cut_stops += 1;
        }
        self.increment = None;
        self.is_in_scavenge = false;
        self.is_in_concurrent_phase = false;
        self.trigger = OpenJ9Trigger::Concurrent;
    }

    fn start_stop(&mut self, tag: &Tag<'_>) {
        self.drop_open_stop();
        let start_ms = tag.value(b"timestamp").and_then(|value| self.read_time(value));
        self.stop_ids.start(tag, start_ms, &mut self.log.problems);
        self.stop = Some(OpenJ9Stop { start_ms, ..OpenJ9Stop::default() });
    }

    fn read_response(&mut self, tag: &Tag<'_>) {
        if let Some(stop) = &mut self.stop {
            stop.reaching_us = tag.value(b"timems").and_then(parse_ms);
        }
    }

    fn end_stop(&mut self, tag: &Tag<'_>) {
        self.close_increment();
        let end_ms = tag.value(b"timestamp").and_then(|value| self.read_time(value));
        let duration_us = tag.value(b"durationms").and_then(parse_ms);
        if let (Some(mut stop), Some(duration_us)) =
            (self.stop.take_if(|_| duration_us.is_some()), duration_us)
        {
            stop.end_ms = end_ms;
            stop.duration_us = duration_us;
            stop.counts.add(&std::mem::take(&mut self.between));
            self.stop_ids.end(tag);
            if self.stop_ids.is_repeated {
                self.drop_open_stop();
                return;
            }
            if self.earlier_stops + self.log.stops.len() < MOST_STOPS {
                self.log.stops.push(stop);
            } else {
                self.log.problems.is_limited = true;
            }
        }
        self.drop_open_stop();
    }

    fn start_allocation_failure(&mut self, tag: &Tag<'_>) {
        self.set_trigger(OpenJ9Trigger::AllocationFailure);
        let request = tag.value(b"totalBytesRequested").and_then(parse_integer).unwrap_or(0);
        let counts = self.counts();
        counts.allocation_failures += 1;
        counts.largest_request = counts.largest_request.max(request);
        counts.large_requests += u64::from(request > LARGE_REQUEST);
    }

    fn cycle_type(&mut self, name: &[u8]) -> CycleType {
        match name {
            b"scavenge" | b"partial gc" => CycleType::Nursery,
            b"global" | b"global garbage collect" => CycleType::Global,
            b"global mark phase" => CycleType::Other,
            _ => {
                let name = text(name);
                let types = &mut self.log.problems.unknown_types;
                if types.len() < MAX_TYPES && !types.contains(&name) {
                    types.push(name);
                }
                CycleType::Other
            }
        }
    }

    fn start_cycle(&mut self, tag: &Tag<'_>) {
        let (mut cycle, mut interval_us) = (CycleType::Other, 0);
        for (key, value) in tag.attributes() {
            match key {
                b"type" => cycle = self.cycle_type(value),
                b"intervalms" => interval_us = parse_ms(value).unwrap_or(0),
                _ => {}
            }
        }
        if cycle == CycleType::Global {
            self.global_cycle = GlobalCycle::Active;
        }
        let counts = self.counts();
        let cycles = match cycle {
            CycleType::Nursery => &mut counts.nursery_cycles,
            CycleType::Global => &mut counts.global_cycles,
            CycleType::Other => return,
        };
        cycles.started += 1;
        add(&mut cycles.interval_us, interval_us);
    }

    fn end_cycle(&mut self, tag: &Tag<'_>) {
        match tag.value(b"type").map(|name| self.cycle_type(name)) {
            Some(CycleType::Nursery) => self.counts().nursery_cycles.ended += 1,
            Some(CycleType::Global) => {
                let is_concurrent = std::mem::take(&mut self.global_cycle) == GlobalCycle::Final;
                let counts = self.counts();
                counts.global_cycles.ended += 1;
                counts.concurrent_globals += u64::from(is_concurrent);
            }
            Some(CycleType::Other) | None => {}
        }
    }

    fn start_increment(&mut self, tag: &Tag<'_>) {
        self.close_increment();
        let cycle = tag.value(b"type").map_or(CycleType::Other, |name| self.cycle_type(name));
        self.increment = Some(OpenIncrement {
            cycle,
            duration_us: None,
            free_before: None,
            free_after: None,
            tenure_used: None,
        });
    }

    fn end_increment(&mut self, tag: &Tag<'_>) {
        for (key, value) in tag.attributes() {
            match key {
                b"durationms" => {
                    if let Some(increment) = &mut self.increment {
                        increment.duration_us = parse_ms(value);
                    }
                }
                b"usertimems" => add(&mut self.counts().user_us, parse_ms(value).unwrap_or(0)),
                b"systemtimems" => add(&mut self.counts().system_us, parse_ms(value).unwrap_or(0)),
                _ => {}
            }
        }
        if tag.form == TagForm::Empty {
            self.close_increment();
        }
    }

    /// Counts the increment, if it has ended: if its `gc-end` had a duration.
    fn close_increment(&mut self) {
        let Some(increment) = self.increment.take() else { return };
        let (Some(duration_us), Some(stop)) = (increment.duration_us, &mut self.stop) else { return };
        let added = OpenJ9Increments { count: 1, duration_us };
        let (increments, kind) = match increment.cycle {
            CycleType::Nursery => (&mut stop.counts.nursery, OpenJ9StopKind::Nursery),
            CycleType::Global => (&mut stop.counts.global, OpenJ9StopKind::Global),
            CycleType::Other => (&mut stop.counts.other, OpenJ9StopKind::OtherIncrement),
        };
        increments.add(&added);
        if increment.cycle != CycleType::Other {
            stop.counts.untriggered += u64::from(self.trigger == OpenJ9Trigger::Concurrent);
        }
        stop.kind = stop.kind.max(kind);
        if let (Some(before), Some(after)) = (increment.free_before, increment.free_after) {
            stop.counts.heap_readings += 1;
            add(&mut stop.counts.freed, after.saturating_sub(before));
        }
        if increment.cycle == CycleType::Global && increment.tenure_used.is_some() {
            stop.tenure_used_after_global = increment.tenure_used;
        }
    }

    fn read_heap(&mut self, tag: &Tag<'_>) {
        let (Some(increment), Some(stop)) = (&mut self.increment, &mut self.stop) else { return };
        let Some((free, total)) = free_and_total(tag) else { return };
        let used = total.checked_sub(free);
        if increment.duration_us.is_some() {
            increment.free_after = Some(free);
            stop.used_after = used;
            stop.heap_bytes = Some(total);
        } else {
            increment.free_before = Some(free);
            stop.used_before = stop.used_before.or(used);
        }
    }

    fn read_area(&mut self, tag: &Tag<'_>) {
        let Some(increment) = self.increment.as_mut().filter(|increment| increment.duration_us.is_some())
        else {
            return;
        };
        if tag.value(b"type") == Some(b"tenure") {
            increment.tenure_used = free_and_total(tag).and_then(|(free, total)| total.checked_sub(free));
        }
    }

    fn start_operation(&mut self, tag: &Tag<'_>) {
        self.is_in_scavenge = false;
        let mut duration_us = 0;
        for (key, value) in tag.attributes() {
            match key {
                b"type" => self.is_in_scavenge = tag.form == TagForm::Start && value == b"scavenge",
                b"timems" => duration_us = parse_ms(value).unwrap_or(0),
                _ => {}
            }
        }
        self.counts().scavenges += u64::from(self.is_in_scavenge);
        if self.is_in_concurrent_phase {
            add(&mut self.counts().concurrent_us, duration_us);
        }
    }

    fn read_copied(&mut self, tag: &Tag<'_>) {
        if !self.is_in_scavenge {
            return;
        }
        let (mut area, mut bytes): (&[u8], u64) = (b"", 0);
        for (key, value) in tag.attributes() {
            match key {
                b"type" => area = value,
                b"bytes" => bytes = parse_integer(value).unwrap_or(0),
                _ => {}
            }
        }
        let copied = match area {
            b"nursery" => OpenJ9Copied { flipped: bytes, tenured: 0 },
            b"tenure" => OpenJ9Copied { flipped: 0, tenured: bytes },
            _ => return,
        };
        let (is_concurrent, is_global_active) =
            (self.is_in_concurrent_phase, self.global_cycle != GlobalCycle::Inactive);
        let counts = self.counts();
        if is_concurrent {
            counts.copied_concurrently.add(&copied);
        } else {
            counts.copied_in_pauses.add(&copied);
        }
        if is_global_active {
            add(&mut counts.tenured_during_global, copied.tenured);
        }
    }

    fn read_allocation(&mut self, tag: &Tag<'_>) {
        for (key, value) in tag.attributes() {
            match key {
                b"totalBytes" => {
                    if let Some(bytes) = parse_integer(value) {
                        let counts = self.counts();
                        counts.allocation_readings += 1;
                        add(&mut counts.allocated, bytes);
                    }
                }
                b"non-tlh" => {
                    add(&mut self.counts().allocated_outside_tlh, parse_integer(value).unwrap_or(0));
                }
                _ => {}
            }
        }
    }

    fn read_consumer(&mut self, tag: &Tag<'_>) {
        let (mut name, mut bytes): (&[u8], u64) = (b"", 0);
        for (key, value) in tag.attributes() {
            match key {
                b"threadName" => name = value,
                b"bytes" => bytes = parse_integer(value).unwrap_or(0),
                _ => {}
            }
        }
        let name = &name[..name.len().min(MAX_TEXT)];
        if let Some(sum) = self.consumers.get_mut(name) {
            add(sum, bytes);
        } else if self.consumers.len() < MAX_CONSUMERS {
            self.consumers.insert(name.to_vec(), bytes);
        }
    }

    fn read_scavenger(&mut self, tag: &Tag<'_>) {
        let Some(stop) = &mut self.stop else { return };
        for (key, value) in tag.attributes() {
            match key {
                b"tenureage" => stop.tenure_age = parse_integer(value),
                b"tiltratio" => stop.tilt_percent = parse_integer(value),
                _ => {}
            }
        }
    }

    fn read_concurrent_phase(&mut self, tag: &Tag<'_>) {
        self.is_in_concurrent_phase = tag.name == b"concurrent-end" && tag.form == TagForm::Start;
        for (key, value) in tag.attributes() {
            match key {
                b"type" => self.log.concurrent_scavenge |= value == b"scavenge",
                b"timestamp" => {
                    self.read_time(value);
                }
                _ => {}
            }
        }
    }
}

fn free_and_total(tag: &Tag<'_>) -> Option<(u64, u64)> {
    let (mut free, mut total) = (None, None);
    for (key, value) in tag.attributes() {
        match key {
            b"free" => free = parse_integer(value),
            b"total" => total = parse_integer(value),
            _ => {}
        }
    }
    Some((free?, total?))
}
