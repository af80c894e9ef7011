# How scripts of .deb packages talk to systemd: through init-system-helpers, which keep what the administrator chose and obey
# policy-rc.d. Everything must also work where systemd does not run (containers, chroots, images) or is not installed.

systemd_runs() {
  [ -d /run/systemd/system ] && command -v systemctl >/dev/null
}

# FIRST is "first" at the first installation.
enable_unit() { # UNIT FIRST
  command -v deb-systemd-helper >/dev/null || return 0
  deb-systemd-helper unmask "$1" >/dev/null || true
  if deb-systemd-helper --quiet was-enabled "$1"; then
    deb-systemd-helper enable "$1" >/dev/null || true
  else
    deb-systemd-helper update-state "$1" >/dev/null || true
  fi
}

act_on_unit() { # ACTION UNIT
  if systemd_runs; then
    deb-systemd-invoke "$1" "$2" >/dev/null || true
  fi
}

# At removal the choice stays, for the next installation; forget_unit is for purge.
disable_unit() { # UNIT
  :
}

forget_unit() { # UNIT
  if command -v deb-systemd-helper >/dev/null; then
    deb-systemd-helper purge "$1" >/dev/null || true
    deb-systemd-helper unmask "$1" >/dev/null || true
  fi
}

reload_units() {
  if systemd_runs; then
    systemctl --system daemon-reload >/dev/null || true
  fi
}
