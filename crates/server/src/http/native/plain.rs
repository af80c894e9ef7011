//! Messages in plain words: the GSE dialects have texts of their own, which the store keeps and their clients know.

use std::borrow::Cow;

/// What the GSE dialects say about a host whose agent is not connected, before its address or its agent id.
const NO_CONNECTION_BY_IP: &str = "can not find connection by ip ";
const NO_CONNECTION_BY_ID: &str = "can not find connection by agent id ";

/// The message in the words of the native API.
pub(crate) fn plain(message: &str) -> Cow<'_, str> {
    let message = reworded(message, NO_CONNECTION_BY_IP, |ip| {
        format!("agent on {ip} is not connected")
    });
    match message {
        Cow::Borrowed(message) => reworded(message, NO_CONNECTION_BY_ID, |id| {
            format!("agent {id} is not known")
        }),
        Cow::Owned(message) => Cow::Owned(message),
    }
}

fn reworded<'a>(
    message: &'a str,
    phrase: &str,
    words: impl FnOnce(&str) -> String,
) -> Cow<'a, str> {
    let Some((before, rest)) = message.split_once(phrase) else {
        return Cow::Borrowed(message);
    };
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (named, after) = rest.split_at(end);
    Cow::Owned(format!("{before}{}{after}", words(named)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_gse_are_reworded() {
        for (message, expected) in [
            (
                "can not find connection by ip 127.0.0.3",
                "agent on 127.0.0.3 is not connected",
            ),
            (
                "not begun, because an earlier task failed: a.b.c: can not find connection by ip ::1",
                "not begun, because an earlier task failed: a.b.c: agent on ::1 is not connected",
            ),
            (
                "can not find connection by agent id x-1",
                "agent x-1 is not known",
            ),
            ("success", "success"),
            ("", ""),
        ] {
            assert_eq!(plain(message), expected);
        }
    }
}
