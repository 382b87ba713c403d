//! Orders: the list, the checkout with its live status, the tickets, also those that changed hands, and giving
//! them back.

mod actions;
pub mod api;
mod checkout;
mod items;
mod list;
mod mine;
mod polling;
#[cfg(feature = "ssr")]
mod qr;
mod receipt;
pub mod refund;
mod status;
mod ticket;
pub mod tickets_api;
mod transfer;

pub use list::OrdersPage;
pub use mine::TicketsPage;
pub use receipt::ReceiptPage;
pub use refund::RefundPage;
pub use transfer::TransferPage;

use crate::clock::use_clock;
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::session::use_visitor;
use actions::Actions;
use checkout::Checkout;
use domain::order::{OrderStatus, OrderView};
use domain::refund::view::RefundOffer;
use items::{Head, Paid};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use receipt::ReceiptLink;
use refund::GivenBack;
use serde::{Deserialize, Serialize};
use status::{Closed, Issuing, Processing, Refunded};
use ticket::Tickets;
use tickets_api::TicketSheet;

/// How often a page without JavaScript loads itself anew while something is decided, in seconds.
const RELOAD_S: u32 = 3;

/// An order with what its page shows beside it. All of it is the page's own: what is asked for where it is shown
/// could come in another order in the browser than on the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Loaded {
    order: OrderView,
    /// Its tickets, once they are issued. Where they can't be had, the rest is shown.
    tickets: Option<Result<Vec<TicketSheet>, AppError>>,
    /// What can be given back, once something was paid that could be.
    offer: Option<Result<RefundOffer, AppError>>,
}

async fn load(id: String) -> Result<Loaded, AppError> {
    let order = api::order(id.clone()).await?;
    let (issued, gives_back) = (order.status == OrderStatus::Fulfilled, gives_back(order.status));
    let tickets = if issued { Some(tickets_api::order_qr(order.id).await) } else { None };
    let offer = if gives_back { Some(refund::api::order_refund_offer(id).await) } else { None };
    Ok(Loaded { order, tickets, offer })
}

/// Whether an order has tickets that could be given back, or were.
fn gives_back(status: OrderStatus) -> bool {
    matches!(status, OrderStatus::Fulfilled | OrderStatus::Refunded)
}

/// One order, from checkout to ticket.
#[component]
pub fn OrderPage() -> impl IntoView {
    let (lang, visitor, params) = (lang(), use_visitor(), use_params_map());
    let id = move || params.read().get("id").unwrap_or_default();
    let actions = Actions::new();
    let page = Resource::new(move || (id(), visitor.changes(), actions.changes()), |(id, ..)| load(id));
    let changed = Callback::new(move |()| page.refetch());
    view! {
        <Title text=td_string!(lang, orders.order)/>
        <Transition>
            {move || Suspend::new(async move {
                match page.await {
                    Ok(loaded) => view! { <Order loaded actions changed/> }.into_any(),
                    Err(error) => {
                        let back = format!("/orders/{}", id());
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Transition>
    }
    .into_any()
}

#[component]
fn Order(
    loaded: Loaded,
    actions: Actions,
    /// Reads the page anew.
    changed: Callback<()>,
) -> impl IntoView {
    let Loaded { order, tickets, offer } = loaded;
    let clock = use_clock();
    clock.measure();
    let (id, head) = (order.id, order.clone());
    let order = RwSignal::new(order);
    let offline = RwSignal::new(false);
    polling::start(order, offline);
    let status = Memo::new(move |_| order.with(|order| order.status));
    let undecided = move || matches!(status.get(), OrderStatus::PaymentProcessing | OrderStatus::Paid);
    // What follows a payment did not come with the page, where it was seen to end.
    Effect::new(move |before: Option<OrderStatus>| {
        let now = status.get();
        if before.is_some_and(|before| before != now) && gives_back(now) {
            changed.run(());
        }
        now
    });
    let (tickets, offer) = (StoredValue::new(tickets), StoredValue::new(offer));
    view! {
        <section class="order" data-testid="order" data-status=move || status.get().as_str()>
            <Head order=head/>
            {move || match status.get() {
                OrderStatus::PendingPayment => view! { <Checkout order offline/> }.into_any(),
                OrderStatus::PaymentProcessing => view! { <Processing order/> }.into_any(),
                OrderStatus::Paid => view! { <Issuing order/> }.into_any(),
                OrderStatus::Fulfilled => view! { <Tickets order=id list=tickets.get_value() actions/> <Paid order/> }.into_any(),
                OrderStatus::Refunded => view! { <Refunded order/> }.into_any(),
                OrderStatus::Closed | OrderStatus::Refused => view! { <Closed order/> }.into_any(),
            }}
            {move || gives_back(status.get()).then(|| view! { <GivenBack order=id offer=offer.get_value()/> })}
            <ReceiptLink order/>
            {move || undecided().then(|| {
                let refresh = format!("<meta http-equiv=\"refresh\" content=\"{RELOAD_S}\">");
                view! { <noscript inner_html=refresh></noscript> }
            })}
        </section>
    }
    .into_any()
}
