package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/testpart"
)

// TestConfigAsCode holds 'apply', 'export' and 'apply --dry-run' to each other,
// on a real control plane.
func TestConfigAsCode(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorld(t)
	p := startProduct(t, w)
	p.applyShop(t)
	defineMore(t, p)
	first := p.command(t, 0, "export")
	t.Run("holds everything and nothing secret", func(t *testing.T) { exportIsWhole(t, first) })
	t.Run("applying it changes nothing", func(t *testing.T) {
		file := fileOf(t, first)
		for _, line := range splitLines(p.command(t, 0, "apply", "-f", file)) {
			// promise: I-18
			if !strings.HasSuffix(line, " unchanged") {
				t.Errorf("applying an export: %s", line)
			}
		}
		for _, line := range splitLines(p.command(t, 0, "apply", "--dry-run", "-f", file)) {
			if !strings.HasSuffix(line, " unchanged") {
				t.Errorf("dry run of an export: %s", line)
			}
		}
		// Stored values stay: nobody has to have them at hand.
		out, errs, code := runCommand(t, w.binary, []string{"NULLOPS_CLI_URL=" + p.url,
			"NULLOPS_CLI_TOKEN=" + p.admin.token}, "", "apply", "-f", file)
		if code != 0 || !strings.Contains(out, "secret extra TOKEN") {
			t.Errorf("without values: %d %s%s", code, out, errs)
		}
		// promise: I-18
		if again := p.command(t, 0, "export"); again != first {
			t.Errorf("another export:\n%s\nafter\n%s", again, first)
		}
	})
	t.Run("a second installation", func(t *testing.T) { secondInstallation(t, w, first) })
	t.Run("folders and targets", func(t *testing.T) { exportParts(t, p, first) })
	t.Run("dry run", func(t *testing.T) { dryRunChangesNothing(t, p, first) })
	t.Run("all or nothing", func(t *testing.T) { applyIsOneTransaction(t, p, first) })
	t.Run("prune and delete", func(t *testing.T) { deleteDefinitions(t, p) })
	t.Run("versions", func(t *testing.T) { versionsOnTheCommandLine(t, p) })
}

// defineMore adds what the example does not have: every kind, every field.
func defineMore(t *testing.T, p *product) {
	t.Helper()
	p.command(t, 0, "apply", "-f", fileOf(t, `
kind: user
name: grace
display_name: "Grace: 'the' user"
role: user
active: false
password_from_env: EXTRA_TOKEN
---
kind: registry
name: private
host: 127.0.0.1:1
insecure: true
username: puller
password: not-exported-either
---
kind: environment
name: night
domain: example.test
restricted: true
cleanup_after_hours: 168
placement: {required: [zone=fra, ssd], tolerations: ["*"], gpu_memory_mib: 8192}
gate: members
redirect_https: true
---
kind: node
name: night-1
environment: night
address: 127.0.0.1:9
settings:
  labels: {zone: fra, ssd: ""}
  taints: [{key: slow, effect: prefer_no_schedule}, {key: gpu, value: "1", effect: no_schedule}]
  run_limit: 3
  disk_floor_mib: 2048
  priority: 10
---
kind: team
name: all
members: [grace]
grants: [{project: extra, level: read}, {environment: night, level: full}]
---
kind: project
name: extra
resources: {cpu: 0.5, memory_mib: 131}
cleanup_after_hours: 0
placement: {preferred: [zone=fra], forbidden: [spot]}
secrets:
  TOKEN: {from_env: EXTRA_TOKEN}
  MADE: {generate: {length: 20, alphabet: hex}}
pipeline:
  steps:
    - key: web
      service:
        name: shop-web
        command: ["sh", "-c", "echo \"${{ deployment.name }}\"\n"]
        env: {YES: "yes", NUMBER: "1", EMPTY: "", DATE: 2026-01-01, TOKEN: "${{ secrets.TOKEN }}"}
        files: [{path: /etc/a.conf, content: "  a\n\n b = ${{ secrets.MADE }}\n"}]
        volumes: [{name: data, path: /data}]
        resources: {cpu: 0.25, memory_mib: 67}
        restart: never
        gpus: {device_ids: ["0"]}
    - key: check
      needs: [web]
      plugin:
        name: http-check
        parameters: {url: "http://${{ services.web.host }}:8080/", status: 200}
        timeout_seconds: 5
        resources: {memory_mib: 32}
        network: true
      position: {x: 1.5, y: -2}
templates:
  small:
    description: for a quick look
    environment: night
    deployment_name: look
    wait: true
    priority: 7
  bare: {}
---
kind: webhook
name: chat
format: slack
events: [deployment.ready, deployment.failed]
environment: night
template: "{deployment} is {status}: {url}"
url_from_env: EXTRA_URL
---
kind: rule
name: pulls
source: generic
repository: shop/web
project: extra
environment: night
branch: feature/*
tag: pr-{number}
wait_minutes: 12
active: false
`))
}

