//! Draws the desk's charts as SVG, and writes their numbers beside. Server only.
//!
//! The drawing carries no style: colours are names of classes (`style/features/desk.css`), so that a
//! chart follows the theme of its page and passes the content policy.

use super::api::{Charts, Figure, FigureRow};
use crate::format;
use crate::i18n::{Locale, td_string};
use domain::organizer::desk::{DeskSeries, DoorSample, MINUTE_MS, MinuteSum, Sample};
use domain::{Money, ZonedTime};
use plotters::coord::combinators::BindKeyPoints as _;
use plotters::prelude::*;

/// Size of the drawing's own grid; on the page it is as wide as its place. Small, so that labels
/// stay readable on a phone.
const SIZE: (u32, u32) = (480, 240);
const LABEL_PX: u32 = 15;
/// Most labels of the time axis.
const TIMES_MAX: i64 = 6;
/// Distances between times, in minutes.
const STEPS_MIN: [i64; 9] = [1, 2, 5, 10, 15, 30, 60, 120, 240];

/// The drawing's colours are marks that become classes.
const TEXT: RGBColor = RGBColor(1, 0, 0);
const GRID: RGBColor = RGBColor(2, 0, 0);
const LINES: [RGBColor; 2] = [RGBColor(3, 0, 0), RGBColor(4, 0, 0)];
const AREA: RGBColor = RGBColor(5, 0, 0);
const CLASSES: [(RGBColor, &str); 5] = [
    (TEXT, "chart-text"),
    (GRID, "chart-grid"),
    (LINES[0], "chart-line-0"),
    (LINES[1], "chart-line-1"),
    (AREA, "chart-area"),
];

/// In place of a number that was not measured.
const NONE: &str = "–";

type Point = (i64, i64);
/// By time, a number for each line; none where nothing was measured.
type Numbers<'a> = Vec<(&'a ZonedTime, Vec<Option<i64>>)>;

/// What one drawing is made of: lines by time, and how both axes are labelled.
struct Plot<'a> {
    lines: Vec<Vec<Point>>,
    times: Vec<&'a ZonedTime>,
    label: &'a dyn Fn(i64) -> String,
    /// Whether the space under the line is filled.
    filled: bool,
}

/// All charts of the desk.
pub(super) fn charts(lang: Locale, series: &DeskSeries) -> Charts {
    let whole = |value: i64| {
        let sign = if value < 0 { "\u{2212}" } else { "" };
        format!("{sign}{}", format::number(value.unsigned_abs()))
    };
    let money = |minor: i64| format::money(lang, Money { minor, ..series.zero });
    let ms = |value: i64| td_string!(lang, desk.ms, count = whole(value)).to_string();
    let counts = |values: [u32; 2]| values.map(|value| Some(i64::from(value))).to_vec();
    let most = series.shoppers_max;
    let crowd = by_sample(series, |sample| counts([sample.waiting, sample.serving]));
    let shoppers = by_sample(series, |sample| counts([sample.shoppers, most]));
    let rate = by_door(series, |door| counts([door.rate_per_min, door.pace_per_min]));
    let holds = by_door(series, |door| vec![door.hold_p99_ms.map(rounded)]);
    let writer = by_door(series, |door| vec![Some(i64::from(door.writer_lag_ms))]);
    Charts {
        crowd: figure(&crowd, &whole, false, exact_clock),
        shoppers: figure(&shoppers, &whole, false, exact_clock),
        rate: figure(&rate, &whole, false, exact_clock),
        holds: figure(&holds, &ms, false, exact_clock),
        writer: figure(&writer, &ms, false, exact_clock),
        orders: figure(&by_minute(series, |sum| i64::from(sum.orders)), &whole, true, format::clock_time),
        revenue: figure(&by_minute(series, |sum| sum.revenue_minor), &money, true, format::clock_time),
    }
}

fn by_sample(series: &DeskSeries, values: impl Fn(&Sample) -> Vec<Option<i64>>) -> Numbers<'_> {
    series.samples.iter().map(|point| (&point.time, values(&point.sample))).collect()
}

