package docker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// Every field of HostConfig that the engine reports for a plugin is on this list, with its only
// allowed value. A field that a newer client or engine adds fails the test until someone has looked
// at it.
//
// threat: T20
func TestPlugin_HostConfigIsExactlyTheHardeningList(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	p := r.plugin(id, "tight")
	if err := r.CreatePlugin(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	c, err := r.api.ContainerInspect(t.Context(), r.find(agent.KindPlugin).ID,
		client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		HostConfig map[string]any
		Config     struct {
			User            string
			Env             []string
			OpenStdin       bool
			StdinOnce, Tty  bool
			NetworkDisabled bool
		}
	}
	if err := json.Unmarshal(c.Raw, &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for field, value := range all.HostConfig {
		if !isZero(value) {
			got[field] = value
		}
	}
	for _, m := range got["Mounts"].([]any) {
		if m := m.(map[string]any); m["Type"] == "bind" {
			source, ours := strings.CutPrefix(m["Source"].(string), r.dataDir+"/bin/")
			if !ours {
				t.Errorf("mounted is %v", m["Source"])
			}
			m["Source"], _, _ = strings.Cut(source, "-")
		}
	}
	want := r.hardeningList(got)
	// promise: N-074
	// promise: N-075
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("HostConfig differs from the list (-want +got):\n%s", diff)
	}
	if all.Config.User != "65534:65534" || !all.Config.StdinOnce || all.Config.Tty ||
		!all.Config.NetworkDisabled {
		t.Errorf("config is %+v", all.Config)
	}
}

// hardeningList is the list on this engine: it names its OCI runtime, and engines since 25 hide
// more.
func (r *rig) hardeningList(got map[string]any) (want map[string]any) {
	r.t.Helper()
	info, err := r.api.Info(r.t.Context(), client.InfoOptions{})
	if err == nil {
		err = json.Unmarshal([]byte(hardeningList), &want)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	want["Runtime"] = info.Info.DefaultRuntime
	hidden, _ := want["MaskedPaths"].([]any)
	masked, _ := got["MaskedPaths"].([]any)
	for _, path := range masked {
		if hiddenSince25.MatchString(fmt.Sprint(path)) {
			hidden = append(hidden, path)
		}
	}
	compare := func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	slices.SortFunc(hidden, compare)
	slices.SortFunc(masked, compare)
	want["MaskedPaths"] = hidden
	return want
}

// hiddenSince25 are what newer engines hide besides: what the machine's hardware does.
var hiddenSince25 = regexp.MustCompile(`^(/proc/interrupts|/sys/devices/virtual/powercap` +
	`|/sys/devices/system/cpu/cpu\d+/thermal_throttle)$`)

const hardeningList = `{
	"NetworkMode": "none",
	"LogConfig": {"Type": "none", "Config": {}},
	"RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
	"ReadonlyRootfs": true,
	"CapDrop": ["ALL"],
	"SecurityOpt": ["no-new-privileges"],
	"IpcMode": "private",
	"CgroupnsMode": "private",
	"ShmSize": 1048576,
	"Tmpfs": {"/tmp": "rw,noexec,nosuid,nodev,mode=1777,size=67108864"},
	"Mounts": [{"Type": "tmpfs", "Target": "/data",
		"TmpfsOptions": {"SizeBytes": 67108864, "Mode": 1023}},
		{"Type": "bind", "Source": "sidecar", "Target": "/.nullops/init", "ReadOnly": true},
		{"Type": "bind", "Source": "hosts", "Target": "/etc/hosts", "ReadOnly": true}],
	"Memory": 67108864,
	"MemorySwap": 67108864,
	"NanoCpus": 1000000000,
	"PidsLimit": 128,
	"Ulimits": [{"Name": "core", "Hard": 0, "Soft": 0},
		{"Name": "nofile", "Hard": 4096, "Soft": 4096}],
	"Runtime": "runc",
	"ConsoleSize": [0, 0],
	"MaskedPaths": ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys",
		"/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
		"/proc/sched_debug", "/proc/scsi", "/sys/firmware"],
	"ReadonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
		"/proc/sysrq-trigger"]
}`

func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// find returns the one object of a kind.
func (r *rig) find(kind agent.ObjectKind) agent.Object {
	r.t.Helper()
	all, err := r.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		if o.Kind == kind {
			return o
		}
	}
	r.t.Fatalf("no %s in %v", kind, all)
	return agent.Object{}
}

type view struct {
	UID        int               `json:"uid"`
	GID        int               `json:"gid"`
	Env        []string          `json:"env"`
	Status     map[string]string `json:"status"`
	Interfaces []string          `json:"interfaces"`
	Writable   []string          `json:"writable"`
	Socket     []string          `json:"socket"`
	Devices    []string          `json:"devices"`
	Mounts     []string          `json:"mounts"`
	PIDs       int               `json:"pids"`
}

// What the engine promises is worth what a process inside can see of it.
//
// threat: T20, T23
func TestPlugin_SeesNothingFromInside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	result, _ := r.act(r.plugin(id, "look"), "look", 0)
	var v view
	if err := json.Unmarshal(result.Stdout, &v); err != nil {
		t.Fatalf("%v: %s", err, result.Stdout)
	}
	// promise: N-074
	for what, ok := range map[string]bool{
		"nobody":             v.UID == 65534 && v.GID == 65534,
		"no capability":      strings.Trim(v.Status["CapEff"]+v.Status["CapBnd"], "0") == "",
		"no new privileges":  v.Status["NoNewPrivs"] == "1",
		"seccomp filter":     v.Status["Seccomp"] == "2",
		"own processes only": v.PIDs == 2, // with the helper, which is the first
		"loopback only":      cmp.Equal(v.Interfaces, []string{"lo"}),
		"no socket":          len(v.Socket) == 0,
		"tmpfs only":         v.writesToMemoryOnly(),
	} {
		if !ok {
			t.Errorf("not true: %s: %+v", what, v)
		}
	}
	for _, m := range v.Mounts {
		// The helper and the names of the loopback address are files, which nobody can write.
		file := strings.Contains(m, " /.nullops/init ro,") || strings.Contains(m, " /etc/hosts ro,")
		if !file && strings.Contains(m, r.dataDir) || strings.Contains(m, r.runDir) {
			t.Errorf("a mount of the agent's folder: %s", m)
		}
	}
}

