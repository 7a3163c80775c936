//! Writing Parquet files with any columns.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pacenote_record::{ColumnKind, ColumnValues, TableColumn, TableFile};
use pyo3::prelude::*;

use crate::error::core_error;

/// A Parquet file that is being written.
#[pyclass(frozen, name = "TableFile")]
pub struct PyTableFile {
    kinds: Vec<ColumnKind>,
    table: Mutex<Option<TableFile>>,
}

#[pymethods]
impl PyTableFile {
    /// Creates the file; `columns` are names with the names of kinds.
    #[new]
    fn new(path: PathBuf, columns: Vec<(String, String)>) -> PyResult<Self> {
        let columns = columns.into_iter().map(|(name, kind)| {
            let known = ColumnKind::of_name(&kind);
            let kind = known.ok_or_else(|| core_error(format!("there is no kind of columns {kind:?}")))?;
            Ok(TableColumn { name, kind })
        });
        let columns = columns.collect::<PyResult<Vec<_>>>()?;
        let kinds = columns.iter().map(|column| column.kind).collect();
        let table = TableFile::create(&path, columns).map_err(core_error)?;
        Ok(Self { kinds, table: Mutex::new(Some(table)) })
    }

    /// Appends rows, given by column.
    fn write(&self, py: Python<'_>, columns: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let values = self.kinds.iter().zip(&columns).map(|(kind, column)| values_of(*kind, column));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        py.detach(|| match self.table().as_mut() {
            Some(table) => table.write(&values).map_err(core_error),
            None => Err(core_error("the file has been closed")),
        })
    }

    /// Completes the file; later calls have no effect.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.table().take().map_or(Ok(()), TableFile::close)).map_err(core_error)
    }
}

impl PyTableFile {
    fn table(&self) -> MutexGuard<'_, Option<TableFile>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn values_of(kind: ColumnKind, column: &Bound<'_, PyAny>) -> PyResult<ColumnValues> {
    Ok(match kind {
        ColumnKind::Text => ColumnValues::Texts(column.extract()?),
        ColumnKind::Number => ColumnValues::Numbers(column.extract()?),
        ColumnKind::Flag => ColumnValues::Flags(column.extract()?),
        ColumnKind::Time => ColumnValues::Times(column.extract()?),
    })
}