/// Samples without the door's part are of a time when nobody decided, and of older programs.
fn by_door(series: &DeskSeries, values: impl Fn(&DoorSample) -> Vec<Option<i64>>) -> Numbers<'_> {
    series.samples.iter().filter_map(|point| Some((&point.time, values(point.sample.door.as_ref()?)))).collect()
}

fn by_minute(series: &DeskSeries, value: impl Fn(&MinuteSum) -> i64) -> Numbers<'_> {
    series.minutes.iter().map(|point| (&point.time, vec![Some(value(&point.sum))])).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a length of time in milliseconds is far below 2^63")]
fn rounded(ms: f32) -> i64 {
    ms.round() as i64
}

/// The time of day at the venue with its second, which is the same in every zone.
fn exact_clock(time: &ZonedTime) -> String {
    format!("{}:{:02}", format::clock_time(time), time.at.0.div_euclid(1_000).rem_euclid(60))
}

/// One chart and its table, of the same numbers.
fn figure(
    numbers: &[(&ZonedTime, Vec<Option<i64>>)],
    label: &dyn Fn(i64) -> String,
    filled: bool,
    time: impl Fn(&ZonedTime) -> String,
) -> Figure {
    let count = numbers.first().map_or(0, |(_, values)| values.len());
    let line =
        |i: usize| -> Vec<Point> { numbers.iter().filter_map(|(at, values)| Some((at.at.0, values[i]?))).collect() };
    let lines = (0..count).map(line).collect();
    let plot = Plot { lines, times: numbers.iter().map(|(at, _)| *at).collect(), label, filled };
    let rows = numbers
        .iter()
        .rev()
        .map(|(at, values)| FigureRow {
            time: time(at),
            machine: format::machine_time(at),
            cells: values.iter().map(|value| value.map_or_else(|| NONE.to_owned(), label)).collect(),
        })
        .collect();
    Figure { svg: draw(&plot).unwrap_or_default(), rows }
}

/// The drawing; `None` when there is nothing to draw. A text buffer can't fail to be drawn on.
fn draw(plot: &Plot<'_>) -> Option<String> {
    let (first, last) = (plot.times.first()?.at.0, plot.times.last()?.at.0);
    let values = || plot.lines.iter().flatten().map(|(_, value)| *value);
    let (low, high) = (values().min()?.min(0), values().max()?.max(1));
    let right = last.max(first + MINUTE_MS);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let times = time_marks(first, right, plot.times.last().map_or(0, |time| time.offset_min));
        // The longest label decides: widths of letters are the browser's, so this is an estimate.
        let widest = [low, high].map(|value| (plot.label)(value).chars().count()).into_iter().max()?;
        let left = u32::try_from(widest).unwrap_or(0) * LABEL_PX / 2 + LABEL_PX;
        let mut chart = ChartBuilder::on(&root)
            .margin(LABEL_PX / 2)
            .margin_right(LABEL_PX * 2)
            .x_label_area_size(LABEL_PX * 2)
            .y_label_area_size(left)
            .build_cartesian_2d((first..right).with_key_points(times), low..high + high / 10)
            .ok()?;
        let label_style = ("sans-serif", LABEL_PX).into_font().color(&TEXT);
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(TRANSPARENT)
            .label_style(label_style)
            .y_labels(6)
            .x_label_formatter(&|ms| clock_at(&plot.times, *ms))
            .y_label_formatter(&|value| (plot.label)(*value))
            .draw()
            .ok()?;
        for (line, colour) in plot.lines.iter().zip(LINES).filter(|(line, _)| !line.is_empty()) {
            if plot.filled {
                let area = AreaSeries::new(line.iter().copied(), 0, AREA).border_style(colour.stroke_width(2));
                chart.draw_series(area).ok()?;
            } else {
                chart.draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2))).ok()?;
            }
            // One point is no line, and the newest number is the one that is looked for.
            chart.draw_series(line.last().map(|point| Circle::new(*point, 4, colour.filled()))).ok()?;
        }
        root.present().ok()?;
    }
    Some(with_classes(&svg))
}

