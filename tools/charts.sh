#!/usr/bin/env bash
# Makes the plain manifests of deploy/manifests from the charts of deploy/helm.
#
#   tools/charts.sh          writes the manifests
#   tools/charts.sh --lint   lints the charts too, renders them with other values, and sees to it
#                            that values that cannot work are refused
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

helm=$(tools/setup/helm.sh)
# Helm reads repositories and plugins of the person who runs it, and charts need none.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HELM_CACHE_HOME=$scratch HELM_CONFIG_HOME=$scratch HELM_DATA_HOME=$scratch

# The newest Kubernetes that the agent is tested with.
version=1.34.0

render() { # CHART NAMESPACE [OPTION...]
  local chart=$1 namespace=$2
  shift 2
  "$helm" template "$chart" "deploy/helm/$chart" --namespace "$namespace" \
    --kube-version "$version" "$@"
}

# Helm's own comments and the annotations that only Helm reads are left out.
plain() { # CHART NAMESPACE
  echo "# Made by tools/charts.sh from deploy/helm/$1; change that, and not this file."
  render "$1" "$2" --values "deploy/manifests/$1.values.yaml" | sed '/^# Source: /d'
}

for chart in nullops-agent nullops; do
  plain "$chart" "$chart" >"$scratch/$chart.yaml"
  mv "$scratch/$chart.yaml" "deploy/manifests/$chart.yaml"
done

# What a test compares with the manifests that 'nullops agent manifest' prints.
variant() { # FILE VALUES
  "$helm" template nullops-qa deploy/helm/nullops-agent --namespace nullops-qa \
    --kube-version "$version" --set "image=registry.test/nullops/agent:1,$2" >"$scratch/out"
  mv "$scratch/out" "deploy/manifests/testdata/$1"
}
mkdir -p deploy/manifests/testdata
variant connect.yaml connect=wss://nullops.test,fingerprint=sha256:ab,authorities=registries
variant nodeport.yaml \
  service.type=NodePort,service.nodePort=30500,service.port=5005,websocket=true,'imagePullSecrets={pull}'

[[ ${1:-} == --lint ]] || exit 0

for chart in nullops-agent nullops; do
  if ! said=$("$helm" lint --strict --quiet --kube-version "$version" \
    --values "deploy/manifests/$chart.values.yaml" "deploy/helm/$chart" 2>&1); then
    printf '%s\n' "$said" >&2
    echo "charts: FAILED: helm lint finds faults in deploy/helm/$chart" >&2
    exit 1
  fi
done

# accept and refuse render a chart with options: refused values are refused with these words.
accept() { # CHART OPTION...
  local chart=$1
  shift
  render "$chart" elsewhere "$@" >"$scratch/out" 2>&1 || {
    cat "$scratch/out" >&2
    echo "charts: FAILED: deploy/helm/$chart does not render with: $*" >&2
    exit 1
  }
}
refuse() { # WORDS CHART OPTION...
  local words=$1 chart=$2
  shift 2
  if render "$chart" elsewhere "$@" >"$scratch/out" 2>&1; then
    echo "charts: FAILED: deploy/helm/$chart takes: $*" >&2
    exit 1
  fi
  grep -qF -- "$words" "$scratch/out" || {
    cat "$scratch/out" >&2
    echo "charts: FAILED: deploy/helm/$chart does not say '$words' to: $*" >&2
    exit 1
  }
}

agent=nullops-agent
accept $agent --set image=registry.test/agent:1,connect=wss://nullops.test,fingerprint=sha256:ab \
  --set machines='pool=qa\,zone=a',persistence.storageClass=fast,volumes.storageClass=fast \
  --set volumes.size=1Gi,gpu=example.com/gpu,settings.NULLOPS_AGENT_GRACE=30s \
  --set 'imagePullSecrets={pull}',nodeSelector.pool=control
accept $agent --set service.type=NodePort,service.nodePort=30500,websocket=true \
  --set persistence.existingClaim=mine,proxy=http://proxy.test:3128
refuse "write the control plane's URL like wss://" $agent --set connect=https://nullops.test
refuse "listens nowhere" $agent --set connect=wss://nullops.test,websocket=true
refuse "leave the password out" $agent --set proxy=http://me:secret@proxy.test:3128
refuse "set service.type to NodePort" $agent --set service.nodePort=30500

values=(nullops --values deploy/manifests/nullops.values.yaml)
accept "${values[@]}" --set controlPlane.ingress.enabled=false,controlPlane.tlsSecret=tls \
  --set controlPlane.replicas=2,ingress.https=false,ingress.service.type=ClusterIP \
  --set agentImage=registry.test/agent:1,database.ca=ca.crt,authorities=ours,'extraSecrets={mail}',settings.NULLOPS_LOG_LEVEL=debug \
  --set controlPlane.proxies='10.0.0.0/8\,::1',ingress.proxies=10.0.0.0/8,nodeSelector.pool=control
refuse "database.url is empty" "${values[@]}" --set database.url=
refuse "without user and password" "${values[@]}" \
  --set database.url=postgres://nullops:secret@db.test/nullops
refuse "controlPlane.url is empty" "${values[@]}" --set controlPlane.url=
refuse "ingress.url is empty" "${values[@]}" --set ingress.url=
refuse "the Ingress serves HTTPS" "${values[@]}" --set controlPlane.tlsSecret=tls
