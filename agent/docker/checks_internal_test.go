package docker

import (
	"errors"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/system"

	"github.com/nullops/nullops/agent/wire"
)

// healthyHost returns the facts of a node without a fault.
func healthyHost() hostFacts {
	return hostFacts{info: system.Info{ServerVersion: "20.10.24", MemoryLimit: true, SwapLimit: true,
		PidsLimit: true, CPUCfsQuota: true, LiveRestoreEnabled: true, Driver: "overlay2",
		SecurityOptions: []string{"name=seccomp,profile=default"},
		Plugins:         system.PluginsInfo{Log: []string{"json-file", "local"}}},
		network: hostNetwork{visible: true, forward: "DROP"}, freeRange: 1000,
		diskFree: 100 << 30, gpuProblem: errNoGPUTool}
}

// Each weakness is found by its own check, with its severity and a remedy, and
// a good node has none.
func TestChecks(t *testing.T) {
	for _, c := range hostChecks(healthyHost()) {
		if c.Severity != wire.SeverityOK || c.Detail == "" || c.Remedy != "" {
			t.Errorf("a good node: %+v", c)
		}
	}
	for _, w := range []struct {
		name, id string
		severity wire.Severity
		change   func(*hostFacts)
	}{
		{"open to its neighbours", checkForward, wire.SeverityWarning,
			func(f *hostFacts) { f.network.forward = "ACCEPT" }},
		{"an engine that needs no policy", checkForward, wire.SeverityOK,
			func(f *hostFacts) { f.network.forward, f.info.ServerVersion = "ACCEPT", "28.0.1" }},
		{"rules out of sight", checkForward, wire.SeverityUnknown,
			func(f *hostFacts) { f.network = hostNetwork{} }},
		{"no iptables", checkTools, wire.SeverityWarning,
			func(f *hostFacts) { f.network, f.info.ServerVersion = hostNetwork{missing: true}, "29.0" }},
		{"guard off", checkGuard, wire.SeverityWarning,
			func(f *hostFacts) { f.guard = errGuardOff }},
		{"guard impossible", checkGuard, wire.SeverityWarning,
			func(f *hostFacts) { f.guard = errGuardBlind }},
		{"range taken", checkRange, wire.SeverityWarning,
			func(f *hostFacts) { f.collisions = []string{"10.213.4.0/24"} }},
		{"range full", checkRange, wire.SeverityCritical, func(f *hostFacts) { f.freeRange = 0 }},
		{"range nearly full", checkRange, wire.SeverityWarning, func(f *hostFacts) { f.freeRange = 3 }},
		{"disk full", checkDisk, wire.SeverityCritical, func(f *hostFacts) { f.diskFree = 1 << 20 }},
		{"disk low", checkDisk, wire.SeverityWarning, func(f *hostFacts) { f.diskFree = 2 << 30 }},
		{"disk unknown", checkDisk, wire.SeverityUnknown, func(f *hostFacts) { f.diskFree = -1 }},
		{"a runtime that is not there", checkRuntime, wire.SeverityCritical,
			func(f *hostFacts) { f.runtime = crun }},
		{"no memory limit", checkMemory, wire.SeverityCritical,
			func(f *hostFacts) { f.info.MemoryLimit = false }},
		{"no swap limit", checkSwap, wire.SeverityWarning,
			func(f *hostFacts) { f.info.SwapLimit = false }},
		{"no pids limit", checkPids, wire.SeverityCritical,
			func(f *hostFacts) { f.info.PidsLimit = false }},
		{"no CPU limit", checkCPU, wire.SeverityWarning,
			func(f *hostFacts) { f.info.CPUCfsQuota = false }},
		{"no seccomp", checkSeccomp, wire.SeverityWarning,
			func(f *hostFacts) { f.info.SecurityOptions = nil }},
		{"no log driver", checkLogs, wire.SeverityCritical,
			func(f *hostFacts) { f.info.Plugins.Log = []string{"json-file"} }},
		{"vfs", checkStorage, wire.SeverityWarning, func(f *hostFacts) { f.info.Driver = "vfs" }},
		{"vfs of containerd", checkStorage, wire.SeverityWarning,
			func(f *hostFacts) { f.info.Driver = "native" }},
		{"no live-restore", checkRestore, wire.SeverityWarning,
			func(f *hostFacts) { f.info.LiveRestoreEnabled = false }},
		{"free-running clock", checkClock, wire.SeverityWarning,
			func(f *hostFacts) { f.unsynchronised = true }},
		{"no folder for secrets", checkSecrets, wire.SeverityWarning,
			func(f *hostFacts) { f.memoryProblem = errors.New("it is on a disk") }},
		{"broken driver", checkGPU, wire.SeverityWarning,
			func(f *hostFacts) { f.gpuProblem = errors.New("no answer") }},
		{"no runtime for GPUs", checkGPU, wire.SeverityWarning,
			func(f *hostFacts) { f.gpuProblem = nil }},
		{"GPUs as CDI devices", checkGPU, wire.SeverityOK, func(f *hostFacts) {
			f.gpuProblem = nil
			f.info.DiscoveredDevices = []system.DeviceInfo{{Source: "cdi", ID: "nvidia.com/gpu=all"}}
		}},
	} {
		f := healthyHost()
		w.change(&f)
		for _, c := range hostChecks(f) {
			want := wire.SeverityOK
			if c.ID == w.id {
				want = w.severity
			}
			if c.Severity != want || want != wire.SeverityOK && c.Remedy == "" {
				t.Errorf("%s: %+v", w.name, c)
			}
		}
	}
}

