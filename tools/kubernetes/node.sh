#!/usr/bin/env bash
# Runs one command beside a real Kubernetes of one node, and removes all of it afterwards:
#
#   tools/kubernetes/node.sh COMMAND [ARG...]
#
# etcd, API server, controller manager, scheduler, kubelet and kube-proxy are the program that
# tools/setup/kubernetes.sh builds; containerd, runc and the network plugins are Debian's. All of
# them run in network, mount and process namespaces of their own, so that one signal ends them, and
# no setting of the machine changes. The command finds kubectl in its path, which has every right,
# and gets these variables:
#
#   NULLOPS_TEST_KUBERNETES           a kubeconfig with every right
#   NULLOPS_TEST_KUBERNETES_REGISTRY  a registry that both the command and the node reach
#   NULLOPS_TEST_KUBERNETES_SECURE    the same registry over TLS, and
#   NULLOPS_TEST_KUBERNETES_AUTHORITY the file with its certificate
#   NULLOPS_TEST_KUBERNETES_FROM      the command's address, as pods see it
#   NULLOPS_TEST_KUBERNETES_SPACE     the node's network namespace: etcd listens in it, on 127.0.0.1
#                                     and port 12379, and so are the bridge and the rules of pods
#   NULLOPS_TEST_KUBERNETES_PROGRAM   the program: "policies" in that namespace enforces policies
#   NULLOPS_TEST_KUBERNETES_FOLDER    what tools/kubernetes/machine.sh needs to add a second machine
#
# Volumes are folders that the controller manager makes, for StorageClasses with the provisioner
# kubernetes.io/host-path. A second registry, which a test may serve, is expected on port 5001. The
# addresses of Services and ports of machines are reached from the command too. For names there is a
# small server of our own (dns.go), which knows Services and nothing else. The network plugin stores
# NetworkPolicies without enforcing them; a test may have them enforced on this machine, by rules of
# the packet filter that follow from the same objects (policies.go).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
log() { printf 'kubernetes: %s\n' "$*" >&2; }
fail() { log "$*"; exit 1; }

