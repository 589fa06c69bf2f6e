package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/plugins/packaging"
)

// testRegistry is the registry that `make test` fills with this repository's images.
func testRegistry(t *testing.T) string {
	t.Helper()
	registry := os.Getenv("NULLOPS_TEST_REGISTRY")
	if registry == "" && os.Getenv("NULLOPS_TEST_STRICT") == "1" {
		t.Fatal("NULLOPS_TEST_REGISTRY is not set: run through make test")
	}
	if registry == "" {
		t.Skip("NULLOPS_TEST_REGISTRY is not set: run through make test")
	}
	return registry
}

// A plugin that is a script goes on an image of Debian packages: what init makes
// is built, twice to the same digest, runs in a container, and keeps the contract.
func TestPluginScaffold_AsAScriptRunsInAContainer(t *testing.T) {
	engine, registry := dockertest.Host(t), testRegistry(t)
	for language, base := range map[string]string{
		"python": registry + "/bases/python:3", "shell": registry + "/bases/shell:1",
	} {
		dir := scaffold(t, language)
		var said [2]string
		for i := range said {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			var err error
			said[i], err = plugin(t, "build", dir, "--from", base, "--tag", "127.0.0.1:5000/greet:1",
				"--out", filepath.Join(t.TempDir(), "image.tar"))
			if err != nil || !strings.Contains(said[i], "@sha256:") {
				t.Fatalf("%s: %v\n%s", language, err, said[i])
			}
		}
		if said[0] != said[1] {
			t.Errorf("%s: the same files give %s and %s", language, said[0], said[1])
		}
		args := []string{"test", dir, "--docker", engine, "--from", base}
		if language == "shell" { // one in Python has a test of its own
			args = append(args, "--conformance")
		}
		out, err := plugin(t, args...)
		// promise: N-080
		if err != nil || strings.Contains(out, "FAIL") || !strings.Contains(out, "log greeting world") {
			t.Errorf("%s: %v\n%s", language, err, out)
		}
	}
}

// An image is enough: what it offers stands in its label. Recorded inputs and,
// for an image without a label, component.json can be given.
func TestPluginTest_OfAnImageAlone(t *testing.T) {
	engine, registry := dockertest.Host(t), testRegistry(t)
	image := registry + "/plugins/shell:1.0.0"
	out, err := plugin(t, "test", image, "--docker", engine, "--conformance")
	if err != nil || !strings.Contains(out, "ok   answers to an empty input") ||
		!strings.Contains(out, "SKIP create answers with success: no recorded create") {
		t.Errorf("without inputs: %v\n%s", err, out)
	}
	inputs := t.TempDir()
	write(t, filepath.Join(inputs, "one.in.json"),
		`{"action":"create","parameters":{"command":["echo","${WORD}"]}}`)
	out, err = plugin(t, "test", image, "--docker", engine, "--inputs", inputs,
		"--set", "WORD=hello", "--registry-user", "me", "--password-stdin")
	if err != nil || !strings.Contains(out, "ok   one") || !strings.Contains(out, "hello") {
		t.Errorf("with inputs: %v\n%s", err, out)
	}
	component := filepath.Join("..", "..", "plugins", "shell", "component.json")
	bare := registry + "/bases/shell:1"
	out, err = plugin(t, "test", bare, "--docker", engine, "--component", component,
		"--conformance")
	if err == nil || !strings.Contains(out, "FAIL refuses an action it does not know") {
		t.Errorf("an image that is no plugin passes: %v\n%s", err, out)
	}
	for _, c := range []struct {
		says string
		args []string
	}{
		{"--component", []string{bare}},
		{packaging.ComponentLabel, []string{bare}},
		{"neither a folder nor an image", []string{registry + "/plugins/nobody:1"}},
		{"give HOST/REPOSITORY:TAG", []string{"no-such-folder"}},
		{"go with DIR", []string{image, "--from", bare}},
		{"--inputs", []string{image, "--inputs", filepath.Join(inputs, "one.in.json")}},
		{"goes with an IMAGE", []string{scaffold(t, "shell"), "--component", component}},
	} {
		_, err := plugin(t, append([]string{"test", "--docker", engine}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v does not say %q", c.args, err, c.says)
		}
	}
}
