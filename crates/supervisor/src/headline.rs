//! Finds the line of a command's output that names the error.

use std::borrow::Cow;

/// A line with one of these names an error. Lower case.
const ERROR_WORDS: [&str; 23] = [
    "error",
    "fatal",
    "panic",
    "exception",
    "traceback",
    "cannot",
    "can't",
    "can not",
    "could not",
    "couldn't",
    "unable to",
    "denied",
    "no such",
    "not found",
    "not permitted",
    "not allowed",
    "failed",
    "failure",
    "refused",
    "invalid",
    "in use",
    "[emerg]",
    "killed",
];
/// A line with one of these only mentions errors.
const NO_ERROR: [&str; 4] = ["no error", "0 error", "without error", "error_log"];
/// Lines of a stack trace begin so, after blanks.
const FRAMES: [&str; 5] = ["at ", "File \"", "panic(", "goroutine ", "^"];

/// The last line that names an error, else the last line with text.
pub(crate) fn headline_of(output: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let Some(found) = lines.iter().rposition(|line| names_error(line)) else {
        return lines.last().map_or("", |line| line.trim()).into();
    };
    let line = lines[found].trim();
    match lines.get(found + 1) {
        // Rust prints the message of a panic in the next line.
        Some(next) if line.contains("panicked at") && line.ends_with(':') => {
            format!("{line} {}", next.trim()).into()
        }
        Some(_) | None => line.into(),
    }
}

fn names_error(line: &str) -> bool {
    let text = line.trim();
    if FRAMES.iter().any(|frame| text.starts_with(frame)) {
        return false;
    }
    let lower = text.to_lowercase();
    ERROR_WORDS.iter().any(|word| lower.contains(word))
        && !NO_ERROR.iter().any(|phrase| lower.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headline_is_the_line_that_names_the_error() {
        for (output, headline) in [
            ("", ""),
            ("\n  \n", ""),
            ("starting\nlistening on 80\n", "listening on 80"),
            (
                "reading config\nError: port is not a number\nsee the manual\n",
                "Error: port is not a number",
            ),
            (
                "Traceback (most recent call last):\n  File \"/app.py\", line 3, in <module>\n    raise ValueError(\"x\")\nValueError: bad port\n",
                "ValueError: bad port",
            ),
            (
                "Exception in thread \"main\" java.lang.IllegalStateException: x\n\tat a.ErrorHandler.run(E.java:3)\nCaused by: java.io.IOException: disk full\n\tat a.B(B.java:1)\n\t... 3 more\n",
                "Caused by: java.io.IOException: disk full",
            ),
            (
                "panic: no config\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:5 +0x1d\nexit status 2\n",
                "panic: no config",
            ),
            (
                "thread 'main' panicked at src/main.rs:2:5:\nport 80 is taken\nnote: run with `RUST_BACKTRACE=1`\n",
                "thread 'main' panicked at src/main.rs:2:5: port 80 is taken",
            ),
            ("sh: 1: nginy: not found\n", "sh: 1: nginy: not found"),
            (
                "checked: 0 errors\nbind: Permission denied\nbye\n",
                "bind: Permission denied",
            ),
        ] {
            assert_eq!(headline_of(output), headline, "{output}");
        }
    }
}
