package server

import "testing"

// Where a control plane listens that nobody configured, and that each setting of a process
// can come from its environment, which counts more than its default.
func TestLoadSettings_FromTheEnvironment(t *testing.T) {
	s, err := loadSettings(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	// promise: Y-01
	if s.HTTP.Listen != "127.0.0.1:8080" {
		t.Errorf("by default the API listens at %s", s.HTTP.Listen)
	}
	s, err = loadSettings(nil, []string{"NULLOPS_HTTP_LISTEN=127.0.0.1:3001",
		"DATABASE_URL=postgres://u@db/n", "NULLOPS_AGENT_DATA=/var/lib/agent",
		"NULLOPS_AGENT_DOCKER=unix:///run/other.sock"})
	// promise: Y-01, Y-02
	if err != nil || s.HTTP.Listen != "127.0.0.1:3001" ||
		s.Database.URL != "postgres://u@db/n" || s.Agent.Data != "/var/lib/agent" ||
		s.Agent.Docker != "unix:///run/other.sock" {
		t.Errorf("from the environment: %+v, %v", s, err)
	}
	s, err = loadSettings([]string{"--http.listen=:9"}, []string{"NULLOPS_HTTP_LISTEN=:8"})
	// promise: Y-02
	if err != nil || s.HTTP.Listen != ":9" {
		t.Errorf("a flag counts less than the environment: %s, %v", s.HTTP.Listen, err)
	}
}
