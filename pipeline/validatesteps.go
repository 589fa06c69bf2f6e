package pipeline

import (
	"fmt"
	"strings"
)

func (v *validator) checkContainer(s *ServiceStep) {
	if s.Name == "" {
		v.addProblem(v.kind+".name", "required", "the step names no service of the catalogue")
	}
	v.checkImage(v.kind+".image", s.Image)
	v.checkResources(v.kind+".resources", s.Resources)
	for i, arg := range s.Command {
		field := fmt.Sprintf("%s.command[%d]", v.kind, i)
		v.checkCommand(field, arg)
		v.checkStringSize(field, len(arg))
	}
	for _, name := range sortedKeys(s.Env) {
		at := v.kind + ".env." + name
		if !isEnvName(name) {
			v.addProblem(at, "name", "%q is not a name of an environment variable; it must not be empty "+
				"or hold = or NUL", name)
		}
		v.checkText(at, s.Env[name])
		v.checkStringSize(at, len(name)+len("=")+len(s.Env[name]))
	}
	v.checkExecSize(s)
	v.checkPorts(s.Ports)
	v.checkMounts(s)
	v.checkReadiness(s.Ready)
	if !oneOf(string(s.Restart), "", string(RestartAlways), string(RestartNever)) {
		v.addProblem(v.kind+".restart", "restart", "%q is unknown; use always or never", s.Restart)
	}
	v.checkGPUs(s.GPUs)
	v.checkProcess(s)
	v.checkExtraHosts(s.ExtraHosts)
}

func (v *validator) checkGPUs(g *GPUs) {
	if g == nil {
		return
	}
	if (g.Count == 0) == (len(g.DeviceIDs) == 0) {
		v.addProblem(v.kind+".gpus", "gpus", "give either how many GPUs or their ids")
	}
	if g.Count < 0 || g.Count > maxGPUs {
		v.addProblem(v.kind+".gpus.count", "range", "%d GPUs; give 1 to %d", g.Count, maxGPUs)
	}
	if g.VRAMMiB < 0 || g.VRAMMiB > maxVRAMMiB {
		v.addProblem(v.kind+".gpus.vram_mib", "range", "%d MiB; give 1 to %d", g.VRAMMiB, maxVRAMMiB)
	}
	seen := map[string]bool{}
	for i, id := range g.DeviceIDs {
		field := fmt.Sprintf("%s.gpus.device_ids[%d]", v.kind, i)
		if !matchesExpression(`^[A-Za-z0-9][A-Za-z0-9:._/-]{0,127}$`, id) {
			v.addProblem(field, "device", "%q is not the id of a device; use 0, 1 or the GPU's UUID", id)
		}
		if seen[id] {
			v.addProblem(field, "duplicate", "device %q is listed twice", id)
		}
		seen[id] = true
	}
}

// checkCommand rejects secrets in arguments, which are readable in the engine's files on
// the node.
func (v *validator) checkCommand(field, arg string) {
	for _, ref := range v.checkText(field, arg) {
		if v.isSecret(ref) {
			v.addProblem(field, "secret", "${{ %s }} is secret, and a command can be read on the node; "+
				"pass it in the environment or a file", ref)
		}
	}
}

func (v *validator) checkPorts(ports []Port) {
	names, numbers := map[string]bool{}, map[int]bool{}
	for i, p := range ports {
		field := fmt.Sprintf("%s.ports[%d]", v.kind, i)
		if !isLabel(p.Name) {
			v.addProblem(field+".name", "name", "the port's name %q must be a DNS label", p.Name)
		}
		if names[p.Name] {
			v.addProblem(field+".name", "duplicate", "two ports have the name %q", p.Name)
		}
		v.checkPort(field+".port", p.Port)
		if numbers[p.Port] {
			v.addProblem(field+".port", "duplicate", "port %d is listed twice", p.Port)
		}
		names[p.Name], numbers[p.Port] = true, true
	}
}

func (v *validator) checkPort(field string, port int) {
	if port < 1 || port > 65535 {
		v.addProblem(field, "range", "port %d; give 1 to 65535", port)
	}
}

