#!/bin/sh
# Imports two businesses from a file, starts and lists their processes, releases a config file, changes the topology, and stops
# everything. Uses a temporary folder and free ports, and removes everything at the end. MUSTER names the program if it is not on
# the PATH.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
muster=${MUSTER:-muster}
work=$(mktemp -d)
MUSTER_DATA=$work/data
export MUSTER_DATA
up=

say() {
    printf '\n# %s\n' "$1"
}

# Shows a command and runs it.
run() {
    echo "\$ muster $*"
    "$muster" "$@"
}

clean_up() {
    status=$?
    trap - EXIT INT TERM
    if [ -n "$up" ]; then
        # After a failure the example's processes may still run: kill them.
        if [ "$status" -ne 0 ]; then
            for biz in 2 3; do
                "$muster" job kill --biz "$biz" --yes --quiet >/dev/null 2>&1 || true
            done
            tail -n 20 "$work/up.log"
        fi
        kill "$up" 2>/dev/null || true
        wait "$up" 2>/dev/null || true
    fi
    rm -rf "$work"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir -p "$work/app/run" "$work/app/etc"
cp -R "$here/bin" "$work/app/bin"
sed -e "s|/opt/example|$work/app|" -e "s|user: app|user: $(id -un)|" \
    "$here/two-businesses.yaml" >"$work/topology.yaml"

say 'Start a server and an agent on this machine'
"$muster" up --http 127.0.0.1:0 --agents 127.0.0.1:0 >"$work/up.log" 2>&1 &
up=$!
tries=0
until "$muster" hosts --output json 2>/dev/null | grep -q '"connected": *true'; do
    tries=$((tries + 1))
    if [ "$tries" -gt 150 ] || ! kill -0 "$up" 2>/dev/null; then
        echo 'the server or its agent did not start' >&2
        exit 1
    fi
    sleep 0.2
done

say 'Show what a file would change, then import it'
run topology import "$work/topology.yaml" --dry-run
run topology import "$work/topology.yaml" --yes
run topology show

say 'Explain an expression and list the processes that it selects'
run expression explain 'zone-*.[login,chat]' --biz 2
run ps --biz 2 --expr 'zone-*.[login,chat]'

say 'Start all processes in order of priority'
run job start --biz 2
run job start --biz 3 --batch 1
run ps --biz 2 --expr 'zone-1'
run topology show 3

say 'Release a config file for each instance of login, then restart it'
run template create login.conf --biz 2 --path "$work/app/etc/login_\${LocalInstID}.conf" \
    --owner "$(id -un)" --group "$(id -gn)" --text "$here/login.mako"
run template bind login.conf --biz 2 --process login
run template preview login.conf --biz 2 --process login --instance 2
run job release --biz 2 --process login --then restart --yes
run template files --biz 2 --process login
cat "$work/app/etc/login_2.conf"
run job diff --biz 2 --process login

say 'Remove a module and add an instance'
sed -e '/- bk_module_name: chat/,/timeout: 20/d' -e 's/proc_num: 2/proc_num: 3/' \
    "$work/topology.yaml" >"$work/changed.yaml"
run topology import "$work/changed.yaml" --yes
run ps --biz 2
run job start --biz 2 --process login --ignore 828

say 'Stop all processes and remove the businesses'
run job stop --biz 2 --yes
run job stop --biz 3 --yes
run job list
run topology remove 2 --yes
run topology remove 3 --yes

say 'Done'
