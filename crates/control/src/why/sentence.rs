//! The reason as a sentence for people.

use model::Reason;

use super::known::Known;

impl Known {
    pub(super) fn text(&self, reason: &Reason) -> String {
        let param = |key| reason.params.get(key).map(String::as_str);
        let head = match &*reason.code {
            "no_agent" | "agent_away" => return self.message.clone(),
            "running" => "it runs".to_owned(),
            "ready" => "it runs and is ready".to_owned(),
            "not_ready" => "it runs, and its ready probe fails".to_owned(),
            "starting" => "it is being started".to_owned(),
            "dependency" => return format!("it {}", self.message),
            "unhealthy" => "it runs, and its health check fails".to_owned(),
            "backoff" => format!(
                "it ended, and the agent starts it again ({} so far)",
                self.tried
            ),
            "gave_up" => match self.tried {
                0 => "it ended, and the agent does not start it again".to_owned(),
                tried => format!("the agent gave up after {tried} attempts"),
            },
            "stopped_by" => {
                let op = param("op").unwrap_or("stop");
                let by = match (param("user"), param("app")) {
                    (Some(user), _) => format!(" by {user}"),
                    (None, Some(app)) => format!(" by app {app}"),
                    (None, None) => String::new(),
                };
                let from = param("from").map(|from| format!(" from {from}"));
                format!("it was stopped ({op}){by}{}", from.unwrap_or_default())
            }
            "down" => "it is wanted, and does not run".to_owned(),
            "not_started" => "it is not wanted".to_owned(),
            "completed" => "it ran to its end".to_owned(),
            "scheduled" => "it waits for its next run".to_owned(),
            _ => "its agent has not reported it yet".to_owned(),
        };
        match (self.message.as_str(), self.last_exit) {
            ("", Some(exit)) if !self.runs() => format!("{head}; last: {}", exit.exit),
            ("", _) => head,
            (message, _) if message.starts_with("gave up after") => format!("the agent {message}"),
            (message, _) => format!("{head}: {message}"),
        }
    }
}
