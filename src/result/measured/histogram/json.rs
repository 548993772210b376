//! The JSON form of a histogram; untrusted input is checked.

use serde::Deserialize;
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::Histogram;
use super::cell::{Cell, MAX_COUNT};
use super::layout::Layout;

/// `[[cell, count], ...]`, ascending, without empty cells.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Histogram"))]
pub(super) struct Sparse {
    layout: Layout,
    cells: Vec<(u32, u64)>,
}

/// As [`Sparse`], without making one: each interval of the terminal UI has hundreds of histograms.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sparse = serializer.serialize_struct("Sparse", 2)?;
        sparse.serialize_field("layout", &self.layout)?;
        sparse.serialize_field("cells", &Cells(&self.cells))?;
        sparse.end()
    }
}

struct Cells<'a>(&'a [Cell]);

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.0.iter().map(|cell| (cell.place(), cell.count()));
        serializer.collect_seq(cells)
    }
}

impl TryFrom<Sparse> for Histogram {
    type Error = String;

    fn try_from(sparse: Sparse) -> Result<Self, String> {
        let Sparse { layout, mut cells } = sparse;
        if !cells.is_sorted_by(|a, b| a.0 < b.0) {
            return Err("histogram cells are not in ascending order".into());
        }
        if let Some((i, _)) = cells.last().filter(|cell| cell.0 >= layout.cells) {
            return Err(format!("histogram cell {i} is outside its layout"));
        }
        cells.retain(|cell| cell.1 > 0);
        let mut cells: Vec<Cell> = cells
            .into_iter()
            .map(|(i, n)| {
                Cell::new(i, n).ok_or_else(|| {
                    format!(
                        "histogram cell {i} counts {n}, more than the {MAX_COUNT} of its 48 bits"
                    )
                })
            })
            .collect::<Result<_, _>>()?;
        // It was collected in place, in twice the memory that it needs.
        cells.shrink_to_fit();
        Ok(Histogram { layout, cells })
    }
}
