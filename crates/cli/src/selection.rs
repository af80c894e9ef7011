//! Which processes of a business a verb targets: an expression, or its parts as flags.

use model::expression::{Expression, ExpressionError, ExpressionPart};

use crate::args::value_name;
use crate::client::Path;
use crate::failure::Failure;
use crate::format::{clean, width};

/// How much of a long expression is shown before and after the character that is wrong.
const AROUND: usize = 40;

#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Which processes")]
pub struct SelectionArgs {
    /// All five parts in one: set.module.service.process.id
    #[arg(short, long, value_name = "EXPRESSION", requires = "biz",
        conflicts_with_all = ["set", "module", "service", "process", "id"])]
    pub expr: Option<String>,
    /// Name of the set; this and the following may have * ? [a,b] [1-9] [!x]
    #[arg(long, value_name = "NAME", requires = "biz")]
    pub set: Option<String>,
    /// Name of the module
    #[arg(long, value_name = "NAME", requires = "biz")]
    pub module: Option<String>,
    /// Name of the service instance
    #[arg(long, value_name = "NAME", requires = "biz")]
    pub service: Option<String>,
    /// Name of the process
    #[arg(long, value_name = "NAME", requires = "biz")]
    pub process: Option<String>,
    /// Id of the process; or a slice, [0:2] for the first two
    #[arg(long, value_name = "ID", requires = "biz")]
    pub id: Option<String>,
    /// Only sets of this environment
    #[arg(long, value_enum, requires = "biz")]
    pub env: Option<EnvArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum EnvArg {
    Test,
    Experience,
    Formal,
}

impl SelectionArgs {
    pub fn env(&self) -> Option<String> {
        self.env.map(value_name)
    }

    /// The processes of the business that are selected, as a path of the API.
    pub fn path(&self, biz: u32) -> Result<Path, Failure> {
        Ok(Path::new("processes/view")
            .query("business", biz)
            .maybe("env", self.env())
            .maybe("expr", self.expression()?))
    }

    /// None without any flag: all of the business.
    pub fn expression(&self) -> Result<Option<Expression>, Failure> {
        if let Some(text) = &self.expr {
            return parse(text).map(Some);
        }
        let parts = [
            &self.set,
            &self.module,
            &self.service,
            &self.process,
            &self.id,
        ]
        .map(Option::as_deref);
        if parts.iter().all(Option::is_none) {
            return Ok(None);
        }
        let expression = Expression::parse_parts(parts).map_err(|error| {
            let at = ExpressionPart::ALL
                .iter()
                .position(|part| error.part == Some(*part));
            refused(at.and_then(|at| parts[at]).unwrap_or_default(), &error)
        })?;
        Ok(Some(expression))
    }
}

/// Parses `set.module.service.process.id`.
pub fn parse(text: &str) -> Result<Expression, Failure> {
    Expression::parse_dotted(text).map_err(|error| refused(text, &error))
}

/// An expression as a shell takes it: quoted where the shell would change it.
pub fn pasteable(expression: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | ',' | '@');
    match expression.chars().all(is_plain) && !expression.is_empty() {
        true => expression.to_owned(),
        false => format!("'{}'", clean(expression).replace('\'', r"'\''")),
    }
}

/// Shows the text with a caret under the character that is wrong.
fn refused(text: &str, error: &ExpressionError) -> Failure {
    let characters: Vec<char> = text.chars().collect();
    let at = error.character.saturating_sub(1).min(characters.len());
    let from = at.saturating_sub(AROUND);
    let to = (at + AROUND).min(characters.len());
    let before: String = characters[from..at].iter().collect();
    let after: String = characters[at..to].iter().collect();
    let (before, after) = (clean(&before), clean(&after));
    let caret = format!("{}^", " ".repeat(width(&before)));
    Failure::usage(error.to_string()).advise(format!("{before}{after}\n{caret}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caret_stands_under_the_character_that_is_wrong() {
        let refused = |text: &str| parse(text).unwrap_err().to_string();
        let text = refused("管控.gse_pr[");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("character 10"), "{text}");
        assert_eq!(&lines[1..], ["  管控.gse_pr[", "             ^"]);
        let long = format!("{}[", "x".repeat(500));
        let text = refused(&long);
        assert!(text.lines().all(|line| width(line) < 200), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].find('['), lines[2].find('^'), "{text}");
    }

    #[test]
    fn an_expression_is_quoted_where_a_shell_would_change_it() {
        assert_eq!(pasteable("zone-1.login.a.b.7"), "zone-1.login.a.b.7");
        assert_eq!(
            pasteable(r"z.m.10\.0\.0\.1_m.p.7"),
            r"'z.m.10\.0\.0\.1_m.p.7'"
        );
        assert_eq!(pasteable("z*.[1-3]"), "'z*.[1-3]'");
        assert_eq!(pasteable("it's"), r"'it'\''s'");
    }

    #[test]
    fn parts_make_an_expression_and_none_are_none() {
        let args = SelectionArgs {
            service: Some("10.0.0.1_login".into()),
            id: Some("[0:2]".into()),
            ..SelectionArgs::default()
        };
        let joined = args.expression().unwrap().unwrap().to_string();
        assert_eq!(joined, r"*.*.10\.0\.0\.1_login.*.[0:2]");
        assert_eq!(SelectionArgs::default().expression().unwrap(), None);
        let wrong = SelectionArgs {
            module: Some("m[9-1]".into()),
            ..SelectionArgs::default()
        };
        let text = wrong.expression().unwrap_err().to_string();
        assert!(text.ends_with("  m[9-1]\n    ^"), "{text}");
    }
}
