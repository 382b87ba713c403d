//! What an element of a drawing hands on to those inside.
//!
//! Owns inheritance: of transforms, looks, the place that percentages are of, and what `data-…`
//! says of seats.

use kurbo::{Affine, Rect};
use roxmltree::Node;

use super::paint::{Declared, Look};
use super::shape;

/// What an element and those around it say of a place.
#[derive(Clone, Copy, Default)]
pub(super) struct Data<'a> {
    pub(super) section: Option<&'a str>,
    pub(super) row: Option<&'a str>,
    pub(super) category: Option<&'a str>,
    pub(super) kind: Option<&'a str>,
    pub(super) restricted: Option<&'a str>,
}

/// What an element hands on to those inside.
#[derive(Clone, Copy)]
pub(super) struct State<'a> {
    pub(super) affine: Affine,
    pub(super) look: Look,
    pub(super) data: Data<'a>,
    pub(super) viewport: (f64, f64),
    /// The seat or standing area that this is a part of.
    pub(super) place: Option<usize>,
    pub(super) references: usize,
}

/// What holds inside the element. A transform that can't be read is told, and taken as none.
pub(super) fn entered<'a>(
    node: Node<'a, '_>,
    name: &str,
    declared: Declared<'a>,
    parent: State<'a>,
    mut wrong: impl FnMut(String),
) -> State<'a> {
    let own = |name: &str| node.attribute(name).filter(|text| !text.trim().is_empty());
    let own_affine = transform(node, name, declared, parent.viewport).unwrap_or_else(|message| {
        wrong(message);
        Affine::IDENTITY
    });
    State {
        affine: parent.affine * own_affine,
        look: parent.look.with(declared),
        data: Data {
            section: own("data-section").or(parent.data.section),
            row: own("data-row").or(parent.data.row),
            category: own("data-category").or(parent.data.category),
            kind: own("data-type").or(parent.data.kind),
            restricted: node.attribute("data-restricted-view").or(parent.data.restricted),
        },
        ..parent
    }
}

fn transform(node: Node<'_, '_>, name: &str, declared: Declared<'_>, viewport: (f64, f64)) -> Result<Affine, String> {
    let Some(text) = declared.transform.or_else(|| node.attribute("transform")) else { return Ok(Affine::IDENTITY) };
    let affine = shape::transform(text)?;
    if declared.origin.is_none() && !declared.fill_box {
        return Ok(affine);
    }
    let bounds = if declared.fill_box {
        if !shape::is_shape(name) {
            return Err("transform-box: fill-box is read for shapes only".to_owned());
        }
        shape::figure(node, name, viewport)?.bounds(Affine::IDENTITY).unwrap_or_default()
    } else {
        Rect::from_origin_size((0.0, 0.0), viewport)
    };
    let about = shape::origin(declared.origin.unwrap_or("0 0"), bounds)?.to_vec2();
    Ok(Affine::translate(about) * affine * Affine::translate(-about))
}

/// What holds inside a nested `<svg>`, or a `<symbol>` that is drawn in a place of that size.
pub(super) fn viewport<'a>(
    node: Node<'a, '_>,
    name: &str,
    mut state: State<'a>,
    target: Option<(Option<f64>, Option<f64>)>,
) -> Result<State<'a>, String> {
    let (width, height) = state.viewport;
    let (over_width, over_height) = target.unwrap_or_default();
    let size = (
        over_width.or(shape::length(node, "width", width)?).unwrap_or(width),
        over_height.or(shape::length(node, "height", height)?).unwrap_or(height),
    );
    if name == "svg" {
        let x = shape::length(node, "x", width)?.unwrap_or(0.0);
        let y = shape::length(node, "y", height)?.unwrap_or(0.0);
        state.affine *= Affine::translate((x, y));
    }
    if let Some(view) = shape::view_box(node)? {
        state.affine *= shape::into_viewport(node, view, size);
        state.viewport = (view.width(), view.height());
    } else {
        state.viewport = size;
    }
    Ok(state)
}
