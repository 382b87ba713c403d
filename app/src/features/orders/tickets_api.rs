//! Server functions of tickets: what one holds, and what can be done with it.

use crate::error::AppError;
use domain::{
    OrderId, TicketId,
    ticket::change::{HeldTicket, TransferOffer},
};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// A code as a drawing: the dark modules as one SVG path on a grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qr {
    /// Modules a side, quiet zone included.
    pub side: usize,
    /// The dark modules.
    pub path: String,
}

/// A ticket with the drawing of its code, where it is at hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketSheet {
    /// The ticket.
    pub ticket: HeldTicket,
    /// Its code; none for what is offered, or somebody else's by now.
    pub qr: Option<Qr>,
}

/// The tickets of an order, drawn on the server, so that the browser needs no encoder.
#[server(endpoint = "order-qr")]
pub async fn order_qr(
    /// The order.
    order: OrderId,
) -> Result<Vec<TicketSheet>, AppError> {
    use crate::context;
    drawn(context::backend()?.order_tickets(&context::session()?, order).await?)
}

/// The tickets that the caller holds, whoever bought them.
#[server(endpoint = "my-tickets")]
pub async fn my_tickets() -> Result<Vec<TicketSheet>, AppError> {
    use crate::context;
    drawn(context::backend()?.my_tickets(&context::session()?).await?)
}

/// Another code for a ticket.
#[server(endpoint = "ticket-reissue")]
pub async fn ticket_reissue(
    /// The ticket.
    ticket: TicketId,
    /// Where a form without JavaScript goes on.
    back: Option<String>,
) -> Result<TicketId, AppError> {
    use crate::{context, route::local_path};
    let new = context::backend()?.reissue_ticket(&context::session()?, ticket).await?;
    context::redirect_form(&local_path(back.as_deref()));
    Ok(new)
}

/// Another name on a ticket.
#[server(endpoint = "ticket-rename")]
pub async fn ticket_rename(
    /// The ticket.
    ticket: TicketId,
    /// The name; empty for none.
    name: String,
    /// Where a form without JavaScript goes on.
    back: Option<String>,
) -> Result<TicketId, AppError> {
    use crate::{context, route::local_path};
    let renamed = context::backend()?.rename_ticket(&context::session()?, ticket, &name).await;
    let new = context::keep_typed(renamed, || TicketRename { ticket, name, back: back.clone() })?;
    context::redirect_form(&local_path(back.as_deref()));
    Ok(new)
}

/// Offers a ticket to an address.
#[server(endpoint = "ticket-offer")]
pub async fn ticket_offer(
    /// The ticket.
    ticket: TicketId,
    /// The address.
    email: String,
    /// Where a form without JavaScript goes on.
    back: Option<String>,
) -> Result<(), AppError> {
    use crate::{context, route::local_path};
    let lang = context::mail_lang();
    let offered = context::backend()?.offer_ticket(&context::session()?, ticket, &email, lang).await;
    context::keep_typed(offered, || TicketOffer { ticket, email, back: back.clone() })?;
    context::redirect_form(&local_path(back.as_deref()));
    Ok(())
}

/// Takes an offer back.
#[server(endpoint = "ticket-take-back")]
pub async fn ticket_take_back(
    /// The ticket.
    ticket: TicketId,
    /// Where a form without JavaScript goes on.
    back: Option<String>,
) -> Result<(), AppError> {
    use crate::{context, route::local_path};
    context::backend()?.take_ticket_back(&context::session()?, ticket).await?;
    context::redirect_form(&local_path(back.as_deref()));
    Ok(())
}

/// What the link of an offer offers.
#[server(endpoint = "transfer")]
pub async fn transfer(
    /// What the link carries.
    token: String,
) -> Result<TransferOffer, AppError> {
    use crate::context;
    Ok(context::backend()?.ticket_offer(&context::session()?, &token).await?)
}

/// Accepts an offer.
#[server(endpoint = "transfer-accept")]
pub async fn transfer_accept(
    /// What the link carries.
    token: String,
) -> Result<TicketId, AppError> {
    use crate::context;
    let ticket = context::backend()?.accept_ticket(&context::session()?, &token).await?;
    context::redirect_form(&format!("/tickets?ticket={ticket}"));
    Ok(ticket)
}

/// Declines an offer.
#[server(endpoint = "transfer-decline")]
pub async fn transfer_decline(
    /// What the link carries.
    token: String,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.decline_ticket(&context::session()?, &token).await?;
    context::redirect_form("/tickets?declined=1");
    Ok(())
}

/// Tickets with the drawings of their codes.
#[cfg(feature = "ssr")]
fn drawn(tickets: Vec<HeldTicket>) -> Result<Vec<TicketSheet>, AppError> {
    let draw = |ticket: HeldTicket| {
        if ticket.code.is_empty() || ticket.is_offered() {
            return Ok(TicketSheet { ticket, qr: None });
        }
        let (side, path) = super::qr::draw(&ticket.code)
            .map_err(|_| AppError::new(domain::Code::Internal, "a ticket's code doesn't fit into a QR code"))?;
        Ok(TicketSheet { ticket, qr: Some(Qr { side, path }) })
    };
    tickets.into_iter().map(draw).collect()
}
