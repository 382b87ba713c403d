//! Kept seats, as tests make and open them.

use super::{Arena, Fan, ORGANIZATION, seats};
use backend::Client;
use domain::allocation::AllocationKind;
use domain::hold::{SeatByte, SeatState};
use domain::organizer::allocations::AllocationsView;
use domain::organizer::pricing::SeatSet;
use domain::{AllocationId, Code, Millis};
use std::net::{IpAddr, Ipv4Addr};

/// Seats as a set.
pub(crate) fn seat_set(list: &[u32]) -> SeatSet {
    seats(list).into_iter().collect()
}

/// A caller at an address of its own.
pub(crate) fn kept_from(address: u8) -> Client {
    Client { ip: IpAddr::V4(Ipv4Addr::new(127, 0, 3, address)) }
}

impl Arena {
    /// Keeps seats until they are released by hand.
    pub(crate) async fn keep(&self, name: &str, kind: AllocationKind, list: &[u32]) -> Result<AllocationId, Code> {
        self.keep_until(name, kind, list, None).await
    }

    /// Keeps seats.
    pub(crate) async fn keep_until(
        &self,
        name: &str,
        kind: AllocationKind,
        list: &[u32],
        release: Option<Millis>,
    ) -> Result<AllocationId, Code> {
        let member = self.backend.command_line(ORGANIZATION).await.unwrap();
        let kept = self.backend.create_allocation_for(&member, self.performance, (name, kind), seat_set(list), release);
        kept.await.map_err(|error| error.refusal().code)
    }

    /// Adds a code.
    pub(crate) async fn add_code(&self, allocation: AllocationId, code: &str) {
        let member = self.backend.command_line(ORGANIZATION).await.unwrap();
        self.backend.add_code_for(&member, self.performance, allocation, Some(code)).await.unwrap();
    }

    /// Releases an allocation.
    pub(crate) async fn let_go(&self, allocation: AllocationId) -> Result<(), Code> {
        let member = self.backend.command_line(ORGANIZATION).await.unwrap();
        let done = self.backend.release_allocation_for(&member, self.performance, allocation).await;
        done.map_err(|error| error.refusal().code)
    }

    /// Enters a code, from an address of 127.0.3.0/24.
    pub(crate) async fn enter_code(&self, fan: &Fan, code: &str, address: u8) -> Result<(), Code> {
        let done = self.backend.open_by_code(&fan.session, self.performance, code, &kept_from(address)).await;
        done.map_err(|error| error.refusal().code)
    }

    /// State and allocation of a seat.
    pub(crate) async fn byte(&self, seat: u32) -> (SeatState, u8) {
        let byte = SeatByte(self.seat(seat).await);
        (byte.state(), byte.allocation())
    }

    /// What a member sees of all allocations.
    pub(crate) async fn view(&self, who: &Fan) -> AllocationsView {
        self.backend.allocations(&who.session, self.performance).await.unwrap()
    }
}
