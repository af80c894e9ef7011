//! The scripts that run around installation and removal. What they do is in `packaging/scripts/`, the same for `.deb` and `.rpm`;
//! here is when it is done.

/// What `dpkg` calls with which arguments: `deb-postinst(5)` and its neighbours.
pub(crate) const DEB: [(&str, &str); 3] = [
    (
        "postinst",
        r#"case "$1" in
  configure)
    before_install
    if [ -n "$2" ]; then after_install upgrade; else after_install first; fi
    ;;
esac
"#,
    ),
    (
        "prerm",
        r#"case "$1" in
  remove) before_remove ;;
esac
"#,
    ),
    (
        "postrm",
        r#"case "$1" in
  remove) after_remove ;;
  purge)
    for unit in $units; do forget_unit "$unit"; done
    purge
    ;;
esac
"#,
    ),
];

/// What `rpm` calls with the number of versions that are installed afterwards. It knows no purge.
pub(crate) const RPM_PRE: &str = "before_install\n";
pub(crate) const RPM_POST: &str =
    "if [ \"$1\" -gt 1 ]; then after_install upgrade; else after_install first; fi\n";
pub(crate) const RPM_PREUN: &str = "if [ \"$1\" -eq 0 ]; then before_remove; fi\n";
pub(crate) const RPM_POSTUN: &str = r#"if [ "$1" -eq 0 ]; then
  after_remove
  echo "To remove configuration and data, too: rm -r $config $data"
fi
"#;

/// The whole script: the functions of the format and of the package, then what calls them.
pub(crate) fn whole(format: Format, functions: &str, calls: &str) -> String {
    let helpers = match format {
        Format::Deb => include_str!("../../../../packaging/scripts/deb.sh"),
        Format::Rpm => include_str!("../../../../packaging/scripts/rpm.sh"),
    };
    format!("#!/bin/sh\nset -e\n\n{helpers}\n{functions}\n{calls}")
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Format {
    Deb,
    Rpm,
}
