//! The on-sale desk: live numbers, the map, charts, and the controls of a running sale.
//!
//! Numbers come from one polled object. Without JavaScript the page is complete and loads itself
//! anew; a control then asks for confirmation on a page of its own address.

pub mod api;
mod board;
#[cfg(feature = "ssr")]
mod chart;
mod controls;
mod door;
mod figures;
mod polling;

use super::frame::{Frame, Tab};
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::session::use_visitor;
use domain::organizer::Action;
use leptos::prelude::*;
use leptos_i18n::Locale as _;
use leptos_router::hooks::use_params_map;

/// The desk of one performance.
#[component]
pub fn DeskPage() -> impl IntoView {
    let (lang, visitor, params) = (lang(), use_visitor(), use_params_map());
    let id = move || params.read().get("id").unwrap_or_default();
    let desk = Resource::new(
        move || (id(), visitor.changes()),
        move |(id, _)| async move {
            let view = api::sale_desk(id.clone()).await?;
            // A chart that can't be drawn leaves the numbers.
            Ok::<_, crate::error::AppError>((view, api::sale_series(id, lang.as_str().to_owned()).await.ok()))
        },
    );
    view! {
        <Title text=td_string!(lang, desk.title)/>
        <Frame tab=Tab::Events needs=Action::ReadDesk>
            <Suspense>
                {move || Suspend::new(async move {
                    match desk.await {
                        Ok((view, charts)) => view! { <board::Board view charts/> }.into_any(),
                        Err(error) => {
                            let back = path(&id());
                            view! { <Failure error back/> }.into_any()
                        }
                    }
                })}
            </Suspense>
        </Frame>
    }
    .into_any()
}

/// The address of a desk.
fn path(performance: &str) -> String {
    format!("/organizer/performances/{performance}/desk")
}
