//! The organizer's half: who may do what, and the views that its pages share with the server.

pub mod allocations;
pub mod desk;
pub mod disputes;
pub mod draft;
pub mod fees;
pub mod members;
pub mod money;
pub mod payouts;
pub mod plans;
pub mod pricing;
pub mod replanning;
pub mod sales;
pub mod search;
pub mod settings;

use crate::account::Role;
use crate::ids::OrganizationId;
use serde::{Deserialize, Serialize};

/// What can be done for an organization. Every use-case of an organizer names the one that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// See the organization and its events, performances and their checklists.
    ReadEvents,
    /// Make and change events, performances, prices and blocked seats; publish.
    EditEvents,
    /// See venue plans and imports, and export them.
    ReadPlans,
    /// Bring venue plans in.
    EditPlans,
    /// Watch the on-sale desk.
    ReadDesk,
    /// Open, pause, resume, steer and close a sale.
    RunSale,
    /// Search orders, and see one with all that happened to it.
    ReadOrders,
    /// See refunds, disputes, differences and what the books say.
    ReadMoney,
    /// Ask for a refund in a fan's place.
    AskRefunds,
    /// Agree to refunds, repair differences, decide what was set aside, note payouts.
    DecideMoney,
    /// Set fees, tax and what fans may give back.
    EditTerms,
    /// Choose the payment provider and where events are told.
    EditSettings,
    /// Invite, change and remove members.
    EditMembers,
    /// Read what everybody did.
    ReadAudit,
}

impl Action {
    /// Every action.
    pub const ALL: &[Self] = &[
        Self::ReadEvents,
        Self::EditEvents,
        Self::ReadPlans,
        Self::EditPlans,
        Self::ReadDesk,
        Self::RunSale,
        Self::ReadOrders,
        Self::ReadMoney,
        Self::AskRefunds,
        Self::DecideMoney,
        Self::EditTerms,
        Self::EditSettings,
        Self::EditMembers,
        Self::ReadAudit,
    ];
}

impl Role {
    /// Whether a member of this role may do that.
    #[must_use]
    pub fn may(self, action: Action) -> bool {
        match self {
            Self::Owner => true,
            Self::Operator => !matches!(
                action,
                Action::EditMembers
                    | Action::ReadAudit
                    | Action::DecideMoney
                    | Action::EditTerms
                    | Action::EditSettings
            ),
            Self::Finance => matches!(
                action,
                Action::ReadEvents
                    | Action::ReadDesk
                    | Action::ReadOrders
                    | Action::ReadMoney
                    | Action::AskRefunds
                    | Action::DecideMoney
                    | Action::EditTerms
                    | Action::ReadAudit
            ),
            Self::Risk => matches!(action, Action::ReadEvents | Action::ReadDesk | Action::ReadOrders),
            Self::Door => matches!(action, Action::ReadEvents),
        }
    }
}

/// Whom a member acts for, as every page of the organizer needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Desk {
    /// The organization.
    pub organization: OrganizationId,
    /// Its name.
    pub name: String,
    /// The member's address.
    pub email: String,
    /// The member's role.
    pub role: Role,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_its_own_and_no_more() {
        let allowed = |role: Role| Action::ALL.iter().filter(|action| role.may(**action)).count();
        assert_eq!(allowed(Role::Owner), Action::ALL.len());
        assert!(!Role::Operator.may(Action::EditMembers) && Role::Operator.may(Action::RunSale));
        assert!(Role::Finance.may(Action::ReadOrders) && !Role::Finance.may(Action::EditEvents));
        assert!(Role::Finance.may(Action::DecideMoney) && !Role::Operator.may(Action::DecideMoney));
        assert!(!Role::Risk.may(Action::ReadMoney) && !Role::Finance.may(Action::EditSettings));
        assert!(!Role::Risk.may(Action::RunSale) && !Role::Risk.may(Action::ReadPlans));
        assert_eq!(allowed(Role::Door), 1, "the door sees what is on, and nothing else here");
    }
}
