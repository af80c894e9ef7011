#!/bin/sh
# Makes this machine a host of a Muster fleet: installs the agent that the server hands out, lets it join, and starts it.
# Run it again to bring it up to date: what is as it should be is left alone. Processes are never touched.
# Everything is a function that the last line calls, so that half of this script does nothing.
set -eu

usage() {
  cat <<'END'
usage: curl -fsS http://SERVER/install.sh | sh -s -- --token TOKEN [OPTIONS]
       curl -fsS http://SERVER/install.sh | sh -s -- --uninstall [--purge]

  --token TOKEN       lets this host join; made by: muster token create (or in MUSTER_JOIN_TOKEN,
                      where ps does not show it)
  --server HOST:PORT  where servers or relays listen for agents, separated by commas
                      [default: the server that this script came from]
  --ip IP             the address that this host is known by [default: by its route to the server]
  --cloud-id N        the cloud area that this host lies in [default: 0]
  --version V         this version of the agent [default: the newest that the server has]
  --url URL           where to download from [default: where this script came from]
  --ca FILE           certificates by which to verify that URL, if it is https
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

parse() {
  url='@URL@'
  token=${MUSTER_JOIN_TOKEN:-}
  # The agent's settings are those of its file, not those of this shell.
  for name in $(env | sed -n 's/^\(MUSTER_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
  server='' ip='' cloud='' version='' ca='' service=auto action=install purge=no
  data='' bin_dir=/usr/bin config_dir=/etc/muster
  while [ $# -gt 0 ]; do
    case $1 in
      --token | --server | --ip | --cloud-id | --version | --url | --ca | --data | --bin-dir | --config-dir)
        [ $# -ge 2 ] || wrong "$1 needs a value"
        # The values become part of a TOML file and of a unit.
        case $2 in
          '' | --*) wrong "$1 needs a value" ;;
          *[!][A-Za-z0-9._:/,+=@-]*) wrong "$1 has a character that is not allowed" ;;
        esac
        case $1 in
          --ca | --data | --bin-dir | --config-dir)
            case $2 in /*[!/]*) ;; *) wrong "$1 must be an absolute path, not $2" ;; esac
            ;;
        esac
        case $1 in
          --token) token=$2 ;;
          --server) server=$2 ;;
          --ip) ip=$2 ;;
          --cloud-id) cloud=$2 ;;
          --version) version=$2 ;;
          --url) url=${2%/} ;;
          --ca) ca=$2 ;;
          --data) data=${2%/} ;;
          --bin-dir) bin_dir=${2%/} ;;
          --config-dir) config_dir=${2%/} ;;
        esac
        shift 2
        ;;
      --no-service) service=no && shift ;;
      --uninstall) action=uninstall && shift ;;
      --purge) purge=yes && shift ;;
      -h | --help) usage && exit 0 ;;
      *) wrong "there is no option $1" ;;
    esac
  done
  case $cloud in *[!0-9]*) wrong "--cloud-id must be a whole number, not $cloud" ;; esac
  [ "$purge" = no ] || [ "$action" = uninstall ] || wrong "--purge goes with --uninstall"

  exe=$bin_dir/muster-agent
  config=$config_dir/agent.toml
  unit=/etc/systemd/system/muster-agent.service
  if [ "$service" = auto ]; then
    service=no
    if [ -d /run/systemd/system ] && command -v systemctl >/dev/null; then service=systemd; fi
  fi
  # The file decides, if there is one: the agent reads it.
  configured=$(sed -n 's/^ *data *= *"\([^"]*\)".*/\1/p' "$config" 2>/dev/null | head -n 1)
  [ -e "$config" ] && [ -z "$configured" ] && configured=/var/lib/muster-agent
  : "${data:=${configured:-/var/lib/muster-agent}}"
}

# A field of agent.run, which the agent writes.
run_file() { # NAME
  sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p" "$data/agent.run" 2>/dev/null | head -n 1
}

# The pid of the agent on the data directory, if it runs.
agent_pid() {
  pid=$(run_file pid)
  [ -n "$pid" ] && [ "$pid" -gt 1 ] && [ -r "/proc/$pid/stat" ] || return 1
  # After the name, which is in parentheses, come the state, Z for a zombie, and as the 20th field the start time.
  stat=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d ' ' -f 1,20)
  [ "${stat#* }" = "$(run_file start_time)" ] && [ "${stat%% *}" != Z ] || return 1
  echo "$pid"
}

