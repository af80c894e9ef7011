#!/bin/sh
# Makes this machine a host of a Muster fleet: installs the agent that the server hands out, lets it join, and starts it.
# Run it again to bring it up to date: what is as it should be is left alone. Processes are never touched.
set -eu

url='@URL@'
agents_port='@AGENTS_PORT@'

usage() {
  cat <<'END'
usage: curl -fsS http://SERVER/install.sh | sh -s -- --token TOKEN [OPTIONS]
       curl -fsS http://SERVER/install.sh | sh -s -- --uninstall [--purge]

  --token TOKEN       lets this host join; made by: muster token create (or in MUSTER_JOIN_TOKEN)
  --server HOST:PORT  where servers or relays listen for agents, separated by commas
                      [default: the server that this script came from]
  --ip IP             the address that this host is known by [default: by its route to the server]
  --cloud-id N        the cloud area that this host lies in [default: 0]
  --version V         this version of the agent [default: the newest that the server has]
  --url URL           where to download from [default: where this script came from]
  --data DIR          identity and journal of the agent [default: /var/lib/muster-agent]
  --bin-dir DIR       where the program goes [default: /usr/bin]
  --config-dir DIR    where agent.toml goes [default: /etc/muster]
  --no-service        start the agent in the background, without systemd
  --uninstall         stop the agent and remove it; its processes keep running
  --purge             with --uninstall: remove its identity and journal, too
END
}

say() { echo "muster: $*"; }
die() {
  echo "muster: $*" >&2
  exit 1
}
wrong() {
  echo "muster: $*" >&2
  usage >&2
  exit 2
}

token=${MUSTER_JOIN_TOKEN:-}
server= ip= cloud= version= service=auto action=install purge=no
data=/var/lib/muster-agent bin_dir=/usr/bin config_dir=/etc/muster
while [ $# -gt 0 ]; do
  case $1 in
    --token | --server | --ip | --cloud-id | --version | --url | --data | --bin-dir | --config-dir)
      [ $# -ge 2 ] || wrong "$1 needs a value"
      # The values become part of a TOML file and of a unit.
      case $2 in *[!][A-Za-z0-9._:/,+=@%-]*) wrong "$1 has a character that is not allowed" ;; esac
      case $1 in
        --token) token=$2 ;;
        --server) server=$2 ;;
        --ip) ip=$2 ;;
        --cloud-id) cloud=$2 ;;
        --version) version=$2 ;;
        --url) url=${2%/} ;;
        --data) data=$2 ;;
        --bin-dir) bin_dir=$2 ;;
        --config-dir) config_dir=$2 ;;
      esac
      shift 2
      ;;
    --no-service) service=no && shift ;;
    --uninstall) action=uninstall && shift ;;
    --purge) purge=yes && shift ;;
    -h | --help) usage && exit 0 ;;
    *) wrong "unknown option $1" ;;
  esac
done

[ "$(uname -s)" = Linux ] || die "this is $(uname -s); the agent runs on Linux only"
[ "$(id -u)" = 0 ] || die "this needs root: the agent starts processes of other users. Run it with sudo"
exe=$bin_dir/muster-agent
config=$config_dir/agent.toml
unit=/etc/systemd/system/muster-agent.service
if [ "$service" = auto ]; then
  service=no
  if [ -d /run/systemd/system ] && command -v systemctl >/dev/null; then service=systemd; fi
fi

# The pid of the agent on the data directory, if it runs.
agent_pid() {
  pid=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$data/agent.run" 2>/dev/null | head -n 1)
  started=$(sed -n 's/.*"start_time": *\([0-9]*\).*/\1/p' "$data/agent.run" 2>/dev/null | head -n 1)
  [ -n "$pid" ] && [ "$pid" -gt 1 ] && [ -r "/proc/$pid/stat" ] || return 1
  # After the name, which is in parentheses, the start time is the 20th field.
  now=$(sed 's/.*) //' "/proc/$pid/stat" | cut -d ' ' -f 20)
  [ "$now" = "$started" ] || return 1
  echo "$pid"
}

if [ "$action" = uninstall ]; then
  if [ "$service" = systemd ] && [ -e "$unit" ]; then
    systemctl disable --now muster-agent.service 2>/dev/null || true
    rm -f "$unit"
    systemctl daemon-reload
  fi
  if pid=$(agent_pid); then
    kill -TERM "$pid"
    n=0
    while agent_pid >/dev/null && [ $n -lt 100 ]; do
      sleep 0.1
      n=$((n + 1))
    done
    if agent_pid >/dev/null; then die "the agent (pid $pid) does not stop; nothing was removed"; fi
  fi
  rm -f "$exe" "$exe.old" "$config"
  rmdir "$config_dir" 2>/dev/null || true
  if [ "$purge" = yes ]; then rm -rf "$data"; fi
  say "the agent is removed; the processes that it supervised keep running"
  [ "$purge" = yes ] || [ ! -e "$data" ] || say "its identity and journal are in $data (--purge removes them)"
  exit 0
fi

