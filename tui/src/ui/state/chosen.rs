//! The row of the table that the user has chosen. It is known by its process, which may be in another row, or in none, in
//! the next interval. Pure.

use iosched_result::measured::snapshot::{OwnerKind, OwnerNumbers};
use iosched_result::stat::LiveProcess;

use super::model::{DeviceModel, Model};
use super::rows::Row;
use crate::ui::sampling::sample::{Measured, Sample};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowId {
    kind: OwnerKind,
    pid: Option<u32>,
    start_ms: Option<u64>,
    cgroup_id: u64,
    /// Only of what has no PID: the name of a process may change.
    name: Option<String>,
}

impl RowId {
    pub fn of(process: &LiveProcess) -> RowId {
        RowId {
            kind: process.kind,
            pid: process.pid,
            start_ms: process.start_ms,
            cgroup_id: process.cgroup_id,
            // The sum of a control group is named by the number of its processes.
            name: (process.pid.is_none() && process.kind != OwnerKind::Process)
                .then(|| process.comm.clone()),
        }
    }

    fn is_of(&self, owner: &OwnerNumbers) -> bool {
        let key = &owner.key;
        let pid = Some(key.tgid).filter(|pid| *pid > 0);
        let same = (key.kind, pid, key.cgroup_id) == (self.kind, self.pid, self.cgroup_id);
        let start_ms = pid.map(|_| key.start_ms);
        let name = self.name.as_ref();
        same && start_ms == self.start_ms && name.is_none_or(|name| *name == owner.label())
    }
}

/// The page of a process: all intervals since it was opened.
#[derive(Clone, Debug)]
pub struct Page {
    pub id: RowId,
    pub seconds: f64,
    /// None before its first I/O with histograms.
    pub owner: Option<OwnerNumbers>,
    /// Its last row.
    pub process: Option<LiveProcess>,
}

impl Page {
    pub fn new(id: RowId) -> Self {
        Page {
            id,
            seconds: 0.0,
            owner: None,
            process: None,
        }
    }
}

impl DeviceModel {
    /// Opens a page with the last interval; this is the device at `index` there.
    fn open_page(&mut self, index: usize, id: RowId, last: Option<&Sample>) {
        self.page = Some(Page::new(id));
        let device = last.and_then(|last| last.devices.get(index));
        let measured = device.and_then(|device| device.measured.as_deref());
        if let (Some(last), Some(measured)) = (last, measured) {
            self.turn_page(measured, last.seconds);
        }
    }

    /// Adds an interval to the open page.
    pub fn turn_page(&mut self, measured: &Measured, seconds: f64) {
        let Some(page) = &mut self.page else {
            return;
        };
        let mut rows = measured.processes.iter();
        let row = rows.find(|process| RowId::of(process) == page.id);
        page.process = row.cloned().or(page.process.take());
        let mut owners = measured.owners.iter();
        match (owners.find(|owner| page.id.is_of(owner)), &mut page.owner) {
            // Histograms are read only while a screen shows them.
            (Some(owner), _) if !owner.has_histograms => return,
            (Some(owner), Some(sum)) => sum.add(owner),
            (Some(owner), none) => *none = Some(owner.clone()),
            (None, _) => {}
        }
        page.seconds += seconds;
    }
}

impl Model {
    /// The row under the cursor: the first if nothing was chosen, and none if the chosen process has no row.
    pub fn chosen_row(&self, rows: &[Row<'_>]) -> Option<usize> {
        match &self.table.chosen {
            None => (!rows.is_empty()).then_some(0),
            Some(id) => rows.iter().position(|row| RowId::of(row.process) == *id),
        }
    }

    /// Moves the cursor to a row, and an open page to its process.
    pub fn choose(&mut self, row: usize) {
        let id = (self.processes().get(row)).map(|row| RowId::of(row.process));
        self.table.row = row;
        if id.is_some() {
            self.table.chosen = id;
        }
        let device = self.devices.get(self.selected);
        let open = device.and_then(|device| device.page.as_ref());
        if open.is_some_and(|page| Some(&page.id) != self.table.chosen.as_ref()) {
            self.open_page();
        }
    }

    /// No row is chosen.
    pub fn forget_choice(&mut self) {
        self.table.chosen = None;
        self.table.row = 0;
    }

    /// Opens the page of the process under the cursor.
    pub fn open_page(&mut self) {
        let rows = self.processes();
        let row = self.chosen_row(&rows);
        let Some(row) = row.and_then(|row| rows.get(row)) else {
            return;
        };
        let id = RowId::of(row.process);
        self.table.chosen = Some(id.clone());
        self.table.is_open = true;
        let at = self.selected;
        self.devices[at].open_page(at, id.clone(), self.last.as_deref());
        if let Some(frozen) = &mut self.frozen {
            frozen.devices[at].open_page(at, id, frozen.last.as_deref());
        }
    }

    pub fn close_page(&mut self) {
        self.table.is_open = false;
        for device in &mut self.devices {
            device.page = None;
        }
    }
}
