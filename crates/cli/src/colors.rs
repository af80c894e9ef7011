//! The colours of text on a terminal, by what the text means.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    Good,
    Bad,
    Warn,
    Dim,
    Bold,
}

impl Style {
    pub fn bad_if(is_bad: bool) -> Self {
        match is_bad {
            true => Self::Bad,
            false => Self::Plain,
        }
    }
}

pub fn paint(colour: bool, style: Style, text: &str) -> String {
    let code = match style {
        Style::Plain => return text.to_owned(),
        Style::Good => "32",
        Style::Bad => "31",
        Style::Warn => "33",
        Style::Dim => "2",
        Style::Bold => "1",
    };
    match colour {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    }
}
