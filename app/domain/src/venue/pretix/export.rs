//! A plan as pretix JSON, valid by the schema.
//!
//! Owns the written form. What the format has no place for is named by [`losses`], never dropped
//! unsaid.

use serde::Serialize;
use serde_json::Value;

use super::walk::kind_in_words;
use crate::venue::finding::{Code, Finding};
use crate::venue::geometry::Point;
use crate::venue::plan::{Area, Plan, Row, RowNumberPosition, Seat, Shape};

#[derive(Serialize)]
struct PlanOut<'a> {
    name: &'a str,
    categories: Vec<CategoryOut<'a>>,
    zones: Vec<ZoneOut<'a>>,
    size: SizeOut,
}

#[derive(Serialize)]
struct SizeOut {
    width: Value,
    height: Value,
}

#[derive(Serialize)]
struct CategoryOut<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<&'a str>,
}

#[derive(Serialize)]
struct ZoneOut<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'a str>,
    position: PointOut,
    rows: Vec<RowOut<'a>>,
    areas: Vec<AreaOut<'a>>,
}

#[derive(Serialize)]
struct PointOut {
    x: Value,
    y: Value,
}

#[derive(Serialize)]
struct RowOut<'a> {
    row_number: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seat_label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_number_position: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'a str>,
    position: PointOut,
    seats: Vec<SeatOut<'a>>,
}

#[derive(Serialize)]
struct SeatOut<'a> {
    seat_guid: &'a str,
    seat_number: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_direction: Option<&'a str>,
    radius: Value,
    position: PointOut,
    category: &'a str,
}

#[derive(Serialize)]
struct AreaOut<'a> {
    shape: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    border_color: Option<&'a str>,
    rotation: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'a str>,
    position: PointOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    polygon: Option<PolygonOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rectangle: Option<SizeOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ellipse: Option<RadiiOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    circle: Option<RadiusOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOut<'a>>,
}

#[derive(Serialize)]
struct PolygonOut {
    points: Vec<PointOut>,
}

#[derive(Serialize)]
struct RadiiOut {
    radius: PointOut,
}

#[derive(Serialize)]
struct RadiusOut {
    radius: Value,
}

#[derive(Serialize)]
struct TextOut<'a> {
    text: &'a str,
    position: PointOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<&'a str>,
    size: Value,
}

/// A JSON number: whole ones without a decimal point, as the schema wants sizes.
pub(super) fn number(value: f64) -> Value {
    // 2^53: beyond, a float no longer tells neighbouring integers apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT { Value::from(value as i64) } else { Value::from(value) }
}

fn point(point: Point) -> PointOut {
    PointOut { x: number(point.x), y: number(point.y) }
}

/// Writes the plan. The result is valid by the schema, and importing it gives the same plan, but for
/// what [`losses`] names.
#[must_use]
pub fn export(plan: &Plan) -> String {
    let by_row = plan.seats_by_row();
    let mut zones: Vec<ZoneOut<'_>> = plan
        .sections
        .iter()
        .map(|section| ZoneOut {
            name: &section.name,
            zone_id: section.id.as_deref(),
            uuid: section.uuid.as_deref(),
            position: point(section.position),
            rows: Vec::new(),
            areas: Vec::new(),
        })
        .collect();
    for (row, seat_nos) in plan.rows.iter().zip(&by_row) {
        if let Some(zone) = zones.get_mut(usize::from(row.section)) {
            let words = words(plan, row, seat_nos);
            let seats = seat_nos.iter().filter_map(|seat_no| plan.seat(*seat_no));
            zone.rows.push(row_out(row, words, seats.map(|seat| seat_out(plan, seat)).collect()));
        }
    }
    for area in &plan.areas {
        if let Some(zone) = zones.get_mut(usize::from(area.section)) {
            zone.areas.push(area_out(area));
        }
    }
    let out = PlanOut {
        name: &plan.name,
        categories: plan
            .categories
            .iter()
            .map(|category| CategoryOut { name: &category.name, color: category.color.as_deref() })
            .collect(),
        zones,
        size: SizeOut { width: number(plan.size.width.ceil()), height: number(plan.size.height.ceil()) },
    };
    serde_json::to_string_pretty(&out).expect("plain structs of strings and numbers always serialise into memory")
}

