package compose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline/compose"
)

// serviceFields are the fields of the Compose specification, one a line.
const serviceFields = `annotations: {a: b}
attach: false
blkio_config: {weight: 300}
build: {context: .}
cap_add: [NET_ADMIN]
cap_drop: [ALL]
cgroup: host
cgroup_parent: p
command: [x]
configs: [page]
configs: [{source: page, target: /p, mode: 0440}]
container_name: cc
cpu_count: 2
cpu_percent: 50
cpu_period: 100
cpu_quota: 100
cpu_rt_period: 100
cpu_rt_runtime: 100
cpu_shares: 10
cpus: 0.3
cpuset: "0"
credential_spec: {file: f}
depends_on: [other]
depends_on: {other: {condition: service_completed_successfully}}
depends_on: {other: {condition: service_started, restart: true}}
deploy: {mode: global}
deploy: {mode: replicated-job}
deploy: {replicas: 0}
deploy: {replicas: 3}
deploy: {labels: {a: b}}
deploy: {endpoint_mode: vip}
deploy: {placement: {constraints: [a==b]}}
deploy: {restart_policy: {condition: none}}
deploy: {restart_policy: {condition: any}}
deploy: {restart_policy: {condition: on-failure, max_attempts: 3}}
deploy: {update_config: {parallelism: 2}}
deploy: {rollback_config: {parallelism: 2}}
deploy: {resources: {limits: {cpus: "0.3", memory: 64M}}}
deploy: {resources: {limits: {pids: 3}}}
deploy: {resources: {reservations: {memory: 64M}}}
deploy: {resources: {reservations: {devices: [{capabilities: [gpu], count: 1}]}}}
device_cgroup_rules: ["c 1:3 mr"]
devices: ["/dev/fuse:/dev/fuse"]
dns: [1.1.1.1]
dns_opt: [x]
dns_search: [x]
domainname: d
entrypoint: [x]
env_file: [f]
environment: {A: b}
environment: {app.name-x: b}
environment: {A: }
expose: ["90-92"]
expose: ["90/udp"]
external_links: [x]
extra_hosts: ["a:1.1.1.1"]
group_add: [mail]
healthcheck: {test: [CMD, x]}
healthcheck: {test: [CMD, x], start_interval: 2s}
healthcheck: {test: NONE}
healthcheck: {disable: true}
hostname: h
image: other:2
init: true
ipc: host
isolation: x
labels: {a: b}
links: [other]
logging: {driver: none}
mac_address: 02:42:ac:11:65:43
mem_limit: 64m
mem_reservation: 32m
mem_swappiness: 3
memswap_limit: 64m
network_mode: host
networks: [default]
networks: {default: {aliases: [x]}}
oom_kill_disable: true
oom_score_adj: 3
pid: host
pids_limit: 3
platform: linux/arm64
ports: ["80:80"]
ports: ["127.0.0.1:80:80"]
ports: ["80:80/udp"]
ports: [{target: 80, mode: host}]
ports: [{target: 80, app_protocol: http}]
privileged: true
profiles: [x]
pull_policy: always
read_only: true
restart: always
restart: "no"
restart: on-failure
runtime: x
scale: 2
secrets: [key]
secrets: [{source: key, target: k, uid: "3"}]
security_opt: [x]
shm_size: 64m
stdin_open: true
stop_grace_period: 3s
stop_signal: SIGINT
storage_opt: {size: 1G}
sysctls: {a: 1}
tmpfs: [/x]
tty: true
ulimits: {nproc: 3}
user: "3"
userns_mode: host
uts: host
volumes: [data:/x]
volumes: [data:/x:ro]
volumes: [./a:/x]
volumes: [{type: tmpfs, target: /x}]
volumes: [{type: tmpfs, target: /x, tmpfs: {size: 64m}}]
volumes: [{type: tmpfs, target: /x, tmpfs: {mode: 0700}}]
volumes: [{type: volume, source: data, target: /x, volume: {subpath: s}}]
volumes: [{type: volume, source: data, target: /x, volume: {nocopy: true}}]
volumes_from: [other]
working_dir: /x`

// carriedFields begin the fields above that a pipeline has a field for, so that
// no note is needed.
const carriedFields = `command:
environment: {A: b}
environment: {app
entrypoint:
extra_hosts:
init:
read_only:
stop_grace_period:
stop_signal:
tmpfs:
user:
volumes: [data:/x]
volumes: [data:/x:ro]
volumes: [{type: tmpfs, target: /x}]
volumes: [{type: tmpfs, target: /x, tmpfs: {size`

