package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

func TestValidate_AcceptsTheShop(t *testing.T) {
	if got := pipeline.Validate(readShop(t), readSettings()); len(got) != 0 {
		t.Fatalf("problems:\n%s", problemText(got))
	}
}

type mistake struct {
	name   string
	step   pipeline.StepKey
	change func(*pipeline.Step)
	field  string
	code   string
	words  string
}

func TestValidate_NamesStepFieldAndRemedy(t *testing.T) {
	for _, m := range allMistakes() {
		t.Run(m.name, func(t *testing.T) {
			got := pipeline.Validate(editShop(t, m.step, m.change), readSettings())
			for _, p := range got {
				if p.Field == m.field && p.Code == m.code && strings.Contains(p.Message, m.words) {
					return
				}
			}
			t.Errorf("want %s %s %q, got:\n%s", m.field, m.code, m.words, problemText(got))
		})
	}
}

func allMistakes() []mistake {
	type step = pipeline.Step
	return append(append(serviceMistakes(), mountMistakes()...), []mistake{
		{"cycle", "db", func(s *step) { s.Needs = []pipeline.StepKey{"web"} },
			"needs", "cycle", "api → web → db → create-db → api"},
		{"unknown need", "web", func(s *step) { s.Needs = []pipeline.StepKey{"nix"} },
			"needs[0]", "unknown_step", `"nix", which does not exist`},
		{"key", "web", func(s *step) { s.Key = "Web_1" }, "key", "name", "a-z"},
		{"no kind", "web", func(s *step) { s.Service = nil }, "kind", "kind", "neither"},
		{"both kinds", "web", func(s *step) { s.Plugin = &pipeline.PluginStep{Name: "x"} },
			"kind", "kind", "at once"},
		{"no component", "create-db", func(s *step) { s.Plugin.Component = nil },
			"plugin.component", "missing_component", "not known"},
		{"missing parameter", "create-db", func(s *step) { delete(s.Plugin.Parameters, "name") },
			"plugin.parameters.name", "required", `requires the parameter "name"`},
		{"missing secret", "create-db", func(s *step) { s.Plugin.Secrets = nil },
			"plugin.secrets.password", "required", `requires the secret "password"`},
		{"secret is text", "create-db", func(s *step) { s.Plugin.Secrets["password"] = "abc" },
			"plugin.secrets.password", "reference", "give a reference"},
		{"secret not read", "create-db", func(s *step) {
			s.Plugin.Secrets["more"] = "${{ secrets.api-key }}"
		}, "plugin.secrets.more", "unknown_secret_input", `reads no secret "more"`},
		{"wrong type", "create-db", func(s *step) {
			s.Plugin.Parameters["port"] = "${{ services.db.host }}"
		}, "plugin.parameters.port", "wrong_type", "is string, the parameter wants integer"},
		{"text for a number", "create-db", func(s *step) {
			s.Plugin.Parameters["port"] = "1${{ services.db.port }}"
		}, "plugin.parameters.port", "wrong_type", "wants integer"},
		{"wrong type in a list of objects", "create-db", func(s *step) {
			s.Plugin.Component.Parameters["properties"].(map[string]any)["rows"] = map[string]any{
				"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{
					"count": map[string]any{"type": "integer"}}}}
			s.Plugin.Parameters["rows"] = []any{
				map[string]any{"count": "${{ services.db.port }}"},
				map[string]any{"count": "${{ services.db.host }}"}}
		}, "plugin.parameters.rows[1].count", "wrong_type", "is string, the parameter wants integer"},
		{"nested reference", "create-db", func(s *step) {
			s.Plugin.Parameters["name"] = map[string]any{"a": []any{"${{ secrets.no }}"}}
		}, "plugin.parameters.name.a[0]", "unknown_secret", `no secret "no"`},
		{"plugin's memory", "create-db", func(s *step) {
			s.Plugin.Resources = &pipeline.Resources{MemoryMiB: 1}
		}, "plugin.resources.memory_mib", "range", "1 MiB"},
		{"timeout", "create-db", func(s *step) { s.Plugin.TimeoutSeconds = -1 },
			"plugin.timeout_seconds", "range", "-1 seconds"},
	}...)
}

