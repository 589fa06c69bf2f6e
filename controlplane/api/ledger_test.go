package api_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// heldRows are two teams in the ledger on two days, one of whose names is an attack on
// spreadsheets and on Prometheus' text format.
const heldRows = `INSERT INTO usage_ledger (kind, deployment_id, deployment, project_id, project,
	environment_id, environment, node, team, person, from_at, until_at, millicore_seconds,
	memory_mib_seconds, gpu_seconds, volume_mib_seconds, traffic_bytes, written_by)
SELECT 'allocated', gen_random_uuid(), r.team || r.day, p.id, p.name, e.id, e.name, 'alpha', r.team,
	r.person, r.day::timestamptz, r.day::timestamptz + interval '1 hour', r.cpu, 2, 3, 4, 5, 'test'
FROM (VALUES ('=1+1 "q"', 'ada', '2026-11-02Z', 3600500), ('web', 'ada', '2026-11-02Z', 1000),
	('web', 'ben', '2026-11-03Z', 2000)) r (team, person, day, cpu),
	projects p, environments e WHERE p.name = 'shop' AND e.name = 'qa'`

// What usage comes to leaves as CSV, as JSON lines and for Prometheus, summed up by whatever it can
// be summed up by, with the numbers that the API itself has. The rows leave too, and come to that.
func TestUsage_Exports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	pgtest.Exec(t, w.database, heldRows)
	root := w.token("root")
	w.expect(http.StatusOK, "PUT", "/usage/prices", root,
		object{"currency": "EUR", "cpu_hour": 2}, nil)
	const days = "from=2026-11-01&to=2026-12-01"
	read := func(rest, token string) string {
		t.Helper()
		a := w.call("GET", "/api/v1/usage/ledger?"+days+rest, token, nil)
		if a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", rest, a.status, a.body)
		}
		return string(a.body)
	}
	for _, by := range []string{"team", "project", "person", "environment", "day", "team,day"} {
		var all api.UsageReport
		w.expect(http.StatusOK, "GET", "/usage?"+days+"&by="+by, root, nil, &all)
		var wantCSV, wantLines [][]string
		for _, item := range all.Items {
			cpu := strconv.FormatFloat(item.Amounts.CpuSeconds, 'f', -1, 64)
			wantLines = append(wantLines, append(append([]string{}, item.Key...), cpu))
			var cells []string
			for _, key := range item.Key {
				cells = append(cells, strings.Replace(key, "=", "'=", 1))
			}
			wantCSV = append(wantCSV, append(cells, cpu))
		}
		groups := strings.Split(by, ",")
		rows, err := csv.NewReader(strings.NewReader(read("&by="+by, root))).ReadAll()
		if err != nil || strings.Join(rows[0], ",") != by+",cpu_seconds,memory_byte_seconds,"+
			"gpu_seconds,volume_byte_seconds,traffic_bytes,cost" {
			t.Fatalf("by %s: %q, %v", by, rows, err)
		}
		for i := range rows[1:] {
			rows[i+1] = rows[i+1][:len(groups)+1]
		}
		expectRows(t, "CSV by "+by, rows[1:], wantCSV)
		expectRows(t, "lines by "+by, readUsageLines(t, read("&format=jsonl&by="+by, root), groups),
			wantLines)
	}
	metrics := read("&format=prometheus&by=team,environment", root)
	for _, want := range []string{
		`nullops_usage_cpu_seconds{team="=1+1 \"q\"",environment="qa"} 3600.5`,
		`nullops_usage_cpu_seconds{team="web",environment="qa"} 3`,
		`nullops_usage_traffic_bytes{team="web",environment="qa"} 10`,
		`nullops_usage_cost{team="=1+1 \"q\"",environment="qa"} 2.000`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("%s is not in:\n%s", want, metrics)
		}
	}
	c := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	c.Stdin = strings.NewReader(metrics)
	if said, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, said)
	}
	if said := read("&format=prometheus", w.token("stranger")); strings.Contains(said, "{") {
		t.Errorf("a stranger sees %s", said)
	}
	if a := w.call("GET", "/api/v1/usage/ledger?by=moon", root, nil); a.field("code") !=
		"group_invalid" {
		t.Errorf("by the moon: %d %s", a.status, a.body)
	}
	w.exportsRows(t, read("", root), read("&format=jsonl", root))
}

// readUsageLines are the groups of each line with its processor time.
func readUsageLines(t *testing.T, text string, groups []string) (all [][]string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var row []string
		for _, group := range groups {
			name, _ := got[group].(string)
			row = append(row, name)
		}
		cpu, _ := got["cpu_seconds"].(float64)
		all = append(all, append(row, strconv.FormatFloat(cpu, 'f', -1, 64)))
	}
	return all
}

func expectRows(t *testing.T, what string, got, want [][]string) {
	t.Helper()
	text := func(all [][]string) string {
		var lines []string
		for _, row := range all {
			lines = append(lines, strings.Join(row, " | "))
		}
		return strings.Join(lines, "\n")
	}
	if len(want) == 0 || text(got) != text(want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, text(got), text(want))
	}
}

// exportsRows adds up the rows of both files.
func (w *world) exportsRows(t *testing.T, asCSV, asLines string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(asCSV)).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Fatalf("rows: %q, %v", rows, err)
	}
	var sum, lineSum float64
	for _, row := range rows[1:] {
		cpu, err := strconv.ParseFloat(row[11], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += cpu
	}
	for line := range strings.Lines(asLines) {
		var row api.UsageRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		lineSum += row.Amounts.CpuSeconds
	}
	if sum != 3603.5 || lineSum != sum {
		t.Errorf("the rows come to %g and %g", sum, lineSum)
	}
}
