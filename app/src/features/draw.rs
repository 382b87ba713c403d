//! The draw of a performance for everybody to check: what was published when, whether it fits together,
//! and the place that follows from any number. Works without JavaScript, and after the sale as well.
//!
//! People count from 1: the page shows numbers and places one higher than the facts and programs do, and
//! says so.

pub mod api;
mod checks;
mod facts;
mod recompute;

use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use api::DrawView;
use checks::{Checks, CommandLine};
use facts::{Numbers, Published};
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};
use recompute::{Asked, Recompute};

/// The page of the draw.
#[component]
pub fn DrawPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let id = move || params.read().get("id").unwrap_or_default();
    let view = Resource::new(id, api::read_draw);
    view! {
        <Suspense>
            {move || Suspend::new(async move {
                match view.await {
                    Ok(view) => {
                        let asked = Asked::of(query.read_untracked().get("arrival").as_deref());
                        view! { <Page view asked/> }.into_any()
                    }
                    Err(error) => {
                        let back = format!("/performances/{}/draw", params.read_untracked().get("id").unwrap_or_default());
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Suspense>
    }
    .into_any()
}

#[component]
fn Page(view: DrawView, asked: Asked) -> impl IntoView {
    let lang = lang();
    let DrawView { performance, facts, own, origin } = view;
    let title = td_string!(lang, draw.title);
    let queue = format!("/performances/{}/queue", performance.id);
    view! {
        <Title text=format!("{title} · {}", performance.artist)/>
        <article class="draw" data-testid="draw">
            <header class="draw-head">
                <p class="overline">{performance.artist.clone()}</p>
                <h1>{title}</h1>
                <p class="facts">
                    <time datetime=format::machine_time(&performance.starts)>{format::moment(lang, &performance.starts)}</time>
                    <span>{format!("{}, {}", performance.venue, performance.city)}</span>
                </p>
                <p><a href=queue rel="external">{td_string!(lang, draw.to_queue)}</a></p>
            </header>
            <section class="draw-how" aria-labelledby="how">
                <h2 id="how">{td_string!(lang, draw.how_title)}</h2>
                <p>{td_string!(lang, draw.how_commit)}</p>
                <p>{td_string!(lang, draw.how_freeze)}</p>
                <p>{td_string!(lang, draw.how_shuffle)}</p>
            </section>
            <Recompute facts=facts.clone() own asked/>
            <Checks facts=facts.clone()/>
            <Published facts=facts.clone() opens=performance.opens.clone()/>
            <Numbers facts=facts.clone() opens=performance.opens/>
            <CommandLine facts own origin/>
        </article>
    }
    .into_any()
}