// mountMistakes are paths at which nothing can be mounted, and texts that Linux
// passes to no program: both used to be accepted and to fail when they ran.
func mountMistakes() []mistake {
	type step = pipeline.Step
	volumeAt := func(path string) func(*step) {
		return func(s *step) { s.Service.Volumes[0].Path = path }
	}
	fileAt := func(path string) func(*step) {
		return func(s *step) { s.Service.Files = []pipeline.File{{Path: path}} }
	}
	env := func(value string) func(*step) {
		return func(s *step) { s.Service.Env = map[string]string{"X": value} }
	}
	return []mistake{
		{"volume over /proc", "db", volumeAt("/proc"), "service.volumes[0].path", "path",
			"every container gets"},
		{"volume in /sys", "db", volumeAt("/sys/fs/cgroup"), "service.volumes[0].path", "path",
			"/sys"},
		{"volume over /dev", "db", volumeAt("/dev"), "service.volumes[0].path", "path", "/dev"},
		{"file in /dev/shm", "db", fileAt("/dev/shm/x"), "service.files[0].path", "path", "/dev"},
		{"file in our folder", "db", fileAt("/.nullops/run/x"), "service.files[0].path", "path",
			"/.nullops"},
		{"file over the resolver's", "db", fileAt("/etc/resolv.conf"), "service.files[0].path", "path",
			"services find each other"},
		{"volume over the hosts file", "db", volumeAt("/etc/hosts"), "service.volumes[0].path", "path",
			"extra host names"},
		{"tmpfs over the host name", "db", func(s *step) {
			s.Service.Tmpfs = []pipeline.Tmpfs{{Path: "/etc/hostname"}}
		}, "service.tmpfs[0].path", "path", "/etc/hostname"},
		{"tmpfs over a volume", "db", func(s *step) {
			s.Service.Tmpfs = []pipeline.Tmpfs{{Path: s.Service.Volumes[0].Path}}
		}, "service.tmpfs[0].path", "duplicate", "have the path"},
		{"mount over everything", "db", volumeAt("/"), "service.volumes[0].path", "path", "not / itself"},
		{"slash at the end", "db", volumeAt("/data/"), "service.volumes[0].path", "path", "absolute"},
		{"the container itself", "web", func(s *step) { s.Key = "localhost" }, "key", "name",
			"no other service could reach"},
		{"long check", "web", func(s *step) {
			s.Service.Ready = &pipeline.Readiness{Command: []string{strings.Repeat("x", 128<<10)}}
		}, "service.ready.command[0]", "too_long", "file of the service"},
		{"reference in a path", "db", volumeAt("/srv/${{ deployment.name }}"),
			"service.volumes[0].path", "path", "references are not replaced"},
		{"long name in a path", "db", fileAt("/" + strings.Repeat("a", 256)),
			"service.files[0].path", "too_long", "255"},
		{"file inside a file", "db", func(s *step) {
			s.Service.Files = []pipeline.File{{Path: "/etc/a"}, {Path: "/etc/a/b"}}
		}, "service.files[1].path", "path", "inside"},
		{"volume inside a file", "db", func(s *step) {
			s.Service.Files = []pipeline.File{{Path: "/etc/a"}}
			s.Service.Volumes[0].Path = "/etc/a/b/c"
		}, "service.volumes[0].path", "path", "inside"},
		{"long variable", "web", env(strings.Repeat("x", 128<<10)), "service.env.X", "too_long",
			"file of the service"},
		{"long argument", "web", func(s *step) {
			s.Service.Command = []string{strings.Repeat("x", 128<<10)}
		}, "service.command[0]", "too_long", "file of the service"},
		{"many variables", "web", func(s *step) {
			s.Service.Env = map[string]string{}
			for i := range 20 {
				s.Service.Env[fmt.Sprintf("X%d", i)] = strings.Repeat("x", 100<<10)
			}
		}, "service.env", "too_long", "together"},
	}
}