func exportIsWhole(t *testing.T, text string) {
	for _, want := range []string{"kind: user\nname: grace\n", "active: false", "username: puller",
		"cleanup_after_hours: 168", "cleanup_after_hours: 0", "from_env: EXTRA_TOKEN",
		"alphabet: hex", "restart: never", "kind: team\nname: all\n", "gate: members\n",
		"redirect_https: true\n",
		"gate: open\n", "kind: webhook\nname: chat\n", "format: slack", "kind: rule\nname: pulls\n",
		"wait_minutes: 12", "deployment_name: look", "bare: {}", "kind: plugin\nname: wait-for",
		`NUMBER: "1"`, "network: true", "${{ services.web.host }}"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in the export", want)
		}
	}
	for _, secret := range []string{"not-exported", extraToken, extraURL, "sha256:", "name: quay"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in the export", secret)
		}
	}
}

// secondInstallation makes a copy from the document alone; only passwords have
// to be added.
func secondInstallation(t *testing.T, w *world, text string) {
	p := startProduct(t, w)
	with := strings.Replace(text, "name: grace\n", "name: grace\npassword_from_env: EXTRA_TOKEN\n", 1)
	p.command(t, 0, "apply", "-f", fileOf(t, strings.Replace(with, "name: chat\n",
		"name: chat\nurl_from_env: EXTRA_URL\n", 1)))
	// promise: N-046
	if got := p.command(t, 0, "export"); got != text {
		t.Errorf("the copy differs:\n%s\nfrom\n%s", got, text)
	}
}

func exportParts(t *testing.T, p *product, all string) {
	one := p.command(t, 0, "export", "project/extra")
	if !strings.HasPrefix(one, "kind: project\nname: extra\n") || !strings.Contains(all, one) {
		t.Errorf("one project:\n%s", one)
	}
	folder := filepath.Join(t.TempDir(), "out")
	p.command(t, 0, "export", "environment", "project/extra", "-o", folder)
	names, _ := filepath.Glob(filepath.Join(folder, "*"))
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	got := strings.Join(names, " ")
	if got != "environment-night.yaml environment-qa.yaml project-extra.yaml" {
		t.Errorf("files %s", got)
	}
	for _, line := range splitLines(p.command(t, 0, "apply", "-f", folder)) {
		if !strings.HasSuffix(line, " unchanged") {
			t.Errorf("applying a folder: %s", line)
		}
	}
	// A document that does not speak of the gate leaves it closed.
	night := p.command(t, 0, "export", "environment/night")
	silent := strings.Replace(night, "gate: members\nredirect_https: true\n", "", 1)
	if silent == night {
		t.Errorf("no gate in\n%s", night)
	}
	p.command(t, 0, "apply", "-f", fileOf(t, silent))
	if after := p.command(t, 0, "export", "environment/night"); after != night {
		t.Errorf("the gate became\n%s", after)
	}
	p.command(t, 3, "export", "project/nowhere")
	p.command(t, 2, "export", "thing")
}

