package compose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/pipeline/compose"
)

func readFile(t *testing.T, text string) compose.Result {
	t.Helper()
	got, err := compose.Read(t.Context(), []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return got
}

// Each setting that a pipeline cannot express is named with its service and
// its line.
func TestRead_NotesEachLoss(t *testing.T) {
	for name, c := range map[string]struct{ text, note string }{
		"grace too long": {"services:\n  a:\n    image: x\n    stop_grace_period: 20m\n",
			"4 a stop_grace_period: 20m0s becomes 600 seconds"},
		"host gateway": {"services:\n  a:\n    image: x\n    extra_hosts: [h:host-gateway]\n",
			"4 a extra_hosts: h is left out"},
		"tmpfs option": {"services:\n  a:\n    image: x\n    tmpfs: [\"/x:mode=700,size=1k\"]\n",
			"4 a tmpfs: the option mode=700 of /x is not"},
		"no user": {"services:\n  a:\n    image: x\n    user: \"${UID}:${GID}\"\n",
			"4 a user: \":\" is no user"},
		"external": {"services:\n  a:\n    image: x\n    volumes: [v:/a]\nvolumes:\n  v:\n" +
			"    external: true\n", "7  volumes.v.external: this is not carried over"},
		"nested merge": {"x-d: &d\n  cap_add: [ALL]\nx-b: &b\n  <<: *d\n  user: '1'\nservices:\n  a:\n" +
			"    <<: [*b]\n    image: x\n", "2 a cap_add: this is not carried over"},
		"alias": {"services:\n  a: &a\n    image: x\n    privileged: true\n  b: *a\n",
			"4 b privileged: this is not carried over"},
		"no copy": {"services:\n  b: {image: x}\n  a:\n    image: x\n    deploy: {replicas: 0}\n",
			"5 a deploy: replicas is 0"},
		"check is off": {"services:\n  a:\n    image: x\n    healthcheck: {disable: true}\n",
			"4 a healthcheck: it has no command"},
		"check is NONE": {"services:\n  a:\n    image: x\n    healthcheck: {test: [NONE]}\n",
			"4 a healthcheck: it has no command"},
		"on-failure": {"services:\n  a:\n    image: x\n    restart: on-failure:3\n",
			"4 a restart: on-failure:3 is not supported"},
		"no restart": {"services:\n  a:\n    image: x\n", "2 a restart: it is restarted whenever"},
		"host name": {"services:\n  my_db: {image: x}\n  a:\n    image: x\n    environment:\n" +
			"      URL: postgres://u@my_db:5432/x\n",
			"5 a environment: in URL, the host name my_db becomes my-db"},
		"no host name": {"services:\n  my_db: {image: x}\n  a:\n    image: x\n    environment:\n" +
			"      POSTGRES_DB: my_db\n",
			"5 a environment: POSTGRES_DB names my_db, which is called my-db"},
		"failing job": {"services:\n  b:\n    image: x\n    restart: on-failure\n  a:\n    image: x\n" +
			"    depends_on:\n      b: {condition: service_completed_successfully}\n",
			"4 b restart: on-failure is not carried over: a job is not restarted"},
		"second document": {"services:\n  a: {image: x}\n---\nservices:\n  a:\n    pid: host\n",
			"6 a pid: this is not carried over"},
		"no scale": {"services:\n  b: {image: x}\n  a:\n    image: x\n    scale: 0\n",
			"5 a scale: replicas is 0"},
		"short nocopy": {"services:\n  a:\n    image: x\n    volumes: [\"data:/x:nocopy\"]\n" +
			"volumes: {data: {}}\n",
			"4 a volumes: the option nocopy of /x"},
		"short label": {"services:\n  a:\n    image: x\n    volumes: [\"data:/x:ro,z\"]\n" +
			"volumes: {data: {}}\n",
			"4 a volumes: the options of /x"},
		"empty command": {"services:\n  a:\n    image: x\n    command: []\n",
			"4 a command: it is empty"},
		"part of a MiB": {"services:\n  a:\n    image: x\n    mem_limit: 20000k\n",
			"4 a mem_limit: the memory of 20480000 bytes is rounded up to 20 MiB"},
		"other port": {"services:\n  a:\n    image: x\n    ports: [\"8080:80\"]\n",
			"4 a ports: 80 answers through the ingress at an address of its own, not on port 8080"},
		"volume called x-": {"services:\n  a:\n    image: x\n    volumes: [x-data:/a]\nvolumes:\n" +
			"  x-data:\n    external: true\n", "7  volumes.x-data.external: this is not carried over"},
		"needs x-": {"services:\n  a:\n    image: x\n    depends_on:\n      x-b:\n" +
			"        restart: true\n        condition: service_started\n  x-b: {image: x}\n",
			"6 a depends_on.x-b.restart: this is not carried over"},
		"udp": {"services:\n  a:\n    image: x\n    expose: [53/udp]\n", "4 a expose: 53/udp is not"},
	} {
		t.Run(name, func(t *testing.T) {
			got := readFile(t, c.text)
			if !slices.ContainsFunc(got.Notes, func(n compose.Note) bool {
				return strings.HasPrefix(fmt.Sprintf("%d %s %s", n.Line, n.Service, n.Message), c.note)
			}) {
				t.Errorf("no note %q: %+v", c.note, got.Notes)
			}
		})
	}
}

// All documents of a file are read, and each refusal has the line in the file.
func TestRead_KnowsTheLinesOfEachDocument(t *testing.T) {
	_, err := compose.ReadFiles(t.Context(), []compose.File{{Name: "a.yaml", Text: []byte(
		"services:\n  a: {image: x}\n---\nservices:\n  b:\n    image: x\n    mem_limit: lots\n")}}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:7: service b: ") {
		t.Error(err)
	}
	got := readFile(t, "services:\n  a: {image: x, user: \"${TAG}\"}\n---\nservices:\n"+
		"  b: {image: y, user: \"${TAG}\"}\n")
	var all []string
	for _, n := range got.Notes {
		if strings.Contains(n.Message, "TAG") {
			all = append(all, fmt.Sprintf("%d %s", n.Line, n.Service))
		}
	}
	if diff := cmp.Diff([]string{"2 a", "5 b"}, all); diff != "" {
		t.Error(diff)
	}
}

// A refusal comes with what was found before, such as a variable that has no value.
func TestRead_NotesHoldWithAnError(t *testing.T) {
	got, err := compose.Read(t.Context(), []byte("services:\n  a:\n    image: x:${TAG:?no}\n"))
	if err == nil || !strings.Contains(fmt.Sprint(got.Notes), "the variable TAG has no value") {
		t.Errorf("%v: %+v", err, got.Notes)
	}
}

// A refusal names the service, and the line also of what is in no service.
func TestRead_RefusesWithThePlace(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no image": {"services:\n  b: {image: x}\n  a:\n    user: x\n", "3: service a: it has no image"},
		"extends": {"services:\n  b: {image: x}\n  a:\n    extends: {service: b}\n",
			"4: service a: it has no image"},
		"config": {"services:\n  a: {image: x}\nconfigs:\n  c: {content: x}\n  c.d:\n" +
			"    content: \"${{ x }}\"\n", "5: invalid interpolation format"},
		"volume": {"services:\n  a: {image: x}\nvolumes:\n  d: {}\n  e: {driver: 5}\n", "5: "},
	} {
		_, err := compose.Read(t.Context(), []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// Secrets with names that become the same are two secrets of the project.
func TestRead_KeepsSecretsApart(t *testing.T) {
	got := readFile(t, "services:\n  a:\n    image: x\n    secrets: [db_pw, db-pw]\n"+
		"secrets: {db_pw: {file: a}, db-pw: {file: b}}\n")
	files := got.Pipeline.Steps[0].Service.Files
	want := []pipeline.File{{Path: "/run/secrets/db_pw", Content: "${{ secrets.DB_PW_2 }}"},
		{Path: "/run/secrets/db-pw", Content: "${{ secrets.DB_PW }}"}}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"DB_PW_2", "DB_PW"}, got.Secrets); diff != "" {
		t.Error(diff)
	}
}

// A port that only the own machine reaches is never public.
func TestRead_KeepsLoopbackPortsInside(t *testing.T) {
	for _, port := range []string{`"127.0.0.1:8080:80"`, `"[::1]:8080:80"`,
		`{target: 80, published: "8080", host_ip: 127.0.0.1}`, `{target: 80, host_ip: "::1"}`} {
		got := readFile(t, "services:\n  a:\n    image: x\n    ports:\n      - "+port+"\n")
		ports := got.Pipeline.Steps[0].Service.Ports
		if len(ports) != 1 || ports[0].Port != 80 || ports[0].Expose {
			t.Errorf("%s: %+v", port, ports)
		}
		if !strings.Contains(fmt.Sprint(got.Notes), "80 is published on ") {
			t.Errorf("%s: no note: %+v", port, got.Notes)
		}
	}
}

// Values arrive as they are written.
func TestRead_KeepsValues(t *testing.T) {
	got := readFile(t, `services:
  a:
    image: x
    cpus: 0.1
    mem_limit: 64m
    command: [echo, "$${{ deployment.name }}"]
    environment: {A: "$${{ secrets.ADMIN }}"}
    expose: ["9000-9002"]
    secrets: [{source: db_url, target: url}]
    entrypoint: ["/init", "$${{ x }}"]
    stop_grace_period: 1m30s
    tmpfs: ["/run/", "/tmp:size=1500k"]
    volumes: [{type: tmpfs, target: /cache, tmpfs: {size: 64m}}, "data:/data/:ro"]
    extra_hosts: ["b.example:192.0.2.1", "a=2001:db8::1"]
volumes: {data: {}}
secrets: {db_url: {environment: DB_URL}}
`)
	a := got.Pipeline.Steps[0].Service
	var ports []int
	for _, p := range a.Ports {
		ports = append(ports, p.Port)
	}
	if diff := cmp.Diff([]any{0.1, "$${{ deployment.name }}", "$${{ secrets.ADMIN }}",
		[]int{9000, 9001, 9002}, "/run/secrets/url"},
		[]any{a.Resources.CPU, a.Command[1], a.Env["A"], ports, a.Files[0].Path}); diff != "" {
		t.Error(diff)
	}
	want := pipeline.ServiceStep{Entrypoint: []string{"/init", "$${{ x }}"}, StopGraceSeconds: 90,
		Tmpfs: []pipeline.Tmpfs{{Path: "/run"}, {Path: "/tmp", SizeMiB: 2},
			{Path: "/cache", SizeMiB: 64}},
		Volumes: []pipeline.Volume{{Name: "data", Path: "/data", ReadOnly: true}},
		ExtraHosts: []pipeline.ExtraHost{{Name: "a", Address: "2001:db8::1"},
			{Name: "b.example", Address: "192.0.2.1"}}}
	if diff := cmp.Diff(want, pipeline.ServiceStep{Entrypoint: a.Entrypoint, Tmpfs: a.Tmpfs,
		StopGraceSeconds: a.StopGraceSeconds, Volumes: a.Volumes,
		ExtraHosts: a.ExtraHosts}); diff != "" {
		t.Error(diff)
	}
}

// Where a service's name is no key, the host names in other services' variables
// follow, and nothing else does.
func TestRead_RenamesHosts(t *testing.T) {
	values := map[string][2]string{
		"DB_HOST": {"my_db", "my-db"},
		"ADDRESS": {"my_db:5432", "my-db:5432"},
		"URL": {"postgres://my_db:x@my_db:5432/my_db?host=my_db",
			"postgres://my_db:x@my-db:5432/my_db?host=my_db"},
		"PLAIN_URL": {"http://my_db", "http://my-db"},
		"JDBC":      {"jdbc:postgresql://my_db/my_db", "jdbc:postgresql://my-db/my_db"},
		"MONGO": {"mongodb://u:p@my_db:1,Cache:2,other:3/x",
			"mongodb://u:p@my-db:1,cache:2,other:3/x"},
		"LISTENERS":   {"A://Cache:1,B://my_db:2", "A://cache:1,B://my-db:2"},
		"BROKERS":     {"my_db, Cache", "my-db, cache"},
		"JSON":        {`{"u":"http://my_db/a","n":"my_db"}`, `{"u":"http://my-db/a","n":"my_db"}`},
		"POSTGRES_DB": {"my_db", "my_db"},
		"PATH_IN":     {"/var/my_db:5432", "/var/my_db:5432"},
		"LONGER":      {"http://my_db.example:80/my_db", "http://my_db.example:80/my_db"},
		"SIMILAR":     {"http://my_db2:80", "http://my_db2:80"},
		"TEXT":        {"ask my_db:5432", "ask my_db:5432"},
	}
	text := "services:\n  my_db: {image: x}\n  Cache: {image: x}\n  1st: {image: x}\n" +
		"  my-db2: {image: x}\n  my_db2: {image: x}\n  a:\n    image: x\n    environment:\n"
	for name, v := range values {
		text += fmt.Sprintf("      %s: '%s'\n", name, v[0])
	}
	got := readFile(t, text)
	steps := map[string]*pipeline.ServiceStep{}
	for _, s := range got.Pipeline.Steps {
		steps[string(s.Key)] = s.Service
	}
	for _, key := range []string{"my-db", "cache", "s-1st", "my-db2", "my-db2-2", "a"} {
		if steps[key] == nil {
			t.Fatalf("there is no step %s", key)
		}
	}
	values["SIMILAR"] = [2]string{"", "http://my-db2-2:80"}
	for name, v := range values {
		if now := steps["a"].Env[name]; now != v[1] {
			t.Errorf("%s became %s", name, now)
		}
		noted := strings.Contains(fmt.Sprint(got.Notes), "in "+name+", the host name")
		if noted != (v[0] != v[1]) {
			t.Errorf("a note of %s: %t", name, noted)
		}
	}
}

// A volume of several mounts is one volume of the deployment, whatever services
// are left out, and is written as one again.
func TestRead_SharesVolumes(t *testing.T) {
	const text = `services:
  maker: {image: x, volumes: ["site:/out", "site:/again", "own:/own"]}
  reader: {image: x, volumes: ["site:/in:ro", "my_cache:/c"]}
  third: {image: x, volumes: ["my_cache:/c", "my-cache:/d"]}
  off: {image: x, volumes: ["own:/own"], profiles: [off]}
volumes: {site: {}, own: {}, my_cache: {}, my-cache: {}}
`
	got := readFile(t, text)
	want := map[pipeline.StepKey][]pipeline.Volume{
		"maker": {{Name: "site", Path: "/out", Shared: "site"},
			{Name: "site-2", Path: "/again", Shared: "site"}, {Name: "own", Path: "/own"}},
		"reader": {{Name: "site", Path: "/in", Shared: "site", ReadOnly: true},
			{Name: "my-cache", Path: "/c", Shared: "my-cache-2"}},
		"third": {{Name: "my-cache", Path: "/c", Shared: "my-cache-2"},
			{Name: "my-cache-2", Path: "/d"}},
	}
	volumes := func(p pipeline.Pipeline) map[pipeline.StepKey][]pipeline.Volume {
		all := map[pipeline.StepKey][]pipeline.Volume{}
		for _, s := range p.Steps {
			all[s.Key] = s.Service.Volumes
		}
		return all
	}
	if diff := cmp.Diff(want, volumes(got.Pipeline)); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(fmt.Sprint(got.Notes), "site") {
		t.Errorf("there is a note: %+v", got.Notes)
	}
	for _, s := range got.Pipeline.Steps {
		s.Service.Image = &pipeline.Image{Registry: "docker.io", Repository: "x", Tag: "1"}
	}
	written, err := compose.Write("shop", got.Pipeline)
	if err != nil {
		t.Fatal(err)
	}
	again := volumes(readFile(t, written).Pipeline)
	for key, all := range want {
		for i, v := range all {
			if now := again[key][i]; now.Shared != v.Shared || now.Path != v.Path {
				t.Errorf("written and read again, %s has %+v instead of %+v", key, now, v)
			}
		}
	}
}

// An entrypoint that is there and empty takes the image's away, as in Docker.
func TestRead_EmptyEntrypointIsNotNone(t *testing.T) {
	for _, empty := range []string{`""`, "[]", `[""]`} {
		got := readFile(t, "services:\n  a:\n    image: x\n    command: [run]\n    entrypoint: "+
			empty+"\n")
		if e := got.Pipeline.Steps[0].Service.Entrypoint; len(e) != 1 || e[0] != "" {
			t.Errorf("%s became %q", empty, e)
		}
	}
}

// Aliases cannot make the import run out of memory, or never end.
func TestRead_RefusesEndlessAliases(t *testing.T) {
	text := "x-0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		text += fmt.Sprintf("x-%d: &a%d [%s]\n", i, i,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	for _, bad := range []string{text, "x-a: &a [*a]\n"} {
		if _, err := compose.Read(t.Context(), []byte(bad)); err == nil {
			t.Errorf("it was taken: %.60s", bad)
		}
	}
}
