#!/usr/bin/env bash
# What a person would write instead of NullOps on a cluster: the objects of the example shop for
# kubectl apply, with the same images, limits and checks, and kubectl run for what plugins do.
#
#   KUBECONFIG=FILE REGISTRY=HOST:PORT VOLUMES=FOLDER peer-kubernetes.sh up    ends when the page
#                                                                             shows its goods
#   VOLUMES=FOLDER peer-kubernetes.sh down                                     removes everything
#
# In VOLUMES, pods find the folders that are volumes. The database's belongs to its user, as on
# storage that knows a pod's fsGroup: the cluster's own volumes belong to root.
set -euo pipefail

space=peer-shop

down() {
  kubectl delete namespace "$space" --ignore-not-found --wait >/dev/null
  kubectl delete persistentvolume "$space" --ignore-not-found --wait >/dev/null
  rm -rf "${VOLUMES:?}/$space"
}

plugin() { # NAME JSON
  kubectl --namespace "$space" run "$1" --rm -i --quiet --restart=Never \
    --image-pull-policy=IfNotPresent --image="$REGISTRY/plugins/$1:1.0.0" <<<"$2"
}

service() { # NAME IMAGE MEMORY PORT PROBE ENV [VOLUMES MOUNTS]
  kubectl apply --filename=- >/dev/null <<END
apiVersion: v1
kind: Service
metadata: {name: $1, namespace: $space}
spec: {clusterIP: None, selector: {app: $1}, publishNotReadyAddresses: true}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: $space}
spec:
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      terminationGracePeriodSeconds: 1
      volumes: ${7:-[]}
      containers:
        - name: $1
          image: $REGISTRY/$2
          imagePullPolicy: IfNotPresent
          env: $6
          resources: {limits: {cpu: 500m, memory: $3}, requests: {cpu: 100m, memory: 64Mi}}
          volumeMounts: ${8:-[]}
          readinessProbe: {$5, periodSeconds: 1}
END
  kubectl --namespace "$space" wait --for=condition=Available --timeout=2m "deployment/$1" >/dev/null
}

up() {
  local password=peer-admin-password token=peer-token database answer
  kubectl create namespace "$space" >/dev/null
  install -d -m 700 -o 999 -g 999 "${VOLUMES:?}/$space"
  kubectl apply --filename=- >/dev/null <<END
apiVersion: v1
kind: PersistentVolume
metadata: {name: $space}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: bench
  persistentVolumeReclaimPolicy: Retain
  claimRef: {namespace: $space, name: data}
  hostPath: {path: /tmp/hostpath_pv/$space}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: $space}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
END
  service postgres shop/postgres:15 256Mi 5432 'tcpSocket: {port: 5432}' \
    "[{name: POSTGRES_PASSWORD, value: $password}]" \
    '[{name: data, persistentVolumeClaim: {claimName: data}}]' \
    '[{name: data, mountPath: /var/lib/postgresql/data}]'

  answer=$(plugin postgres-database '{"action":"create",
    "parameters":{"host":"postgres","port":5432,"database":"shop"},
    "secrets":{"adminPassword":"'"$password"'"}}')
  database=$(sed -n 's/.*"connectionString":"\([^"]*\)".*/\1/p' <<<"$answer")
  [[ -n $database ]] || { echo "no connection string in: $answer" >&2; return 1; }

  plugin sql-script '{"action":"create","secrets":{"connectionString":"'"$database"'"},
    "parameters":{"scripts":[{"name":"schema","sql":"CREATE TABLE products (id integer PRIMARY KEY, name text NOT NULL, blurb text NOT NULL, price_cents integer NOT NULL CHECK (price_cents >= 0), stock integer NOT NULL CHECK (stock >= 0))"},
    {"name":"rows","sql":"INSERT INTO products (id, name, blurb, price_cents, stock) VALUES (1, '\''Green tea'\'', '\''Loose leaves, 100 g'\'', 690, 24), (2, '\''Enamel mug'\'', '\''Blue rim, survives a fall'\'', 1250, 9), (3, '\''Notebook'\'', '\''Dotted, lies flat'\'', 890, 40), (4, '\''Pencil set'\'', '\''Six, from soft to hard'\'', 740, 15), (5, '\''Umbrella'\'', '\''Opens against the wind'\'', 2990, 3), (6, '\''Last lamp'\'', '\''Was popular'\'', 4900, 0)"}]}}' >/dev/null

  service api shop/api:v1.1.0 128Mi 8080 'httpGet: {port: 8080, path: /healthz}' \
    "[{name: DATABASE_URL, value: \"$database\"}, {name: API_TOKEN, value: $token}]"
  service web shop/web:v1.1.0 128Mi 8080 'httpGet: {port: 8080, path: /healthz}' \
    "[{name: API_URL, value: \"http://api:8080\"}, {name: API_TOKEN, value: $token}, {name: SHOP_PLACE, value: peer}]"

  plugin http-check '{"action":"create","parameters":{"url":"http://web:8080/",
    "contains":"Green tea","retries":10}}' >/dev/null
}

case ${1:-} in
  up) up ;;
  down) down ;;
  *)
    echo "usage: KUBECONFIG=FILE REGISTRY=HOST:PORT $0 up|down" >&2
    exit 2
    ;;
esac
