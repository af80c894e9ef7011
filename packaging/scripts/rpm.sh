# How scripts of .rpm packages talk to systemd. Everything must also work where systemd does not run (containers, chroots,
# images) or is not installed.

systemd_runs() {
  [ -d /run/systemd/system ] && command -v systemctl >/dev/null
}

# FIRST is "first" at the first installation: later the administrator's choice stays.
enable_unit() { # UNIT FIRST
  if [ "$2" = first ] && command -v systemctl >/dev/null; then
    systemctl --no-reload --quiet enable "$1" || true
  fi
}

act_on_unit() { # ACTION UNIT
  if systemd_runs; then
    systemctl "$1" "$2" || true
  fi
}

disable_unit() { # UNIT
  if command -v systemctl >/dev/null; then
    systemctl --no-reload --quiet disable "$1" || true
  fi
}

reload_units() {
  if systemd_runs; then
    systemctl daemon-reload || true
  fi
}
