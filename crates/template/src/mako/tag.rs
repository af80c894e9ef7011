//! Parses `<%keyword attribute="value">`.

#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) keyword: String,
    pub(crate) attributes: Vec<(String, String)>,
    /// `<%keyword/>`.
    pub(crate) closed: bool,
}

/// Parses the tag at the start of the text, and returns its length. None for a block of Python.
pub(crate) fn read(text: &str) -> Option<(Tag, usize)> {
    let inside = text.strip_prefix("<%")?;
    let is_keyword = |c: char| c == '_' || c == '.' || c == ':' || c.is_alphanumeric();
    let length = inside.find(|c| !is_keyword(c))?;
    if length == 0 {
        return None;
    }
    let mut reader = Reader {
        rest: &inside[length..],
    };
    let mut attributes = Vec::new();
    let mut name: Option<String> = None;
    let mut assigned = false;
    loop {
        let blanks = reader.blanks();
        let first = reader.rest.chars().next()?;
        match first {
            '=' | ',' => {
                assigned = first == '=';
                reader.rest = &reader.rest[1..];
            }
            '"' | '\'' => {
                let body = &reader.rest[1..];
                let end = body.find(first)?;
                if let (Some(name), true) = (name.take(), assigned) {
                    attributes.push((name, body[..end].replace("\r\n", "\n")));
                }
                assigned = false;
                reader.rest = &body[end + 1..];
            }
            '/' if reader.rest.starts_with("/>") => {
                return Some(reader.done(text, &inside[..length], attributes, true));
            }
            '>' => return Some(reader.done(text, &inside[..length], attributes, false)),
            c if blanks && (c == '_' || c.is_alphanumeric()) => {
                let is_word = |c: char| c == '_' || c.is_alphanumeric();
                let end = reader.rest.find(|c| !is_word(c))?;
                name = Some(reader.rest[..end].to_owned());
                assigned = false;
                reader.rest = &reader.rest[end..];
            }
            _ => return None,
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn blanks(&mut self) -> bool {
        let before = self.rest.len();
        self.rest = self.rest.trim_start_matches(crate::text::is_space);
        self.rest.len() < before
    }

    fn done(
        &self,
        text: &str,
        keyword: &str,
        attributes: Vec<(String, String)>,
        closed: bool,
    ) -> (Tag, usize) {
        let tag = Tag {
            keyword: keyword.to_owned(),
            attributes,
            closed,
        };
        let end = if closed { 2 } else { 1 };
        (tag, text.len() - self.rest.len() + end)
    }
}