// topFields are those of volumes, networks, secrets and configs.
const topFields = `volumes: driver: x
volumes: driver_opts: {a: b}
volumes: external: true
volumes: labels: {a: b}
volumes: name: x
networks: driver: x
networks: driver_opts: {a: b}
networks: attachable: true
networks: enable_ipv6: true
networks: external: true
networks: internal: true
networks: ipam: {driver: x}
networks: labels: {a: b}
networks: name: x
secrets: external: true
secrets: {file: f, name: x}
secrets: {file: f, driver: x}
configs: external: true
configs: file: f
configs: environment: E
configs: {file: f, name: x}`

const aroundField = `
volumes: {data: {}}
configs: {page: {content: x}}
secrets: {key: {file: f}}
`

// describeResult returns all that a result says, without lines.
func describeResult(t *testing.T, r compose.Result) string {
	t.Helper()
	r.Notes = slices.Clone(r.Notes)
	for i := range r.Notes {
		r.Notes[i].Line = 0
	}
	return summarize(t, r)
}

// No field of the specification is lost in silence: either the result is
// another one with it, or its line is listed.
func TestRead_LosesNoField(t *testing.T) {
	const others = "services:\n  other: {image: \"other:1\", ports: [\"70:70\"]}\n"
	losesNoField(t, others+"  app:\n", "")
}

// A job can have fewer of them, and is never restarted anyway.
func TestRead_LosesNoFieldOfAJob(t *testing.T) {
	losesNoField(t, "services:\n  last: {image: \"x:1\", depends_on: {app: {required: false, "+
		"condition: service_completed_successfully}}}\n  other: {image: \"other:1\"}\n  app:\n",
		`restart: "no"`)
}

// losesNoField plants each field into a service, except for the one that says nothing new of it.
func losesNoField(t *testing.T, base, known string) {
	t.Helper()
	at := strings.Count(base, "\n") + 1
	without := describeResult(t, readFile(t, base+"    image: app:1\n"+aroundField))
	for field := range strings.SplitSeq(serviceFields, "\n") {
		image := "    image: app:1\n"
		if strings.HasPrefix(field, "image:") {
			image = ""
		}
		got, err := compose.Read(t.Context(), []byte(base+"    "+field+"\n"+image+aroundField))
		if err != nil {
			t.Errorf("%s: %v", field, err)
			continue
		}
		if describeResult(t, got) == without && field != known {
			t.Errorf("%s: it is lost", field)
		}
		isCarried := slices.ContainsFunc(strings.Split(carriedFields, "\n"), func(part string) bool {
			return strings.HasPrefix(field, part)
		})
		if isCarried && hasProblem(got, "app", at, "") {
			t.Errorf("%s: it is not carried over: %+v", field, got.Notes)
		}
		// What the specification nests beside a carried field has a path.
		for _, nested := range []string{"mode: global", "start_interval", "restart: true", "volume: {",
			"pids:", "uid", "mode: 0440", "mode: host", "app_protocol", "reservations", "mode: 0700"} {
			if strings.Contains(field, nested) && !hasProblem(got, "app", at, strings.Fields(nested)[0]) {
				t.Errorf("%s: it is not listed: %+v", field, got.Notes)
			}
		}
	}
}

func TestRead_LosesNoTopField(t *testing.T) {
	for line := range strings.SplitSeq(topFields, "\n") {
		kind, field, _ := strings.Cut(line, ": ")
		text := fmt.Sprintf("services:\n  app: {image: x}\n%s:\n  n:\n    %s\n", kind, field)
		if strings.HasPrefix(field, "{") {
			text = fmt.Sprintf("services:\n  app: {image: x}\n%s:\n  n:\n    file: f\n    %s\n", kind,
				strings.TrimSuffix(strings.TrimPrefix(field, "{file: f, "), "}"))
		}
		got, err := compose.Read(t.Context(), []byte(text))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if !hasProblem(got, "", 5, strings.Split(field, ":")[0]) && !hasProblem(got, "", 3, "networks") &&
			!hasProblem(got, "", 6, kind+".n.") {
			t.Errorf("%s: it is not listed: %+v", line, got.Notes)
		}
	}
}

func hasProblem(r compose.Result, service string, line int, part string) bool {
	return slices.ContainsFunc(r.Notes, func(n compose.Note) bool {
		return n.Line == line && n.Service == service &&
			strings.Contains(n.Message, strings.TrimSuffix(part, ":"))
	})
}