[ -n "$url" ] || wrong "--url is needed: the server does not know by which name it was reached"
if [ -z "$server" ]; then
  authority=${url#*://}
  authority=${authority%%/*}
  case $authority in
    \[*\]*) host="${authority%%]*}]" ;;
    *) host=${authority%%:*} ;;
  esac
  server=$host:$agents_port
fi
enrolled=no
if [ -e "$data/identity.toml" ]; then enrolled=yes; fi
[ "$enrolled" = yes ] || [ -n "$token" ] || wrong "--token is needed, because this host has not joined yet"

if command -v curl >/dev/null; then
  fetch() { curl -fsS --retry 2 -o "$2" "$1"; }
elif command -v wget >/dev/null; then
  fetch() { wget -q -O "$2" "$1"; }
else
  die "curl or wget is needed"
fi
checksum() { # FILE
  if command -v sha256sum >/dev/null; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif command -v openssl >/dev/null; then
    openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
  else
    die "sha256sum or openssl is needed"
  fi
}

work=$(mktemp -d "${TMPDIR:-/tmp}/muster-install.XXXXXX") || die "no temporary folder can be made"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

arch=$(uname -m)
fetch "$url/install/SHA256SUMS" "$work/sums" || die "$url cannot be reached; nothing was changed"
line=$(grep -E "  muster-agent-${version:-[0-9][^ ]*}-$arch\$" "$work/sums" | head -n 1) || true
if [ -z "$line" ]; then
  has=$(sed 's/.*  //' "$work/sums" | tr '\n' ' ')
  die "the server has no agent ${version:+$version }for $arch; it has: ${has:-none}; nothing was changed"
fi
sum=${line%% *}
file=${line##* }
installed=
[ ! -x "$exe" ] || installed=$(checksum "$exe")
new=$exe
if [ "$installed" != "$sum" ]; then
  new=$work/muster-agent
  say "downloading $file"
  fetch "$url/install/$file" "$new" || die "the download failed: is there room in $work? nothing was changed"
  got=$(checksum "$new")
  [ "$got" = "$sum" ] || die "the download has the checksum $got and not $sum: it is not complete, or was changed on its way; nothing was changed"
  chmod 755 "$new"
fi
says=$("$new" --version 2>&1) || die "the agent does not run on this host: $says; nothing was changed"
case $says in "muster-agent "*) ;; *) die "$file is no agent but says: $says; nothing was changed" ;; esac

if ! "$new" check --server "$server" --data "$data" ${token:+--join "$token"} >"$work/check" 2>&1; then
  cat "$work/check" >&2
  die "this host is not fit for the agent; nothing was changed"
fi
grep -E '^(degraded|no) ' "$work/check" || true

mkdir -p "$config_dir"
if [ -e "$config" ]; then
  say "$config is kept as it is"
else
  (
    umask 077
    {
      echo '# Written by install.sh. Every setting: muster-agent --help'
      echo "server = [\"$(echo "$server" | sed 's/,/", "/g')\"]"
      echo "data = \"$data\""
      [ -z "$ip" ] || echo "ip = \"$ip\""
      [ -z "$cloud" ] || echo "cloud_id = $cloud"
    } >"$config.new"
    mv "$config.new" "$config"
  )
fi

started=no
if pid=$(agent_pid); then
  if [ "$installed" != "$sum" ]; then
    "$new" upgrade --data "$data" --binary "$new" || die "the agent that runs could not be upgraded"
  else
    say "the agent runs already"
  fi
else
  started=yes
  mkdir -p "$bin_dir"
  if [ "$new" != "$exe" ]; then
    cp "$new" "$exe.new" && mv "$exe.new" "$exe" || {
      rm -f "$exe.new"
      die "$exe cannot be written: is there room? The agent was not started"
    }
  fi
fi

if [ "$service" = systemd ] && [ ! -e "$unit" ] && [ ! -e /usr/lib/systemd/system/muster-agent.service ] && [ ! -e /lib/systemd/system/muster-agent.service ]; then
  sed -e "s|/usr/bin/muster-agent|$exe|g" -e "s|/etc/muster/agent.toml|$config|g" >"$unit" <<'UNIT'
@UNIT@
UNIT
  systemctl daemon-reload
fi
if [ "$started" = yes ]; then
  if [ "$service" = systemd ]; then
    # The token is there for the first start alone.
    if [ "$enrolled" = no ]; then
      drop_in=/run/systemd/system/muster-agent.service.d
      trap 'rm -rf "$drop_in" "$work"; systemctl daemon-reload' EXIT
      mkdir -p "$drop_in"
      (umask 077 && echo "MUSTER_JOIN_TOKEN=$token" >"$drop_in/token")
      printf '[Service]\nEnvironmentFile=%s\n' "$drop_in/token" >"$drop_in/join.conf"
      systemctl daemon-reload
    fi
    systemctl enable muster-agent.service >/dev/null 2>&1 || true
    systemctl restart muster-agent.service || die "the agent does not start: see journalctl -u muster-agent"
  else
    mkdir -p "$data"
    MUSTER_JOIN_TOKEN=$token setsid "$exe" --config "$config" </dev/null >>"$data/agent.log" 2>&1 &
    say "there is no systemd: the agent runs in the background, and is not started when this host boots"
  fi
fi

n=0
until grep -q '"connected": *true' "$data/agent.run" 2>/dev/null && agent_pid >/dev/null; do
  n=$((n + 1))
  if [ $n -gt 300 ]; then
    if [ "$service" = systemd ]; then
      journalctl -u muster-agent -n 5 --no-pager -o cat >&2 || true
    else
      tail -n 5 "$data/agent.log" >&2 2>/dev/null || true
    fi
    die "the agent is installed, but was not connected to $server after 30 s"
  fi
  sleep 0.1
done
say "$says is connected to $server"
