//! When accessible places are needed by nobody else: their price level is sold out on general sale.

use crate::catalog::Sale;
use domain::hold::{SeatByte, SeatState};

/// Whether each zone is sold out: something was sold in it, and nothing on general sale is free or held.
/// A held seat may come back, so it counts as one that can still be had.
pub(super) fn zones(sale: &Sale, bytes: &[u8]) -> Vec<bool> {
    let categories = sale.seats.seats.iter().map(|seat| usize::from(seat.category));
    by_zone(sale.view.zones.len(), categories.zip(bytes.iter().map(|byte| SeatByte(*byte))))
}

fn by_zone(zones: usize, seats: impl Iterator<Item = (usize, SeatByte)>) -> Vec<bool> {
    let (mut sold, mut left) = (vec![false; zones], vec![false; zones]);
    for (zone, byte) in seats.filter(|(zone, byte)| *zone < zones && byte.allocation() == 0) {
        match byte.state() {
            SeatState::Sold => sold[zone] = true,
            SeatState::Available | SeatState::Held => left[zone] = true,
            SeatState::Blocked => {}
        }
    }
    sold.into_iter().zip(left).map(|(sold, left)| sold && !left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_sold_out_once_nothing_on_general_sale_can_be_had() {
        use SeatState::{Available, Blocked, Held, Sold};
        let out = |seats: &[(SeatState, u8)]| {
            by_zone(1, seats.iter().map(|(state, number)| (0, SeatByte::new(*state, *number))))[0]
        };
        assert!(out(&[(Sold, 0), (Blocked, 0), (Available, 7)]), "kept and blocked seats are not on general sale");
        assert!(!out(&[(Sold, 0), (Held, 0)]), "a held seat may come back");
        assert!(!out(&[(Sold, 0), (Available, 0)]));
        assert!(!out(&[(Blocked, 0), (Available, 7)]), "nothing was sold yet");
        assert!(!out(&[(Sold, 7)]), "sold out of an allocation is not sold on general sale");
    }
}
