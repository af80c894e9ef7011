//! Parsers of the files that the checks read.

/// The name of the system in `/etc/os-release`.
pub(super) fn system_name(os_release: &str) -> Option<String> {
    let value = |key: &str| {
        os_release.lines().find_map(|line| {
            let value = line.trim().strip_prefix(key)?.strip_prefix('=')?;
            let bare = value.trim_matches(['"', '\'']).trim();
            (!bare.is_empty()).then(|| bare.to_owned())
        })
    };
    value("PRETTY_NAME").or_else(|| match (value("NAME"), value("VERSION_ID")) {
        (Some(name), Some(version)) => Some(format!("{name} {version}")),
        (name, _) => name,
    })
}

/// Major and minor number of a kernel release: `4.19.90-52.el7.x86_64` is (4, 19).
pub(super) fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next()?.parse().ok()?))
}

/// How SELinux is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SelinuxMode {
    Enforcing,
    Permissive,
    Disabled,
}

/// From the file `enforce` of selinuxfs, if there is one; what `getenforce` prints reads the same.
pub(super) fn selinux_mode(enforce: Option<&str>) -> SelinuxMode {
    match enforce.map(str::trim) {
        Some("1" | "Enforcing") => SelinuxMode::Enforcing,
        Some("0" | "Permissive") => SelinuxMode::Permissive,
        Some(_) | None => SelinuxMode::Disabled,
    }
}

/// The type of a security context: `system_u:system_r:initrc_t:s0` has `initrc_t`.
pub(super) fn selinux_type(context: &str) -> Option<&str> {
    let context = context.trim_end_matches(['\0', '\n']);
    context.split(':').nth(2).filter(|kind| !kind.is_empty())
}

/// Which processes of other users `/proc` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HidePid {
    NotMounted,
    /// All of them.
    Off,
    /// Their folders, but not what is in them.
    NoAccess,
    /// Nothing.
    Invisible,
}

/// From `/proc/mounts`: DEVICE POINT TYPE OPTIONS … The last mount of a place counts.
pub(super) fn hide_pid(mounts: &str) -> HidePid {
    let options = mounts.lines().rev().find_map(|line| {
        let mut fields = line.split(' ');
        let (point, kind) = (fields.nth(1)?, fields.next()?);
        (point == "/proc" && kind == "proc").then(|| fields.next().unwrap_or_default())
    });
    let Some(options) = options else {
        return HidePid::NotMounted;
    };
    let value = options
        .split(',')
        .find_map(|option| option.strip_prefix("hidepid="));
    match value {
        None | Some("0" | "off") => HidePid::Off,
        Some("1" | "noaccess") => HidePid::NoAccess,
        Some(_) => HidePid::Invisible,
    }
}

/// The services of the line `passwd` in `/etc/nsswitch.conf` that are no files of this host.
pub(super) fn directory_services(nsswitch: &str) -> Vec<String> {
    let local = ["files", "compat", "systemd", "db", "altfiles", "extrausers"];
    let passwd = nsswitch.lines().find_map(|line| {
        let line = line.split('#').next()?.trim();
        line.strip_prefix("passwd")?.trim_start().strip_prefix(':')
    });
    passwd
        .unwrap_or_default()
        .split_whitespace()
        // `[NOTFOUND=return]` is an action.
        .filter(|word| !word.starts_with('[') && !word.ends_with(']') && !local.contains(word))
        .map(str::to_owned)
        .collect()
}

/// The hard limit of open files in `/proc/PID/limits`; none for no limit.
pub(super) fn open_files(limits: &str) -> Option<Option<u64>> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    let hard = line.split_whitespace().nth(1)?;
    match hard {
        "unlimited" => Some(None),
        number => number.parse().ok().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_have_their_pretty_name() {
        let debian = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\n";
        let name = system_name(debian);
        assert_eq!(name.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        let plain = "NAME='Alpine Linux'\nID=alpine\nVERSION_ID=3.19.1\n";
        assert_eq!(system_name(plain).as_deref(), Some("Alpine Linux 3.19.1"));
        assert_eq!(system_name("NAME=Arch\n").as_deref(), Some("Arch"));
        assert_eq!(system_name("PRETTY_NAME=\"\"\n# NAME=x\n"), None);
        assert_eq!(system_name(""), None);
    }

    #[test]
    fn kernels_have_two_numbers() {
        assert_eq!(kernel_version("3.10.0-1160.el7.x86_64"), Some((3, 10)));
        assert_eq!(kernel_version("6.1-rc3"), Some((6, 1)));
        assert_eq!(kernel_version("unknown"), None);
        assert_eq!(kernel_version("6"), None);
    }

    #[test]
    fn selinux_is_what_its_file_says() {
        assert_eq!(selinux_mode(Some("1")), SelinuxMode::Enforcing);
        assert_eq!(selinux_mode(Some("0\n")), SelinuxMode::Permissive);
        assert_eq!(selinux_mode(Some("Enforcing\n")), SelinuxMode::Enforcing);
        assert_eq!(selinux_mode(Some("Permissive\n")), SelinuxMode::Permissive);
        assert_eq!(selinux_mode(Some("Disabled\n")), SelinuxMode::Disabled);
        assert_eq!(selinux_mode(None), SelinuxMode::Disabled);
        let context = "system_u:system_r:unconfined_service_t:s0\0";
        assert_eq!(selinux_type(context), Some("unconfined_service_t"));
        assert_eq!(selinux_type("unconfined\n"), None);
        assert_eq!(selinux_type(""), None);
    }

    #[test]
    fn the_last_mount_of_proc_counts() {
        let mounts = "sysfs /sys sysfs rw 0 0\nproc /proc proc rw,nosuid,hidepid=2,gid=4 0 0\n";
        assert_eq!(hide_pid(mounts), HidePid::Invisible);
        let over = format!("{mounts}proc /proc proc rw,relatime 0 0\n");
        assert_eq!(hide_pid(&over), HidePid::Off);
        let words = "proc /proc proc rw,hidepid=noaccess 0 0\n";
        assert_eq!(hide_pid(words), HidePid::NoAccess);
        assert_eq!(hide_pid("proc /proc proc rw,hidepid=0 0 0"), HidePid::Off);
        let elsewhere = "proc /jail/proc proc rw 0 0\nbinfmt /proc/sys/fs binfmt_misc rw 0 0\n";
        assert_eq!(hide_pid(elsewhere), HidePid::NotMounted);
        assert_eq!(hide_pid(""), HidePid::NotMounted);
    }

    #[test]
    fn directory_services_are_those_beyond_the_files_of_the_host() {
        let text =
            "# passwd: nis\npasswd:  files sss [NOTFOUND=return] ldap # more\ngroup: files\n";
        assert_eq!(directory_services(text), ["sss", "ldap"]);
        assert!(directory_services("passwd: files systemd\n").is_empty());
        assert!(directory_services("").is_empty());
    }

    #[test]
    fn the_hard_limit_of_open_files_is_the_second_number() {
        let text = "Limit                     Soft Limit           Hard Limit           Units\n\
            Max open files            1024                 524288               files\n";
        assert_eq!(open_files(text), Some(Some(524_288)));
        let none = "Max open files            1024                 unlimited            files\n";
        assert_eq!(open_files(none), Some(None));
        assert_eq!(open_files("Max processes 1 2\n"), None);
    }
}
