//! Writes a `.rpm`, with the crate `rpm`.

use anyhow::Context;
use rpm::{BuildConfig, CompressionWithLevel, Dependency, FileOptions, PackageBuilder};

use super::Release;
use super::contents::{self, Kind, Package};
use super::script::{self, Format};
use super::target::Target;

pub(crate) fn file_name(package: &Package, target: Target, release: &Release) -> String {
    format!("{}-{}-1.{}.rpm", package.name, release.version, target.arch)
}

/// Folders that belong to the package, beside its files.
const OWN_FOLDERS: [&str; 3] = ["etc/muster", "usr/lib/muster", "usr/share/doc/muster"];

pub(crate) fn write(
    package: &Package,
    target: Target,
    release: &Release,
) -> anyhow::Result<Vec<u8>> {
    let mut builder = PackageBuilder::new(
        package.name,
        &release.version,
        "Apache-2.0",
        target.arch,
        package.summary,
    );
    let time = u32::try_from(release.time).context("the time of the release is after 2106")?;
    builder
        .using_config(
            // Read by the rpm of CentOS 7, too.
            BuildConfig::v4()
                .source_date(time)
                .compression(CompressionWithLevel::Gzip(release.compression().level())),
        )
        .release("1")
        .description(package.description)
        .packager(&release.maintainer)
        .vendor("Muster")
        .build_host("localhost");
    for folder in contents::folders(&package.files) {
        if OWN_FOLDERS.iter().any(|own| folder.starts_with(own)) {
            builder.with_dir_entry(FileOptions::dir(format!("/{folder}")).permissions(0o755))?;
        }
    }
    for file in &package.files {
        // Debian's zsh looks elsewhere than that of others.
        let path = file
            .path
            .replace("zsh/vendor-completions/", "zsh/site-functions/");
        let mode = u16::try_from(file.mode).context("a mode has 12 bits")?;
        let options = FileOptions::new(format!("/{path}")).permissions(mode);
        let options = match file.kind {
            Kind::Plain => options,
            Kind::Config => options.config().noreplace(),
            Kind::Doc => options.doc(),
            Kind::Licence => options.license(),
        };
        builder.with_file_contents(file.content.clone(), options)?;
    }
    let script = |calls: &str| script::whole(Format::Rpm, package.functions, calls);
    builder
        .pre_install_script(script(script::RPM_PRE))
        .post_install_script(script(script::RPM_POST))
        .pre_uninstall_script(script(script::RPM_PREUN))
        .post_uninstall_script(script(script::RPM_POSTUN));
    for dependency in requires(package) {
        builder.requires(Dependency::any(dependency));
    }
    for (_, name) in package.needs_packages {
        builder.requires(Dependency::script_pre(*name));
    }
    let mut bytes = Vec::new();
    builder.build()?.write(&mut bytes)?;
    Ok(bytes)
}

/// Libraries and versions as rpm names them: `libc.so.6(GLIBC_2.17)(64bit)`.
fn requires(package: &Package) -> Vec<String> {
    let libraries = package
        .needs
        .libraries
        .iter()
        .map(|it| format!("{it}()(64bit)"));
    let versions = package.needs.versions.iter();
    let versions = versions.map(|(library, version)| format!("{library}({version})(64bit)"));
    libraries.chain(versions).collect()
}
