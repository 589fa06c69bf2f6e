package docker

import (
	"strings"
	"testing"

	"github.com/moby/moby/api/types/system"

	"github.com/nullops/nullops/agent/wire"
)

// The doctor says what a node would gain from crun, and what to do for it: nothing, choose it,
// tell the engine of it, or install it.
func TestRuntimeCheck(t *testing.T) {
	t.Parallel()
	both := map[string]system.RuntimeWithStatus{runc: {}, crun: {}}
	one := map[string]system.RuntimeWithStatus{runc: {}}
	for name, c := range map[string]struct {
		change   func(*hostFacts)
		says     []string
		not      string
		severity wire.Severity
	}{
		"crun by default": {func(f *hostFacts) { f.info.DefaultRuntime, f.info.Runtimes = crun, both },
			[]string{"by crun."}, "With crun", wire.SeverityOK},
		"crun by the setting": {func(f *hostFacts) { f.runtime, f.info.Runtimes = crun, both },
			[]string{"by crun."}, "With crun", wire.SeverityOK},
		"known": {func(f *hostFacts) { f.info.Runtimes = both },
			[]string{"by runc.", crunGain, "the engine knows it", "agent.oci"}, "daemon.json",
			wire.SeverityOK},
		"installed": {func(f *hostFacts) { f.info.Runtimes, f.crunPath = one, "/usr/bin/crun" },
			[]string{crunGain, "/usr/bin/crun", "daemon.json", "agent.oci"}, "install the package",
			wire.SeverityOK},
		"absent": {func(f *hostFacts) { f.info.Runtimes = one },
			[]string{crunGain, "install the package crun", "daemon.json"}, "newer than",
			wire.SeverityOK},
		"absent on a new engine": {func(f *hostFacts) { f.info.ServerVersion = "29.1.0" },
			[]string{"install the package crun", "newer than 1.8.1"}, "", wire.SeverityOK},
		"another runtime": {func(f *hostFacts) { f.info.DefaultRuntime = "kata" },
			[]string{"by kata."}, crunGain, wire.SeverityOK},
		"set, but not known": {func(f *hostFacts) { f.runtime, f.info.Runtimes = crun, one },
			[]string{"agent.oci", `"crun", only runc.`, "daemon.json"}, crunGain,
			wire.SeverityCritical},
	} {
		f := healthyHost()
		c.change(&f)
		got := runtimeCheck(f)
		text := got.Detail + " " + got.Remedy
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q lacks %q", name, text, want)
			}
		}
		if got.Severity != c.severity || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
