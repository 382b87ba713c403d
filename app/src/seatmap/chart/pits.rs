//! Standing areas: places that are all alike, which fans want by number and not one by one.
//!
//! Owns which row objects are standing areas and what they are called. How many places are free is the
//! house's to say.

use super::{Chart, Direction};
use domain::SeatNo;
use domain::catalog::area_name;
use domain::venue::plan::Kind;

/// A standing area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pit {
    /// The number of its row object, by which its places are asked for.
    pub area: u32,
    /// Its name.
    pub name: String,
    /// Its section, as an index.
    pub block: usize,
    /// Whether its section has nothing else: then the section is the area, and can be drawn as one.
    pub whole: bool,
}

impl Chart {
    pub(super) fn find_pits(&mut self) {
        let sizes = self.block_sizes();
        let mut pits = Vec::new();
        for (area, row) in (0..).zip(self.map.rows()) {
            let members = self.map.row_seats(area);
            let Some(first) = members.first().copied().map(SeatNo) else { continue };
            if self.kind(first) != Kind::Standing {
                continue;
            }
            let block = usize::from(row.section);
            let section = self.blocks.get(block).map_or("", |block| block.name.as_str());
            let whole = sizes.get(block).is_some_and(|size| *size as usize == members.len());
            pits.push(Pit { area, name: area_name(section, &row.label), block, whole });
        }
        self.pit_of_block = vec![None; self.blocks.len()];
        for (index, pit) in pits.iter().enumerate().filter(|(_, pit)| pit.whole) {
            self.pit_of_block[pit.block] = Some(index);
        }
        self.pits = pits;
    }

    /// The standing areas.
    pub fn pits(&self) -> &[Pit] {
        &self.pits
    }

    /// A standing area by its number.
    pub fn pit(&self, area: u32) -> Option<&Pit> {
        self.pits.iter().find(|pit| pit.area == area)
    }

    /// The standing area of a place to stand.
    pub fn pit_of(&self, seat: SeatNo) -> Option<&Pit> {
        if self.kind(seat) != Kind::Standing {
            return None;
        }
        self.pit(self.row_of(seat)?)
    }

    /// The standing area that a section consists of.
    pub fn pit_of_block(&self, block: usize) -> Option<&Pit> {
        self.pits.get((*self.pit_of_block.get(block)?)?)
    }

    /// Whether this is a place of a section that is one standing area.
    pub fn in_whole_pit(&self, seat: SeatNo) -> bool {
        self.kind(seat) == Kind::Standing && self.pit_of_block(self.block_of(seat)).is_some()
    }

    /// The seat beside this one, as [`Chart::beside`] finds it, where a standing area counts as one step.
    pub fn beyond(&self, seat: SeatNo, direction: Direction) -> Option<SeatNo> {
        let area = self.pit_of(seat).map(|pit| pit.area);
        let mut at = self.beside(seat, direction)?;
        // Each step goes further in one direction: it ends at the edge of the area.
        while area.is_some() && self.pit_of(at).map(|pit| pit.area) == area {
            at = self.beside(at, direction)?;
        }
        Some(at)
    }
}
