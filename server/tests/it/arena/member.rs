//! Members of organizations, as tests need them: the sale of an arena is "StarArena Rush"'s.

use super::{Arena, Fan};
use domain::account::Role;

/// Who owns the sales of arenas.
pub(crate) const ORGANIZATION: &str = "StarArena Rush";

impl Arena {
    /// A signed-in member of the organization that owns the sale.
    pub(crate) async fn member(&self, role: Role) -> Fan {
        self.member_of(ORGANIZATION, role).await
    }

    /// A signed-in member of an organization, which is made when it is missing.
    pub(crate) async fn member_of(&self, organization: &str, role: Role) -> Fan {
        let fan = self.fans(1).await.remove(0);
        let id = self.backend.ensure_organization(organization).await.unwrap();
        sqlx::query("insert into members (organization_id, account_id, role) values ($1, $2, $3)")
            .bind(id.0)
            .bind(fan.account.0)
            .bind(role.as_str())
            .execute(&self.pg)
            .await
            .unwrap();
        fan
    }
}
