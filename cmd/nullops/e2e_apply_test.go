package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// applyIsOneTransaction holds apply to what the dry run says, with the same words.
func applyIsOneTransaction(t *testing.T, p *product, before string) {
	bad := fileOf(t, `kind: environment
name: left-behind
domain: left.test
---
kind: project
name: hostile-dry
resources: {cpu: 2, memory_mib: 1024}
pipeline:
  steps:
    - key: one
      service:
        name: shop-web
        env: {A: b}
        resources: {cpu: 0.1, memory_mib: 64}
    - key: two
      service:
        name: shop-web
        env:
          "A=B": b
        ports: [{name: http, port: 8080}, {name: http2, port: 8080}]
        resources: {cpu: lots, memory_mib: 64}
---
kind: user
name: left-behind
role: boss
`)
	file := bad + ":"
	dry, real := p.runRefused(t, "apply", "--dry-run", "-f", bad), p.runRefused(t, "apply", "-f", bad)
	for _, want := range []string{
		file + "21: project hostile-dry, step two, service.resources.cpu: This is text, and a number",
		file + "25: user left-behind, role: This is not one of admin, user"} {
		if !strings.Contains(real, want) {
			t.Errorf("%q is missing in\n%s", want, real)
		}
	}
	if dry != real {
		t.Errorf("the dry run says\n%s\nand apply\n%s", dry, real)
	}
	text, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	typed := fileOf(t, strings.NewReplacer("cpu: lots", "cpu: 0.1", "boss", "user").
		Replace(string(text)))
	real = p.runRefused(t, "apply", "-f", typed)
	for _, want := range []string{typed + ":19: project hostile-dry, step two, service.env.A=B: ",
		typed + ":20: project hostile-dry, step two, service.ports",
		typed + ":23: user left-behind, password: "} {
		if !strings.Contains(real, want) {
			t.Errorf("%q is missing in\n%s", want, real)
		}
	}
	if after := p.command(t, 0, "export"); after != before {
		t.Errorf("something was left behind:\n%s", after)
	}
}

func deleteDefinitions(t *testing.T, p *product) {
	environment := func(name string) string {
		return fileOf(t, "kind: environment\nname: "+name+"\ndomain: "+name+".test\n")
	}
	one, two, three := environment("one"), environment("two"), environment("three")
	twice := p.runRefused(t, "apply", "-f", one, "-f", two, "-f", environment("one"))
	if !strings.Contains(twice, "environment one: it is already defined at "+one+":1") {
		t.Errorf("twice: %s", twice)
	}
	p.command(t, 0, "apply", "-f", one, "-f", two, "--owner", "pair")
	p.command(t, 2, "apply", "-f", one, "--prune")
	if out := p.command(t, 0, "apply", "-f", one, "-f", three, "--owner", "pair"); !strings.Contains(
		out, "  environment two\nApply with --prune to delete it.") {
		t.Errorf("what is held besides: %s", out)
	}
	if out := p.runRefused(t, "apply", "-f", two, "--owner", "other"); !strings.Contains(out,
		two+":1: environment two: Environment two belongs to the owner pair") {
		t.Errorf("of another owner: %s", out)
	}
	prune := []string{"apply", "-f", one, "--owner", "pair", "--prune"}
	if out := p.command(t, 0, append(prune, "--dry-run")...); !strings.Contains(out,
		"environment two                          would be deleted") {
		t.Errorf("preview: %s", out)
	}
	if out := p.runRefused(t, prune...); !strings.Contains(out, "add --yes") ||
		!strings.Contains(out, "environment three                        would be deleted") {
		t.Errorf("without a yes: %s", out)
	}
	p.command(t, 0, append(prune, "--yes")...)
	p.command(t, 3, "export", "environment/two")
	if out := p.runRefused(t, "delete", "service", "shop-web", "--yes"); !strings.Contains(out,
		"used by project ") {
		t.Errorf("in use: %s", out)
	}
	p.runRefused(t, "delete", "environment", "one")
	if out := p.command(t, 0, "delete", "-f", one, "--yes"); !strings.HasSuffix(out, " deleted\n") {
		t.Errorf("delete: %s", out)
	}
	p.command(t, 3, "export", "environment/one")
	p.command(t, 2, "delete")
	p.command(t, 2, "delete", "environment")
}

// runRefused runs a command that must be refused, and returns what it says about it.
func (p *product) runRefused(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := runCommand(t, p.w.binary, []string{"NULLOPS_CLI_URL=" + p.url,
		"NULLOPS_CLI_TOKEN=" + p.admin.token, "EXTRA_TOKEN=" + extraToken,
		"XDG_CONFIG_HOME=" + filepath.Join(p.dir, "none")}, "", args...)
	if code != exitRefused {
		t.Fatalf("%s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return errs
}
