//! The files of the web console, embedded. `server` serves them under `/ui/`.
//!
//! The sources are in `console/`, built by `npm run build` there; `build.rs` embeds the result. Without it the table is empty.

/// The page that every address of the console begins with.
const INDEX: &str = "index.html";
/// The folder of files whose names change with their content.
const HASHED: &str = "assets/";

static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// One file of the console.
#[derive(Debug)]
pub struct File {
    /// Relative to the address of the console, such as `assets/index-B3x9.js`.
    pub path: &'static str,
    pub content_type: &'static str,
    /// Of this content, in quotes as HTTP wants it.
    pub etag: &'static str,
    pub plain: &'static [u8],
    /// Where it is smaller.
    pub gzip: Option<&'static [u8]>,
}

impl File {
    /// Whether another content would have another name, so that browsers may keep it for ever.
    pub fn is_immutable(&self) -> bool {
        self.path.starts_with(HASHED)
    }
}

/// The file at a path.
pub fn file(path: &str) -> Option<&'static File> {
    let at = FILES.binary_search_by(|file| file.path.cmp(path)).ok()?;
    Some(&FILES[at])
}

/// The page that shows every address that is not a file; None if the console was not built.
pub fn index() -> Option<&'static File> {
    file(INDEX)
}

/// Whether a path names a file and not a page, so that one that is missing is an error.
pub fn is_file_path(path: &str) -> bool {
    path.starts_with(HASHED)
}

/// Where the console logs a browser in with a one-time code, relative to the server. Browsers do not send what follows `#`, so
/// the code appears in no log of a proxy.
pub fn login_path(code: &str) -> String {
    format!("/ui/login#code={code}")
}

/// Every file.
pub fn files() -> &'static [File] {
    FILES
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn the_console_is_embedded_whole() {
        let missing = "the web console: npm ci && npm run build, in console/";
        if !testing::precondition::is_met(index().is_some(), missing) {
            return;
        }
        for file in files() {
            assert!(super::file(file.path).is_some_and(|found| found.etag == file.etag));
            let Some(gzip) = file.gzip else { continue };
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(gzip)
                .read_to_end(&mut plain)
                .unwrap();
            assert!(plain == file.plain, "{} is compressed wrongly", file.path);
        }
        let index = std::str::from_utf8(index().unwrap().plain).unwrap();
        let named = files().iter().filter(|file| index.contains(file.path));
        assert!(named.clone().any(|file| file.path.ends_with(".js")));
        assert!(named.clone().any(|file| file.path.ends_with(".css")));
    }
}