// writesToMemoryOnly reports whether the process can write only to its temporary folder, shared
// memory and, where the OCI runtime leaves it the mode that we ask for, as newer releases of runc
// do, the image's volume. Each of them is a tmpfs.
func (v view) writesToMemoryOnly() bool {
	onTmpfs := func(dir string) bool {
		return slices.ContainsFunc(v.Mounts, func(m string) bool {
			return strings.Contains(m, " "+dir+" ") && strings.Contains(m, " - tmpfs ")
		})
	}
	writable := slices.DeleteFunc(slices.Clone(v.Writable), func(dir string) bool {
		return dir == "/data" && onTmpfs(dir)
	})
	return cmp.Equal(writable, []string{"/tmp", "/dev/shm"}) && onTmpfs("/tmp") &&
		onTmpfs("/dev/shm")
}

// A plugin reaches services only if it asked for the network.
func TestPlugin_NetworkOnlyIfAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	p := r.plugin(id, "reach")
	if got := r.reach(p, "web:80"); !strings.HasPrefix(got, "error") {
		t.Errorf("without the network: %s", got)
	}
	if got := r.reach(p, "localhost:1"); !strings.HasSuffix(got, "connection refused") {
		t.Errorf("its own address without the network: %s", got)
	}
	p.Network = true
	// promise: N-076
	if got := r.reach(p, "web:80"); !strings.HasPrefix(got, "connected") {
		t.Errorf("with the network: %s", got)
	}
}

