//! `stararena performance cancel` and `refund-status`: what does not take place, and its money.

use super::catalog::member;
use super::print;
use crate::cli::venue::ORGANIZATION;
use backend::Backend;
use domain::PerformanceId;
use domain::refund::view::BatchView;
use std::sync::Arc;

/// What is said to cancel.
#[derive(clap::Args)]
pub(super) struct CancelArgs {
    /// The performance
    id: PerformanceId,
    /// The event's title, typed once more
    #[arg(long)]
    event: String,
    /// The organization to act for; made if there is none of that name
    #[arg(long, default_value = ORGANIZATION)]
    organization: String,
}

/// Whose refunds are asked about.
#[derive(clap::Args)]
pub(super) struct StatusArgs {
    /// The performance
    id: PerformanceId,
    /// The organization to act for; made if there is none of that name
    #[arg(long, default_value = ORGANIZATION)]
    organization: String,
}

pub(super) async fn cancel(backend: &Arc<Backend>, args: CancelArgs) -> anyhow::Result<()> {
    let member = member(backend, &args.organization).await?;
    tell(&backend.cancel_performance_for(&member, args.id, &args.event).await?);
    Ok(())
}

pub(super) async fn status(backend: &Arc<Backend>, args: StatusArgs) -> anyhow::Result<()> {
    let member = member(backend, &args.organization).await?;
    match backend.refund_batch_for(&member, args.id).await? {
        Some(batch) => tell(&batch),
        None => print("the performance was not cancelled"),
    }
    Ok(())
}

fn tell(batch: &BatchView) {
    print(&format!("orders     {} ({} reserved)", batch.orders, batch.reserved));
    print(&format!("on the way {}", batch.pending));
    print(&format!("succeeded  {} ({})", batch.succeeded, batch.returned));
    print(&format!("failed     {}", batch.failed));
    print(if batch.done { "done" } else { "goes on by itself while workers run" });
}