func serviceMistakes() []mistake {
	type step = pipeline.Step
	env := func(value string) func(*step) {
		return func(s *step) { s.Service.Env = map[string]string{"X": value} }
	}
	ready := func(r pipeline.Readiness) func(*step) {
		return func(s *step) { s.Service.Ready = &r }
	}
	gpus := func(g pipeline.GPUs) func(*step) {
		return func(s *step) { s.Service.GPUs = &g }
	}
	return []mistake{
		{"unknown step", "web", env("${{ steps.nix.outputs.a }}"),
			"service.env.X", "unknown_step", `no step "nix"`},
		{"unknown output", "web", env("${{ steps.create-db.outputs.nix }}"),
			"service.env.X", "unknown_output", `no output "nix"`},
		{"output of a service", "web", env("${{ steps.api.outputs.url }}"),
			"service.env.X", "unknown_output", "services.api.host"},
		{"not an ancestor", "db", env("${{ steps.create-db.outputs.port }}"),
			"service.env.X", "not_ancestor", "draw an edge"},
		{"host of a later service", "db", env("${{ services.web.host }}"),
			"service.env.X", "not_ancestor", "draw an edge"},
		{"unknown service", "web", env("${{ services.create-db.host }}"),
			"service.env.X", "unknown_service", "no service step"},
		{"url not exposed", "web", env("${{ services.db.url }}"),
			"service.env.X", "not_exposed", "exposes no port"},
		{"unknown secret", "web", env("${{ secrets.nix }}"),
			"service.env.X", "unknown_secret", `no secret "nix"`},
		{"syntax", "web", env("${{ a b }}"), "service.env.X", "syntax", "at character 6"},
		{"env name", "web", func(s *step) { s.Service.Env = map[string]string{"A=B": ""} },
			"service.env.A=B", "name", "environment variable"},
		{"env name is empty", "web", func(s *step) { s.Service.Env = map[string]string{"": ""} },
			"service.env.", "name", "environment variable"},
		{"secret behind a name with a dot", "web", func(s *step) {
			s.Service.Env = map[string]string{"app.key": "${{ secrets.nix }}"}
		}, "service.env.app.key", "unknown_secret", `no secret "nix"`},
		{"secret in a command", "web", func(s *step) {
			s.Service.Command = []string{"run", "${{ steps.create-db.outputs.connectionString }}"}
		}, "service.command[1]", "secret", "can be read on the node"},
		{"no image", "web", func(s *step) { s.Service.Image = nil },
			"service.image", "missing_image", "catalogue"},
		{"pattern", "web", func(s *step) { s.Service.Image.Pattern = "[" },
			"service.image.pattern", "pattern", "malformed"},
		{"port range", "web", func(s *step) { s.Service.Ports[0].Port = 65536 },
			"service.ports[0].port", "range", "65535"},
		{"port name", "web", func(s *step) { s.Service.Ports[0].Name = "" },
			"service.ports[0].name", "name", "DNS label"},
		{"port twice", "web", func(s *step) {
			s.Service.Ports = append(s.Service.Ports, s.Service.Ports[0])
		}, "service.ports[1].port", "duplicate", "twice"},
		{"relative volume", "db", func(s *step) { s.Service.Volumes[0].Path = "data/../x" },
			"service.volumes[0].path", "path", "absolute"},
		{"file over volume", "db", func(s *step) {
			s.Service.Files = []pipeline.File{{Path: s.Service.Volumes[0].Path}}
		}, "service.files[0].path", "duplicate", "have the path"},
		{"two checks", "web", ready(pipeline.Readiness{Image: true, Command: []string{"a"}}),
			"service.ready", "readiness", "2 checks"},
		{"no check", "web", ready(pipeline.Readiness{}), "service.ready", "readiness", "0 checks"},
		{"reference in a check", "web", ready(pipeline.Readiness{
			Command: []string{"pg_isready", "-U", "${{ services.db.host }}"}}),
			"service.ready.command[2]", "reference", "environment"},
		{"NUL in a check", "web", ready(pipeline.Readiness{Command: []string{"a\x00"}}),
			"service.ready.command[0]", "nul", "NUL"},
		{"restart", "web", func(s *step) { s.Service.Restart = "sometimes" },
			"service.restart", "restart", "always or never"},
		{"GPUs by count and id", "web", gpus(pipeline.GPUs{Count: 1, DeviceIDs: []string{"0"}}),
			"service.gpus", "gpus", "either how many"},
		{"no GPU", "web", gpus(pipeline.GPUs{}), "service.gpus", "gpus", "either how many"},
		{"GPU count", "web", gpus(pipeline.GPUs{Count: -1}), "service.gpus.count", "range", "1 to"},
		{"GPU memory", "web", gpus(pipeline.GPUs{Count: 1, VRAMMiB: -1}), "service.gpus.vram_mib",
			"range", "1 to"},
		{"GPU id", "web", gpus(pipeline.GPUs{DeviceIDs: []string{"a b"}}),
			"service.gpus.device_ids[0]", "device", "not the id of a device"},
		{"GPU twice", "web", gpus(pipeline.GPUs{DeviceIDs: []string{"0", "0"}}),
			"service.gpus.device_ids[1]", "duplicate", "listed twice"},
		{"cpu", "web", func(s *step) { s.Service.Resources.CPU = -1 },
			"service.resources.cpu", "range", "-1 cores"},
		{"memory", "web", func(s *step) { s.Service.Resources.MemoryMiB = 1 },
			"service.resources.memory_mib", "range", "1 MiB"},
		// promise: N-137
		{"sum over the project", "web", func(s *step) { s.Service.Resources.MemoryMiB = 4096 },
			"resources.memory_mib", "over_limit", "the project allows 1024"},
		{"no limit in a limited project", "web", func(s *step) { s.Service.Resources.CPU = 0 },
			"service.resources.cpu", "required", "each service needs a limit"},
	}
}

