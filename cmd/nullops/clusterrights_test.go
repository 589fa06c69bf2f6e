package main_test

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/agent/kubernetes"
)

// The agent asks a cluster for exactly the rights that its chart grants, and the documentation
// gives the reason of each.
func TestKubernetes_RightsAreThoseOfChartAndPage(t *testing.T) {
	root := openRepository(t)
	want := kubernetes.ListRights("nullops-agent")
	slices.Sort(want)
	if len(want) < 20 || len(slices.Compact(slices.Clone(want))) != len(want) {
		t.Fatalf("the agent needs %v", want)
	}
	// promise: K-07
	granted := grantedRights(t, readText(t, root, "deploy/manifests/nullops-agent.yaml"))
	if diff := cmp.Diff(want, granted); diff != "" {
		t.Errorf("the agent (-) and deploy/helm/nullops-agent (+) differ:\n%s", diff)
	}
	// promise: K-07
	explained := explainedRights(t, readText(t, root, "docs/kubernetes.md"))
	if diff := cmp.Diff(want, explained); diff != "" {
		t.Errorf("the agent (-) and docs/kubernetes.md (+) differ:\n%s", diff)
	}
}

// grantedRights reads the rules of all roles of a manifest, spelled as the agent spells its rights.
func grantedRights(t *testing.T, manifest string) (all []string) {
	t.Helper()
	from := yaml.NewDecoder(bytes.NewReader([]byte(manifest)))
	for {
		var object struct {
			Kind     string `yaml:"kind"`
			Metadata struct {
				Namespace string `yaml:"namespace"`
			} `yaml:"metadata"`
			Rules []struct {
				APIGroups []string `yaml:"apiGroups"`
				Resources []string `yaml:"resources"`
				Names     []string `yaml:"resourceNames"`
				Verbs     []string `yaml:"verbs"`
			} `yaml:"rules"`
		}
		if err := from.Decode(&object); errors.Is(err, io.EOF) {
			slices.Sort(all)
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		for _, rule := range object.Rules {
			if len(rule.APIGroups) != 1 || len(rule.Names) > 0 {
				t.Errorf("a rule has the groups %q and the names %q", rule.APIGroups, rule.Names)
			}
			for _, resource := range rule.Resources {
				if rule.APIGroups[0] != "" {
					resource += "." + rule.APIGroups[0]
				}
				if object.Kind == "Role" {
					resource += " in the namespace " + object.Metadata.Namespace
				}
				for _, verb := range rule.Verbs {
					all = append(all, verb+" "+resource)
				}
			}
		}
	}
}

// explainedRights reads the table of rights, in which no reason may be missing.
func explainedRights(t *testing.T, page string) (all []string) {
	t.Helper()
	_, page, _ = strings.Cut(page, "\n## Rights\n")
	page, _, _ = strings.Cut(page, "\n## ")
	row := regexp.MustCompile(`(?m)^\| ([a-z][a-z./0-9, ]*) \| ([a-z, ]+) \| (.*) \|$`)
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		if m[1] == "resource" {
			continue
		}
		if len(m[3]) < 10 {
			t.Errorf("docs/kubernetes.md gives no reason for %s", m[1])
		}
		for resource := range strings.SplitSeq(m[1], ", ") {
			switch {
			case strings.HasPrefix(m[3], "in its own namespace only: "):
				resource += " in the namespace nullops-agent"
			case strings.HasPrefix(m[3], "in the namespace `default` only: "):
				resource += " in the namespace default"
			}
			for verb := range strings.SplitSeq(m[2], ", ") {
				all = append(all, verb+" "+resource)
			}
		}
	}
	slices.Sort(all)
	return all
}
