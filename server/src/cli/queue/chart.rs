//! Draws a simulated run: four panels over one axis of time, on white, so that it reads in any theme.

use domain::queue::simulation::{Run, Sample, Scenario};
use plotters::coord::Shift;
use plotters::prelude::*;

/// Size of the drawing in pixels.
const SIZE: (u32, u32) = (960, 880);
/// Most points of a line: more than a pixel's worth of them only makes the file larger.
const POINTS_MAX: usize = 600;
const TITLE_PX: u32 = 15;
const LABEL_PX: u32 = 12;
/// Room for the largest number beside the vertical axis, in pixels.
const NUMBERS_PX: u32 = 72;
/// Free space above the highest point, as a factor.
const HEADROOM: f64 = 1.1;

const TEXT: RGBColor = RGBColor(60, 60, 60);
const GRID: RGBColor = RGBColor(225, 225, 225);
/// Told apart in greyscale as well: the second is lighter.
const COLOURS: [RGBColor; 2] = [RGBColor(20, 60, 140), RGBColor(225, 130, 30)];

type Point = (f64, f64);

/// One panel: what it shows, and its lines with their names.
struct Panel {
    title: &'static str,
    lines: Vec<(&'static str, Vec<Point>)>,
}

/// The drawing as text.
pub(super) fn draw(scenario: &Scenario, run: &Run) -> anyhow::Result<String> {
    let panels = panels(scenario, run);
    let last_s = run.samples.last().map_or(1.0, seconds).max(1.0);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        for (area, panel) in root.split_evenly((panels.len(), 1)).iter().zip(&panels) {
            draw_panel(area, panel, last_s)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn panels(scenario: &Scenario, run: &Run) -> Vec<Panel> {
    let step = run.samples.len().div_ceil(POINTS_MAX).max(1);
    let line = |value: &dyn Fn(&Sample) -> f64| -> Vec<Point> {
        run.samples.iter().step_by(step).map(|sample| (seconds(sample), value(sample))).collect()
    };
    let house = f64::from(scenario.limits.shoppers_max);
    vec![
        Panel {
            title: "Places released, and seats available",
            lines: vec![
                ("released", line(&|sample| f64::from(sample.served))),
                ("seats", line(&|sample| f64::from(sample.available))),
            ],
        },
        Panel {
            title: "Shoppers inside, and their maximum",
            lines: vec![("inside", line(&|sample| f64::from(sample.shoppers))), ("maximum", line(&|_| house))],
        },
        Panel {
            title: "Places released a minute, smoothed",
            lines: vec![("pace", line(&|sample| f64::from(sample.pace_per_min)))],
        },
        Panel {
            title: "99th percentile of a hold, and its budget, in milliseconds",
            lines: vec![
                ("hold", line(&|sample| sample.hold_p99_ms)),
                ("budget", line(&|_| scenario.budgets.hold_p99_ms)),
            ],
        },
    ]
}

fn seconds(sample: &Sample) -> f64 {
    sample.at_ms as f64 / 1_000.0
}

fn draw_panel(area: &DrawingArea<SVGBackend<'_>, Shift>, panel: &Panel, last_s: f64) -> anyhow::Result<()> {
    let points = panel.lines.iter().flat_map(|(_, points)| points);
    let highest = points.map(|(_, value)| *value).fold(1.0, f64::max) * HEADROOM;
    let mut chart = ChartBuilder::on(area)
        .caption(panel.title, ("sans-serif", TITLE_PX).into_font().color(&TEXT))
        .margin(LABEL_PX / 2)
        .margin_right(LABEL_PX * 2)
        .x_label_area_size(LABEL_PX * 2)
        .y_label_area_size(NUMBERS_PX)
        .build_cartesian_2d(0.0..last_s, 0.0..highest)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(TRANSPARENT)
        .label_style(("sans-serif", LABEL_PX).into_font().color(&TEXT))
        .x_labels(10)
        .y_labels(5)
        .x_label_formatter(&|at_s| format!("{at_s:.0} s"))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    for (row, ((name, points), colour)) in panel.lines.iter().zip(COLOURS).enumerate() {
        chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
        // Names stand in the upper right corner, one under the other.
        let at = (last_s * 0.9, highest * (0.97 - 0.12 * row as f64));
        let style = ("sans-serif", LABEL_PX).into_font().color(&colour);
        chart.draw_series(std::iter::once(Text::new((*name).to_owned(), at, style)))?;
    }
    Ok(())
}
