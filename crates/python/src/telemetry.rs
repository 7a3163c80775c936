//! The telemetry of a race: writing it, sampling the host, and reading it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pacenote_host::{DataPath, HostSampler, ObservedProcess, SamplerSettings, TelemetryClock};
use pacenote_record::{MeasuredPart, SeriesKind, TaskWindow, TelemetryFile, TelemetrySeries};
use pyo3::prelude::*;

use crate::error::core_error;

/// A sample of one series: its source, name, value, unit, kind and labels.
type Sample = (String, String, Option<f64>, String, String, BTreeMap<String, String>);

/// The points of a series: its name, its unit, its labels, and times with values.
type Points = (String, String, BTreeMap<String, String>, Vec<(i64, Option<f64>)>);

/// `telemetry.parquet` of a running race.
#[pyclass(frozen, name = "TelemetryFile")]
pub struct PyTelemetryFile {
    file: Arc<TelemetryFile>,
    clock: TelemetryClock,
}

#[pymethods]
impl PyTelemetryFile {
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        let file = Arc::new(TelemetryFile::create(&folder).map_err(core_error)?);
        Ok(Self { file, clock: TelemetryClock::start() })
    }

    /// Returns the time for samples, in nanoseconds since 1970.
    fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// Appends samples with the same time. They are converted one after the other, because their labels are long
    /// together.
    fn write(&self, py: Python<'_>, time_ns: i64, samples: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut values = Vec::new();
        for sample in samples.try_iter()? {
            let (source, name, value, unit, kind, labels): Sample = sample?.extract()?;
            let kind = SeriesKind::of_name(&kind)
                .ok_or_else(|| core_error(format!("there is no kind of samples {kind:?}")))?;
            let series = TelemetrySeries { source, name, unit, kind, labels };
            values.push((self.file.number(&series), value));
        }
        py.detach(|| self.file.write(time_ns, values));
        Ok(())
    }

    /// Appends the times of a task; they replace earlier ones of the same task.
    fn add_task(&self, py: Python<'_>, task: String, begin_ns: i64, end_ns: i64) {
        py.detach(|| self.file.add_task(TaskWindow { task, begin_ns, end_ns }));
    }

    /// Completes `telemetry.parquet` and returns the number of rows; later calls return 0.
    fn close(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.file.close()).map_err(core_error)
    }
}

/// The thread that samples the counters of this machine.
#[pyclass(frozen, name = "HostSampler")]
pub struct PyHostSampler {
    sampler: Mutex<Option<HostSampler>>,
}

#[pymethods]
impl PyHostSampler {
    /// Starts to sample this machine once in `interval_s`.
    #[new]
    fn new(
        file: &PyTelemetryFile,
        processes: Vec<(String, u32)>,
        data_paths: Vec<(String, PathBuf)>,
        cpus: Vec<usize>,
        interval_s: f64,
    ) -> PyResult<Self> {
        let processes = processes.into_iter().map(|(name, id)| ObservedProcess { name, id }).collect();
        let data_paths = data_paths.into_iter().map(|(node, path)| DataPath { node, path }).collect();
        let interval = Duration::try_from_secs_f64(interval_s).map_err(core_error)?;
        let settings =
            SamplerSettings { processes, data_paths, cpus, interval, ..SamplerSettings::default() };
        let sampler = HostSampler::start(settings, Arc::clone(&file.file), file.clock).map_err(core_error)?;
        Ok(Self { sampler: Mutex::new(Some(sampler)) })
    }

    /// Reads the counters once more, ends the thread, and returns its report as a JSON document.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let sampler = self.sampler.lock().unwrap_or_else(PoisonError::into_inner).take();
        let sampler = sampler.ok_or_else(|| core_error("the sampler has been stopped"))?;
        let report =
            py.detach(|| sampler.stop()).ok_or_else(|| core_error("the sampler ended unexpectedly"))?;
        serde_json::to_string(&report).map_err(core_error)
    }
}

/// Returns the series of a `telemetry.parquet` file, cut to the tasks of the race or, of those in `measured`, to the
/// windows with these begins and lengths in seconds, as a JSON document.
#[pyfunction]
pub fn telemetry_cuts(
    py: Python<'_>,
    file: PathBuf,
    measured: HashMap<String, (f64, f64)>,
) -> PyResult<String> {
    let part = |(task, (from_s, length_s))| (task, MeasuredPart { from_s, length_s });
    let measured: HashMap<String, MeasuredPart> = measured.into_iter().map(part).collect();
    let cuts = py.detach(|| pacenote_record::telemetry_cuts(&file, &measured)).map_err(core_error)?;
    serde_json::to_string(&cuts).map_err(core_error)
}

/// Values that are returned, as objects of Python.
const MOST_POINTS: usize = 1 << 21;

/// Returns the values over time of the series with this source and one of these names: all, or if there are
/// more than 2,097,152, each second, fourth, eighth… one of each series.
#[pyfunction]
pub fn telemetry_points(
    py: Python<'_>,
    file: PathBuf,
    source: &str,
    names: Vec<String>,
) -> PyResult<Vec<Points>> {
    // There are as many names as series if a server chooses them.
    let names: HashSet<String> = names.into_iter().collect();
    let is_wanted = |series: &TelemetrySeries| series.source == source && names.contains(&series.name);
    let found =
        py.detach(|| pacenote_record::telemetry_points(&file, is_wanted, MOST_POINTS)).map_err(core_error)?;
    let points = |series: pacenote_record::SeriesPoints| {
        let points = series.points.iter().map(|point| (point.time_ns, point.value)).collect();
        (series.series.name, series.series.unit, series.series.labels, points)
    };
    Ok(found.into_iter().map(points).collect())
}

/// Adds the classes and functions of telemetry to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTelemetryFile>()?;
    module.add_class::<PyHostSampler>()?;
    module.add_function(wrap_pyfunction!(telemetry_cuts, module)?)?;
    module.add_function(wrap_pyfunction!(telemetry_points, module)?)
}