// The tool's lines are read as they come; what makes no sense is counted and
// harms nothing else.
func TestParseGPUs(t *testing.T) {
	all, bad := parseGPUs(strings.NewReader("0, GPU-8f1e, NVIDIA L4, 23034, 550.54.15\n" +
		"\n1, GPU-77aa, Tesla T4, [N/A], 550.54.15\nnonsense\n-1, GPU, x, 5\n" +
		"2, GPU-1, \"odd\", 99999999999999\n"))
	if len(all) != 3 || bad != 2 {
		t.Fatalf("read %+v, %d bad", all, bad)
	}
	if g := all[0]; g.Index != 0 || g.UUID != "GPU-8f1e" || g.Model != "NVIDIA L4" ||
		g.Memory != 23034<<20 || g.Driver != "550.54.15" {
		t.Errorf("first: %+v", g)
	}
	if all[1].Memory != 0 || all[2].Memory != 0 {
		t.Errorf("memory that cannot be told: %+v", all)
	}
	if _, bad := parseGPUs(strings.NewReader("No devices were found\n")); bad != 1 {
		t.Errorf("no devices: %d bad", bad)
	}
}

func FuzzParseGPUs(f *testing.F) {
	f.Add("0, GPU-8f1e, NVIDIA L4, 23034, 550.54.15\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, _ := parseGPUs(strings.NewReader(text))
		for _, g := range all {
			if g.Memory < 0 || g.Index < 0 || g.UUID == "" || len(g.Model) > probeOutput+8 {
				t.Errorf("made %+v of %q", g, text)
			}
		}
	})
}

// Counters become rates; the first reading and a restart make none.
func TestCounters(t *testing.T) {
	const stat = "cpu  100 0 50 900 10 0 5 0 0 0\ncpu0 1\n"
	busy, err := busyTime(stat)
	if err != nil || busy.Milliseconds() != 1550 {
		t.Errorf("busy %v, %v", busy, err)
	}
	in, out := netBytes("Inter-|\n face |\n  lo: 5 0 0 0 0 0 0 0 5 0 0 0 0 0 0 0\n"+
		"eth0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n", func(n string) bool { return n == "eth0" })
	if in != 1000 || out != 2000 {
		t.Errorf("network %d, %d", in, out)
	}
	read, written := diskBytes(" 254 0 vda 10 0 4 0 20 0 6 0 0 0 0\n 254 1 vda1 1 0 4 0 1 0 6 0\n",
		func(n string) bool { return n == "vda" })
	if read != 2048 || written != 3072 {
		t.Errorf("disk %d, %d", read, written)
	}
	first := counters{}
	if r, w := ioStat("254:0 rbytes=7 wbytes=9 rios=1\n"); r != 7 || w != 9 {
		t.Errorf("io.stat %d, %d", r, w)
	}
	if first.coresSince(first) != 0 || first.flowSince(first) != (wire.Flow{}) {
		t.Error("no time makes no use")
	}
}
