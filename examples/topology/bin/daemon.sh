#!/bin/sh
# Runs the service as a daemon: daemon.sh NAME start|stop
name=$1
pid_file=run/$name.pid
case $2 in
start)
    bin/service.sh "$name" >/dev/null 2>&1 &
    echo $! >"$pid_file"
    ;;
stop)
    kill "$(cat "$pid_file")"
    ;;
esac
