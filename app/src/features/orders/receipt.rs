//! The receipt of a paid order: the invoice with its number, or while that is being assigned without it, and
//! the credit notes. Made to be printed: that keeps it as a PDF, too.

use super::api;
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use crate::session::use_visitor;
use domain::document::{DocumentKind, Issued, Paper, PaperLine, Receipt, TaxRow};
use domain::money::fees::LineKind;
use domain::order::{OrderStatus, OrderView};
use domain::{Currency, Money, OrderId, ZonedTime};
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};

/// The way to the receipt, from an order that was paid.
#[component]
pub(super) fn ReceiptLink(order: RwSignal<OrderView>) -> impl IntoView {
    let lang = lang();
    let id = order.with_untracked(|order| order.id);
    let paid = Memo::new(move |_| {
        let status = order.with(|order| order.status);
        matches!(status, OrderStatus::Paid | OrderStatus::Fulfilled | OrderStatus::Refunded)
    });
    view! {
        <div class="receipt-link">
            {move || paid.get().then(|| view! {
                <a href=receipt_path(id, None) data-testid="to-receipt">{td_string!(lang, documents.to_receipt)}</a>
            })}
        </div>
    }
    .into_any()
}

/// Where a document of an order is.
fn receipt_path(order: OrderId, document: Option<&Issued>) -> String {
    match document.filter(|document| document.kind != DocumentKind::Invoice) {
        Some(document) => format!("/orders/{order}/receipt?document={}", document.id),
        None => format!("/orders/{order}/receipt"),
    }
}

