//! Compressed tar files, for `.deb` and `.tar.gz`.

use std::io;

use flate2::GzBuilder;
use flate2::write::GzEncoder;

use super::Release;

/// One entry of a tar file.
pub(crate) enum Entry<'a> {
    Folder {
        path: String,
    },
    File {
        path: String,
        mode: u32,
        content: &'a [u8],
    },
}

impl Entry<'_> {
    pub(crate) fn folder(path: &str) -> Self {
        Self::Folder { path: path.into() }
    }
}

/// A compressed tar file whose bytes depend on nothing but its entries and the time of the release.
pub(crate) struct Tar<'a> {
    release: &'a Release,
    builder: tar::Builder<GzEncoder<Vec<u8>>>,
}

impl<'a> Tar<'a> {
    pub(crate) fn new(release: &'a Release) -> Self {
        let encoder = GzBuilder::new().write(Vec::new(), release.compression());
        Self {
            release,
            builder: tar::Builder::new(encoder),
        }
    }

    pub(crate) fn write<'b>(
        mut self,
        entries: impl Iterator<Item = Entry<'b>>,
    ) -> io::Result<Vec<u8>> {
        for entry in entries {
            match entry {
                Entry::Folder { path } => {
                    let mut header =
                        self.header(&format!("./{path}/").replace("//", "/"), 0o755)?;
                    header.set_entry_type(tar::EntryType::Directory);
                    header.set_cksum();
                    self.builder.append(&header, io::empty())?;
                }
                Entry::File {
                    path,
                    mode,
                    content,
                } => {
                    let mut header = self.header(&format!("./{path}"), mode)?;
                    header.set_size(content.len() as u64);
                    header.set_cksum();
                    self.builder.append(&header, content)?;
                }
            }
        }
        self.builder.into_inner()?.finish()
    }

    /// `dpkg` and `lintian` expect paths that begin with `./`, which [`tar::Header::set_path`] drops.
    fn header(&self, path: &str, mode: u32) -> io::Result<tar::Header> {
        let mut header = tar::Header::new_gnu();
        let name = &mut header.as_old_mut().name;
        let room = name.get_mut(..path.len());
        let room =
            room.ok_or_else(|| io::Error::other(format!("{path}: longer than 100 bytes")))?;
        room.copy_from_slice(path.as_bytes());
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_username("root")?;
        header.set_groupname("root")?;
        header.set_mtime(self.release.time);
        Ok(header)
    }
}
