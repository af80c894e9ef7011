cat <<EOF
${"\n".join("%-8s %5d" % (h["ip"], h["port"]) for h in hosts)}
EOF
