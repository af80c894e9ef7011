//! Parses `${value | filters}`.

use super::{Filter, Output};
use crate::error::{Problem, Result};
use crate::place::Place;
use crate::python;
use crate::python::ast::{Expr, ExprKind};

pub(super) fn output(place: Place, source: &str, filters: &str) -> Result<Output> {
    let begin = place.after("${");
    let value = if source.trim().is_empty() {
        None
    } else {
        Some(python::value(source, begin)?)
    };
    let blanks = filters.len() - filters.trim_start().len();
    let behind = begin.after(source).after("|").after(&filters[..blanks]);
    let named = python::values(filters.trim(), behind)?;
    let plain = named.iter().any(|filter| is_name(filter, "n"));
    if plain && value.is_none() {
        return Err(Problem::syntax(
            place,
            "there is nothing to write between \"${\" and \"}\"",
        ));
    }
    let mut found = Vec::new();
    if !plain {
        found.push(Filter::Str);
    }
    for filter in named {
        found.extend(parse_filter(filter)?);
    }
    Ok(Output {
        place,
        value,
        filters: found,
    })
}

fn is_name(value: &Expr, wanted: &str) -> bool {
    matches!(&value.kind, ExprKind::Name(name) if &**name == wanted)
}

fn parse_filter(filter: Expr) -> Result<Option<Filter>> {
    let place = filter.place;
    if let ExprKind::Attribute(owner, _) = &filter.kind
        && is_name(owner, "decode")
    {
        return Ok(Some(Filter::Decode));
    }
    let ExprKind::Name(name) = &filter.kind else {
        // Mako appends the call to the filter text: "a or b" would become "a or b(value)".
        return match &filter.kind {
            ExprKind::Attribute(..) => Ok(Some(Filter::Call(filter))),
            ExprKind::Call(callee, _)
                if matches!(callee.kind, ExprKind::Name(_) | ExprKind::Attribute(..)) =>
            {
                Ok(Some(Filter::Call(filter)))
            }
            _ => Err(Problem::forbidden(
                place,
                "a filter is a name or a call in templates",
            )),
        };
    };
    Ok(Some(match &**name {
        "n" => return Ok(None),
        "h" => Filter::Html,
        "x" => Filter::Xml,
        "u" => Filter::Url,
        "trim" => Filter::Trim,
        "str" | "unicode" => Filter::Str,
        "entity" | "decode" => {
            return Err(Problem::unavailable(&format!("filter \"{name}\"")).at(place));
        }
        _ => Filter::Call(filter),
    }))
}
