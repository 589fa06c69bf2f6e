package pluginkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/script"
)

func TestMain(m *testing.M) {
	script.ServeIfAsked()
	os.Exit(m.Run())
}

// A script is tested like a plugin, with recorded inputs and answers.
//
// promise: N-330
func TestPluginTest_RunsAScript(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "slug.ts")
	writeText(t, path, `export default ({parameters, secrets, log}: {parameters: {name?: string}}) => {
  log("name", parameters.name);
  return {outputs: {slug: parameters.name.toLowerCase(), secret: secrets.key}};
};`)
	says, err := runPlugin(t, "test", path)
	if err != nil || !strings.Contains(says, "slug.ts loads") {
		t.Errorf("%v: %s", err, says)
	}
	inputs := filepath.Join(dir, "testdata")
	if err := os.Mkdir(inputs, 0o700); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(inputs, "good.in.json"),
		`{"action": "create", "parameters": {"name": "Demo"}, "secrets": {"key": "${KEY}"}}`)
	writeText(t, filepath.Join(inputs, "good.out.json"),
		`{"success": true, "outputs": {"slug": "demo", "secret": "<any>"}}`)
	writeText(t, filepath.Join(inputs, "none.in.json"), `{"parameters": {}}`)
	writeText(t, filepath.Join(inputs, "none.out.json"), `{"success": false, "output": `+
		`"line 3, column 38: TypeError: Cannot read property 'toLowerCase' of undefined or null"}`)
	says, err = runPlugin(t, "test", path, "--set", "KEY=k")
	if err != nil || !strings.Contains(says, "ok   good") ||
		!strings.Contains(says, "log name Demo") || !strings.Contains(says, "ok   none") {
		t.Errorf("%v: %s", err, says)
	}
	writeText(t, filepath.Join(inputs, "good.out.json"), `{"success": true, "outputs": {"slug": "x"}}`)
	says, err = runPlugin(t, "test", path, "--set", "KEY=k")
	if err == nil || !strings.Contains(says, "FAIL good") {
		t.Errorf("another answer than the recorded one passes: %v: %s", err, says)
	}
	writeText(t, path, "export default () => {\n  let x = ;\n}")
	if _, err := runPlugin(t, "test", path); err == nil ||
		!strings.Contains(err.Error(), "slug.ts: line 2, column 11: Unexpected") {
		t.Errorf("a syntax error says %v", err)
	}
}
