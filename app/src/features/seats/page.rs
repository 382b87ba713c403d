//! The seat-map page: heading, house, basket. Its frame is rendered by the server.

use super::api;
use super::basket::Basket;
use super::canvas::HouseMap;
use super::kept::RoomKept;
use super::room::Room;
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::catalog::PerformanceView;
use domain::{Code, PerformanceId};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

async fn load(id: Option<PerformanceId>) -> Result<PerformanceView, AppError> {
    api::performance(id.ok_or_else(|| AppError::new(Code::NotFound, "id: a performance is expected"))?).await
}

/// Choosing seats on the map.
#[component]
pub fn SeatMapPage() -> impl IntoView {
    let params = use_params_map();
    let id = move || params.read().get("id").and_then(|id| id.parse::<PerformanceId>().ok());
    let performance = Resource::new(id, load);
    view! {
        <Suspense>
            {move || Suspend::new(async move {
                match performance.await {
                    Ok(view) => view! { <SeatMap view/> }.into_any(),
                    Err(error) => {
                        let back = id().map_or_else(|| "/".to_owned(), |id| format!("/performances/{id}/seats"));
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Suspense>
    }
    .into_any()
}

#[component]
fn SeatMap(view: PerformanceView) -> impl IntoView {
    let lang = lang();
    let title = td_string!(lang, seats.title);
    let evening = format!("{} · {} · {}", view.artist, view.venue, format::date_time(lang, &view.starts));
    let list = format!("/performances/{}/list", view.id);
    let heading = format!("{title} – {}", view.artist);
    let room = Room::new(view);
    room.start();
    view! {
        <Title text=heading/>
        <div class="seatmap" data-testid="seat-map-page">
            <header class="seatmap-head">
                <h1>{title}</h1>
                <p>{evening}</p>
                <a href=list data-testid="to-list">{td_string!(lang, seats.to_list)}</a>
                <RoomKept room/>
            </header>
            <HouseMap room/>
            <Basket room/>
        </div>
    }
    .into_any()
}
