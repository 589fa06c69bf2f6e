package compose

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/nullops/nullops/pipeline"
)

func (r *composeReader) readEnv(s types.ServiceConfig) map[string]string {
	env := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		value := s.Environment[name]
		if given, ok := r.variables[name]; value == nil && ok {
			value = &given
		}
		if value == nil {
			r.addNote(s.Name, "environment", "%s has no value here", name)
			continue
		}
		env[name] = escapeReferences(r.renameHosts(s.Name, name, *value))
	}
	if len(env) == 0 {
		return nil
	}
	return env
}

// ports: published ones answer through the ingress, exposed ones inside only.
func (r *composeReader) readPorts(s types.ServiceConfig) []pipeline.Port {
	var all []pipeline.Port
	add := func(number int, expose bool) {
		for _, p := range all {
			if p.Port == number {
				return
			}
		}
		name := fmt.Sprintf("p%d", number)
		if expose && !slices.ContainsFunc(all, func(p pipeline.Port) bool { return p.Expose }) {
			name = "http"
		}
		all = append(all, pipeline.Port{Name: name, Port: number, Expose: expose})
	}
	var inside []int
	for _, p := range s.Ports {
		if p.Protocol != "" && p.Protocol != "tcp" {
			r.addNote(
				s.Name,
				"ports",
				"%d is of the kind %s, which is not carried over",
				p.Target,
				p.Protocol,
			)
			continue
		}
		if p.Published != "" && p.Published != fmt.Sprint(p.Target) && !isLoopback(p.HostIP) {
			r.addNote(s.Name, "ports", "%d answers through the ingress at an address of its own, not on "+
				"port %s of the machine", p.Target, p.Published)
		}
		if isLoopback(p.HostIP) {
			r.addNote(s.Name, "ports", "%d is published on %s only, so that it is reachable inside the "+
				"deployment and not through the ingress", p.Target, p.HostIP)
			inside = append(inside, int(p.Target))
			continue
		}
		if p.HostIP != "" && !isUnspecified(p.HostIP) {
			r.addNote(s.Name, "ports", "%d answers through the ingress, not on the address %s",
				p.Target, p.HostIP)
		}
		add(int(p.Target), true)
	}
	for _, number := range append(inside, r.exposedPorts(s)...) {
		add(number, false)
	}
	return all
}

func (r *composeReader) readVolumes(s types.ServiceConfig) []pipeline.Volume {
	var all []pipeline.Volume
	taken := map[string]bool{}
	for i, v := range s.Volumes {
		if v.Type == types.VolumeTypeTmpfs {
			continue
		}
		if v.Type != types.VolumeTypeVolume {
			r.addNote(s.Name, "volumes", "%s at %s is of the kind %s, which is not carried over",
				v.Source, v.Target, v.Type)
			continue
		}
		wanted := toLabel(v.Source)
		if wanted == "" {
			wanted = fmt.Sprintf("data-%d", i+1)
		}
		if v.Volume != nil && v.Volume.NoCopy {
			r.addNote(s.Name, "volumes", "the option nocopy of %s is not carried over", v.Target)
		}
		if v.Bind != nil {
			r.addNote(s.Name, "volumes", "the options of %s that are for folders of the machine are not "+
				"carried over", v.Target)
		}
		if v.Source != "" {
			r.mounted[v.Source] = append(r.mounted[v.Source],
				mountedVolume{step: len(r.out.Pipeline.Steps), volume: len(all)})
		}
		all = append(all, pipeline.Volume{Name: freeLabel(wanted, taken), Path: path.Clean(v.Target),
			ReadOnly: v.ReadOnly})
	}
	return all
}

// mountedVolume is where a volume of the file is in the pipeline.
type mountedVolume struct{ step, volume int }

// shareVolumes makes each volume that is mounted several times one volume.
func (r *composeReader) shareVolumes() {
	sources := slices.Sorted(maps.Keys(r.mounted))
	names := uniqueLabels(sources)
	for _, source := range sources {
		if len(r.mounted[source]) < 2 {
			continue
		}
		for _, m := range r.mounted[source] {
			r.out.Pipeline.Steps[m.step].Container().Volumes[m.volume].Shared = names[source]
		}
	}
}

