#!/bin/sh
# A small service: prints its config when it starts and on SIGHUP, and runs until SIGTERM or SIGINT.
name=$1
show() {
    if [ -r "etc/$name.conf" ]; then
        echo "$name: $(tr '\n' ';' <"etc/$name.conf")"
    else
        echo "$name: without a config"
    fi
}
trap show HUP
trap 'kill "$nap" 2>/dev/null; exit 0' TERM INT
show
while :; do
    sleep 60 &
    nap=$!
    wait "$nap"
done
