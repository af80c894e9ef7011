//! What the packages contain, checked by the tools of the distributions.

use std::process::Command;

use testing::precondition;

use super::made::{Made, VERSION};
use super::root::said;

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    said(&output)
}

#[test]
fn lintian_finds_no_errors() {
    if !precondition::succeeds(&["lintian", "--version"], "lintian: scripts/setup test") {
        return;
    }
    let made = Made::new("deb");
    let output = Command::new("lintian")
        .args(["--no-cfg", "--allow-root", "--fail-on", "error"])
        .args([made.deb("muster"), made.deb("muster-agent")])
        .current_dir(made.folder.path())
        .output()
        .unwrap();
    let said = said(&output);
    assert!(output.status.success() && !said.contains("E: "), "{said}");
}

#[test]
fn units_are_valid() {
    if !precondition::succeeds(
        &["systemd-analyze", "--version"],
        "systemd: scripts/setup test",
    ) {
        return;
    }
    let made = Made::new("deb");
    let root = tempfile::tempdir().unwrap();
    for package in ["muster", "muster-agent"] {
        let file = made.folder.path().join(made.deb(package));
        run(Command::new("dpkg-deb")
            .arg("--extract")
            .arg(file)
            .arg(root.path()));
    }
    for unit in [
        "muster-server.service",
        "muster-agent.service",
        "muster-relay.service",
    ] {
        let path = root.path().join("usr/lib/systemd/system").join(unit);
        // Program and settings are looked up on this machine: give the paths of the extracted package.
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("ConditionPathExists=/etc/muster/"), "{text}");
        let text = text.replace(
            "=/usr/bin/",
            &format!("={}/usr/bin/", root.path().display()),
        );
        std::fs::write(&path, text.replace("Documentation=man:", "#")).unwrap();
        let output = Command::new("systemd-analyze")
            .args(["verify", "--man=no", "--recursive-errors=no"])
            .arg(&path)
            .output()
            .unwrap();
        let said = said(&output);
        assert!(output.status.success() && !said.contains(unit), "{said}");
    }
}

#[test]
fn a_deb_has_what_people_look_for() {
    let made = Made::new("deb");
    assert!(
        made.said
            .contains("the limit of glibc 2.17 was not checked"),
        "{}",
        made.said
    );
    let folder = made.folder.path();
    let list = |package: &str| {
        run(Command::new("dpkg-deb")
            .arg("--contents")
            .arg(folder.join(made.deb(package))))
    };
    let muster = list("muster");
    for path in [
        "usr/bin/muster\n",
        "usr/share/man/man1/muster-ps.1.gz",
        "usr/share/bash-completion/completions/muster\n",
        "usr/share/zsh/vendor-completions/_muster\n",
        "usr/share/fish/vendor_completions.d/muster.fish",
        "usr/share/doc/muster/THIRD-PARTY-NOTICES.gz",
    ] {
        assert!(muster.contains(&format!(" ./{path}")), "{path}: {muster}");
    }
    let agent = list("muster-agent");
    for path in [
        "usr/share/man/man8/muster-agent.8.gz",
        "etc/muster/agent.toml.example",
    ] {
        assert!(agent.contains(&format!(" ./{path}")), "{path}: {agent}");
    }
    // No file is in both: they are installed together.
    let files = |list: &str| -> Vec<String> {
        let files = list.lines().filter(|line| line.starts_with('-'));
        files
            .map(|line| line.rsplit(' ').next().unwrap().to_owned())
            .collect()
    };
    let agents = files(&agent);
    assert!(files(&muster).iter().all(|file| !agents.contains(file)));

    let fields = run(Command::new("dpkg-deb")
        .arg("--field")
        .arg(folder.join(made.deb("muster-agent"))));
    assert!(
        fields.contains(&format!("Version: {VERSION}-1\n")),
        "{fields}"
    );
    assert!(fields.contains("Depends: libc6 (>= 2."), "{fields}");
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), 2, "{sums}");
    run(Command::new("sha256sum")
        .args(["--check", "SHA256SUMS"])
        .current_dir(folder));
}

#[test]
fn a_rpm_names_the_libraries_that_it_needs() {
    if !precondition::succeeds(&["rpm", "--version"], "rpm: scripts/setup test") {
        return;
    }
    let made = Made::new("rpm");
    let file = made.folder.path().join(made.rpm("muster-agent"));
    let query = |what: &str| {
        run(Command::new("rpm")
            .args(["--query", "--package", what])
            .arg(&file))
    };
    let requires = query("--requires");
    for needed in ["libc.so.6()(64bit)\n", "libc.so.6(GLIBC_2.2.5)(64bit)\n"] {
        assert!(requires.contains(needed), "{requires}");
    }
    assert!(query("--configfiles").contains("/etc/muster/agent.toml.example"));
    assert!(query("--list").contains("/usr/share/zsh/site-functions/_muster-agent"));
    run(Command::new("rpm").arg("--checksig").arg(&file));
}

#[test]
fn the_archive_unpacks_into_one_folder_and_its_programs_run() {
    let made = Made::new("tar");
    let name = format!("muster-{VERSION}-{}-linux-gnu", std::env::consts::ARCH);
    let folder = made.folder.path();
    run(Command::new("tar")
        .arg("-xzf")
        .arg(format!("{name}.tar.gz"))
        .current_dir(folder));
    for program in ["muster", "muster-agent"] {
        let path = folder.join(&name).join("usr/bin").join(program);
        let said = run(Command::new(path).arg("--version"));
        assert_eq!(said.trim(), format!("{program} {VERSION}"));
    }
    let licence = folder.join(&name).join("usr/share/doc/muster/LICENSE");
    assert!(licence.exists());
}

#[test]
fn the_same_source_gives_the_same_bytes() {
    let sums = |made: Made| std::fs::read_to_string(made.folder.path().join("SHA256SUMS")).unwrap();
    for kind in ["deb", "rpm"] {
        assert_eq!(sums(Made::new(kind)), sums(Made::new(kind)));
    }
}

#[test]
fn a_command_line_that_cannot_be_done_says_why() {
    let empty = tempfile::tempdir().unwrap();
    let nothing = empty.path().to_str().unwrap();
    for (args, expected) in [
        (
            &["--target", "mips-unknown-linux-gnu"][..],
            "packages are made for x86_64-unknown-linux-gnu, ",
        ),
        (&["--built", nothing], "--built: there is no "),
        (
            &["--built", nothing, "--target", "x86_64-unknown-linux-gnu"],
            "cannot be used with",
        ),
        (&["--only", "zip"], "possible values: deb, rpm, tar"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .arg("package")
            .args(args)
            .args(["--output", &format!("{nothing}/output")])
            .output()
            .unwrap();
        let said = said(&output);
        assert!(
            !output.status.success() && said.contains(expected),
            "{args:?}: {said}"
        );
        assert!(!empty.path().join("output").exists(), "{args:?}");
    }
}
