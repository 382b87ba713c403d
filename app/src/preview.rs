use crate::i18n::I18nContextProvider;
use crate::features::{home, event, queue, orders};
use domain::{*, catalog::*, queue::*, order::*};
use leptos::prelude::*;
use leptos_router::{components::Router, location::RequestUrl};

fn z(day: u8, month: u8, wd: u8, h: u8) -> ZonedTime { ZonedTime { at: Millis(1_796_497_200_000), zone: "Europe/Berlin".into(), year: 2026, month, day, hour: h, minute: 0, weekday: wd, offset_min: 60 } }
fn eur(m: i64) -> Money { Money::new(m, "EUR".parse().unwrap()) }
fn uid(n: u128) -> uuid::Uuid { uuid::Uuid::from_u128(n) }

fn page(name: &str, lang: &'static str, body: impl FnOnce() -> AnyView + Send + 'static) {
    let owner = Owner::new();
    let html = owner.with(|| {
        provide_context(RequestUrl::new("/x"));
        leptos_meta::provide_meta_context();
        let opts = leptos_i18n::context::UseLocalesOptions::default().ssr_lang_header_getter(move || Some(lang.to_owned()));
        view! { <I18nContextProvider enable_cookie=false ssr_lang_header_getter=opts><Inner body=Box::new(body)/></I18nContextProvider> }.to_html()
    });
    let head = std::fs::read_to_string("/tmp/npmf/head.html").unwrap();
    std::fs::write(format!("/tmp/npmf/prev/{name}.html"), head.replace("LANG", lang) + "<main id=main>" + &html + "</main>" + "<footer class=footer><p>StarArena. Calm on-sales for loud nights.</p><form><button class=link type=button>中文</button></form></footer></body></html>").unwrap();
}
#[component]
fn Inner(body: Box<dyn FnOnce() -> AnyView + Send>) -> impl IntoView {
    crate::clock::provide();
    view! { <Router>{body()}</Router> }
}

#[test]
fn previews() {
    let card = |n: u128, artist: &str, title: &str, cover, phase, wd| EventCard { id: EventId(uid(n)), slug: "x".into(), title: title.into(), artist: artist.into(), venue: "Halle am Fluss".into(), city: "Berlin".into(), cover, starts: z(5, 12, wd, 20), from_price: Some(eur(4500)), phase, opens: z(20, 11, 5, 10) };
    let cards = vec![card(1, "Mira Solenne", "The Long Light Tour", 0, Phase::Lobby, 6), card(2, "Vantablue", "Slow Machines, live", 1, Phase::Open, 5), card(3, "Ōkami Quartet", "Four seasons in nine rooms", 2, Phase::Announced, 7), card(4, "星河乐队", "2026 巡回演唱会", 3, Phase::Open, 6), card(5, "The Paper Moons", "Everything we kept", 4, Phase::Ended, 2), card(6, "Interference", "One night only", 5, Phase::Paused, 3)];
    for lang in ["en", "zh"] {
        let c = cards.clone();
        page(&format!("home-{lang}"), lang, move || home::preview(c).into_any());
        let row = |n: u128, phase, d, wd| PerformanceRow { id: PerformanceId(uid(n)), starts: z(d, 12, wd, 20), venue: "Halle am Fluss".into(), city: "Berlin".into(), phase, opens: z(20, 11, 5, 10), from_price: Some(eur(4500)), seats: 20000, stock: 13204 };
        let ev = EventView { id: EventId(uid(1)), slug: "x".into(), title: "The Long Light Tour".into(), artist: "Mira Solenne".into(), description: "Two hours, one voice, one lamp. Mira Solenne returns with the songs of her third record, played in the order they were written.\n\nDoors open at 18:30. The hall has level access at every entrance.".into(), cover: 0, performances: vec![row(1, Phase::Open, 4, 5), row(2, Phase::Lobby, 5, 6), row(3, Phase::Ended, 6, 7)] };
        page(&format!("event-{lang}"), lang, move || event::preview(ev).into_any());
        let perf = PerformanceView { id: PerformanceId(uid(1)), slug: "x".into(), title: "The Long Light Tour".into(), artist: "Mira Solenne".into(), cover: 0, venue: "Halle am Fluss".into(), city: "Berlin".into(), starts: z(5, 12, 6, 20), opens: z(20, 11, 5, 10), closes_at: Millis(0), zones: vec![], limit: 4, hold_ttl_ms: 1, map_digest: "x".into(), seat_count: 20000 };
        let status = |phase, lobby: Option<u32>, serving| QueueStatus { performance: perf.id, phase, now: Millis(0), opens_at: Millis(93_784_000), closes_at: Millis(0), joined: 48_213, lobby, commitment: "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925".into(), seed: lobby.map(|_| "07".repeat(32)), serving, rate_per_min: 900, stock: 13204, refresh_ms: 1000 };
        let me = account::Me { account: AccountId(uid(1)), email: "ana@example.org".into(), verified: true, role: None };
        for (n, st, me) in [("lobby", status(Phase::Lobby, None, 0), Some(me.clone())), ("waiting", status(Phase::Open, Some(48_213), 3000), Some(me.clone())), ("turn", status(Phase::Open, Some(48_213), 60000), Some(me.clone())), ("guest", status(Phase::Lobby, None, 0), None)] {
            let v = queue::api::RoomView { performance: perf.clone(), status: st, arrival: me.as_ref().map(|_| 12_000), me, nonce: "x".into() };
            page(&format!("queue-{n}-{lang}"), lang, move || queue::preview(v).into_any());
        }
        let item = |n, label: &str| OrderItem { seat: SeatNo(n), section: "Block 104".into(), row: "C".into(), label: label.into(), category: "Parkett".into(), price: eur(8900) };
        let order = |status, decline: Option<&str>| OrderView { id: OrderId(uid(1)), status, performance: perf.id, event: "The Long Light Tour".into(), artist: "Mira Solenne".into(), venue: "Halle am Fluss".into(), cover: 3, starts: z(5, 12, 6, 20), now: Millis(0), expires: Millis(872_000), items: vec![item(1, "11"), item(2, "12")], total: eur(17800), pay_url: Some("x".into()), decline: decline.map(Into::into), attempts: 1, tickets: vec![TicketView { id: TicketId(uid(1)), seat: SeatNo(1), code: "ABCDEFGH".repeat(21) }, TicketView { id: TicketId(uid(2)), seat: SeatNo(2), code: "BBCDEFGH".repeat(21) }] };
        page(&format!("checkout-{lang}"), lang, move || orders::preview(order(OrderStatus::PendingPayment, None)).into_any());
        page(&format!("decline-{lang}"), lang, move || orders::preview(order(OrderStatus::PendingPayment, Some("card_declined"))).into_any());
        page(&format!("closed-{lang}"), lang, move || orders::preview(order(OrderStatus::Closed, None)).into_any());
        page(&format!("ticket-{lang}"), lang, move || orders::preview_ticket(order(OrderStatus::Fulfilled, None)).into_any());
        page(&format!("signin-{lang}"), lang, move || view! { <crate::features::account::SignUpPage/> }.into_any());
    }
}
