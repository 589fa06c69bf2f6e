package pluginkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
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

// What init makes is valid, answers its recorded inputs in a container, is built
// to the same digest each time, and keeps the contract as it comes from a
// registry: in each language. A script goes on an image of Debian packages.
func TestPluginScaffold_KeepsTheContractInEachLanguage(t *testing.T) {
	testpart.Rotate(t)
	engine, bases := dockertest.Host(t), testRegistry(t)+"/bases/"
	registry := ownRegistry(t, nil)
	for language, from := range map[string][]string{
		"go": nil, "python": {"--from", bases + "python:3"}, "shell": {"--from", bases + "shell:1"},
	} {
		dir, ref := scaffoldPlugin(t, language), registry+"/plugins/greet:"+language
		expectOutput(t, "is valid: 4 recorded inputs", "validate", dir)
		build := append([]string{"build", dir, "--tag", ref, "--push"}, from...)
		first := expectOutput(t, "@sha256:", build...)
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		if again := expectOutput(t, "@sha256:", build...); again != first {
			t.Errorf("the same files give %s and %s", first, again)
		}
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			out := expectOutput(t, "ok   04-delete", append([]string{"test", dir, "--docker", engine},
				from...)...)
			for _, shown := range []string{"ok   01-create (", "in  {", "log greeting world", "out {"} {
				if !strings.Contains(out, shown) {
					t.Errorf("no %q in\n%s", shown, out)
				}
			}
			out = expectOutput(t, "ok   shows no secret", "test", ref, "--docker", engine,
				"--inputs", filepath.Join(dir, "testdata"), "--conformance")
			// promise: I-13, N-080
			if strings.Contains(out, "FAIL") || strings.Contains(out, "SKIP") {
				t.Errorf("not everything was tried and went well:\n%s", out)
			}
		})
	}
}

// expectOutput runs a command that has to work and to say something.
func expectOutput(t *testing.T, says string, args ...string) string {
	t.Helper()
	out, err := runPlugin(t, args...)
	if err != nil || !strings.Contains(out, says) {
		t.Fatalf("plugin %v: %v\n%s", args, err, out)
	}
	return out
}

// The recorded inputs run with the limits that an agent gives the plugin, and each passed one is
// reported as what it is.
func TestPluginTest_HoldsThePluginToItsLimits(t *testing.T) {
	testpart.Rotate(t)
	engine, image := dockertest.Host(t), testRegistry(t)+"/test/hostile:1.0.0"
	inputs, component := t.TempDir(), filepath.Join(t.TempDir(), "component.json")
	for _, c := range []struct {
		parameters string
		timeout    int // in seconds
		says       string
	}{
		{`{"mode":"sleep","seconds":600}`, 1, "did not end in time"},
		{`{"mode":"memory"}`, 60, "ran out of memory"},
		{`{"mode":"flood-stdout"}`, 60, "more than 1.0 MB on stdout"},
		{`{"mode":"two-documents"}`, 60, "second JSON document"},
		{`{"mode":"succeed","outputs":{"port":"none"}}`, 60, "outputs: at '/port': got string"},
		{`{"mode":"succeed","outputs":{"password":"${PASSWORD}"}}`, 60, "ok   one"},
	} {
		writeText(t, component, fmt.Sprintf(`{"description":"Misbehaves.","actions":["create","delete"],
			"parameters":{"type":"object"},"timeout_seconds":%d,"resources":{"memory_mib":32},
			"outputs":{"type":"object","properties":{"port":{"type":"integer"}}}}`, c.timeout))
		writeText(t, filepath.Join(inputs, "one.in.json"),
			`{"action":"create","parameters":`+c.parameters+`}`)
		out, err := runPlugin(t, "test", image, "--docker", engine, "--component", component,
			"--inputs", inputs, "--set", `PASSWORD=say "ah"`)
		if (err == nil) != strings.HasPrefix(c.says, "ok") || !strings.Contains(out, c.says) {
			t.Errorf("%s: %v, no %q in\n%.2000s", c.parameters, err, c.says, out)
		}
	}
}

// An image is enough: what it offers stands in its label. Recorded inputs and,
// for an image without a label, component.json can be given.
func TestPluginTest_OfAnImageAlone(t *testing.T) {
	testpart.Rotate(t)
	engine, registry := dockertest.Host(t), testRegistry(t)
	image := registry + "/plugins/shell:1.0.0"
	out, err := runPlugin(t, "test", image, "--docker", engine, "--conformance")
	if err != nil || !strings.Contains(out, "ok   answers to an empty input") ||
		!strings.Contains(out, "SKIP create answers with success: no recorded create") {
		t.Errorf("without inputs: %v\n%s", err, out)
	}
	inputs := t.TempDir()
	writeText(t, filepath.Join(inputs, "one.in.json"),
		`{"action":"create","parameters":{"command":["echo","${WORD}"]}}`)
	out, err = runPlugin(t, "test", image, "--docker", engine, "--inputs", inputs,
		"--set", "WORD=hello", "--registry-user", "me", "--password-stdin")
	if err != nil || !strings.Contains(out, "ok   one") || !strings.Contains(out, "hello") {
		t.Errorf("with inputs: %v\n%s", err, out)
	}
	component := filepath.Join("..", "..", "..", "..", "..", "plugins", "shell",
		"component.json")
	bare := registry + "/bases/shell:1"
	out, err = runPlugin(t, "test", bare, "--docker", engine, "--component", component,
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
		{"goes with an IMAGE", []string{scaffoldPlugin(t, "shell"), "--component", component}},
	} {
		_, err := runPlugin(t, append([]string{"test", "--docker", engine}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v does not say %q", c.args, err, c.says)
		}
	}
}
