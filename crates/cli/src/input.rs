//! Reads files and standard input.

use std::io::{self, Read};

/// At most `max` bytes of text from a file; `-` is standard input.
pub fn read_text(file: &str, max: u64) -> io::Result<String> {
    let mut text = String::new();
    match file {
        "-" => io::stdin().lock().take(max).read_to_string(&mut text)?,
        file => std::fs::File::open(file)?
            .take(max)
            .read_to_string(&mut text)?,
    };
    Ok(text)
}