(($# > 0)) || fail "usage: tools/kubernetes/node.sh COMMAND [ARG...]"
((EUID == 0)) || fail "a node needs root: run this with sudo"
for program in containerd ctr runc docker-registry ip nsenter unshare iptables curl openssl; do
  command -v "$program" >/dev/null || fail "missing: $program. Run tools/setup/install.sh kubernetes"
done
plugins=${CNI_PLUGINS:-/usr/lib/cni} # network plugins
[[ -x $plugins/bridge ]] ||
  fail "missing: the network plugins. Run tools/setup/install.sh kubernetes"
binary=$("$root/tools/setup/kubernetes.sh")/kubernetes

# One node at a time in a network namespace: its addresses are fixed.
exec 8>"/tmp/nullops-kubernetes.$(stat -Lc %i /proc/self/ns/net).lock"
flock -w 600 8 || fail "another node has run here for ten minutes"

work=$(mktemp -d /tmp/nullops-kubernetes-XXXXXX)
space=nk$$            # the network namespace
group=nullops-kube-$$ # the parent of all pods' cgroups
controllers=(cpu cpuacct cpuset memory pids devices freezer blkio systemd)

group_folders() { # the folders of both machines' cgroups, on version 1 and 2
  local c g
  for g in "$group" "$group-2"; do
    if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
      echo "/sys/fs/cgroup/$g"
      continue
    fi
    for c in "${controllers[@]}"; do
      [[ ! -d /sys/fs/cgroup/$c ]] || echo "/sys/fs/cgroup/$c/$g"
    done
  done
}

node='' registries=()
remove_node() {
  local folder i
  ((${#registries[@]} == 0)) || kill "${registries[@]}" 2>/dev/null || true
  if [[ -n $node ]]; then
    kill -KILL "$node" 2>/dev/null || true
    wait "$node" 2>/dev/null || true
  fi
  [[ ! -e $work/machine2/pid ]] || kill -KILL "$(<"$work/machine2/pid")" 2>/dev/null || true
  for i in 1 2 3 4 5 6 7 8 9 10; do
    for folder in $(group_folders); do
      [[ ! -d $folder ]] || find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done
    [[ -z $(group_folders | xargs -r ls -d 2>/dev/null) ]] && break
    sleep 0.2
  done
  ip netns del "$space-2" 2>/dev/null || true
  ip netns del "$space" 2>/dev/null || true
  rmdir /tmp/hostpath_pv 2>/dev/null || true
  if [[ -n ${KEEP_NODE:-} ]]; then log "kept $work"; else rm -rf "$work"; fi
}
trap remove_node EXIT
trap 'exit 130' INT TERM

# --- network: a cable to a namespace of its own ----------------------------------

ip netns add "$space"
ip -n "$space" link set lo up
ip link add "$space" type veth peer name eth0 netns "$space"
ip addr add 10.78.0.1/24 dev "$space"
ip link set "$space" up
ip -n "$space" addr add 10.78.0.2/24 dev eth0
ip -n "$space" addr add 10.78.0.53/32 dev eth0 # names
ip -n "$space" link set eth0 up
ip -n "$space" route add default via 10.78.0.1
ip route replace 10.244.0.0/24 via 10.78.0.2 # pods
ip route replace 10.96.0.0/16 via 10.78.0.2  # Services

# --- files -----------------------------------------------------------------------

mkdir -p "$work"/{pki,registry,cni,logs,bin}
openssl genrsa -out "$work/pki/sa.key" 2048 2>/dev/null
openssl rsa -in "$work/pki/sa.key" -pubout -out "$work/pki/sa.pub" 2>/dev/null
cat >"$work/pki/tokens.csv" <<END
admintoken,admin,admin,"system:masters"
kubelettoken,system:node:node1,kubelet1,"system:nodes"
kubelet2token,system:node:node2,kubelet2,"system:nodes"
managertoken,system:kube-controller-manager,manager
schedulertoken,system:kube-scheduler,scheduler
proxytoken,system:kube-proxy,proxy
END
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=registry \
  -addext subjectAltName=IP:10.78.0.1 -keyout "$work/pki/registry.key" \
  -out "$work/pki/registry.crt" 2>/dev/null
for who in admin kubelet manager scheduler proxy; do
  cat >"$work/$who.kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://10.78.0.2:16443", certificate-authority: $work/certs/apiserver.crt}}]
users: [{name: u, user: {token: ${who}token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
END
done
cat >"$work/cni/10-bridge.conflist" <<END
{"cniVersion":"1.0.0","name":"k8s","plugins":[
 {"type":"bridge","bridge":"cni0","isDefaultGateway":true,"ipMasq":true,"hairpinMode":true,
  "ipam":{"type":"host-local","dataDir":"$work/ipam","ranges":[[{"subnet":"10.244.0.0/24"}]]}},
 {"type":"portmap","capabilities":{"portMappings":true}}]}
END
cat >"$work/containerd.toml" <<END
version = 2
root = "$work/containerd/root"
state = "$work/containerd/state"
[grpc]
  address = "$work/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true # some machines may not lower it
  sandbox_image = "nullops.test/pause:1"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$work/certs.d"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$plugins"
    conf_dir = "$work/cni"
[plugins."io.containerd.internal.v1.opt"]
  path = "$work/containerd/opt"
END
for at in 10.78.0.1:5000 10.78.0.1:5001; do # without this, machines want HTTPS
  mkdir -p "$work/certs.d/$at"
  cat >"$work/certs.d/$at/hosts.toml" <<END
server = "http://$at"
[host."http://$at"]
  capabilities = ["pull", "resolve"]
END
done
mkdir -p "$work/certs.d/10.78.0.1:5443"
cat >"$work/certs.d/10.78.0.1:5443/hosts.toml" <<END
server = "https://10.78.0.1:5443"
[host."https://10.78.0.1:5443"]
  capabilities = ["pull", "resolve"]
  ca = "$work/pki/registry.crt"
END
write_registry() { # FILE HTTP
  cat >"$work/$1" <<END
version: 0.1
log: {level: warn}
storage: {filesystem: {rootdirectory: $work/registry}}
http: $2
END
}
write_registry registry.yml '{addr: "10.78.0.1:5000"}'
write_registry secure.yml "{addr: '10.78.0.1:5443', tls: {certificate: $work/pki/registry.crt, \
  key: $work/pki/registry.key}}"
cat >"$work/proxy.yaml" <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clusterCIDR: 10.244.0.0/16
clientConnection: {kubeconfig: $work/proxy.kubeconfig}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
END
cat >"$work/names.yaml" <<END
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec: {clusterIP: 10.96.0.10, ports: [{name: dns, port: 53, protocol: UDP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kube-dns, namespace: kube-system, labels: {kubernetes.io/service-name: kube-dns}}
addressType: IPv4
endpoints: [{addresses: [10.78.0.53]}]
ports: [{name: dns, port: 53, protocol: UDP}]
END
cat >"$work/bin/kubectl" <<END
#!/bin/sh
export KUBECACHEDIR=$work/kubectl KUBECONFIG=\${KUBECONFIG:-$work/admin.kubeconfig}
exec $binary kubectl "\$@"
END
chmod 755 "$work/bin/kubectl"
cat >"$work/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
address: 10.78.0.2
cgroupDriver: cgroupfs
cgroupRoot: /$group
failCgroupV1: false
failSwapOn: false
containerRuntimeEndpoint: unix://$work/containerd.sock
clusterDomain: cluster.local
clusterDNS: ["10.96.0.10"]
podLogsDir: $work/podlogs
volumePluginDir: $work/volumeplugins
evictionHard: {memory.available: "100Mi", nodefs.available: "1%", imagefs.available: "1%"}
imageGCHighThresholdPercent: 100
nodeLeaseDurationSeconds: 12
enforceNodeAllocatable: [pods]
END

# The first process of each pod is our helper, in the role that does nothing. An image is a tar of
# its layers and two files about them.
make_pause() {
  local folder=$work/pause sum
  mkdir -p "$folder/layer"
  (cd "$root" && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$folder/layer/pause" ./cmd/sidecar)
  tar -C "$folder/layer" -cf "$folder/layer.tar" pause
  sum=$(sha256sum "$folder/layer.tar" | cut -d' ' -f1)
  printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/pause","hold","pod"]},%s}' \
    "$(go env GOARCH)" "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:$sum\"]}" >"$folder/config.json"
  printf '[{"Config":"config.json","RepoTags":["nullops.test/pause:1"],"Layers":["layer.tar"]}]' \
    >"$folder/manifest.json"
  tar -C "$folder" -cf "$work/pause.tar" config.json layer.tar manifest.json
}
make_pause

# --- the node --------------------------------------------------------------------

for folder in $(group_folders); do mkdir -p "$folder"; done
for g in "$group" "$group-2"; do
  [[ -d /sys/fs/cgroup/cpuset/$g ]] || continue
  for file in cpuset.cpus cpuset.mems; do
    cat "/sys/fs/cgroup/cpuset/$file" >"/sys/fs/cgroup/cpuset/$g/$file"
  done
done
printf 'space=%q group=%q binary=%q\n' "$space" "$group" "$binary" >"$work/names"

for config in registry secure; do
  OTEL_TRACES_EXPORTER=none docker-registry serve "$work/$config.yml" >"$work/logs/$config" 2>&1 8>&- &
  registries+=($!)
done
nsenter --net="/run/netns/$space" unshare --mount --pid --fork --mount-proc --kill-child \
  "$root/tools/kubernetes/inner.sh" "$work" "$binary" node1 10.78.0.2 >"$work/logs/node" 2>&1 8>&- &
node=$!

ask_server() { curl -sf --max-time 5 --cacert "$work/certs/apiserver.crt" -H 'Authorization: Bearer admintoken' "$@"; }
is_ready() {
  ask_server 'https://10.78.0.2:16443/api/v1/nodes/node1?pretty=false' |
    grep -q '"type":"Ready","status":"True"'
}
log "waiting for the node"
deadline=$((SECONDS + ${NODE_PATIENCE:-180}))
until is_ready 2>/dev/null; do
  if ! kill -0 "$node" 2>/dev/null || ((SECONDS > deadline)); then
    tail -n 5 "$work"/logs/* >&2
    fail "the node is not ready; its logs end as above"
  fi
  sleep 0.2
done
log "the node is ready"

export NULLOPS_TEST_KUBERNETES_SECURE=10.78.0.1:5443 NULLOPS_TEST_KUBERNETES_PROGRAM=$binary \
  NULLOPS_TEST_KUBERNETES_AUTHORITY=$work/pki/registry.crt \
  KUBECONFIG=$work/admin.kubeconfig PATH=$work/bin:$PATH
export NULLOPS_TEST_KUBERNETES=$work/admin.kubeconfig NULLOPS_TEST_KUBERNETES_REGISTRY=10.78.0.1:5000 \
  NULLOPS_TEST_KUBERNETES_FROM=10.78.0.1 NULLOPS_TEST_KUBERNETES_SPACE=$space \
  NULLOPS_TEST_KUBERNETES_FOLDER=$work
code=0
"$@" 8>&- || code=$?
if ((code != 0)); then
  mkdir -p "$root/.cache/kubernetes-logs" && cp "$work"/logs/* "$root/.cache/kubernetes-logs/"
  log "the command ended with $code; the node's logs are in .cache/kubernetes-logs"
fi
exit "$code"
