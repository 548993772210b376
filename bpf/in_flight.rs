//! The requests in flight, read without system calls.

use anyhow::Result;

use crate::mapped::MappedArray;
use crate::maps::Sizes;
use crate::skeleton::IoschedSkel;
use crate::wire::{extra, inflight};

/// The requests in flight of all devices.
pub struct InFlightTable {
    states: MappedArray<inflight>,
    extras: MappedArray<extra>,
    /// Index of each device's first element, and the end of the last one; as they were at the attach.
    bases: Vec<usize>,
}

impl InFlightTable {
    pub(crate) fn new(
        skeleton: &IoschedSkel<'_>,
        sizes: &Sizes,
        bases: Vec<usize>,
    ) -> Result<InFlightTable> {
        Ok(InFlightTable {
            states: MappedArray::new(&skeleton.maps.inflight, sizes.inflight as usize)?,
            extras: MappedArray::new(&skeleton.maps.extras, sizes.extras as usize)?,
            bases,
        })
    }

    /// Elements of the table, in use or not.
    #[allow(clippy::len_without_is_empty)] // it has a disk
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// The indices of a device's elements.
    pub(crate) fn places(&self, slot: usize) -> std::ops::Range<usize> {
        self.bases[slot]..self.bases[slot + 1]
    }

    pub(crate) fn at(&self, place: usize) -> inflight {
        self.states.get(place)
    }

    /// The requests in flight on the device in `slot`, its index in `Config::targets`.
    pub fn of(&self, slot: usize) -> impl Iterator<Item = inflight> + '_ {
        let states = self.places(slot).map(|place| self.at(place));
        states.filter(|state| state.request != 0)
    }

    /// The same with the facts that only some details ask for; without them they are 0.
    pub fn with_extra(&self, slot: usize) -> impl Iterator<Item = (inflight, extra)> + '_ {
        let extra = |place| {
            if place < self.extras.len() {
                self.extras.get(place)
            } else {
                extra::default()
            }
        };
        self.places(slot)
            .map(move |place| (self.at(place), extra(place)))
            .filter(|(state, _)| state.request != 0)
    }
}