func dryRunChangesNothing(t *testing.T, p *product, before string) {
	edited := strings.Replace(before, "domain: example.test", "domain: other.test", 1)
	edited = strings.Replace(edited, "memory_mib: 67\n", "memory_mib: 96\n", 1)
	edited = strings.Replace(edited, "gate: members", "gate: guests", 1)
	edited = strings.Replace(edited, "format: slack", "format: teams", 1)
	edited = strings.Replace(edited, "wait_minutes: 12", "wait_minutes: 13", 1)
	edited = strings.Replace(edited, "for a quick look", "for a long look", 1)
	edited += "---\nkind: environment\nname: fresh\ndomain: fresh.test\n"
	out := p.command(t, 0, "apply", "--dry-run", "-f", fileOf(t, edited))
	for _, want := range []string{`domain: "example.test" → "other.test"`, "~ step web",
		"service.resources.memory_mib: 67 → 96", "environment fresh", `gate: "members" → "guests"`,
		"webhook chat                             would change", "wait_minutes: 12 → 13",
		"template extra small                     would change"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	// Problems of a pipeline are shown, with the project's new limits, and the
	// exit code says that applying would be refused.
	bad := strings.Replace(before, "memory_mib: 131", "memory_mib: 63", 1)
	bad = strings.Replace(bad, "${{ secrets.TOKEN }}", "${{ secrets.NOT_THERE }}", 1)
	out = p.runRefused(t, "apply", "--dry-run", "-f", fileOf(t, bad))
	for _, want := range []string{"the project allows 63", `no secret "NOT_THERE"`,
		"so nothing was changed"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	// A project that is not there yet is held to the same.
	out = p.runRefused(t, "apply", "--dry-run", "-f", fileOf(t, `
kind: project
name: fresh
resources: {memory_mib: 10}
pipeline: {steps: [{key: a, service: {name: ghost, env: {A: "${{ secrets.NO }}"},
  resources: {memory_mib: 11}}}]}
`))
	for _, want := range []string{"There is no service ghost", `no secret "NO"`, "allows 10"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if after := p.command(t, 0, "export"); after != before {
		t.Errorf("a dry run changed something:\n%s", after)
	}
}

func versionsOnTheCommandLine(t *testing.T, p *product) {
	project := p.command(t, 0, "export", "project/extra")
	p.command(t, 0, "apply", "-f", fileOf(t,
		strings.Replace(project, "timeout_seconds: 5", "timeout_seconds: 6", 1)))
	out := p.command(t, 0, "pipeline", "diff", "extra", "1", "v2")
	if out != "~ step check\n    plugin.timeout_seconds: 5 → 6\n" {
		t.Errorf("diff: %s", out)
	}
	if out := p.command(t, 0, "pipeline", "diff", "extra", "2", "2"); !strings.Contains(out, "same") {
		t.Errorf("diff with itself: %s", out)
	}
	if out := p.command(t, 0, "pipeline", "restore", "extra", "1"); !strings.Contains(out, "as v3") {
		t.Errorf("restore: %s", out)
	}
	if got := p.command(t, 0, "export", "project/extra"); got != project {
		t.Errorf("restored:\n%s\nwant\n%s", got, project)
	}
	out = p.command(t, 0, "pipeline", "versions", "extra")
	if !strings.Contains(out, "v3") || !strings.Contains(out, "restores version 1") {
		t.Errorf("versions: %s", out)
	}
	p.command(t, 3, "pipeline", "restore", "extra", "99")
	p.command(t, 2, "pipeline", "diff", "extra", "one", "2")
}

const (
	extraToken = "canary-extra-5a1e77f0"
	extraURL   = "https://chat.example.test/hooks/canary-8d2f"
)

// command runs the command line as the admin, with the variable that the
// documents above take a secret from.
func (p *product) command(t *testing.T, want int, args ...string) string {
	t.Helper()
	out, errs, code := runCommand(t, p.w.binary, []string{"NULLOPS_CLI_URL=" + p.url,
		"NULLOPS_CLI_TOKEN=" + p.admin.token, "EXTRA_TOKEN=" + extraToken, "EXTRA_URL=" + extraURL,
		"XDG_CONFIG_HOME=" + filepath.Join(p.dir, "none")}, "", args...)
	if code != want {
		t.Fatalf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, out, errs)
	}
	return out
}

func fileOf(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "documents.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func splitLines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
