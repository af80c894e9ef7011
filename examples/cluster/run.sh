#!/bin/sh
# Runs a cluster on one machine: PostgreSQL, three NATS servers, three replicas and three agents. Registers processes through one
# replica and reads them through another; kills a replica, drains another, stops NATS and PostgreSQL, and shows that operations
# continue. Uses a temporary folder and free ports, and removes everything at the end. Needs the Debian packages postgresql and
# nats-server. MUSTER names the program if it is not on the PATH.
set -eu

muster=${MUSTER:-muster}
PATH=$PATH:/usr/sbin
for folder in /usr/lib/postgresql/*/bin; do
    PATH=$folder:$PATH
done
for program in initdb nats-server; do
    command -v "$program" >/dev/null || {
        echo "$program is missing: apt-get install postgresql nats-server" >&2
        exit 1
    }
done

work=$(mktemp -d)
chmod 755 "$work"
# PostgreSQL refuses to run as root.
as_postgres=
[ "$(id -u)" != 0 ] || as_postgres='setpriv --reuid=postgres --regid=postgres --init-groups --'

say() {
    printf '\n# %s\n' "$1"
}

# Waits until a command succeeds.
wait_for() {
    what=$1
    shift
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        if [ "$tries" -gt 300 ]; then
            echo "timed out waiting for $what" >&2
            exit 1
        fi
        sleep 0.1
    done
}

# Prints the pid recorded under a name.
pid() {
    cat "$work/$1.pid"
}

note() {
    echo "$2" >"$work/$1.pid"
}

clean_up() {
    status=$?
    trap - EXIT INT TERM
    if [ "$status" -ne 0 ]; then
        tail -n 5 "$work"/*.log 2>/dev/null
        # After a failure the example's processes may still run: kill them.
        for n in 1 2 3; do
            [ ! -e "$work/run/reader-$n.pid" ] || kill -KILL "$(cat "$work/run/reader-$n.pid")" 2>/dev/null || true
        done
    fi
    for file in "$work"/agent-*.pid "$work"/replica-*.pid "$work"/nats-*.pid; do
        [ ! -e "$file" ] || kill -KILL "$(cat "$file")" 2>/dev/null || true
    done
    [ ! -d "$work/postgres/data" ] || stop_postgres >/dev/null 2>&1 || true
    wait
    rm -rf "$work"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start_postgres() {
    # shellcheck disable=SC2086 # a command with its arguments, or nothing
    (cd "$work/postgres" && $as_postgres pg_ctl -D data -l log -w start \
        -o "-k $work/postgres -c listen_addresses='' -c fsync=off") >/dev/null
}

stop_postgres() {
    # shellcheck disable=SC2086
    (cd "$work/postgres" && $as_postgres pg_ctl -D data -m immediate -w stop) >/dev/null
}

# start_nats NUMBER [OPTION...]
start_nats() {
    name=nats-$1
    shift
    rm -f "$work"/*_*.ports
    nats-server -a 127.0.0.1 -n "$name" --cluster_name example --ports_file_dir "$work" "$@" >"$work/$name.log" 2>&1 &
    note "$name" $!
    wait_for "$name" test -s "$work/nats-server_$(pid "$name").ports"
    mv "$work/nats-server_$(pid "$name").ports" "$work/$name.ports"
}

# Prints the listen address of a NATS server: nats_address NUMBER nats|cluster
nats_address() {
    sed -e "s/.*\"$2\":\[\"\([^\"]*\)\".*/\1/" "$work/nats-$1.ports"
}

# start_replica NUMBER: on free ports the first time, on the same ports later
start_replica() {
    name=replica-$1
    http=$(cat "$work/$name.http" 2>/dev/null || echo 127.0.0.1:0)
    agents=$(cat "$work/$name.agents" 2>/dev/null || echo 127.0.0.1:0)
    : >"$work/$name.out"
    "$muster" server --data "$work/$name" --store "$store" --bus "$bus" --http "$http" --agents "$agents" \
        --output json >"$work/$name.out" 2>>"$work/$name.log" &
    note "$name" $!
    wait_for "$name" grep -q url "$work/$name.out"
    sed -e 's|.*"url": *"http://\([^"]*\)".*|\1|' "$work/$name.out" >"$work/$name.http"
    sed -e 's|.*"agents": *"\([^"]*\)".*|\1|' "$work/$name.out" >"$work/$name.agents"
}

# Shows a command and runs it against one replica: at NUMBER COMMAND...
at() {
    replica=$1
    shift
    echo "\$ muster $* --url http://replica-$replica"
    "$muster" "$@" --url "http://$(cat "$work/replica-$replica.http")"
}

# Prints the JSON output of a command against one replica: ask NUMBER COMMAND...
ask() {
    replica=$1
    shift
    "$muster" "$@" --url "http://$(cat "$work/replica-$replica.http")" --output json
}

