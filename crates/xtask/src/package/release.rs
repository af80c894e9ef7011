//! What all files of a release share: version, time, maintainer.

use std::process::Command;

use anyhow::Context;
use flate2::Compression;
use time::OffsetDateTime;

#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) version: String,
    pub(crate) maintainer: String,
    /// Seconds since 1970; every file gets it, so that the same source gives the same bytes.
    pub(crate) time: u64,
    is_fast: bool,
}

impl Release {
    pub(crate) fn new(version: String, is_fast: bool) -> anyhow::Result<Self> {
        let maintainer = std::env::var("MUSTER_PACKAGE_MAINTAINER");
        Ok(Self {
            version,
            maintainer: maintainer.unwrap_or_else(|_| "Muster <muster@packages.invalid>".into()),
            time: time()?,
            is_fast,
        })
    }

    pub(crate) fn compression(&self) -> Compression {
        match self.is_fast {
            true => Compression::fast(),
            false => Compression::best(),
        }
    }

    /// `Mon, 16 Nov 2026 18:00:00 +0000`
    pub(crate) fn rfc2822(&self) -> String {
        let seconds = i64::try_from(self.time).unwrap_or_default();
        let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (weekday, month) = (at.weekday().to_string(), at.month().to_string());
        format!(
            "{}, {:02} {} {} {:02}:{:02}:{:02} +0000",
            &weekday[..3],
            at.day(),
            &month[..3],
            at.year(),
            at.hour(),
            at.minute(),
            at.second()
        )
    }
}

/// `SOURCE_DATE_EPOCH`, else the time of the last commit.
fn time() -> anyhow::Result<u64> {
    if let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") {
        return text.parse().with_context(|| {
            format!("SOURCE_DATE_EPOCH must be seconds since 1970, not {text:?}")
        });
    }
    let output = Command::new("git")
        .args(["log", "-1", "--format=%ct"])
        .current_dir(super::ROOT)
        .output()
        .context("git cannot be run; set SOURCE_DATE_EPOCH instead")?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim()
        .parse()
        .context("git knows no commit here; set SOURCE_DATE_EPOCH instead")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_changelogs_want_them() {
        let release = Release {
            version: "1.2.3".into(),
            maintainer: String::new(),
            time: 1_700_000_000,
            is_fast: true,
        };
        assert_eq!(release.rfc2822(), "Tue, 14 Nov 2023 22:13:20 +0000");
    }
}
