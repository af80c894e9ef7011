//! Paths with their query, every part escaped.

use std::fmt;

use model::FullName;

#[derive(Debug, Clone)]
pub struct Path {
    text: String,
    has_query: bool,
}

impl Path {
    pub fn new(root: &str) -> Self {
        Self {
            text: format!("/{root}"),
            has_query: false,
        }
    }

    /// One segment deeper.
    pub fn join(mut self, segment: impl fmt::Display) -> Self {
        self.text.push('/');
        escape(&mut self.text, &segment.to_string());
        self
    }

    pub fn query(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.text.push(if self.has_query { '&' } else { '?' });
        self.has_query = true;
        self.text.push_str(key);
        self.text.push('=');
        escape(&mut self.text, &value.to_string());
        self
    }

    /// A parameter that is left out where there is no value.
    pub fn maybe(self, key: &str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.query(key, value),
            None => self,
        }
    }

    /// A parameter with several values, joined by commas; left out where there are none.
    pub fn list(self, key: &str, values: &[impl fmt::Display]) -> Self {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        self.maybe(key, (!values.is_empty()).then(|| values.join(",")))
    }
}

pub fn process_path(name: &FullName) -> Path {
    Path::new("processes")
        .join(&name.namespace)
        .join(&name.name)
}

/// The list of every host that has the process.
pub fn processes_named(name: &FullName) -> Path {
    Path::new("processes")
        .query("namespace", &name.namespace)
        .query("name", &name.name)
}

pub fn task_path(id: &str) -> Path {
    Path::new("tasks").join(id)
}

pub fn job_path(id: u32) -> Path {
    Path::new("jobs").join(id)
}

pub fn business_path(business: u32) -> Path {
    Path::new("businesses").join(business)
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn escape(text: &mut String, part: &str) {
    for byte in part.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_escaped() {
        let path = Path::new("processes")
            .join("业务")
            .join("a?b#c%d")
            .query("host", "0:::1")
            .maybe("state", None::<&str>)
            .maybe("name", Some("x&y=z w"));
        assert_eq!(
            path.to_string(),
            "/processes/%E4%B8%9A%E5%8A%A1/a%3Fb%23c%25d?host=0:::1&name=x%26y%3Dz%20w"
        );
    }

    #[test]
    fn a_list_is_one_parameter_or_none() {
        let path = Path::new("events").list("kind", &["a", "b"]);
        assert_eq!(
            path.list("host", &[] as &[&str]).to_string(),
            "/events?kind=a%2Cb"
        );
    }
}
