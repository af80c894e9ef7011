//! `muster hosts label`: sets and removes labels of hosts.

use std::collections::BTreeMap;

use api::{HostsLabelled, LabelHostsBody};
use serde_json::Value;

use crate::client::Path;
use crate::failure::{Exit, Failure};
use crate::format::{clean, counted, pairs};
use crate::table::{Cell, TextTable};
use crate::target::HostArgs;
use crate::verb::Context;

pub(super) const EXAMPLES: &str = "\
Examples:
  muster hosts label 10.0.0.1 10.0.0.2 zone=a rack=7
  muster hosts label 10.0.0.1 rack-                  remove a label
  muster hosts label 10.0.0.1 zone=b --overwrite     replace its value
  muster hosts label @hosts.txt zone=a               one host on each line
  muster hosts -l zone=a                             which hosts have it
  muster ps -l zone=a,tier=front                     and which processes

A process has the labels of its host, too, where it has no label of the same key.";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Hosts, as IP, CLOUD:IP, [IPV6], agent:ID or @FILE, and labels: KEY=VALUE sets, KEY- removes
    #[arg(value_name = "HOST|KEY=VALUE|KEY-", required = true)]
    words: Vec<String>,
    /// Replace values that a host has already
    #[arg(long)]
    overwrite: bool,
}

impl Args {
    fn body(&self) -> Result<LabelHostsBody, Failure> {
        let (mut hosts, mut labels) = (Vec::new(), BTreeMap::new());
        for word in &self.words {
            let (key, value) = match (word.split_once('='), word.strip_suffix('-')) {
                (Some((key, value)), _) => (key, Some(value.to_owned())),
                (None, Some(key)) => (key, None),
                (None, None) => {
                    hosts.push(word.clone());
                    continue;
                }
            };
            if key.is_empty() {
                return Err(Failure::usage(format!(
                    "{word:?} has no key: KEY=VALUE or KEY-"
                )));
            }
            if labels.insert(key.to_owned(), value).is_some() {
                return Err(Failure::usage(format!("the label {key} is given twice")));
            }
        }
        if hosts.is_empty() {
            return Err(Failure::usage(
                "which hosts? muster hosts label HOST KEY=VALUE",
            ));
        }
        if labels.is_empty() {
            return Err(Failure::usage(
                "which labels? KEY=VALUE sets one, KEY- removes one",
            ));
        }
        Ok(LabelHostsBody {
            hosts: Some(HostArgs { hosts }.read()?),
            labels: Some(labels),
            overwrite: self.overwrite.then_some(true),
        })
    }
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let (client, out) = (context.client()?, &context.out);
    let done: Value = client.post(&Path::new("label-hosts"), &args.body()?)?;
    if out.is_document() {
        out.document(&done)?;
        return Ok(Exit::Ok);
    }
    let done: HostsLabelled<'_> = crate::client::read(done)?;
    let mut table = TextTable::new("HOST|~LABELS");
    for row in &done.hosts {
        let host = clean(&row.host.to_string());
        table.row([Cell::from(host), pairs(&row.labels, ",").into()]);
    }
    out.table_or(&table, "no hosts")?;
    out.note(format!(
        "{} changed of {}",
        done.changed,
        counted(done.count, "host")
    ));
    Ok(Exit::Ok)
}
