package controlplane_test

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// A change is said field by field, in words, with what was and what is, and without anything that
// is sealed.
func TestDescribeChange(t *testing.T) {
	t.Parallel()
	var before, after controlplane.Environment
	before.ID, after.ID = "a", "b"
	before.Domain, after.Domain = "qa.example.org", "<qa>.example.org"
	before.CleanupAfterHours, after.CleanupAfterHours = 48, 24
	want := "domain: \"qa.example.org\" → \"<qa>.example.org\"\ncleanup after hours: 48 → 24"
	if got := controlplane.DescribeChange(before, after); got != want {
		t.Errorf("%s, wanted %s", got, want)
	}
	if got := controlplane.DescribeChange(after, after); got != "" {
		t.Errorf("no change is described as %q", got)
	}
	sealed := controlplane.Registry{Username: "puller", Password: controlplane.Sealed("hunter2")}
	if got := controlplane.DescribeChange(controlplane.Registry{}, sealed); got !=
		`username: "" → "puller"` {
		t.Errorf("a password is described: %s", got)
	}
	was := controlplane.Team{Grants: []controlplane.TeamGrant{{Project: "shop", Level: "read"}}}
	is := controlplane.Team{Grants: []controlplane.TeamGrant{{Project: "shop", Level: "full"}}}
	if got := controlplane.DescribeChange(was, is); got !=
		`grants: ["read on project shop"] → ["full on project shop"]` {
		t.Error(got)
	}
	limits := controlplane.Project{}
	limits.Resources.MemoryMiB, limits.Resources.CPU = 512, 2
	if got := controlplane.DescribeChange(controlplane.Project{}, limits); got !=
		"resources CPU: 0 → 2\nresources memory MiB: 0 → 512" {
		t.Error(got)
	}
	long := controlplane.DescribeChange(controlplane.Project{},
		controlplane.Project{Description: strings.Repeat("é", 400)})
	if len(long) > 300 || !strings.HasSuffix(long, `…"`) {
		t.Errorf("a long value becomes %d bytes: %s", len(long), long)
	}
}
