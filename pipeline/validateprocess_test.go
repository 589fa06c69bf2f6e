package pipeline_test

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

// What could not start or be ended is refused at save, with the step and the
// field that say so.
func TestValidate_RefusesImpossibleProcesses(t *testing.T) {
	type service = pipeline.ServiceStep
	hosts := func(name, address string) func(*service) {
		return func(s *service) {
			s.ExtraHosts = []pipeline.ExtraHost{{Name: name, Address: address}}
		}
	}
	tmpfs := func(path string, size int) func(*service) {
		return func(s *service) { s.Tmpfs = []pipeline.Tmpfs{{Path: path, SizeMiB: size}} }
	}
	for name, c := range map[string]struct {
		change            func(*service)
		field, code, says string
	}{
		"user with a space": {func(s *service) { s.User = "a b" }, "service.user", "user", "1000:1000"},
		"user too large": {func(s *service) { s.User = "2147483648" }, "service.user", "user",
			"not a user"},
		"group missing": {func(s *service) { s.User = "app:" }, "service.user", "user", "not a user"},
		"reference as user": {func(s *service) { s.User = "${{ deployment.name }}" }, "service.user",
			"user", "not a user"},
		"unknown signal": {func(s *service) { s.StopSignal = "SIGSTOPP" }, "service.stop_signal",
			"signal", "SIGTERM"},
		"signal 0": {func(s *service) { s.StopSignal = "0" }, "service.stop_signal", "signal", "64"},
		"signal beyond the last": {func(s *service) { s.StopSignal = "RTMAX-15" },
			"service.stop_signal", "signal", "64"},
		"grace too long": {func(s *service) { s.StopGraceSeconds = 601 },
			"service.stop_grace_seconds", "range", "600"},
		"grace negative": {func(s *service) { s.StopGraceSeconds = -1 },
			"service.stop_grace_seconds", "range", "600"},
		"secret in an entrypoint": {func(s *service) {
			s.Entrypoint = []string{"sh", "${{ secrets.api-key }}"}
		}, "service.entrypoint[1]", "secret", "read on the node"},
		"empty program": {func(s *service) { s.Entrypoint = []string{"", "x"} },
			"service.entrypoint[0]", "required", "no name"},
		"command without a program": {func(s *service) {
			s.Entrypoint, s.Command = []string{""}, []string{"", "x"}
		}, "service.command[0]", "required", "no name"},
		"check without a program": {func(s *service) {
			s.Ready = &pipeline.Readiness{Command: []string{"", "x"}}
		}, "service.ready.command[0]", "required", "no name"},
		"nothing to start": {func(s *service) { s.Entrypoint, s.Command = []string{""}, nil },
			"service.command", "required", "neither"},
		"tmpfs over a volume": {tmpfs("/var/lib/postgresql/data", 0), "service.tmpfs[0].path",
			"duplicate", "have the path"},
		"tmpfs on ours": {tmpfs("/.nullops/run", 0), "service.tmpfs[0].path", "path",
			"choose another"},
		"tmpfs on the root": {tmpfs("/", 0), "service.tmpfs[0].path", "path", "not / itself"},
		"relative tmpfs":    {tmpfs("tmp", 0), "service.tmpfs[0].path", "path", "absolute"},
		"tmpfs size":        {tmpfs("/tmp", -1), "service.tmpfs[0].size_mib", "range", "-1 MiB"},
		"host name": {hosts("a b", "192.0.2.1"),
			"service.extra_hosts[0].name", "name", "host name"},
		"host with two dots": {hosts("a..b", "192.0.2.1"),
			"service.extra_hosts[0].name", "name", "host name"},
		"gateway of the host": {hosts("a", "host-gateway"), "service.extra_hosts[0].address",
			"address", "192.0.2.10"},
		"port behind an address": {hosts("a", "192.0.2.1:80"), "service.extra_hosts[0].address",
			"address", "IP address"},
		"host twice": {func(s *service) {
			s.ExtraHosts = []pipeline.ExtraHost{{Name: "a", Address: "::1"}, {Name: "a", Address: "::1"}}
		}, "service.extra_hosts[1]", "duplicate", "listed twice"},
	} {
		p := editShop(t, "db", func(s *pipeline.Step) { c.change(s.Service) })
		text := problemText(pipeline.Validate(p, readSettings()))
		if want := "db | " + c.field + " | " + c.code + " | "; !strings.HasPrefix(text, want) ||
			!strings.Contains(text, c.says) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: no %q with %q in %q", name, want, c.says, text)
		}
	}
}