func (r *rig) reach(p agent.PluginSpec, address string) string {
	r.t.Helper()
	result, err := r.RunPlugin(r.t.Context(), p, fmt.Appendf(nil, `{"act":"reach","to":%q}`, address),
		func(string) {})
	if err != nil {
		r.t.Fatal(err)
	}
	return string(result.Stdout)
}

// 137 has three reasons, and the runtime distinguishes them.
//
// threat: T22
// fault: F46, F49
func TestPlugin_EveryEndHasItsName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	for name, c := range map[string]struct {
		act     string
		n       int
		timeout time.Duration
		want    agent.PluginResult
	}{
		"exit": {act: "exit", n: 3, want: agent.PluginResult{ExitCode: 3}},
		"timeout": {act: "sleep", timeout: time.Second,
			want: agent.PluginResult{ExitCode: 143, TimedOut: true}},
		"polite": {act: "polite", timeout: time.Second,
			want: agent.PluginResult{ExitCode: 7, TimedOut: true}},
		// promise: N-077
		"stubborn": {act: "stubborn", timeout: time.Second,
			want: agent.PluginResult{ExitCode: 137, TimedOut: true}},
		// promise: N-078
		// promise: N-135
		"memory": {act: "eat", want: agent.PluginResult{ExitCode: 137, OOM: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := r.plugin(id, pipeline.StepKey("end-"+name))
			if c.timeout > 0 {
				p.Timeout = c.timeout
			}
			got, _ := r.act(p, c.act, c.n)
			got.Stdout, got.Lines, got.Bytes = nil, 0, 0
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// A stranger's kill is none of ours, and not the kernel's.
//
// fault: F46
func TestPlugin_KilledByAStranger(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	result := r.whileRunning(r.plugin(id, "victim"), "sleep", func(container string) {
		_, err := r.api.ContainerKill(t.Context(), container,
			client.ContainerKillOptions{Signal: "SIGKILL"})
		if err != nil {
			t.Error(err)
		}
	})
	if result.ExitCode != 137 || result.OOM || result.TimedOut || result.Canceled {
		t.Errorf("result is %+v", result)
	}
}

// whileRunning does something once the plugin has written its first line.
func (r *rig) whileRunning(p agent.PluginSpec, act string, do func(id string)) agent.PluginResult {
	r.t.Helper()
	result, err := r.RunPlugin(r.t.Context(), p, []byte(`{"act":"`+act+`"}`), func(string) {
		all, err := r.api.ContainerList(r.t.Context(), client.ContainerListOptions{
			Filters: make(client.Filters).Add("label", "nullops.step="+string(p.Step)).
				Add("label", "nullops.deployment="+p.Deployment),
		})
		if err != nil || len(all.Items) != 1 {
			r.t.Errorf("find plugin: %v, %v", all.Items, err)
			return
		}
		do(all.Items[0].ID)
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// Cancelling ends the plugin and says so.
func TestPlugin_Canceled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	ctx, cancel := context.WithCancel(t.Context())
	result, err := r.RunPlugin(ctx, r.plugin(id, "cancel"), []byte(`{"act":"polite"}`),
		func(string) { cancel() })
	if err != nil || !result.Canceled || result.ExitCode != 7 {
		t.Errorf("result is %+v, error %v", result, err)
	}
}

// One GiB on stdout is cut off at the limit; the memory it takes here is the limit's and that of
// the tests beside it, not the flood's.
//
// threat: T21
// fault: F47
func TestPlugin_StdoutFloodIsCut(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	p := r.plugin(id, "flood")
	before := dockertest.PeakMemory(t)
	got, _ := r.act(p, "flood-both", 1024)
	if !got.Overflow || int64(len(got.Stdout)) > p.StdoutLimit || got.ExitCode != 137 {
		t.Errorf("overflow %v, %d bytes, exit code %d", got.Overflow, len(got.Stdout), got.ExitCode)
	}
	if grown := dockertest.PeakMemory(t) - before; grown > 32<<20 {
		t.Errorf("the test's memory peaked %d MiB higher", grown>>20)
	}
}

// One GiB on stderr is read to its end, counted and mostly dropped.
//
// threat: T21
// fault: F47
func TestPlugin_StderrFloodIsBounded(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	noise := r.plugin(id, "noise")
	noise.Timeout = 5 * time.Minute // the engine takes most of it, on a busy machine more than one
	got, lines := r.act(noise, "flood-stderr", 256)
	if got.ExitCode != 0 || string(got.Stdout) != "{\"success\":true}\n" {
		t.Errorf("exit code %d, answer %q", got.ExitCode, got.Stdout)
	}
	if got.Bytes != 256<<20 || got.Lines != 256<<10 {
		t.Errorf("counted %d bytes and %d lines", got.Bytes, got.Lines)
	}
	if int64(len(lines))+got.Dropped != got.Lines || len(lines) > 11<<10 {
		t.Errorf("%d lines passed on, %d dropped of %d", len(lines), got.Dropped, got.Lines)
	}
}

// Long lines are cut between characters, and what is not text becomes text.
func TestPlugin_LinesAreText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	_, lines := r.act(r.plugin(id, "long"), "long-line", 40001)
	for _, l := range lines {
		if len(l) > 16<<10 || !utf8.ValidString(l) || strings.Contains(l, "\x00") {
			t.Errorf("a line of %d bytes, valid %v", len(l), utf8.ValidString(l))
		}
	}
	if got := strings.Join(lines[:3], ""); got != strings.Repeat("ä", 20000) {
		t.Errorf("the long line came back as %d bytes", len(got))
	}
	if last := lines[len(lines)-1]; last != "bad \uFFFD\uFFFD end" {
		t.Errorf("the last line is %q", last)
	}
}

// The number of processes is limited.
//
// threat: T22
func TestPlugin_ForkBombHitsTheLimit(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	got, _ := r.act(r.plugin(id, "forks"), "forks", 500)
	var answer struct{ Started int }
	_ = json.Unmarshal(got.Stdout, &answer)
	if answer.Started >= 128 {
		t.Errorf("%d processes started; result %+v", answer.Started, got)
	}
}

// A plugin's request and response are never written to disk.
func TestPlugin_LeavesNoTrace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	secret := "told-and-answered-Zq7pWx93"
	result, err := r.RunPlugin(t.Context(), r.plugin(id, "trace"), []byte(`{"s":"`+secret+`"}`),
		func(string) {})
	if err != nil || !strings.Contains(string(result.Stdout), secret) {
		t.Fatalf("answer %q, error %v", result.Stdout, err)
	}
	// promise: N-116
	r.expectNoSecret(secret)
}

// A plugin that cannot start is a reason, not a result, and a missing image is told apart from
// everything that may have run.
func TestPlugin_MissingImage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	for _, missing := range []struct{ name, tag, digest string }{
		{"tag", "does-not-exist", ""},
		{"digest", "", "sha256:" + strings.Repeat("0", 64)},
	} {
		t.Run(missing.name, func(t *testing.T) {
			p := r.plugin(id, pipeline.StepKey("no-"+missing.name))
			if missing.tag != "" {
				p.Image.Tag = missing.tag
			}
			p.Image.Digest = missing.digest
			_, err := r.RunPlugin(t.Context(), p, nil, func(string) {})
			if !errors.Is(err, agent.ErrNoImage) || !errors.Is(err, agent.ErrNotFound) ||
				errors.Is(err, agent.ErrUnavailable) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// expectNoSecret searches everything the engine and the agent keep.
func (r *rig) expectNoSecret(secret string) {
	r.t.Helper()
	info, err := r.api.Info(r.t.Context(), client.InfoOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	hits, err := dockertest.FindSecret(r.t.Context(), secret, dockertest.SecretPlaces{
		Host:    r.host,
		Folders: []string{r.dataDir, info.Info.DockerRootDir + "/containers"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(hits) > 0 {
		r.t.Errorf("the secret is in %s", strings.Join(hits, "\n"))
	}
}
