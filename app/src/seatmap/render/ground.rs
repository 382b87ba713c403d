//! What lies below the seats: areas, and sections as a whole.

use super::{Painter, View, fill_share};
use crate::seatmap::chart::Chart;
use crate::seatmap::house::House;
use crate::seatmap::paths::is_stage;
use crate::seatmap::stamps::colour_of;
use domain::venue::Point;
use domain::venue::camera::Detail;
use web_sys::CanvasWindingRule;

impl Painter {
    pub(super) fn paint_areas(&self, chart: &Chart, view: &View) {
        self.plan_transform(view);
        let context = &self.context;
        context.set_line_width(1.0 / view.camera.scale);
        context.set_stroke_style_str(&self.theme.line);
        for (path, stage) in &self.areas {
            if *stage {
                context.set_fill_style_str(&self.theme.stage);
                context.fill_with_path_2d(path);
            } else {
                context.set_global_alpha(0.22);
                context.set_fill_style_str(&self.theme.line);
                context.fill_with_path_2d(path);
                context.set_global_alpha(1.0);
                context.stroke_with_path(path);
            }
        }
        context.set_text_align("center");
        context.set_text_baseline("middle");
        let focal = chart.focal_point();
        for area in chart.areas() {
            let Some(text) = &area.text else { continue };
            let size = text.size * view.camera.scale * view.ratio;
            if size < 7.0 * view.ratio {
                continue;
            }
            let ink = if is_stage(area, focal) { &self.theme.stage_label } else { &self.theme.label };
            context.set_fill_style_str(ink);
            // In steps: every new size makes the browser raster its letters anew.
            let size = if size > 24.0 { (size / 4.0).round() * 4.0 } else { size.round() };
            context.set_font(&format!("600 {size}px {}", self.theme.font));
            self.transform(1.0, text.rotation.to_radians(), view.device(Point::new(text.center[0], text.center[1])));
            drop(context.fill_text(&text.text, 0.0, 0.0));
        }
    }

    /// Sections: filled by price and availability from far, a hairline when their seats are seen. A
    /// standing area that is drawn as one is filled from near, too.
    pub(super) fn paint_blocks(&self, house: &House, view: &View, level: Detail) {
        self.plan_transform(view);
        let context = &self.context;
        context.set_line_width(1.0 / view.camera.scale);
        context.set_stroke_style_str(&self.theme.line);
        let seen = view.camera.visible(view.viewport);
        let blocks = house.chart().blocks().iter().zip(house.tallies()).zip(&self.blocks).enumerate();
        for (index, ((block, tally), path)) in blocks.filter(|(_, ((block, _), _))| block.bounds.touches(seen)) {
            let as_one = level == Detail::Sections || (view.areas_whole && house.chart().pit_of_block(index).is_some());
            if as_one && tally.free > 0 {
                context.set_global_alpha(fill_share(tally, block.seats));
                context.set_fill_style_str(&self.theme.zones[usize::from(colour_of(tally.main_zone()))]);
                context.fill_with_path_2d_and_winding(path, CanvasWindingRule::Evenodd);
                context.set_global_alpha(1.0);
            }
            context.stroke_with_path(path);
        }
    }
}
