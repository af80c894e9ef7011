# What the package of the agent does around its files. Nothing here ends or restarts a process that the agent supervises.

unit=muster-agent.service
relay_unit=muster-relay.service
units="$unit $relay_unit"
program=/usr/bin/muster-agent
config=/etc/muster/agent.toml
relay_config=/etc/muster/relay.toml
data=/var/lib/muster-agent

before_install() {
  :
}

after_install() { # "first", or "upgrade"
  when=$1
  # dpkg calls it an upgrade when a package that was removed is installed again.
  if [ -e "$data/package-removed" ]; then
    rm -f "$data/package-removed"
    when=first
  fi
  reload_units
  enable_unit "$unit" "$when"
  enable_unit "$relay_unit" "$when"
  if [ "$when" = upgrade ]; then
    upgrade_in_place
  elif [ -e "$config" ]; then
    act_on_unit start "$unit"
  else
    echo "muster-agent: not started, because there is no $config yet."
    echo "muster-agent: copy $config.example, set server and join, then run: systemctl start muster-agent"
  fi
  start_relay "$when"
}

# A relay keeps nothing: its agents connect again within about a second.
start_relay() { # "first", or "upgrade"
  if [ "$1" = first ]; then
    [ ! -e "$relay_config" ] || act_on_unit start "$relay_unit"
  elif systemd_runs && systemctl is-active --quiet "$relay_unit"; then
    act_on_unit restart "$relay_unit"
  fi
}

# The agent that runs becomes the new binary, with the same pid; its processes notice nothing.
upgrade_in_place() {
  code=0
  if [ -e "$config" ]; then
    said=$("$program" upgrade --config "$config" 2>&1) || code=$?
  else
    said=$("$program" upgrade 2>&1) || code=$?
  fi
  case "$code" in
    0) echo "muster-agent: $said" ;;
    4) ;; # no agent runs
    *)
      echo "muster-agent: the agent that runs was not replaced: $said" >&2
      echo "muster-agent: its processes are not affected. Try again with: muster-agent upgrade" >&2
      ;;
  esac
}

before_remove() {
  act_on_unit stop "$relay_unit"
  disable_unit "$relay_unit"
  act_on_unit stop "$unit"
  stop_agent
  disable_unit "$unit"
  if [ -d "$data" ]; then
    : >"$data/package-removed"
  fi
  echo "muster-agent: the agent is stopped. Processes that it started keep running, without supervision."
  echo "muster-agent: identity, journal and outputs stay in $data: when the package is installed again, the agent takes them over."
}

# Ends an agent that systemd does not run; agent.run says which process that is.
stop_agent() {
  [ -e "$data/agent.run" ] || return 0
  pid=$(sed -n 's/.*"pid": *\([0-9][0-9]*\).*/\1/p' "$data/agent.run" | head -n 1)
  [ -n "$pid" ] || return 0
  waited=0
  while is_agent "$pid" && [ "$waited" -lt 30 ]; do
    [ "$waited" -gt 0 ] || kill -TERM "$pid" || true
    waited=$((waited + 1))
    sleep 1
  done
}

is_agent() { # PID
  case "$(readlink "/proc/$1/exe" 2>/dev/null)" in
    "$program" | "$program (deleted)") return 0 ;;
  esac
  return 1
}

after_remove() {
  # The binary before the last `muster-agent upgrade --binary`.
  rm -f "$program.old"
  reload_units
}

purge() {
  rm -rf "$data"
  rm -f "$config" "$relay_config"
  rmdir /etc/muster 2>/dev/null || true
}
