package pipeline

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// Problem is one thing wrong with a pipeline, at a place the editor can show.
type Problem struct {
	// Step is empty when the pipeline as a whole is meant.
	Step StepKey `json:"step,omitempty"`
	// Field is a path inside the step, such as service.env.PORT.
	Field string `json:"field"`
	// Code is a stable word; Message one sentence with the remedy.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Settings are the parts of a project that a pipeline must agree with.
type Settings struct {
	// Limits is what all services together may use; zero means no limit.
	Limits Resources
	// Secrets are the names a reference may use.
	Secrets []string
}

// Limits of a pipeline's parts. They keep a document readable and ensure that one node can
// run it; they are larger than any pipeline so far.
const (
	MaxSteps       = 500
	MaxKey         = 40
	MaxComment     = 8 << 10
	MaxFileContent = 256 << 10
	maxSeconds     = 86400
	// MaxStopGraceSeconds bounds how long one service can hold up a removal.
	MaxStopGraceSeconds = 600
	maxCPU              = 1024
	// minMemoryMiB is the container engine's own floor.
	minMemoryMiB = 6
	maxMemoryMiB = 16 << 20
	// maxGPUs and maxVRAMMiB are more than any machine holds.
	maxGPUs    = 64
	maxVRAMMiB = 4 << 20
)

// Validate returns every problem of the pipeline at once, or none. It needs no other data:
// services and plugins are already copied into the steps. Literal parameters are checked
// against their schema elsewhere (see Literals).
func Validate(p Pipeline, settings Settings) []Problem {
	v := &validator{p: p, settings: settings, before: ancestorsByStep(p)}
	v.checkGraph()
	v.checkInput()
	for _, s := range p.Steps {
		v.checkStep(s)
	}
	v.checkSharedVolumes()
	v.checkTotals()
	return v.problems
}

type validator struct {
	p        Pipeline
	settings Settings
	before   map[StepKey]map[StepKey]bool
	problems []Problem
	at       StepKey
	// kind is the field of the step at hand that describes its container: service or job.
	kind string
}

func (v *validator) addProblem(field, code, format string, args ...any) {
	v.problems = append(v.problems, Problem{Step: v.at, Field: field, Code: code,
		Message: fmt.Sprintf(format, args...)})
}

func (v *validator) checkGraph() {
	if len(v.p.Steps) == 0 {
		v.addProblem("steps", "empty", "the pipeline has no steps; add a service, a job or a plugin")
	}
	if len(v.p.Steps) > MaxSteps {
		v.addProblem("steps", "too_many", "%d steps; %d are the most", len(v.p.Steps), MaxSteps)
	}
	v.checkScriptCount()
	for i, c := range v.p.Comments {
		if len(c.Text) > MaxComment {
			v.addProblem(fmt.Sprintf("comments[%d].text", i), "too_long", "a comment of %d bytes; %d are "+
				"the most", len(c.Text), MaxComment)
		}
		if len(c.Steps) > MaxSteps {
			v.addProblem(fmt.Sprintf("comments[%d].steps", i), "too_many", "a group of %d steps; %d are "+
				"the most", len(c.Steps), MaxSteps)
		}
	}
	seen := map[StepKey]bool{}
	for _, s := range v.p.Steps {
		if seen[s.Key] {
			v.at = s.Key
			v.addProblem("key", "duplicate", "two steps have the key %q; rename one", s.Key)
		}
		seen[s.Key] = true
	}
	for _, c := range findCycles(v.p) {
		v.at = c.Path[0]
		v.addProblem("needs", "cycle", "%s; remove one of the edges", c.Error())
	}
	v.at = ""
	if order, err := Order(v.p); err == nil && len(v.p.Order) > 0 {
		if fmt.Sprint(order) != fmt.Sprint(v.p.Order) {
			v.addProblem("order", "order", "the stored order is not that of the graph; leave it out")
		}
	}
}

func (v *validator) checkStep(s Step) {
	v.at = s.Key
	if !isLabel(string(s.Key)) {
		v.addProblem("key", "name", "the key %q must be 1 to %d of a-z, 0-9 and -, starting with a "+
			"letter and not ending with -", s.Key, MaxKey)
	}
	if s.Service != nil && isReservedHost(string(s.Key)) {
		v.addProblem("key", "name", "%q is the container itself in every container, so that no other "+
			"service could reach this one; choose another key", s.Key)
	}
	v.checkNeeds(s)
	switch kinds := s.kindNames(); {
	case len(kinds) == 0:
		v.addProblem(
			"kind",
			"kind",
			"the step is neither a service, a job, a plugin, a script nor an approval; choose one",
		)
	case len(kinds) > 1:
		v.addProblem("kind", "kind", "the step is %s at once; make several steps",
			strings.Join(kinds, " and "))
	case s.Container() != nil:
		v.checkContainerStep(s)
	case s.Plugin != nil:
		v.checkPlugin(s.Plugin)
	case s.Script != nil:
		v.checkScript(s.Script)
	default:
		v.checkApproval(s.Approval)
	}
}

func (s Step) kindNames() []string {
	var kinds []string
	if s.Service != nil {
		kinds = append(kinds, "a service")
	}
	if s.Job != nil {
		kinds = append(kinds, "a job")
	}
	if s.Plugin != nil {
		kinds = append(kinds, "a plugin")
	}
	if s.Script != nil {
		kinds = append(kinds, "a script")
	}
	if s.Approval != nil {
		kinds = append(kinds, "an approval")
	}
	return kinds
}

func (v *validator) checkNeeds(s Step) {
	seen := map[StepKey]bool{}
	for i, need := range s.Needs {
		field := fmt.Sprintf("needs[%d]", i)
		if _, ok := v.p.Step(need); !ok {
			v.addProblem(field, "unknown_step", "step %q needs %q, which does not exist", s.Key, need)
		}
		if seen[need] {
			v.addProblem(field, "duplicate", "step %q needs %q twice", s.Key, need)
		}
		seen[need] = true
	}
}

// checkTotals checks what runs at the same time against the project's limits.
func (v *validator) checkTotals() {
	v.at = ""
	peak := PeakResources(v.p)
	limits := v.settings.Limits
	// Decimal fractions do not add up exactly in binary ones.
	const slack = 1e-9
	if limits.CPU > 0 && peak.CPU > limits.CPU+slack {
		v.addProblem("resources.cpu", "over_limit",
			"the services%s ask for %g cores together, the project allows %g", v.andJobs(), peak.CPU,
			limits.CPU)
	}
	if limits.MemoryMiB > 0 && peak.MemoryMiB > limits.MemoryMiB {
		v.addProblem("resources.memory_mib", "over_limit",
			"the services%s ask for %d MiB together, the project allows %d", v.andJobs(),
			peak.MemoryMiB, limits.MemoryMiB)
	}
	v.checkUnlimited(limits)
}

// checkUnlimited rejects services and jobs without a limit of their own if the project has
// one: they could exceed it.
func (v *validator) checkUnlimited(limits Resources) {
	for _, s := range v.p.Steps {
		c := s.Container()
		if c == nil {
			continue
		}
		v.at = s.Key
		v.kind = containerField(s)
		if limits.CPU > 0 && c.Resources.CPU == 0 {
			v.addProblem(v.kind+".resources.cpu", "required",
				"the project limits CPU, so each %s needs a limit; give cores, such as 0.5",
				v.kind)
		}
		if limits.MemoryMiB > 0 && c.Resources.MemoryMiB == 0 {
			v.addProblem(v.kind+".resources.memory_mib", "required",
				"the project limits memory, so each %s needs a limit; give MiB, such as 256",
				v.kind)
		}
	}
	v.at = ""
}

func (v *validator) checkResources(field string, r Resources) {
	if math.IsNaN(r.CPU) || r.CPU < 0 || r.CPU > maxCPU || r.CPU > 0 && r.CPU < 0.01 {
		v.addProblem(field+".cpu", "range", "%g cores; give 0.01 to %d, or 0 for no limit", r.CPU, maxCPU)
	}
	if r.MemoryMiB != 0 && (r.MemoryMiB < minMemoryMiB || r.MemoryMiB > maxMemoryMiB) {
		v.addProblem(field+".memory_mib", "range", "%d MiB; give %d to %d, or 0 for no limit",
			r.MemoryMiB, minMemoryMiB, maxMemoryMiB)
	}
}

func (v *validator) checkImage(field string, image *Image) {
	if image == nil {
		v.addProblem(field, "missing_image", "the image is not known; choose one from the catalogue")
		return
	}
	if image.Registry == "" {
		v.addProblem(field+".registry", "required", "the image has no registry")
	}
	if image.Repository == "" {
		v.addProblem(field+".repository", "required", "the image has no repository")
	}
	if image.Tag != "" && !matchesExpression(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`, image.Tag) {
		v.addProblem(field+".tag", "tag", "%q is not a tag", image.Tag)
	}
	if image.Digest != "" && !isDigest(image.Digest) {
		v.addProblem(field+".digest", "digest", "%q is not of the form sha256:<64 hex digits>",
			image.Digest)
	}
	if err := CheckPattern(image.Pattern); err != nil {
		v.addProblem(field+".pattern", "pattern", "%v", err)
	}
	if !oneOf(string(image.TagMode), "", string(Pinned), string(Selectable)) {
		v.addProblem(field+".tag_mode", "tag_mode", "%q is unknown; use pinned or selectable",
			image.TagMode)
	}
}

func (v *validator) checkSeconds(field string, n int) {
	if n < 0 || n > maxSeconds {
		v.addProblem(field, "range", "%d seconds; give 0 to %d", n, maxSeconds)
	}
}

func isLabel(s string) bool {
	return len(s) <= MaxKey && matchesExpression(`^[a-z]([a-z0-9-]*[a-z0-9])?$`, s)
}

// isReservedHost reports whether every container's hosts file has the name.
func isReservedHost(name string) bool {
	return oneOf(name, "localhost", "ip6-localhost", "ip6-loopback", "ip6-localnet",
		"ip6-mcastprefix", "ip6-allnodes", "ip6-allrouters")
}

// isEnvName reports whether the container engine takes a variable of this name. A
// shell may not be able to read it: names with dots and dashes are for programs.
func isEnvName(s string) bool { return s != "" && !strings.ContainsAny(s, "=\x00") }

func isDigest(s string) bool { return matchesExpression(`^sha256:[0-9a-f]{64}$`, s) }

// matchesExpression compiles each time: validation is rare, and package state is not ours.
func matchesExpression(expression, s string) bool {
	return regexp.MustCompile(expression).MatchString(s)
}

func pointerToken(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
