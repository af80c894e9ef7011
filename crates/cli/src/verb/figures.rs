//! `muster figures`: what a process used in the last hour.

use api::ProcessFigures;

use super::Context;
use crate::failure::{Exit, Failure};
use crate::format::clean;
use crate::table::{Cell, TextTable};
use crate::target::ProcessOnHost;

pub const EXAMPLES: &str = "\
Examples:
  muster figures web/nginx
  muster figures web/nginx --host 10.0.0.1
  muster figures web/nginx --host 10.0.0.1 -o json | jq '.cpu | max'

Cpu and memory are percent of the whole machine. The agent keeps an hour; it begins anew when the agent
does. A row of bars begins an hour ago; a blank is a time when the process did not run.";

/// So many bars fit beside the other columns of a narrow terminal.
const BARS: usize = 40;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    process: ProcessOnHost,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let response = client.get(&args.process.path("figures"))?;
    out.response(response, |figures: ProcessFigures| {
        let host = clean(&figures.host.to_string());
        let mut table = TextTable::new("FIGURE|LAST HOUR|>NOW|>MEAN|>HIGHEST");
        let fd = figures.fd.iter().map(|fd| fd.map(f64::from)).collect();
        for (name, series, unit) in [
            ("cpu", figures.cpu, "%"),
            ("memory", figures.mem, "%"),
            ("descriptors", fd, ""),
        ] {
            table.row(row(name, &series, unit));
        }
        out.line(format!(
            "{} on {host}",
            clean(&args.process.name.to_string())
        ))?;
        out.table(&table)
    })?;
    Ok(Exit::Ok)
}

fn row(name: &str, series: &[Option<f64>], unit: &str) -> [Cell; 5] {
    let known: Vec<f64> = series.iter().copied().flatten().collect();
    let shown = |figure: Option<f64>| match figure {
        Some(figure) if unit.is_empty() => format!("{figure:.0}"),
        Some(figure) => format!("{figure:.1}{unit}"),
        None => "-".to_owned(),
    };
    let sum: f64 = known.iter().sum();
    let mean = (!known.is_empty()).then(|| sum / known.len() as f64);
    [
        Cell::from(name),
        bars(series).into(),
        shown(series.last().copied().flatten()).into(),
        shown(mean).into(),
        shown(known.iter().copied().reduce(f64::max)).into(),
    ]
}

/// Each bar is the highest of its part of the hour, from zero to the highest of all.
fn bars(series: &[Option<f64>]) -> String {
    let highest = series.iter().copied().flatten().fold(0.0, f64::max);
    let n_bars = series.len().min(BARS);
    let part = |bar: usize| {
        let (from, to) = (
            bar * series.len() / n_bars,
            (bar + 1) * series.len() / n_bars,
        );
        series[from..to].iter().copied().flatten().reduce(f64::max)
    };
    let bar = |figure: Option<f64>| match figure {
        None => ' ',
        Some(_) if highest <= 0.0 => LEVELS[0],
        Some(figure) => {
            let last = LEVELS.len() - 1;
            let level = (figure / highest * last as f64).round();
            LEVELS[(level.max(0.0) as usize).min(last)]
        }
    };
    (0..n_bars).map(|n| bar(part(n))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_reach_from_zero_to_the_highest_figure() {
        assert_eq!(bars(&[Some(0.0), None, Some(5.0), Some(10.0)]), "▁ ▅█");
        assert_eq!(bars(&[Some(0.0), Some(0.0)]), "▁▁");
        assert_eq!(bars(&[]), "");
        let many: Vec<Option<f64>> = (0..360).map(|n| Some(f64::from(n))).collect();
        let shown: Vec<char> = bars(&many).chars().collect();
        assert_eq!((shown.len(), shown[0], shown[39]), (BARS, '▁', '█'));
    }
}