func TestValidate_ListsEverythingAtOnce(t *testing.T) {
	p := readShop(t)
	p.Steps[0].Needs = []pipeline.StepKey{"nix"}
	p.Steps[1].Plugin.Parameters = nil
	p.Steps[2].Service.Env["X"] = "${{ secrets.nix }}"
	p.Steps[3].Key = "NO"
	text := problemText(pipeline.Validate(p, readSettings()))
	for _, want := range []string{"db | needs[0]", "create-db | plugin.parameters.host",
		"create-db | plugin.parameters.port", "api | service.env.X", "NO | key"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

func TestValidate_FindsTwoCyclesAtOnce(t *testing.T) {
	p := graphOf(map[string][]string{"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c"}, "e": {"e"}})
	text := problemText(pipeline.Validate(p, pipeline.Settings{}))
	for _, want := range []string{"a → b → a", "c → d → c", "e → e"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

func TestValidate_LimitsTheNumberOfSteps(t *testing.T) {
	edges := map[string][]string{}
	for i := range pipeline.MaxSteps + 1 {
		edges[fmt.Sprintf("s%d", i)] = nil
	}
	text := problemText(pipeline.Validate(graphOf(edges), pipeline.Settings{}))
	if !strings.Contains(text, "too_many") {
		t.Error("501 steps were accepted")
	}
	if text := problemText(pipeline.Validate(pipeline.Pipeline{}, readSettings())); text == "" {
		t.Error("a pipeline without steps was accepted")
	}
}
