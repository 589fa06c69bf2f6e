package compose

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/pipeline"
)

// Write makes a compose file of a pipeline. Steps that a compose file cannot
// say are listed as comments at its top.
func Write(name string, p pipeline.Pipeline) (string, error) {
	services, volumes, configs := map[string]any{}, map[string]any{}, map[string]any{}
	notes := []string{"Written by nullops export --compose from the project " + name + "."}
	kept, shared := map[pipeline.StepKey]pipeline.Step{}, nameSharedVolumes(p)
	for _, s := range p.Steps {
		if s.Container() != nil {
			kept[s.Key] = s
		}
	}
	for _, s := range p.Steps {
		if s.Container() == nil {
			what := "is no service and no job, and"
			if s.Script != nil {
				what = "is a script, which needs NullOps, and"
			}
			notes = append(notes, fmt.Sprintf("Step %s %s not part of this file.", s.Key, what))
			continue
		}
		if j := s.Job; j != nil && (j.TimeoutSeconds > 0 || j.Tests != nil) {
			notes = append(notes, fmt.Sprintf("The timeout and the tests of the job %s are not part of "+
				"this file.", s.Key))
		}
		services[string(s.Key)] = serviceOf(s, kept, shared, volumes, configs)
	}
	doc := map[string]any{"name": name, "services": services}
	if len(volumes) > 0 {
		doc["volumes"] = volumes
	}
	if len(configs) > 0 {
		doc["configs"] = configs
	}
	body, err := yaml.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("write compose file: %w", err)
	}
	if strings.Contains(string(body), "${{") {
		notes = append(notes, "References such as {{ secrets.NAME }} have to be replaced by values.")
	}
	// Compose would read one of our references as one of its own variables.
	text := strings.ReplaceAll(string(body), "$", "$$")
	return "# " + strings.Join(notes, "\n# ") + "\n" + text, nil
}

func serviceOf(s pipeline.Step, kept map[pipeline.StepKey]pipeline.Step,
	shared map[string]string, volumes, configs map[string]any) map[string]any {
	x := s.Container()
	out := map[string]any{
		"deploy": map[string]any{"resources": map[string]any{"limits": composeLimits(*x)}},
	}
	if i := x.Image; i != nil {
		out["image"] = i.Registry + "/" + i.Repository + ":" + tagOf(*i)
	}
	if len(x.Command) > 0 {
		out["command"] = x.Command
	}
	if len(x.Env) > 0 {
		out["environment"] = x.Env
	}
	writeProcess(x, out)
	addMounts(s, out, shared, volumes, configs)
	var open, inside []string
	for _, p := range x.Ports {
		if p.Expose {
			open = append(open, fmt.Sprint(p.Port))
		} else {
			inside = append(inside, fmt.Sprint(p.Port))
		}
	}
	putList(out, "ports", open)
	putList(out, "expose", inside)
	writeDependencies(s, kept, out)
	if x.Ready != nil && len(x.Ready.Command) > 0 {
		out["healthcheck"] = map[string]any{"test": append([]string{"CMD"}, x.Ready.Command...)}
	}
	if s.Job != nil || x.Restart == pipeline.RestartNever {
		out["restart"] = "no"
	}
	return out
}

// writeDependencies uses the long form if a job is among them, since its end is waited for.
func writeDependencies(s pipeline.Step, kept map[pipeline.StepKey]pipeline.Step,
	out map[string]any) {
	var needs []string
	conditions, jobs := map[string]any{}, false
	for _, n := range s.Needs {
		step, ok := kept[n]
		if !ok {
			continue
		}
		condition := "service_started"
		if step.Job != nil {
			condition, jobs = "service_completed_successfully", true
		}
		needs = append(needs, string(n))
		conditions[string(n)] = map[string]any{"condition": condition}
	}
	if jobs {
		out["depends_on"] = conditions
		return
	}
	putList(out, "depends_on", needs)
}

func tagOf(i pipeline.Image) string {
	if i.Tag == "" {
		return "latest"
	}
	return i.Tag
}

func composeLimits(s pipeline.ServiceStep) map[string]any {
	out := map[string]any{}
	if s.Resources.CPU > 0 {
		out["cpus"] = fmt.Sprint(s.Resources.CPU)
	}
	if s.Resources.MemoryMiB > 0 {
		out["memory"] = fmt.Sprintf("%dM", s.Resources.MemoryMiB)
	}
	return out
}

// nameSharedVolumes keeps the names of shared volumes, unless another volume of the file has the
// same name.
func nameSharedVolumes(p pipeline.Pipeline) map[string]string {
	taken, shared := map[string]bool{}, map[string]string{}
	for _, s := range p.Steps {
		for _, v := range volumesOf(s) {
			taken[string(s.Key)+"-"+v.Name] = taken[string(s.Key)+"-"+v.Name] || v.Shared == ""
		}
	}
	for _, s := range p.Steps {
		for _, v := range volumesOf(s) {
			if v.Shared != "" && shared[v.Shared] == "" {
				shared[v.Shared] = freeLabel(v.Shared, taken)
			}
		}
	}
	return shared
}

func volumesOf(s pipeline.Step) []pipeline.Volume {
	if s.Container() == nil {
		return nil
	}
	return s.Container().Volumes
}

// addMounts prefixes the names of one service's volumes with the step's name.
func addMounts(s pipeline.Step, out map[string]any, shared map[string]string,
	volumes, configs map[string]any) {
	var mounted []string
	for _, v := range s.Container().Volumes {
		name := string(s.Key) + "-" + v.Name
		if v.Shared != "" {
			name = shared[v.Shared]
		}
		volumes[name] = map[string]any{}
		mode := ""
		if v.ReadOnly {
			mode = ":ro"
		}
		mounted = append(mounted, name+":"+v.Path+mode)
	}
	putList(out, "volumes", mounted)
	var files []map[string]any
	for i, f := range s.Container().Files {
		name := fmt.Sprintf("%s-%d", s.Key, i+1)
		configs[name] = map[string]any{"content": f.Content}
		files = append(files, map[string]any{"source": name, "target": f.Path})
	}
	if len(files) > 0 {
		out["configs"] = files
	}
}

func putList(out map[string]any, field string, all []string) {
	if len(all) > 0 {
		out[field] = all
	}
}