# The package that the program belongs to, if any.
packaged() {
  [ -e "$exe" ] || return 1
  if command -v dpkg-query >/dev/null && owner=$(dpkg-query -S "$exe" 2>/dev/null); then
    echo "${owner%%:*}"
  elif command -v rpm >/dev/null && owner=$(rpm -qf --queryformat '%{NAME}' "$exe" 2>/dev/null); then
    echo "$owner"
  else
    return 1
  fi
}

stop_agent() {
  pid=$(agent_pid) || return 0
  kill -TERM "$pid" 2>/dev/null || true
  n=0
  while agent_pid >/dev/null && [ $n -lt 20 ]; do
    sleep 1
    n=$((n + 1))
  done
  if agent_pid >/dev/null; then die "the agent (pid $pid) does not stop; no file was removed"; fi
}

uninstall() {
  if package=$(packaged); then
    die "$exe belongs to the package $package: remove that (apt-get remove $package, or yum remove $package); nothing was changed"
  fi
  found=no
  for file in "$exe" "$config" "$data/agent.run"; do [ ! -e "$file" ] || found=yes; done
  if [ "$service" = systemd ] && [ -e "$unit" ]; then
    found=yes
    systemctl disable --now muster-agent.service >/dev/null 2>&1 || systemctl stop muster-agent.service || true
  fi
  stop_agent
  if [ "$service" = systemd ] && [ -e "$unit" ]; then
    rm -f "$unit" /etc/systemd/system/multi-user.target.wants/muster-agent.service
    systemctl daemon-reload
  fi
  rm -f "$exe" "$exe.old" "$config"
  rmdir "$config_dir" 2>/dev/null || true
  if [ "$purge" = yes ] && [ -e "$data" ]; then
    [ -e "$data/lock" ] || die "$data is not the folder of an agent: it was not removed"
    rm -rf "$data"
    found=yes
  fi
  rm -f "$data/agent.run" 2>/dev/null || true
  if [ "$found" = no ]; then
    say "there is no agent here; nothing was changed"
  else
    say "the agent is removed; the processes that it supervised keep running"
  fi
  [ ! -e "$data" ] || say "its identity and journal are in $data (--uninstall --purge removes them)"
}

fetch() { # FROM TO
  code=0
  if command -v curl >/dev/null; then
    curl -gfsS --connect-timeout 10 --retry 2 ${ca:+--cacert "$ca"} -o "$2" "$1" || code=$?
    full=23
  elif command -v wget >/dev/null; then
    wget -q -T 30 ${ca:+--ca-certificate="$ca"} -O "$2" "$1" || code=$?
    full=3
  else
    die "curl or wget is needed; nothing was changed"
  fi
  [ $code != "$full" ] || die "the download cannot be written to $bin_dir: is there room? Nothing was changed"
  return $code
}

checksum() { # FILE
  if command -v sha256sum >/dev/null; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif command -v openssl >/dev/null; then
    openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
  else
    die "sha256sum or openssl is needed; nothing was changed"
  fi
}

made=
# Makes a folder and those above it; undo removes them.
make_folder() {
  [ ! -d "$1" ] || return 0
  make_folder "$(dirname "$1")" && mkdir "$1" && made="$1 $made"
}

staged=
work=
# Until everything is in place, the end of this script takes back what it made.
undo() {
  [ -z "$work" ] || rm -rf "$work"
  for file in $staged; do rm -f "$file"; done
  for folder in $made; do rmdir "$folder" 2>/dev/null || true; done
}

