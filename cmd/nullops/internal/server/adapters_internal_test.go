package server

import "testing"

// Credentials go only to the registry that begins the name.
func TestRegistryHost(t *testing.T) {
	for image, want := range map[string]string{
		"nullops/agent:1.4.0":              "",
		"agent":                            "",
		"localhost/agent":                  "localhost",
		"127.0.0.1:5001/nullops/agent:dev": "127.0.0.1:5001",
		"registry.example.org/agent@sha256:0123456": "registry.example.org",
	} {
		if got := registryHost(image); got != want {
			t.Errorf("%s is of registry %q, not %q", image, got, want)
		}
	}
}
