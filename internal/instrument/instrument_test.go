package instrument_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nullops/nullops/internal/instrument"
)

// Names are unique, say what they mean in a sentence, and have no label that anybody but an admin
// or we name.
func TestDeclared(t *testing.T) {
	t.Parallel()
	bounded := []string{"operation", "code", "environment", "class", "way", "result", "state",
		"node", "severity", "status", "outcome", "reason", "kind", "part", "channel", "source",
		"role", "job_name", "condition", "version"}
	seen := map[string]bool{}
	for _, m := range instrument.Declared() {
		if seen[m.Name] {
			t.Errorf("%s is declared twice", m.Name)
		}
		seen[m.Name] = true
		if total := strings.HasSuffix(m.Name, "_total"); total != (m.Kind == instrument.Counter) {
			t.Errorf("%s is a %s", m.Name, m.Kind)
		}
		if !strings.HasSuffix(m.Help, ".") || !strings.HasPrefix(m.Name, "nullops_") {
			t.Errorf("%s: %q", m.Name, m.Help)
		}
		for _, l := range m.Labels {
			if !slices.Contains(bounded, l) {
				t.Errorf("%s has the label %s, which is not known to be bounded", m.Name, l)
			}
		}
	}
}

// What is not declared cannot be counted.
func TestSet_RefusesWhatIsNotDeclared(t *testing.T) {
	t.Parallel()
	for name, count := range map[string]func(*instrument.Set){
		"counter": func(s *instrument.Set) { s.Count("nullops_anything_total") },
		"histogram": func(s *instrument.Set) {
			s.Observe(t.Context(), instrument.RunsEnded, time.Second)
		},
		"gauge":  func(s *instrument.Set) { s.Watch("nullops_anything", nil) },
		"labels": func(s *instrument.Set) { s.Watch(instrument.Nodes, nil) },
		"reader": func(s *instrument.Set) { s.WatchAll(nil, instrument.APIRequests) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a %s that is not declared is counted", name)
				}
			}()
			count(instrument.New(prometheus.NewRegistry(), nil))
		}()
	}
}

// Each alerting rule of deploy/observability fires by its cause and ends with it: promtool plays
// nullops.test.yaml, which has a case for each.
func TestRules(t *testing.T) {
	t.Parallel()
	const folder = "../../deploy/observability/rules"
	for _, args := range [][]string{{"check", "rules", "nullops.yaml"},
		{"test", "rules", "nullops.test.yaml"}} {
		c := exec.CommandContext(t.Context(), "promtool", args...)
		c.Dir = folder
		if said, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args, err, said)
		}
	}
	var texts [2]string
	for i, file := range []string{"nullops.yaml", "nullops.test.yaml"} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(texts[0], -1)
	for _, alert := range alerts {
		if strings.Count(texts[1], `alertname="`+alert[1]+`"`) != 2 {
			t.Errorf("%s has no case", alert[1])
		}
	}
	// Each runbook is a section of the page.
	page, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(page),
		-1) {
		slug := strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")
		sections[strings.NewReplacer(".", "", ",", "", "'", "").Replace(slug)] = true
	}
	books := regexp.MustCompile(`runbook_url: \S+#(\S+)`).FindAllStringSubmatch(texts[0], -1)
	if len(alerts) == 0 || len(books) != len(alerts) {
		t.Errorf("%d alerts have %d runbooks", len(alerts), len(books))
	}
	for _, book := range books {
		if !sections[book[1]] {
			t.Errorf("docs/observability.md has no section %s", book[1])
		}
	}
}

// Rules and dashboards name metrics that exist, and the dashboards between them show every one
// but the release.
func TestDeclared_IsWhatRulesAndDashboardsUse(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	for _, m := range instrument.Declared() {
		declared[m.Name] = m.Name == instrument.BuildInfo
	}
	// Names with colons are those of recording rules.
	name := regexp.MustCompile(`[^:a-z_](nullops_[a-z_0-9]+)`)
	for _, pattern := range []string{"rules/*.yaml", "grafana/dashboards/*.json"} {
		files, err := filepath.Glob("../../deploy/observability/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range name.FindAllStringSubmatch(string(text), -1) {
				used := found[1]
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					used = strings.TrimSuffix(used, suffix)
				}
				if _, ok := declared[used]; !ok {
					t.Errorf("%s uses %s, which is not declared", filepath.Base(file), used)
				}
				declared[used] = declared[used] || strings.HasSuffix(file, ".json")
			}
		}
	}
	// The error ratios of recording rules stand for these two.
	for m, shown := range declared {
		if !shown && m != instrument.IngressRequests {
			t.Errorf("no dashboard shows %s", m)
		}
	}
}