# Decides which program becomes the agent: $new, of the version $says.
choose_program() {
  new=$exe
  if package=$(packaged); then
    say "$exe belongs to the package $package and is kept; newer versions come with the package, or by: muster agent upgrade"
    says=$("$exe" --version 2>&1) || die "the agent does not run on this host: $says; nothing was changed"
    [ -z "$version" ] || [ "$says" = "muster-agent $version" ] ||
      die "$exe is $says of the package $package, not $version: install that package; nothing was changed"
    return 0
  fi
  arch=$(uname -m)
  if ! fetch "$url/install/SHA256SUMS" "$work/sums"; then
    case $code in
      # The server answered: the code of curl, and of wget.
      22 | 8) die "$url does not hand out agents: is it the address of a Muster server? Nothing was changed" ;;
      *) die "$url cannot be reached; nothing was changed" ;;
    esac
  fi
  line=$(awk -v version="$version" -v arch="$arch" '
    length($1) == 64 && index($2, "muster-agent-") == 1 {
      rest = substr($2, 14)
      if (version == "" && rest ~ "^[0-9].*-" arch "$" || rest == version "-" arch) { print; exit }
    }' "$work/sums")
  if [ -z "$line" ]; then
    has=$(awk 'index($2, "muster-agent-") == 1 { printf "%s%s", sep, $2; sep = ", " }' "$work/sums")
    die "the server has no agent ${version:+$version }for $arch; it has: ${has:-none}. Put muster-agent-VERSION-$arch into the folder agents of its data directory; nothing was changed"
  fi
  sum=${line%% *}
  file=${line##* }
  installed=
  [ ! -x "$exe" ] || installed=$(checksum "$exe")
  if [ "$installed" != "$sum" ]; then
    new=$work/muster-agent
    say "downloading $file"
    fetch "$url/install/$file" "$new" || die "the download of $file failed or is not complete; nothing was changed"
    got=$(checksum "$new")
    [ "$got" = "$sum" ] ||
      die "$file has the checksum $got and not $sum: it is not complete, or was changed on its way; nothing was changed"
    chmod 755 "$new"
  fi
  says=$("$new" --version 2>&1) || die "the agent does not run on this host: $says; nothing was changed"
  case $says in "muster-agent "*) ;; *) die "$file is no agent, but says: $says; nothing was changed" ;; esac
}

# Leaves the settings that the agent will use in $settings.
write_settings() {
  settings=$config
  if [ -e "$config" ]; then
    [ "$data" = "${configured}" ] ||
      die "$config says data = \"$configured\", not $data: change it there, or leave out --data; nothing was changed"
    now=$("$new" --config "$config" --print-config </dev/null) || die "$config is not valid; nothing was changed"
    has=$(echo "$now" | sed -n 's/^server = \[\(.*\)\]$/\1/p' | tr -d '" ')
    if [ "$has" = "$server" ]; then
      say "$config is kept as it is"
    else
      say "$config is kept as it is: its server is $has, not $server"
      server=$has
    fi
    return 0
  fi
  make_folder "$config_dir" || die "$config_dir cannot be made; nothing was changed"
  settings=$config.new
  staged="$staged $settings"
  (umask 077 && {
    echo '# Written by install.sh. Every setting: muster-agent --help' &&
      echo "server = [\"$(echo "$server" | sed 's/,/", "/g')\"]" &&
      echo "data = \"$data\"" &&
      { [ -z "$ip" ] || echo "ip = \"$ip\""; } &&
      { [ -z "$cloud" ] || echo "cloud_id = $cloud"; }
  } >"$settings") || die "$settings cannot be written: is there room? Nothing was changed"
  "$new" --config "$settings" --print-config </dev/null >/dev/null || die "an option is not valid; nothing was changed"
}

write_unit() {
  new_unit=
  [ "$service" = systemd ] || return 0
  for other in /usr/lib/systemd/system /lib/systemd/system; do
    [ ! -e "$other/muster-agent.service" ] || return 0
  done
  [ ! -e "$unit" ] || grep -q '^# Written by install.sh' "$unit" || {
    say "$unit is kept as it is"
    return 0
  }
  {
    echo '# Written by install.sh, which writes it again.'
    sed -e "s|/usr/bin/muster-agent|$exe|g" -e "s|/etc/muster/agent.toml|$config|g" <<'UNIT'
@UNIT@
UNIT
  } >"$work/unit" || die "$work/unit cannot be written: is there room? Nothing was changed"
  # The folder of systemd's choice is this one only.
  [ "$data" = /var/lib/muster-agent ] || sed -i '/^StateDirectory/d' "$work/unit"
  ! cmp -s "$work/unit" "$unit" || return 0
  new_unit=$unit.new
  staged="$staged $new_unit"
  cat "$work/unit" >"$new_unit" || die "$new_unit cannot be written: is there room? Nothing was changed"
}

# What is wrong with this host is said before anything is changed.
check_host() {
  if "$new" check --config "$settings" </dev/null >"$work/check" 2>&1; then
    grep '^degraded' "$work/check" || true
    return 0
  fi
  # With a token a host whose certificate is not accepted any more joins again.
  if [ -n "$token" ] && ! grep '^no ' "$work/check" | grep -qv '^no  *accepted by' && grep -q '^no ' "$work/check"; then
    return 0
  fi
  grep -v '^ok' "$work/check" >&2 || true
  die "this host or its way to $server is not fit for the agent; nothing was changed"
}