# Runs a verb on every process: each NUMBER VERB
each() {
    for process in 1 2 3; do
        at "$1" "$2" "demo/reader-$process" || return
    done
}

# Succeeds if the replica shows COUNT connected agents, held by any replica: sees_agents NUMBER COUNT
sees_agents() {
    [ "$(ask "$1" hosts | grep -c '"connected": *true')" = "$2" ]
}

sees_replicas() {
    [ "$(ask "$1" replicas | grep -c '"address"')" = "$2" ]
}

say 'Start PostgreSQL'
mkdir "$work/postgres"
[ -z "$as_postgres" ] || chown postgres: "$work/postgres"
# shellcheck disable=SC2086
(cd "$work/postgres" && $as_postgres initdb -D data -U muster --auth=trust --no-sync --no-instructions) >/dev/null
start_postgres
createdb -h "$work/postgres" -U muster muster
store="postgres://muster@localhost/muster?host=$work/postgres"
postgres --version

say 'Start a NATS cluster of three servers'
start_nats 1 -p -1 --cluster nats://127.0.0.1:-1
routes=$(nats_address 1 cluster)
start_nats 2 -p -1 --cluster nats://127.0.0.1:-1 --routes "$routes"
start_nats 3 -p -1 --cluster nats://127.0.0.1:-1 --routes "$routes"
bus=$(nats_address 1 nats),$(nats_address 2 nats),$(nats_address 3 nats)
nats-server --version

say 'Start three replicas, each with its own data directory'
# The same app for all replicas; otherwise the first replica creates one and writes it to its own data directory.
MUSTER_APP_CODE=example
MUSTER_APP_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export MUSTER_APP_CODE MUSTER_APP_SECRET
for n in 1 2 3; do
    start_replica "$n"
done
for n in 1 2 3; do
    wait_for 'all replicas' sees_replicas "$n" 3
done
at 1 replicas

say 'Start three agents, with the addresses of all replicas'
MUSTER_JOIN_TOKEN=$(ask 1 token create --expires-in 1h | sed -n 's/.*"token": *"\([^"]*\)".*/\1/p')
export MUSTER_JOIN_TOKEN
servers=$(cat "$work/replica-1.agents"),$(cat "$work/replica-2.agents"),$(cat "$work/replica-3.agents")
for n in 1 2 3; do
    "$muster" agent --server "$servers" --data "$work/agent-$n" --ip "127.0.1.$n" --cgroups off \
        >"$work/agent-$n.log" 2>&1 &
    note "agent-$n" $!
done
wait_for 'all agents' sees_agents 3 3
at 3 hosts

say 'Register through one replica, start through another, list through the third'
mkdir "$work/run"
: >"$work/run/log"
for n in 1 2 3; do
    at 1 register "demo/reader-$n" --host "127.0.1.$n" --setup-path "$work/run" \
        --start "tail -f $work/run/log" --start-check 0
done
each 2 start
at 3 ps

say 'Kill a replica; its agents connect to the others'
kill -KILL "$(pid replica-1)"
wait "$(pid replica-1)" 2>/dev/null || true
wait_for 'its agents to reconnect' sees_agents 2 3
wait_for 'the others to count it as gone' sees_replicas 2 2
each 2 restart
at 3 ps

say 'Start the replica again'
start_replica 1
wait_for 'all replicas' sees_replicas 3 3
at 1 ps

say 'Drain a replica, then stop it; operations continue'
at 2 drain
holds_no_agents() {
    ask 2 drain | grep -q '"agents": *0'
}
wait_for 'its agents to move' holds_no_agents
kill -TERM "$(pid replica-2)"
wait "$(pid replica-2)"
wait_for 'the others to count it as gone' sees_replicas 3 2
at 3 replicas
each 3 restart

say 'Kill one NATS server, then all of them: operations continue with more latency'
kill -KILL "$(pid nats-1)"
each 1 restart
kill -KILL "$(pid nats-2)" "$(pid nats-3)"
uses_mail() {
    ask 1 replicas | grep -q '"bus_up": *false'
}
wait_for 'replicas to use mail' uses_mail
at 1 replicas
each 1 restart
at 3 ps

say 'Stop PostgreSQL: reads continue, writes are refused'
stop_postgres
at 1 ps
each 1 restart || echo "refused with exit code $?"

say 'Start PostgreSQL again: writes work'
start_postgres
stops() {
    for n in 1 2 3; do
        ask 3 stop "demo/reader-$n" || return 1
    done
}
wait_for 'the stop' stops
sees_all_stopped() {
    [ "$(ask 1 ps --state stopped | grep -c '"name"')" = 3 ]
}
wait_for 'all replicas to show it' sees_all_stopped
at 1 ps

say 'Done'
