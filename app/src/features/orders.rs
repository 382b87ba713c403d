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
use crate::i18n::td_string;
use crate::lang::lang;
use crate::session::use_visitor;
use checkout::Checkout;
use domain::order::{OrderStatus, OrderView};
use items::{Head, Paid};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use receipt::ReceiptLink;
use refund::GivenBack;
use status::{Closed, Issuing, Processing, Refunded};
use ticket::Tickets;

/// How often a page without JavaScript loads itself anew while something is decided, in seconds.
const RELOAD_S: u32 = 3;

/// One order, from checkout to ticket.
#[component]
pub fn OrderPage() -> impl IntoView {
    let (lang, visitor, params) = (lang(), use_visitor(), use_params_map());
    let id = move || params.read().get("id").unwrap_or_default();
    let order = Resource::new(move || (id(), visitor.changes()), |(id, _)| api::order(id));
    view! {
        <Title text=td_string!(lang, orders.order)/>
        <Suspense>
            {move || Suspend::new(async move {
                match order.await {
                    Ok(order) => view! { <Order order/> }.into_any(),
                    Err(error) => {
                        let back = format!("/orders/{}", id());
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Suspense>
    }
    .into_any()
}

#[component]
fn Order(order: OrderView) -> impl IntoView {
    let clock = use_clock();
    clock.measure();
    let (id, head) = (order.id, order.clone());
    let order = RwSignal::new(order);
    let offline = RwSignal::new(false);
    polling::start(order, offline);
    let status = Memo::new(move |_| order.with(|order| order.status));
    let undecided = move || matches!(status.get(), OrderStatus::PaymentProcessing | OrderStatus::Paid);
    let gives_back = move || matches!(status.get(), OrderStatus::Fulfilled | OrderStatus::Refunded);
    view! {
        <section class="order" data-testid="order" data-status=move || status.get().as_str()>
            <Head order=head/>
            {move || match status.get() {
                OrderStatus::PendingPayment => view! { <Checkout order offline/> }.into_any(),
                OrderStatus::PaymentProcessing => view! { <Processing order/> }.into_any(),
                OrderStatus::Paid => view! { <Issuing order/> }.into_any(),
                OrderStatus::Fulfilled => view! { <Tickets order/> <Paid order/> }.into_any(),
                OrderStatus::Refunded => view! { <Refunded order/> }.into_any(),
                OrderStatus::Closed | OrderStatus::Refused => view! { <Closed order/> }.into_any(),
            }}
            {move || gives_back().then(|| view! { <GivenBack order=id/> })}
            <ReceiptLink order/>
            {move || undecided().then(|| {
                let refresh = format!("<meta http-equiv=\"refresh\" content=\"{RELOAD_S}\">");
                view! { <noscript inner_html=refresh></noscript> }
            })}
        </section>
    }
    .into_any()
}
