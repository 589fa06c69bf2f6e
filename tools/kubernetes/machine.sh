#!/usr/bin/env bash
# Adds a second machine to the cluster that node.sh has started, and runs until it is killed, as a
# machine may be. What is left of it then is removed by the next one, or by node.sh.
#
#   tools/kubernetes/machine.sh FOLDER
#
# FOLDER is that of node.sh. The machine hangs on the first one by a cable of its own.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
first=$1 work=$1/machine2
source "$first/names" # space, group, binary

[[ ! -e $work/pid ]] || kill -KILL "$(<"$work/pid")" 2>/dev/null || true
ip netns del "$space-2" 2>/dev/null || true
ip -n "$space" link del machine2 2>/dev/null || true
rm -rf "$work"
for folder in /sys/fs/cgroup/"$group-2" /sys/fs/cgroup/*/"$group-2"; do
  [[ ! -d $folder ]] || find "$folder" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null || true
done
mkdir -p "$work/logs" "$work/cni"

ip netns add "$space-2"
ip -n "$space-2" link set lo up
ip -n "$space" link add machine2 type veth peer name eth0 netns "$space-2"
ip -n "$space" addr add 10.78.1.1/24 dev machine2
ip -n "$space" link set machine2 up
ip -n "$space" route add 10.244.1.0/24 via 10.78.1.2
ip -n "$space-2" addr add 10.78.1.2/24 dev eth0
ip -n "$space-2" link set eth0 up
ip -n "$space-2" route add default via 10.78.1.1
ip route replace 10.244.1.0/24 via 10.78.0.2
ip route replace 10.78.1.0/24 via 10.78.0.2

adapt_file() { # FILE: the first machine's, for the second
  sed -e "s#$first/certs#CERTS#g; s#$first#$work#g; s#CERTS#$first/certs#g" \
    -e "s#10.78.0.2\$#10.78.1.2#; s#10.244.0.0/24#10.244.1.0/24#; s#/$group\$#/$group-2#" \
    -e "s#kubelettoken#kubelet2token#" "$first/$1" >"$work/$1"
}
for file in containerd.toml kubelet.yaml kubelet.kubeconfig proxy.yaml proxy.kubeconfig \
  cni/10-bridge.conflist; do
  adapt_file "$file"
done
ln "$first/pause.tar" "$work/pause.tar"

echo $$ >"$work/pid"
exec nsenter --net="/run/netns/$space-2" unshare --mount --pid --fork --mount-proc --kill-child \
  "$root/tools/kubernetes/inner.sh" "$work" "$binary" node2 10.78.1.2 "$first/volumes"
