//! Places for wheelchairs and the seats beside them: for those who ask for them, and nobody else.

use super::{Choice, Spread, Wish};
use crate::ids::SeatNo;
use crate::venue::adjacency::{Adjacency, tenths};
use crate::venue::plan::Kind;

impl Adjacency {
    /// Places for wheelchairs in one section, each with the nearest companion seats.
    pub(super) fn best_accessible(
        &self,
        wish: &Wish,
        free: impl Fn(SeatNo) -> bool,
        spread: Spread,
    ) -> Option<Vec<SeatNo>> {
        let all = (0_u32..).take(self.seat_count()).map(SeatNo);
        let (mut wheelchairs, mut companions) = (Vec::new(), Vec::new());
        for seat in all.filter(|seat| free(*seat)) {
            match self.kind(seat) {
                Kind::Wheelchair => wheelchairs.push(seat),
                Kind::Companion => companions.push(seat),
                Kind::Seat | Kind::Standing => {}
            }
        }
        let choices: Vec<Choice<Vec<SeatNo>>> = wheelchairs
            .iter()
            .filter_map(|first| {
                let mut seats = self.nearest_of(*first, &wheelchairs, wish.wheelchairs as usize)?;
                seats.extend(self.nearest_of(*first, &companions, (wish.count - wish.wheelchairs) as usize)?);
                seats.sort_unstable();
                Some(Choice { cost: tenths(self.distance_of(*first)), lowest: *first, what: seats })
            })
            .collect();
        self.chosen(choices, spread, Clone::clone)
    }

    /// So many seats of the same section, the nearest to a place.
    fn nearest_of(&self, place: SeatNo, among: &[SeatNo], count: usize) -> Option<Vec<SeatNo>> {
        let middle = self.point(place);
        let mut near: Vec<(u64, SeatNo)> = among
            .iter()
            .filter(|seat| self.section(**seat) == self.section(place))
            .map(|seat| (tenths(self.point(*seat).distance(middle)), *seat))
            .collect();
        near.sort_unstable();
        (near.len() >= count).then(|| near.into_iter().take(count).map(|(_, seat)| seat).collect())
    }
}