/// The words for the row's seats: as written, else those that tell what all of its places are for.
fn words<'a>(plan: &Plan, row: &'a Row, seat_nos: &[u32]) -> Option<&'a str> {
    if row.seat_label.is_some() {
        return row.seat_label.as_deref();
    }
    let mut seats = seat_nos.iter().filter_map(|seat_no| plan.seat(*seat_no));
    let first = seats.next()?;
    let alike = seats.all(|seat| (seat.kind, seat.restricted_view) == (first.kind, first.restricted_view));
    if alike { first.kind.words(first.restricted_view) } else { None }
}

fn row_out<'a>(row: &'a Row, words: Option<&'a str>, seats: Vec<SeatOut<'a>>) -> RowOut<'a> {
    RowOut {
        row_number: &row.label,
        row_label: row.row_label.as_deref(),
        seat_label: words,
        row_number_position: row.number_position.map(|position| match position {
            RowNumberPosition::Start => "start",
            RowNumberPosition::End => "end",
            RowNumberPosition::Both => "both",
        }),
        uuid: row.uuid.as_deref(),
        position: point(row.position),
        seats,
    }
}

fn seat_out<'a>(plan: &'a Plan, seat: &'a Seat) -> SeatOut<'a> {
    SeatOut {
        seat_guid: &seat.guid,
        seat_number: &seat.label,
        uuid: seat.uuid.as_deref(),
        start_direction: seat.start_direction.as_deref(),
        radius: number(seat.radius),
        position: point(seat.local),
        category: plan.categories.get(usize::from(seat.category)).map_or("", |category| category.name.as_str()),
    }
}

fn area_out(area: &Area) -> AreaOut<'_> {
    let mut out = AreaOut {
        shape: "text",
        color: area.color.as_deref(),
        border_color: area.border_color.as_deref(),
        rotation: number(area.rotation),
        uuid: area.uuid.as_deref(),
        position: point(area.local),
        polygon: None,
        rectangle: None,
        ellipse: None,
        circle: None,
        text: area.text.as_ref().map(|text| TextOut {
            text: &text.text,
            position: point(text.local),
            color: text.color.as_deref(),
            size: number(text.size),
        }),
    };
    match &area.shape {
        Shape::Polygon(points) => {
            out.shape = "polygon";
            out.polygon = Some(PolygonOut { points: points.iter().copied().map(point).collect() });
        }
        Shape::Rectangle(size) => {
            out.shape = "rectangle";
            out.rectangle = Some(SizeOut { width: number(size.width), height: number(size.height) });
        }
        Shape::Ellipse(radii) => {
            out.shape = "ellipse";
            out.ellipse = Some(RadiiOut { radius: point(*radii) });
        }
        Shape::Circle(radius) => {
            out.shape = "circle";
            out.circle = Some(RadiusOut { radius: number(*radius) });
        }
        Shape::Text => {}
    }
    out
}

/// What the written form can't carry: properties set aside, and kinds of places that the words of
/// their row don't tell.
#[must_use]
pub fn losses(plan: &Plan) -> Vec<Finding> {
    let kept = plan.kept.iter().map(|kept| {
        let message = "set aside at import; the format has no place for it";
        Finding::new(Code::UnknownProperty, kept.path.clone(), message)
    });
    let by_row = plan.seats_by_row();
    let words: Vec<_> = plan.rows.iter().zip(&by_row).map(|(row, seats)| words(plan, row, seats)).collect();
    let kinds = plan.seats.iter().filter_map(|seat| {
        let words = *words.get(seat.row as usize)?;
        (kind_in_words(words) != (seat.kind, seat.restricted_view)).then(|| {
            let message = "the row's seat_label does not tell what the place is for";
            Finding::new(Code::UnknownValue, plan.path_of(seat), message)
        })
    });
    kept.chain(kinds).collect()
}
