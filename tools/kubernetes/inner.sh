#!/usr/bin/env bash
# The first process of a machine that node.sh or machine.sh starts: it hides from the kubelet what
# belongs to the real machine, and starts the components. When it is killed, the kernel ends all of
# them.
#
#   tools/kubernetes/inner.sh FOLDER PROGRAM NAME ADDRESS [VOLUMES]
#
# With VOLUMES, the folder of the first machine's volumes, it is a further machine: it has no
# control plane, and sees the same volumes, as if they were on storage of the network.
set -euo pipefail

work=$1 kubernetes=$2 name=$3 address=$4 volumes=${5:-}
cd "$work"

# The kubelet wants mounts to be shared, within these namespaces.
mount --make-rprivate /
mount --make-rshared /
mkdir -p inner
mount -t tmpfs tmpfs inner
hide_folder() { # FOLDER: an empty one in its place
  mkdir -p "$1" "inner/$1"
  mount --bind "inner/$1" "$1"
}
hide_folder /var/lib/kubelet
hide_folder /var/lib/cni
hide_folder /usr/libexec/kubernetes
hide_folder /var/log
hide_folder /run/netns
hide_folder /run/containerd
# Where the controller manager makes volumes.
mkdir -p /tmp/hostpath_pv volumes
mount --bind "${volumes:-volumes}" /tmp/hostpath_pv

# It sets these, and reads whether they are set.
for setting in vm/overcommit_memory:1 kernel/panic:10 kernel/panic_on_oops:1; do
  file=inner/${setting//[\/:]/_}
  echo "${setting##*:}" >"$file"
  mount --bind "$file" "/proc/sys/${setting%%:*}"
done
echo 1 >/proc/sys/net/ipv4/ip_forward
[[ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ]] || echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables

start_component() { # NAME COMMAND...
  local name=$1
  shift
  "$@" >"logs/$name" 2>&1 &
}

start_control_plane() {
  start_component etcd "$kubernetes" etcd --data-dir etcd --unsafe-no-fsync \
    --listen-client-urls http://127.0.0.1:12379 --advertise-client-urls http://127.0.0.1:12379 \
    --listen-peer-urls http://127.0.0.1:12380 --initial-advertise-peer-urls http://127.0.0.1:12380 \
    --initial-cluster default=http://127.0.0.1:12380
  start_component apiserver "$kubernetes" kube-apiserver --etcd-servers=http://127.0.0.1:12379 \
    --bind-address=0.0.0.0 --secure-port=16443 --advertise-address="$address" --cert-dir=certs \
    --service-cluster-ip-range=10.96.0.0/16 --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file=pki/sa.pub --service-account-signing-key-file=pki/sa.key \
    --token-auth-file=pki/tokens.csv --authorization-mode=Node,RBAC --allow-privileged=true \
    --kubelet-preferred-address-types=InternalIP
  until curl -sfk -H 'Authorization: Bearer admintoken' https://127.0.0.1:16443/readyz >/dev/null; do
    sleep 0.1
  done
  # A machine counts as lost after seconds, not after most of a minute.
  start_component manager "$kubernetes" kube-controller-manager --kubeconfig=manager.kubeconfig \
    --authentication-kubeconfig=manager.kubeconfig --authorization-kubeconfig=manager.kubeconfig \
    --service-account-private-key-file=pki/sa.key --root-ca-file=certs/apiserver.crt \
    --use-service-account-credentials=true --leader-elect=false --cert-dir=manager-certs \
    --bind-address=127.0.0.1 --enable-hostpath-provisioner --node-monitor-grace-period=16s
  start_component scheduler "$kubernetes" kube-scheduler --kubeconfig=scheduler.kubeconfig \
    --authentication-kubeconfig=scheduler.kubeconfig \
    --authorization-kubeconfig=scheduler.kubeconfig --leader-elect=false \
    --cert-dir=scheduler-certs --bind-address=127.0.0.1
  start_component dns "$kubernetes" dns --kubeconfig=admin.kubeconfig --listen=10.78.0.53:53
  start_component names make_name_service
}

# The Service that pods are told to ask for names leads to our name server, which is no pod. The
# namespace is made a moment after the API server is ready.
make_name_service() {
  until bin/kubectl apply --filename=names.yaml; do sleep 0.2; done
}

start_component containerd containerd --config containerd.toml
[[ -n $volumes ]] || start_control_plane
until ctr -a containerd.sock version >/dev/null 2>&1; do sleep 0.1; done
ctr -a containerd.sock -n k8s.io images import pause.tar
start_component kubelet "$kubernetes" kubelet --kubeconfig=kubelet.kubeconfig --config=kubelet.yaml \
  --root-dir="$work/kubelet" --cert-dir="$work/kubelet-certs" --hostname-override="$name" \
  --node-ip="$address" --containerd="$work/containerd.sock"
start_component proxy "$kubernetes" kube-proxy --config=proxy.yaml --hostname-override="$name"
wait
