package manifests_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/deploy/manifests"
)

// readObjects decodes documents, without the annotation that only says that something changed.
func readObjects(t *testing.T, text []byte) (all []map[string]any) {
	t.Helper()
	from := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var one map[string]any
		err := from.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if spec, ok := one["spec"].(map[string]any); ok {
			if template, ok := spec["template"].(map[string]any); ok {
				settings := template["metadata"].(map[string]any)["annotations"].(map[string]any)
				if len(settings["nullops.settings"].(string)) != 16 {
					t.Errorf("the settings' hash is %v", settings)
				}
				delete(settings, "nullops.settings")
			}
		}
		if one != nil {
			all = append(all, one)
		}
	}
}

// What 'nullops agent manifest' prints is what the chart makes of the same values. tools/charts.sh
// renders the files.
func TestWriteAgent_EqualsTheChart(t *testing.T) {
	t.Parallel()
	for file, o := range map[string]manifests.AgentOptions{
		"nullops-agent.yaml": {},
		"testdata/connect.yaml": {Name: "nullops-qa", Image: "registry.test/nullops/agent:1",
			Connect: "wss://nullops.test", Fingerprint: "sha256:ab", Authorities: "registries"},
		"testdata/nodeport.yaml": {Name: "nullops-qa", Image: "registry.test/nullops/agent:1",
			Service: "NodePort", NodePort: 30500, Port: 5005, Websocket: true, PullSecret: "pull"},
	} {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := manifests.WriteAgent(&got, o); err != nil {
			t.Fatal(err)
		}
		objects := readObjects(t, got.Bytes())
		if len(objects) < 6 {
			t.Errorf("%s: only %d objects", file, len(objects))
		}
		if diff := cmp.Diff(readObjects(t, want), objects); diff != "" {
			t.Errorf("%s: the chart (-) and the command (+) differ:\n%s", file, diff)
		}
	}
}

// A changed setting starts the agent anew: the pod's annotation changes with it.
func TestWriteAgent_ChangesThePodWithItsSettings(t *testing.T) {
	t.Parallel()
	hash := func(o manifests.AgentOptions) string {
		var text bytes.Buffer
		if err := manifests.WriteAgent(&text, o); err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(text.String(), "nullops.settings: ")
		line, _, _ := strings.Cut(after, "\n")
		return line
	}
	one := hash(manifests.AgentOptions{Connect: "wss://one.test"})
	if one == "" || one == hash(manifests.AgentOptions{Connect: "wss://two.test"}) {
		t.Errorf("both settings have the hash %q", one)
	}
}

func TestWriteAgent_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]manifests.AgentOptions{
		"--websocket: with --connect": {Connect: "wss://nullops.test", Websocket: true},
		"--service, --port and":       {Connect: "wss://nullops.test", Port: 5000},
		"ClusterIP, NodePort or Load": {Service: "External"},
		"--service=NodePort":          {NodePort: 30500},
	} {
		var out bytes.Buffer
		err := manifests.WriteAgent(&out, o)
		if err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%+v: %v, and %d bytes", o, err, out.Len())
		}
	}
}