// What Docker takes is taken.
func TestValidate_TakesWhatDockerTakes(t *testing.T) {
	for _, user := range []string{"app", "1000", "app:staff", "0:0", "_apt", "host$", "1000:docker"} {
		for _, signal := range []string{"SIGTERM", "term", "15", "SIGRTMIN+3", "RTMAX-14", "64"} {
			p := editShop(t, "db", func(s *pipeline.Step) {
				s.Service.User, s.Service.StopSignal = user, signal
				s.Service.StopGraceSeconds, s.Service.Init, s.Service.ReadOnly = 600, true, true
				s.Service.Entrypoint = []string{"./run.sh", "${{ deployment.name }}"}
				s.Service.Env["discovery.type"], s.Service.Env["a-b c"] = "single-node", ""
				s.Service.Tmpfs = []pipeline.Tmpfs{{Path: "/tmp"}, {Path: "/dev/shm", SizeMiB: 64}}
				s.Service.ExtraHosts = []pipeline.ExtraHost{{Name: "a.example", Address: "192.0.2.1"},
					{Name: "a.example", Address: "2001:db8::1"}, {Name: "my_db", Address: "::1"}}
			})
			if text := problemText(pipeline.Validate(p, readSettings())); text != "" {
				t.Errorf("user %s, signal %s: %s", user, signal, text)
			}
			encoded, err := pipeline.Encode(p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := pipeline.Decode(encoded); err != nil {
				t.Errorf("it cannot be read again: %v", err)
			}
		}
	}
}

// A shared volume is one for all, so its services agree on whether it stays.
func TestValidate_SharedVolumes(t *testing.T) {
	share := func(name string, stays bool) pipeline.Pipeline {
		p := editShop(t, "db", func(s *pipeline.Step) {
			s.Service.Volumes = []pipeline.Volume{{Name: "a", Path: "/a", Shared: "site"},
				{Name: "b", Path: "/b", Shared: "site", ReadOnly: true}}
		})
		web, _ := p.Step("web")
		web.Service.Volumes = []pipeline.Volume{{Name: "own", Path: "/c", Shared: name, Stays: stays}}
		return p
	}
	if text := problemText(pipeline.Validate(share("site", false), readSettings())); text != "" {
		t.Errorf("refused: %s", text)
	}
	for want, p := range map[string]pipeline.Pipeline{
		`web | service.volumes[0].stays | shared | step "db" says otherwise`: share("site", true),
		"web | service.volumes[0].shared | name | ":                          share("No name", false),
	} {
		if text := problemText(pipeline.Validate(p, readSettings())); !strings.HasPrefix(text, want) {
			t.Errorf("%q instead of %q", text, want)
		}
	}
}

// Steps that disagree on a shared volume are told at the later one, in its own kind of fields.
func TestValidate_SharedVolumeIsToldAtTheLaterStep(t *testing.T) {
	t.Parallel()
	container := func(stays bool) *pipeline.ServiceStep {
		return &pipeline.ServiceStep{Name: "x", Volumes: []pipeline.Volume{{Name: "own", Path: "/own"},
			{Name: "both", Path: "/both", Shared: "both", Stays: stays}}}
	}
	p := pipeline.Pipeline{Format: 2, Steps: []pipeline.Step{{Key: "a", Service: container(true)},
		{Key: "b", Job: &pipeline.JobStep{ServiceStep: *container(false)}},
		{Key: "c", Service: &pipeline.ServiceStep{Name: "y"}}}}
	for _, found := range pipeline.Validate(p, pipeline.Settings{}) {
		if found.Code == "shared" {
			if found.Step != "b" || found.Field != "job.volumes[1].stays" {
				t.Errorf("it is told at %s, %s", found.Step, found.Field)
			}
			return
		}
	}
	t.Error("nothing is told")
}