// readMountedFiles reads configs with their content in the file, and secrets as references
// to secrets of the project.
func (r *composeReader) readMountedFiles(s types.ServiceConfig) []pipeline.File {
	var all []pipeline.File
	for _, c := range s.Configs {
		config := r.project.Configs[c.Source]
		if config.Content == "" {
			r.addNote(s.Name, "configs", "%s has no content in this file", c.Source)
			continue
		}
		target := cmp.Or(c.Target, c.Source)
		if !strings.HasPrefix(target, "/") {
			target = "/" + target
		}
		all = append(all, pipeline.File{Path: target, Content: escapeReferences(config.Content)})
	}
	for _, c := range s.Secrets {
		target := cmp.Or(c.Target, c.Source)
		if !strings.HasPrefix(target, "/") {
			target = "/run/secrets/" + target
		}
		name := r.secretNames[c.Source]
		if !slices.Contains(r.out.Secrets, name) {
			r.out.Secrets = append(r.out.Secrets, name)
			r.addNote(s.Name, "secrets", "set the project's secret %s to the value of %s", name, c.Source)
		}
		all = append(all, pipeline.File{Path: target, Content: "${{ secrets." + name + " }}"})
	}
	return all
}

func (r *composeReader) readLimits(s types.ServiceConfig) pipeline.Resources {
	cpu, memory := exactCPU(float32(s.CPUS)), int64(s.MemLimit)
	if s.Deploy != nil && s.Deploy.Resources.Limits != nil {
		l := s.Deploy.Resources.Limits
		cpu, memory = max(cpu, exactCPU(float32(l.NanoCPUs))), max(memory, int64(l.MemoryBytes))
	}
	if copies := s.GetScale(); copies > 1 {
		r.addNote(s.Name, replicasField(s), "one copy runs, not %d", copies)
	}
	out := pipeline.Resources{CPU: cpu, MemoryMiB: int((memory + 1<<20 - 1) >> 20)}
	if int64(out.MemoryMiB)<<20 != memory {
		field := "mem_limit"
		if s.MemLimit == 0 {
			field = "deploy"
		}
		r.addNote(s.Name, field, "the memory of %d bytes is rounded up to %d MiB", memory,
			out.MemoryMiB)
	}
	if out.CPU == 0 || out.MemoryMiB == 0 {
		if out.CPU == 0 {
			out.CPU = defaultCPU
		}
		if out.MemoryMiB == 0 {
			out.MemoryMiB = defaultMemory
		}
		r.addNote(s.Name, "deploy", "without limits it gets %g cores and %d MiB", out.CPU,
			out.MemoryMiB)
	}
	return out
}

// replicasField is where the number of copies is written: scale is the older form.
func replicasField(s types.ServiceConfig) string {
	if s.Scale != nil && (s.Deploy == nil || s.Deploy.Replicas == nil) {
		return "scale"
	}
	return "deploy"
}

// readReadiness is the health check, or a look at the first port.
func (r *composeReader) readReadiness(
	s types.ServiceConfig,
	ports []pipeline.Port,
) *pipeline.Readiness {
	h := s.HealthCheck
	if h != nil && (h.Disable || len(h.Test) < 2) {
		r.addNote(
			s.Name,
			"healthcheck",
			"it has no command of its own; the step is ready when its first "+
				"port, if it has one, accepts connections",
		)
	}
	if h == nil || h.Disable || len(h.Test) < 2 {
		if len(ports) > 0 {
			return &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: ports[0].Port}}
		}
		return nil
	}
	ready := &pipeline.Readiness{IntervalSeconds: wholeSeconds(h.Interval),
		TimeoutSeconds: wholeSeconds(h.Timeout), StartPeriodSeconds: wholeSeconds(h.StartPeriod)}
	for _, d := range []*types.Duration{h.Interval, h.Timeout, h.StartPeriod} {
		if d != nil && time.Duration(*d)%time.Second != 0 {
			r.addNote(s.Name, "healthcheck", "%s is rounded up to %d seconds", *d, wholeSeconds(d))
		}
	}
	if h.Retries != nil {
		ready.Retries = int(*h.Retries)
	}
	switch h.Test[0] {
	case "CMD":
		ready.Command = escapeAll(h.Test[1:])
	case "CMD-SHELL":
		ready.Command = []string{"/bin/sh", "-c", escapeReferences(h.Test[1])}
	default:
		r.addNote(s.Name, "healthcheck", "%s is not a kind of test", h.Test[0])
		return nil
	}
	return ready
}

func wholeSeconds(d *types.Duration) int {
	if d == nil {
		return 0
	}
	return int((time.Duration(*d) + time.Second - 1) / time.Second)
}