/// The receipt of one order, or the document of it that the address names.
#[component]
pub fn ReceiptPage() -> impl IntoView {
    let (lang, visitor, params, query) = (lang(), use_visitor(), use_params_map(), use_query_map());
    let id = move || params.read().get("id").unwrap_or_default();
    let document = move || query.read().get("document");
    let receipt = Resource::new(
        move || (id(), document(), visitor.changes()),
        |(id, document, _)| api::order_receipt(id, document),
    );
    view! {
        <Title text=td_string!(lang, documents.receipt)/>
        <Suspense>
            {move || Suspend::new(async move {
                match receipt.await {
                    Ok(receipt) => view! { <Sheet receipt/> }.into_any(),
                    Err(error) => {
                        let back = format!("/orders/{}/receipt", id());
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Suspense>
    }
    .into_any()
}

#[component]
fn Sheet(receipt: Receipt) -> impl IntoView {
    let lang = lang();
    let Receipt { order, kind, issued, paper, paid, starts, others } = receipt;
    let numbered = issued.is_some();
    let total_name = match kind {
        DocumentKind::Invoice => td_string!(lang, documents.total),
        DocumentKind::CreditNote => td_string!(lang, documents.total_back),
    };
    let total = paper.total();
    let taxed = paper.totals.tax_minor != 0;
    let currency = paper.currency;
    let (lines, taxes) = (paper.lines.clone(), paper.taxes.clone());
    view! {
        <article class="paper" data-testid="receipt" data-kind=kind.as_str()>
            <p class="paper-tools"><a href=format!("/orders/{order}")>{td_string!(lang, documents.back)}</a></p>
            <Head kind issued of=paper.of.clone()/>
            {(!numbered).then(|| view! {
                <p class="paper-tools quiet" data-testid="assigning">
                    {td_string!(lang, documents.assigning_text)} " "
                    <a rel="external" href=receipt_path(order, None)>{td_string!(lang, documents.reload)}</a>
                </p>
            })}
            <Parties paper=paper.clone()/>
            <Facts paper paid starts/>
            <Lines lines taxed currency/>
            <dl class="paper-sums">
                {taxed.then(|| view! { <Taxes taxes currency/> })}
                <div class="paper-total">
                    <dt>{total_name}</dt>
                    <dd data-testid="receipt-total">{format::money(lang, total)}</dd>
                </div>
            </dl>
            <Others order others/>
            <p class="paper-tools quiet">{td_string!(lang, documents.print)}</p>
        </article>
    }
    .into_any()
}

/// What kind of document it is.
fn kind_name(lang: Locale, kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Invoice => td_string!(lang, documents.invoice),
        DocumentKind::CreditNote => td_string!(lang, documents.credit_note),
    }
}

#[component]
fn Head(kind: DocumentKind, issued: Option<Issued>, of: Option<String>) -> impl IntoView {
    let lang = lang();
    let title = if issued.is_some() { kind_name(lang, kind) } else { td_string!(lang, documents.receipt) };
    let date = issued.as_ref().map(|issued| issued.issued.clone());
    let number = issued.map_or_else(|| td_string!(lang, documents.assigning).to_owned(), |issued| issued.label);
    view! {
        <header class="paper-head">
            <h1>{title}</h1>
            <dl class="pairs">
                <div>
                    <dt>{td_string!(lang, documents.number)}</dt>
                    <dd data-testid="receipt-number">{number}</dd>
                </div>
                {date.map(|date| view! {
                    <div><dt>{td_string!(lang, documents.issued)}</dt><dd><At time=date/></dd></div>
                })}
                {of.map(|of| view! { <div><dt>{td_string!(lang, documents.of_invoice)}</dt><dd>{of}</dd></div> })}
            </dl>
        </header>
    }
    .into_any()
}

/// A moment with its distance from UTC.
#[component]
fn At(time: ZonedTime) -> impl IntoView {
    let lang = lang();
    view! { <time datetime=format::machine_time(&time)>{format::moment(lang, &time)}</time> }.into_any()
}

#[component]
fn Parties(paper: Paper) -> impl IntoView {
    let lang = lang();
    let address = paper.address.lines().map(|line| view! { <span>{line.to_owned()}</span> }).collect_view();
    let tax_id = (!paper.tax_id.is_empty()).then(|| td_string!(lang, documents.tax_id, number = paper.tax_id));
    view! {
        <div class="paper-parties">
            <section>
                <h2 class="overline">{td_string!(lang, documents.seller)}</h2>
                <p class="paper-party" data-testid="seller">
                    <b>{paper.seller}</b>
                    {address}
                    {tax_id.map(|text| view! { <span>{text}</span> })}
                </p>
            </section>
            <section>
                <h2 class="overline">{td_string!(lang, documents.buyer)}</h2>
                <p class="paper-party" data-testid="buyer"><b>{paper.buyer}</b></p>
            </section>
        </div>
    }
    .into_any()
}

#[component]
fn Facts(paper: Paper, paid: ZonedTime, starts: ZonedTime) -> impl IntoView {
    let lang = lang();
    view! {
        <dl class="pairs paper-facts">
            <div>
                <dt>{td_string!(lang, documents.performance)}</dt>
                <dd>{paper.artist} " · " {paper.event}</dd>
                <dd>{paper.venue} ", " {paper.city}</dd>
                <dd><At time=starts/></dd>
            </div>
            <div><dt>{td_string!(lang, documents.paid)}</dt><dd><At time=paid/></dd></div>
            <div><dt>{td_string!(lang, documents.provider)}</dt><dd data-testid="provider">{paper.provider}</dd></div>
        </dl>
    }
    .into_any()
}

fn line_name(lang: Locale, kind: Option<LineKind>) -> &'static str {
    match kind {
        Some(LineKind::Ticket) => td_string!(lang, documents.line_ticket),
        Some(LineKind::ServiceFee) => td_string!(lang, documents.line_service_fee),
        Some(LineKind::OrderFee) => td_string!(lang, documents.line_order_fee),
        None => td_string!(lang, documents.line_part),
    }
}

/// The lines as a table, on a phone as cards. Without any tax there is nothing to tell apart in amounts.
#[component]
fn Lines(lines: Vec<PaperLine>, taxed: bool, currency: Currency) -> impl IntoView {
    let lang = lang();
    let (net, tax, gross) =
        (td_string!(lang, documents.net), td_string!(lang, documents.tax), td_string!(lang, documents.gross));
    let rows = lines
        .into_iter()
        .map(|line| {
            let money = |minor| format::money(lang, Money::new(minor, currency));
            let seat = line.seat.map(|seat| {
                td_string!(lang, orders.seat_line, section = seat.section, row = seat.row, seat = seat.label)
            });
            let amounts = line.amounts;
            view! {
                <tr data-testid="receipt-line">
                    <th scope="row">
                        <b>{line_name(lang, line.kind)}</b>
                        {seat.map(|seat| view! { <span class="quiet">{seat}</span> })}
                    </th>
                    {taxed.then(|| view! {
                        <td data-label=net>{money(amounts.net_minor)}</td>
                        <td data-label=tax>{money(amounts.tax_minor)}</td>
                    })}
                    <td data-label=gross>{money(amounts.gross_minor)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <table class="paper-lines">
            <thead>
                <tr>
                    <th scope="col">{td_string!(lang, documents.what)}</th>
                    {taxed.then(|| view! { <th scope="col">{net}</th><th scope="col">{tax}</th> })}
                    <th scope="col">{gross}</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

#[component]
fn Taxes(taxes: Vec<TaxRow>, currency: Currency) -> impl IntoView {
    let lang = lang();
    let money = move |minor| format::money(lang, Money::new(minor, currency));
    taxes
        .into_iter()
        .map(|row| {
            let (tax, net) = (money(row.amounts.tax_minor), money(row.amounts.net_minor));
            view! {
                <div data-testid="tax-row">
                    <dt>{td_string!(lang, documents.tax_at, rate = row.rate.percent())}</dt>
                    <dd>{td_string!(lang, documents.tax_of, tax = tax, net = net)}</dd>
                </div>
            }
        })
        .collect_view()
        .into_any()
}

#[component]
fn Others(order: OrderId, others: Vec<Issued>) -> impl IntoView {
    let lang = lang();
    if others.is_empty() {
        return ().into_any();
    }
    view! {
        <section class="paper-others paper-tools">
            <h2>{td_string!(lang, documents.others)}</h2>
            <ul>
                {others
                    .into_iter()
                    .map(|other| {
                        let href = receipt_path(order, Some(&other));
                        view! {
                            <li data-testid="other-document" data-kind=other.kind.as_str()>
                                <a href=href>{kind_name(lang, other.kind)} " " {other.label}</a>
                                <span class="quiet"><At time=other.issued/></span>
                                <b>{format::money(lang, other.total)}</b>
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
        </section>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{DocumentId, Millis};

    #[test]
    fn the_invoice_is_the_receipt_and_notes_are_beside_it() {
        let id = "3f2a9c01-7b44-8e10-9d2c-0123456789ab";
        let order: OrderId = id.parse().unwrap();
        let issued = ZonedTime {
            at: Millis(0),
            zone: "UTC".to_owned(),
            year: 1970,
            month: 1,
            day: 1,
            hour: 0,
            minute: 0,
            weekday: 4,
            offset_min: 0,
        };
        let document = |kind| Issued {
            id: id.parse::<DocumentId>().unwrap(),
            kind,
            label: "SA-2026-000001".to_owned(),
            issued: issued.clone(),
            total: Money::new(1, "EUR".parse().unwrap()),
        };
        assert_eq!(receipt_path(order, None), format!("/orders/{id}/receipt"));
        assert_eq!(receipt_path(order, Some(&document(DocumentKind::Invoice))), format!("/orders/{id}/receipt"));
        let note = receipt_path(order, Some(&document(DocumentKind::CreditNote)));
        assert_eq!(note, format!("/orders/{id}/receipt?document={id}"));
    }
}
