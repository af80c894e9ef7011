# What the package of server and CLI does around its files.

unit=muster-server.service
units=$unit
program=/usr/bin/muster
config=/etc/muster/server.toml
data=/var/lib/muster

before_install() {
  if ! getent passwd muster >/dev/null; then
    shell=/usr/sbin/nologin
    [ -e "$shell" ] || shell=/sbin/nologin
    useradd --system --user-group --home-dir "$data" --no-create-home --shell "$shell" --comment "Muster server" muster
  fi
}

after_install() { # "first", or "upgrade"
  when=$1
  # dpkg calls it an upgrade when a package that was removed is installed again.
  if [ -e "$data/package-removed" ]; then
    rm -f "$data/package-removed"
    when=first
  fi
  if [ ! -e "$data" ]; then
    mkdir -p "$data"
    chown muster:muster "$data"
    chmod 0700 "$data"
  fi
  reload_units
  enable_unit "$unit" "$when"
  if [ "$when" = upgrade ]; then
    speaks_with_agents || return 0
    if systemd_runs && systemctl is-active --quiet "$unit"; then
      act_on_unit restart "$unit"
    fi
    name_old_servers
  elif [ -e "$config" ]; then
    act_on_unit start "$unit"
  else
    echo "muster: the server is not started, because there is no $config yet."
    echo "muster: copy $config.example, then run: systemctl start muster-server"
  fi
}

# Asks the server that still runs, with the new program. A server that cannot be asked is restarted all the same.
speaks_with_agents() {
  said=$("$program" --data "$data" agent versions 2>&1) || true
  case "$said" in
    *"does not speak with"*)
      echo "$said" >&2
      echo "muster: the server was not restarted, because the new version does not speak with some agents." >&2
      echo "muster: the previous version keeps running. Upgrade those agents, then run: systemctl restart muster-server" >&2
      return 1
      ;;
  esac
}

# Those that systemd does not run, and so cannot restart.
name_old_servers() {
  for process in /proc/[0-9]*; do
    if [ "$(readlink "$process/exe" 2>/dev/null)" = "$program (deleted)" ]; then
      echo "muster: process ${process#/proc/} still runs the previous version: restart it."
    fi
  done
}

before_remove() {
  act_on_unit stop "$unit"
  disable_unit "$unit"
  if [ -d "$data" ]; then
    : >"$data/package-removed"
  fi
  echo "muster: the server is stopped. Agents and processes on all hosts keep running; its data stays in $data."
}

after_remove() {
  reload_units
}

# The user stays, so that its number does not become another user's.
purge() {
  rm -rf "$data"
  rm -f "$config"
  rmdir /etc/muster 2>/dev/null || true
}
