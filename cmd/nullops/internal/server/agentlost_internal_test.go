package server

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
)

// A person sees whose a lost container is and what runs of it, and what to do next.
func TestPrintLost(t *testing.T) {
	found := docker.LostObjects{
		Containers: []docker.LostContainer{{ID: strings.Repeat("ab", 32), Kind: "plugin",
			Deployment: "d1", Step: "seed", Processes: []docker.LostProcess{
				{PID: 41, Name: "containerd-shim"}, {PID: 42, Name: "seed\x1b[2J"}}}},
		Links: []docker.LostLink{{Name: "veth1", Bridge: "br-1", Deployment: "d2"}}}
	for ended, want := range map[bool]string{false: "lost --end", true: "were ended"} {
		var out bytes.Buffer
		if err := printLost(&out, found, ended); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"plugin", "d1", "seed", "abababababab", "41 containerd-shim",
			"veth1 on br-1", want} {
			if !strings.Contains(out.String(), part) || strings.Contains(out.String(), "\x1b") {
				t.Errorf("without %q: %s", part, out.String())
			}
		}
	}
}

// A folder that is no agent's is refused before anything is looked at.
func TestRunLost_NeedsAnAgentsFolder(t *testing.T) {
	s := defaultSettings()
	s.Agent.Data = t.TempDir()
	err := runLost(t.Context(), s, &bytes.Buffer{}, true, output.JSON[docker.LostObjects]{})
	if err == nil || !strings.Contains(err.Error(), "give the data folder") {
		t.Errorf("said %v", err)
	}
}
