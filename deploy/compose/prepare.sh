#!/bin/sh
# Makes ./secrets, once: the cluster secret, the first API key, Grafana's password, and an
# authority for the admin listener. RAILGUARD names the binary (default: railguard).
set -eu
cd "$(dirname "$0")"
umask 077
railguard="${RAILGUARD:-railguard}"
[ ! -e secrets ] || { echo "secrets/ is there already: nothing done" >&2; exit 1; }
mkdir secrets
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
"$railguard" cluster-secret new > secrets/cluster-secret
{ printf rg_live_; random; } > secrets/first-key
random > secrets/grafana-password
"$railguard" tls init --dir secrets/admin --name "railguard admin"
"$railguard" tls issue --dir secrets/admin --id nodes --dns n1,n2,n3 --ip 127.0.0.1
"$railguard" tls issue --dir secrets/admin --id prometheus
# The containers' users are others than yours; the folder stays yours alone.
chmod 0444 secrets/cluster-secret secrets/first-key secrets/grafana-password secrets/admin/nodes.* secrets/admin/prometheus.* secrets/admin/ca.pem
echo "the first API key stands in $(pwd)/secrets/first-key, the password of Grafana's admin in $(pwd)/secrets/grafana-password"