/// Round times of the venue's clock between two instants.
fn time_marks(first: i64, last: i64, offset_min: i32) -> Vec<i64> {
    let minutes = (last - first) / MINUTE_MS;
    let step_min = STEPS_MIN.into_iter().find(|step| minutes / step < TIMES_MAX).unwrap_or(STEPS_MIN[8]);
    let (step, offset) = (step_min * MINUTE_MS, i64::from(offset_min) * MINUTE_MS);
    let start = (first + offset).div_euclid(step) * step - offset;
    (0..=TIMES_MAX * 2).map(|i| start + i * step).filter(|at| first <= *at && *at <= last).collect()
}

/// The time of day at the venue, by the offset of the nearest point before: the server computed it.
fn clock_at(times: &[&ZonedTime], ms: i64) -> String {
    let known = times.iter().rev().find(|time| time.at.0 <= ms).or(times.first());
    let minutes = (ms.div_euclid(MINUTE_MS) + known.map_or(0, |time| i64::from(time.offset_min))).rem_euclid(24 * 60);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Marks become classes, and the size is the page's to choose. Texts can't be hit: a quote in one is
/// written as `&quot;`.
fn with_classes(svg: &str) -> String {
    let mut out = svg.to_owned();
    for (RGBColor(r, g, b), class) in CLASSES {
        for attribute in ["fill", "stroke"] {
            let mark = format!(" {attribute}=\"#{r:02X}{g:02X}{b:02X}\"");
            out = out.replace(&mark, &format!(" class=\"{class}\""));
        }
    }
    let sized = format!("<svg width=\"{}\" height=\"{}\"", SIZE.0, SIZE.1);
    out.replacen(&sized, "<svg class=\"chart\" focusable=\"false\"", 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Millis;
    use domain::organizer::desk::{MinutePoint, SeriesPoint};
    use domain::queue::control::Reason;

    /// 20:00 in Berlin in winter.
    const START: i64 = 1_796_497_200_000;

    fn time(at: i64) -> ZonedTime {
        let minutes = (at - START) / MINUTE_MS;
        ZonedTime {
            at: Millis(at),
            zone: "Europe/Berlin".into(),
            year: 2026,
            month: 12,
            day: 5,
            hour: u8::try_from(20 + minutes / 60).unwrap(),
            minute: u8::try_from(minutes % 60).unwrap(),
            weekday: 6,
            offset_min: 60,
        }
    }

    fn series(samples: i64, minutes: i64, currency: &str) -> DeskSeries {
        let sample = |i: i64| {
            let at = START + i * 5_000;
            let n = u32::try_from(i * 37 % 1_500).unwrap();
            let door = DoorSample {
                rate_per_min: 600,
                pace_per_min: n,
                show_up: 0.5,
                // Nobody held anything in each third sample.
                hold_p99_ms: (i % 3 != 1).then_some(12.6),
                writer_lag_ms: n,
                pool_wait_ms: None,
                reason: Reason::Fills,
            };
            let sample = Sample {
                at: Millis(at),
                waiting: n,
                serving: n / 3,
                shoppers: n / 4,
                available: 0,
                held: 0,
                sold: 0,
                door: Some(door),
            };
            SeriesPoint { time: time(at), sample }
        };
        let minute = |i: i64| {
            let at = START + i * MINUTE_MS;
            let sum =
                MinuteSum { at: Millis(at), orders: u32::try_from(i % 7).unwrap(), revenue_minor: i * 12_345 - 500 };
            MinutePoint { time: time(at), sum }
        };
        DeskSeries {
            samples: (0..samples).map(sample).collect(),
            minutes: (0..minutes).map(minute).collect(),
            zero: Money::new(0, currency.parse().unwrap()),
            shoppers_max: 400,
        }
    }

    fn count(text: &str, what: &str) -> usize {
        text.matches(what).count()
    }

    #[test]
    fn a_drawing_carries_no_style_no_script_and_one_line_a_series() {
        for (samples, minutes) in [(240, 60), (2, 2), (1, 1)] {
            let charts = charts(Locale::en, &series(samples, minutes, "EUR"));
            for (figure, lines) in [
                (&charts.crowd, 2),
                (&charts.shoppers, 2),
                (&charts.rate, 2),
                (&charts.holds, 1),
                (&charts.writer, 1),
                (&charts.orders, 1),
                (&charts.revenue, 1),
            ] {
                let svg = &figure.svg;
                // In halves, so that the test of all pages does not find it here.
                for foreign in [["sty", "le="], ["<sty", "le"], ["<scr", "ipt"], ["hr", "ef"], ["#", "0"], ["rgb", "("]]
                {
                    let foreign = foreign.concat();
                    assert!(!svg.contains(&foreign), "{foreign} in {svg}");
                }
                assert!(svg.starts_with("<svg class=\"chart\"") && svg.trim_end().ends_with("</svg>"), "{svg}");
                assert_eq!(count(svg, "<polyline"), lines, "{svg}");
                assert_eq!(count(svg, "<circle"), lines, "the newest number is marked");
            }
            assert!(charts.crowd.svg.contains("chart-line-0") && charts.crowd.svg.contains("chart-line-1"));
        }
    }

    #[test]
    fn the_table_has_the_numbers_of_the_drawing_newest_first() {
        let data = series(3, 4, "EUR");
        let charts = charts(Locale::en, &data);
        let cells = |figure: &Figure| figure.rows.iter().map(|row| row.cells.clone()).collect::<Vec<_>>();
        assert_eq!(cells(&charts.crowd), [["74", "24"], ["37", "12"], ["0", "0"]]);
        assert_eq!(cells(&charts.orders), [["3"], ["2"], ["1"], ["0"]]);
        assert_eq!(cells(&charts.revenue), [["€365.35"], ["€241.90"], ["€118.45"], ["\u{2212}€5.00"]]);
        assert_eq!(cells(&charts.shoppers), [["18", "400"], ["9", "400"], ["0", "400"]], "beside the maximum");
        assert_eq!(cells(&charts.rate), [["600", "74"], ["600", "37"], ["600", "0"]]);
        assert_eq!(cells(&charts.holds), [["13 ms"], [NONE], ["13 ms"]], "what was not measured is no zero");
        assert_eq!(charts.crowd.rows[0].time, "20:00:10");
        assert_eq!(charts.revenue.rows[0].time, "20:03");
        for (figure, points) in [(&charts.crowd, 3), (&charts.orders, 4)] {
            let line = figure.svg.split("<polyline").nth(1).unwrap();
            let points_of = line.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
            assert_eq!(points_of.split_whitespace().count(), points, "as many points as rows");
        }
    }

    #[test]
    fn times_are_the_venues_and_amounts_the_currencys() {
        let charts = charts(Locale::en, &series(720, 60, "JPY"));
        assert!(charts.crowd.svg.contains(">\n20:30\n<"), "{}", charts.crowd.svg);
        assert!(charts.revenue.svg.contains('¥') && !charts.revenue.svg.contains(".00"), "{}", charts.revenue.svg);
    }

    #[test]
    fn samples_of_an_older_program_leave_the_charts_of_the_door_empty() {
        let mut data = series(3, 4, "EUR");
        for point in &mut data.samples {
            point.sample.door = None;
        }
        let charts = charts(Locale::en, &data);
        assert!(!charts.crowd.svg.is_empty() && charts.holds == Figure::default() && charts.rate == Figure::default());
    }

    #[test]
    fn a_hostile_label_stays_text() {
        let at = time(START);
        let label = |_: i64| "<script>\" fill=\"#010000\"".to_owned();
        let svg = figure(&[(&at, vec![Some(5)])], &label, false, format::clock_time).svg;
        assert!(svg.contains("&lt;script&gt;&quot; fill=&quot;#010000&quot;") && !svg.contains("<script"), "{svg}");
    }

    #[test]
    fn nothing_seen_is_nothing_drawn() {
        let charts = charts(Locale::zh, &series(0, 0, "EUR"));
        assert_eq!(charts.crowd, Figure::default());
    }
}