func (v *validator) checkReadiness(r *Readiness) {
	if r == nil {
		return
	}
	field := v.kind + ".ready"
	kinds := 0
	if r.HTTP != nil {
		kinds++
		v.checkPort(field+".http.port", r.HTTP.Port)
		if !strings.HasPrefix(r.HTTP.Path, "/") || strings.ContainsAny(r.HTTP.Path, " \r\n\x00") {
			v.addProblem(field+".http.path", "path", "%q must start with / and hold no spaces", r.HTTP.Path)
		}
		if r.HTTP.Status != 0 && (r.HTTP.Status < 100 || r.HTTP.Status > 599) {
			v.addProblem(field+".http.status", "range", "status %d; give 100 to 599", r.HTTP.Status)
		}
	}
	if r.TCP != nil {
		kinds++
		v.checkPort(field+".tcp.port", r.TCP.Port)
	}
	if len(r.Command) > 0 {
		kinds++
		if r.Command[0] == "" {
			v.addProblem(field+".command[0]", "required", "the program to start has no name")
		}
	}
	for i, arg := range r.Command {
		at := fmt.Sprintf("%s.command[%d]", field, i)
		v.checkLiteral(at, arg)
		v.checkStringSize(at, len(arg))
	}
	if r.Image {
		kinds++
	}
	if kinds != 1 {
		v.addProblem(field, "readiness", "%d checks; give exactly one of http, tcp, command and image",
			kinds)
	}
	v.checkSeconds(field+".interval_seconds", r.IntervalSeconds)
	v.checkSeconds(field+".timeout_seconds", r.TimeoutSeconds)
	v.checkSeconds(field+".start_period_seconds", r.StartPeriodSeconds)
	if r.Retries < 0 || r.Retries > 10000 {
		v.addProblem(field+".retries", "range", "%d tries; give 0 to 10000", r.Retries)
	}
}

// checkLiteral refuses references where nothing fills them in: a check is repeated
// for as long as the service lives, by an agent that may not have its secrets.
func (v *validator) checkLiteral(field, arg string) {
	if refs := v.checkText(field, arg); len(refs) > 0 {
		v.addProblem(field, "reference", "${{ %s }} is not filled in here; put it into the service's "+
			"environment, and let the command read that: sh -c '… $NAME'", refs[0])
	}
}

func (v *validator) checkPlugin(s *PluginStep) {
	if s.Name == "" {
		v.addProblem("plugin.name", "required", "the step names no plugin")
	}
	v.checkSeconds("plugin.timeout_seconds", s.TimeoutSeconds)
	if s.Resources != nil {
		v.checkResources("plugin.resources", *s.Resources)
	}
	v.checkTree("plugin.parameters", s.Parameters)
	for _, name := range sortedKeys(s.Secrets) {
		v.secretInput(s, name)
	}
	if s.Component == nil {
		v.addProblem("plugin.component", "missing_component",
			"the plugin %q is not known; choose one from the catalogue", s.Name)
		return
	}
	v.checkImage("plugin.image", s.Image)
	v.checkResources("plugin.component.resources", s.Component.Resources)
	v.checkSeconds("plugin.component.timeout_seconds", s.Component.TimeoutSeconds)
	for _, name := range schemaRequired(s.Component.Parameters) {
		property, _ := schemaProperty(s.Component.Parameters, name)
		_, hasDefault := property["default"]
		if _, ok := s.Parameters[name]; !ok && !hasDefault {
			v.addProblem("plugin.parameters."+name, "required",
				"the plugin %q requires the parameter %q", s.Name, name)
		}
	}
	for _, input := range s.Component.Secrets {
		if _, ok := s.Secrets[input.Name]; !ok && input.Required {
			v.addProblem("plugin.secrets."+input.Name, "required",
				"the plugin %q requires the secret %q", s.Name, input.Name)
		}
	}
	v.checkTypes(s)
}

func (v *validator) secretInput(s *PluginStep, name string) {
	field := "plugin.secrets." + name
	known := s.Component == nil
	if s.Component != nil {
		for _, input := range s.Component.Secrets {
			known = known || input.Name == name
		}
	}
	if !known {
		v.addProblem(field, "unknown_secret_input", "the plugin %q reads no secret %q", s.Name, name)
	}
	v.checkSecretReference(field, s.Secrets[name])
}

// checkTypes compares the types of references with the types that parameters accept.
func (v *validator) checkTypes(s *PluginStep) {
	for _, name := range sortedKeys(s.Parameters) {
		property, _ := schemaProperty(s.Component.Parameters, name)
		v.fitsSchema("plugin.parameters."+name, s.Parameters[name], property)
	}
}

// fitsSchema walks a value and its schema together as far as the schema uses type,
// properties and items. Other keywords, such as oneOf, are checked when the step runs.
func (v *validator) fitsSchema(field string, value any, schema map[string]any) {
	switch value := value.(type) {
	case string:
		v.fitsTypes(field, value, schemaTypes(schema))
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, item := range value {
			v.fitsSchema(fmt.Sprintf("%s[%d]", field, i), item, items)
		}
	case map[string]any:
		for _, name := range sortedKeys(value) {
			property, _ := schemaProperty(schema, name)
			v.fitsSchema(field+"."+name, value[name], property)
		}
	}
}

func (v *validator) fitsTypes(field, text string, want []string) {
	t, err := Parse(text)
	if err != nil || len(t.Refs()) == 0 {
		return
	}
	have := []string{"string"}
	if ref, single := t.Single(); single {
		have = v.typeOf(ref)
	}
	if !typesFit(have, want) {
		v.addProblem(field, "wrong_type", "%s is %s, the parameter wants %s",
			text, strings.Join(have, " or "), strings.Join(want, " or "))
	}
}