join() {
  if ! said=$(MUSTER_LOG=warn "$new" --config "$settings" \
    ${ip:+--ip "$ip"} ${cloud:+--cloud-id "$cloud"} --join-only </dev/null 2>"$work/join"); then
    tail -n 1 "$work/join" | sed 's/^muster agent: /muster: /' >&2
    die "this host did not join; nothing was changed"
  fi
  cat "$work/join" >&2
  say "$said"
}

start_agent() {
  if [ "$service" = systemd ]; then
    systemctl restart muster-agent.service || die "the agent is installed, but does not start: see journalctl -u muster-agent"
  else
    # As a service: without the environment and the folder of this shell.
    (
      cd /
      env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        setsid "$exe" --config "$config" </dev/null >>"$data/agent.log" 2>&1 &
    )
    say "the agent runs without systemd: it is not started when this host boots"
  fi
}

wait_for_connection() {
  n=0
  until [ "$(run_file connected)" = true ] && agent_pid >/dev/null; do
    n=$((n + 1))
    if [ $n -gt 30 ]; then
      if [ "$service" = systemd ]; then
        journalctl -u muster-agent -n 5 --no-pager -o cat >&2 || true
      else
        tail -n 5 "$data/agent.log" >&2 2>/dev/null || true
      fi
      die "the agent is installed, but was not connected to $server after 30 s"
    fi
    sleep 1
  done
}

install() {
  [ -n "$url" ] || wrong "--url is needed: the server does not know by which name it was reached"
  if [ -z "$server" ]; then
    authority=${url#*://}
    authority=${authority%%/*}
    case $authority in
      \[*\]*) server="${authority%%]*}]" ;;
      *) server=${authority%%:*} ;;
    esac
    server=$server:@AGENTS_PORT@
  fi
  if [ ! -e "$data/identity.toml" ] && [ -z "$token" ] && ! grep -q '^ *join *=' "$config" 2>/dev/null; then
    wrong "--token is needed, because this host has not joined yet"
  fi
  running=no
  ! pid=$(agent_pid) || running=yes

  trap undo EXIT
  trap 'exit 1' HUP INT TERM
  make_folder "$bin_dir" || die "$bin_dir cannot be made; nothing was changed"
  # Beside the program: there is room for it, and programs may run there, unlike in many a /tmp.
  work=$(mktemp -d "$bin_dir/.muster-install.XXXXXX") || die "$bin_dir cannot be written; nothing was changed"
  choose_program
  write_settings
  write_unit
  if [ $running = no ]; then
    # In the environment, where other users cannot read it.
    [ -z "$token" ] || export MUSTER_JOIN_TOKEN="$token"
    check_host
    join
  fi

  # From here on only renames.
  if [ $running = no ] && [ "$new" != "$exe" ]; then mv -f "$new" "$exe"; fi
  [ "$settings" = "$config" ] || mv -f "$settings" "$config"
  if [ -n "$new_unit" ]; then
    mv -f "$new_unit" "$unit"
    systemctl daemon-reload
    systemctl enable muster-agent.service >/dev/null 2>&1 ||
      say "systemctl enable muster-agent failed: the agent does not start when this host boots"
  fi
  staged=
  made=
  ! command -v restorecon >/dev/null || restorecon "$exe" "$config" ${new_unit:+"$unit"} 2>/dev/null || true
  if [ $running = no ]; then
    start_agent
  elif [ "$new" != "$exe" ]; then
    "$new" upgrade --data "$data" --binary "$new" </dev/null || die "the agent (pid $pid) goes on as it was"
  elif [ "$says" != "muster-agent $(run_file version)" ]; then
    "$exe" upgrade --data "$data" </dev/null || die "the agent (pid $pid) goes on as it was"
  else
    say "the agent (pid $pid) runs already"
  fi
  wait_for_connection
  say "$says is connected to $server"
}

main() {
  umask 022
  parse "$@"
  [ "$(uname -s)" = Linux ] || die "this is $(uname -s), and the agent runs on Linux only; nothing was changed"
  [ "$(id -u)" = 0 ] ||
    die "this needs root, because the agent runs processes of other users: put sudo before sh; nothing was changed"
  $action
}

main "$@"
