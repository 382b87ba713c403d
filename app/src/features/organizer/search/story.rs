//! One order on one page: what it is, one line of time, and the evidence by kind.

use super::super::documents::{OrderDocuments, api as documents_api};
use super::super::frame::{Frame, Tab, may, role_name};
use super::super::members::Trail;
use super::sections::{Attempts, Mails, Refunds, Seats, Tickets, Webhooks};
use super::words::{event_text, moment_text, shape};
use super::{api, short_id};
use crate::components::raw_text::Title;
use crate::components::{missing::Failure, order_status::status_text};
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::document::Issued;
use domain::order::OrderStatus;
use domain::organizer::Action;
use domain::organizer::search::{Moment, OrderStory, StoryHead, What};
use domain::{OrderId, ZonedTime};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

/// One order, told in full.
#[component]
pub fn OrderPage() -> impl IntoView {
    let params = use_params_map();
    let id = move || params.read().get("id").unwrap_or_default();
    let story = Resource::new(id, api::organizer_order);
    let documents = Resource::new(id, |id| async move {
        match id.parse::<OrderId>() {
            Ok(id) => documents_api::organizer_order_documents(id).await,
            Err(_) => Ok(Vec::new()),
        }
    });
    view! {
        <Frame tab=Tab::Orders>
            <Suspense>
                {move || Suspend::new(async move {
                    let documents = documents.await;
                    match story.await {
                        Ok(story) => view! { <Story story documents/> }.into_any(),
                        Err(error) => {
                            let back = format!("/organizer/orders/{}", id());
                            view! { <Failure error back/> }.into_any()
                        }
                    }
                })}
            </Suspense>
        </Frame>
    }
    .into_any()
}

#[component]
fn Story(story: OrderStory, documents: Result<Vec<Issued>, AppError>) -> impl IntoView {
    let lang = lang();
    let moments = story.timeline();
    let OrderStory {
        head,
        items,
        attempts,
        webhooks,
        webhooks_left_out,
        refunds,
        set_aside,
        tickets,
        mails,
        notes,
        ..
    } = story;
    let title = td_string!(lang, search.order, id = short_id(head.id));
    let (charges, total, status, quiet) = (head.charges.clone(), head.total, head.status.as_str(), notes.is_empty());
    view! {
        <Title text=title/>
        <article class="story" data-testid="order-story" data-status=status>
            <Head head/>
            <div class="story-columns">
                <section class="story-time" aria-labelledby="story-time">
                    <h2 id="story-time">{td_string!(lang, search.timeline)}</h2>
                    <ol class="moments">
                        {moments.into_iter().map(|moment| view! { <li><Point moment/></li> }).collect_view()}
                    </ol>
                </section>
                <div class="story-parts">
                    <Seats items charges total/>
                    <Tickets tickets/>
                    <Attempts attempts/>
                    <Refunds refunds set_aside/>
                    <OrderDocuments list=documents/>
                    <Mails mails/>
                    <Webhooks webhooks more=webhooks_left_out/>
                    <section class="story-part">
                        <h2>{td_string!(lang, search.notes)}</h2>
                        {quiet.then(|| view! { <p class="quiet">{td_string!(lang, search.notes_none)}</p> })}
                        <Trail rows=notes/>
                    </section>
                </div>
            </div>
        </article>
    }
    .into_any()
}

#[component]
fn Head(head: StoryHead) -> impl IntoView {
    let lang = lang();
    let of_fan = format!("/organizer/orders?text={}", address_in_query(&head.email));
    let gives_back = matches!(head.status, OrderStatus::Paid | OrderStatus::Fulfilled) && may(Action::AskRefunds);
    let refund = gives_back.then(|| format!("/organizer/orders/{}/refund", head.id));
    let fact = |name: &'static str, time: Option<ZonedTime>| {
        time.map(|time| view! { <div><dt>{name}</dt><dd><At time/></dd></div> })
    };
    view! {
        <header class="story-head">
            <p class="overline"><a href="/organizer/orders">{td_string!(lang, search.title)}</a></p>
            <h1>{td_string!(lang, search.order, id = short_id(head.id))}</h1>
            <p class="story-state">
                <span class="order-status" data-status=head.status.as_str()>{status_text(lang, head.status)}</span>
                <b>{format::money(lang, head.total)}</b>
            </p>
            <p><code data-testid="order-id">{head.id.to_string()}</code></p>
            {refund.map(|href| view! {
                <p><a class="button" href=href data-testid="to-refund">{td_string!(lang, refunds.link)}</a></p>
            })}
        </header>
        <dl class="pairs story-facts">
            <div>
                <dt>{td_string!(lang, search.account)}</dt>
                <dd>
                    <a href=of_fan data-testid="account">{head.email}</a>
                    {head.role.map(|role| view! { " (" {role_name(lang, role)} ")" })}
                </dd>
            </div>
            <div>
                <dt>{td_string!(lang, search.performance)}</dt>
                <dd><a href=format!("/organizer/performances/{}", head.performance)>{head.artist} " · " {head.event}</a></dd>
            </div>
            <div><dt>{td_string!(lang, search.venue)}</dt><dd>{head.venue}</dd></div>
            <div>
                <dt>{td_string!(lang, search.starts)}</dt>
                <dd><time datetime=format::machine_time(&head.starts)>{format::moment(lang, &head.starts)}</time></dd>
            </div>
            {fact(td_string!(lang, search.ordered), Some(head.created))}
            {fact(td_string!(lang, search.expires), Some(head.expires))}
            {fact(td_string!(lang, search.paid), head.paid)}
            {fact(td_string!(lang, search.confirmed), head.confirmed)}
            {fact(td_string!(lang, search.released), head.released)}
        </dl>
    }
    .into_any()
}

/// An address inside of a query: what it must not contain as it is, is written by its bytes.
fn address_in_query(email: &str) -> String {
    email
        .bytes()
        .map(|b| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'@' => char::from(b).to_string(),
            _ => format!("%{b:02X}"),
        })
        .collect()
}

/// A time at the venue, to the second.
#[component]
pub(super) fn At(time: ZonedTime) -> impl IntoView {
    let lang = lang();
    view! { <time datetime=format::machine_time(&time)>{format::exact(lang, &time)}</time> }.into_any()
}

#[component]
fn Point(moment: Moment) -> impl IntoView {
    let lang = lang();
    let text = moment_text(lang, &moment.what);
    let detail = match &moment.what {
        What::Step(step) if step.from == step.to => None,
        What::Step(step) => Some(event_text(lang, &step.event).map_or_else(|| step.event.clone(), str::to_owned)),
        What::Did(_, who) => who.clone(),
        _ => None,
    };
    view! {
        <div class="moment" data-testid="moment" data-shape=shape(&moment.what)>
            <p class="moment-text">{text}</p>
            {detail.map(|detail| view! { <p class="quiet">{detail}</p> })}
            <p class="moment-time"><At time=moment.at/></p>
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::address_in_query;

    #[test]
    fn an_address_stays_one_value_of_a_query() {
        assert_eq!(address_in_query("ana+x&y=1#z@ex.org"), "ana%2Bx%26y%3D1%23z@ex.org");
        assert_eq!(address_in_query("安@例.org"), "%E5%AE%89@%E4%BE%8B.org");
    }
}
