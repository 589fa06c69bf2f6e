package agent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/tracing"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/plugins/stdio"
)

// defaultTimeout is a plugin's, where neither step nor component says: the
// description of the product asks for five minutes.
const defaultTimeout = 5 * time.Minute

// newScope answers references with what the goal and the bundle know.
func newScope(g *wire.Goal, b *bundle) pipeline.Scope {
	return func(r pipeline.Ref) (pipeline.Value, error) {
		switch r.Scope {
		case pipeline.ScopeDeployment:
			return pipeline.Value{Data: deploymentField(g.Context, r.Name)}, nil
		case pipeline.ScopeInput:
			v, ok := g.Context.Input[r.Name]
			if !ok {
				return pipeline.Value{}, errors.New("the deployment has no value for it")
			}
			return pipeline.Value{Data: v}, nil
		case pipeline.ScopeSecrets:
			if v, ok := b.values[r.Name]; ok {
				return pipeline.Value{Data: v, Secret: true}, nil
			}
			return pipeline.Value{}, errors.New("the control plane sent no such secret")
		case pipeline.ScopeServices:
			return serviceField(g, r)
		default:
			out, ok := b.outputs[r.Key]
			if !ok {
				return pipeline.Value{}, errors.New("the step's outputs are not known")
			}
			v, ok := out.Values[r.Name]
			if !ok {
				return pipeline.Value{}, errors.New("the step returned no such output")
			}
			return pipeline.Value{Data: v, Secret: out.Secret[r.Name]}, nil
		}
	}
}

func deploymentField(c pipeline.Context, name string) string {
	switch name {
	case "id":
		return c.ID
	case "name":
		return c.Name
	case "environment":
		return c.Environment
	case "project":
		return c.Project
	default:
		return c.Domain
	}
}

func serviceField(g *wire.Goal, r pipeline.Ref) (pipeline.Value, error) {
	s, ok := g.Pipeline.Step(r.Key)
	c := s.Container()
	if !ok || c == nil {
		return pipeline.Value{}, errors.New("there is no such service")
	}
	switch r.Name {
	case "host":
		// The container engine's DNS knows a service by its step's key.
		return pipeline.Value{Data: string(r.Key)}, nil
	case "port":
		if len(c.Ports) == 0 {
			return pipeline.Value{}, errors.New("the service declares no port")
		}
		return pipeline.Value{Data: float64(c.Ports[0].Port)}, nil
	default:
		url, ok := g.Context.URLs[r.Key]
		if !ok {
			return pipeline.Value{}, errors.New("the service has no address for people")
		}
		return pipeline.Value{Data: url}, nil
	}
}

// serviceSpec resolves a service or a job step. Values that contain a secret reach the process
// through tmpfs only.
func serviceSpec(g *wire.Goal, b *bundle, key pipeline.StepKey) (ServiceSpec, error) {
	s := minimalServiceSpec(g, key)
	step, _ := g.Pipeline.Step(key)
	c := step.Container()
	if c == nil {
		return s, errors.New("the step has no container of its own")
	}
	return resolveService(s, *c, newScope(g, b))
}

// earlyServiceSpec is what is known of a service or a job before its turn. Variables whose values
// come late are empty, and no file has its content.
func earlyServiceSpec(g *wire.Goal, b *bundle, key pipeline.StepKey) (ServiceSpec, error) {
	s := minimalServiceSpec(g, key)
	step, _ := g.Pipeline.Step(key)
	c := step.Container()
	if c == nil {
		return s, errors.New("the step has no container of its own")
	}
	early := *c
	early.Env, early.Files = maps.Clone(c.Env), slices.Clone(c.Files)
	for name, text := range early.Env {
		if pipeline.RefersToOutputs(text) {
			early.Env[name] = ""
		}
	}
	for i := range early.Files {
		early.Files[i].Content = ""
	}
	return resolveService(s, early, newScope(g, b))
}

// resolveService fills in what may contain references.
func resolveService(
	s ServiceSpec, c pipeline.ServiceStep, values pipeline.Scope,
) (ServiceSpec, error) {
	var err error
	s.Entrypoint, err = resolveArguments("entrypoint", c.Entrypoint, values)
	if err != nil {
		return s, err
	}
	s.Command, err = resolveArguments("command", c.Command, values)
	if err != nil {
		return s, err
	}
	for _, name := range sortedKeys(c.Env) {
		text, secret, err := pipeline.EvalText(c.Env[name], values)
		if err != nil {
			return s, fmt.Errorf("env.%s: %w", name, err)
		}
		if secret {
			s.SecretEnv[name] = text
		} else {
			s.Env[name] = text
		}
	}
	all := maps.Clone(s.Env)
	maps.Copy(all, s.SecretEnv)
	if err := pipeline.CheckExecSize(slices.Concat(s.Entrypoint, s.Command), all); err != nil {
		return s, err
	}
	for _, f := range c.Files {
		text, _, err := pipeline.EvalText(f.Content, values)
		if err != nil {
			return s, fmt.Errorf("file %s: %w", f.Path, err)
		}
		s.Files = append(s.Files, pipeline.File{Path: f.Path, Content: text})
	}
	return s, nil
}

// resolveArguments refuses secrets: arguments are readable in the engine's files.
func resolveArguments(field string, args []string, values pipeline.Scope) ([]string, error) {
	var all []string
	for i, arg := range args {
		text, secret, err := pipeline.EvalText(arg, values)
		if err == nil && secret {
			err = errors.New("it turned out to be secret, and a command can be read on the node")
		}
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		all = append(all, text)
	}
	return all, nil
}

// minimalServiceSpec is all of a service or a job that needs no secret: enough to probe and
// to measure it.
func minimalServiceSpec(g *wire.Goal, key pipeline.StepKey) ServiceSpec {
	step, _ := g.Pipeline.Step(key)
	s := ServiceSpec{Deployment: g.Deployment, Run: g.Run, Step: key,
		Env: map[string]string{}, SecretEnv: map[string]string{}, Once: step.Job != nil}
	c := step.Container()
	if c == nil {
		return s
	}
	if c.Image != nil {
		s.Image = *c.Image
	}
	s.Never = c.Restart == pipeline.RestartNever
	if step.Job != nil && step.Job.Tests != nil {
		s.Results = step.Job.Tests.JUnit
	}
	s.Ports, s.Volumes = c.Ports, c.Volumes
	s.Resources, s.Ready = c.Resources, c.Ready
	s.GPUs, s.User, s.Init = c.GPUs, c.User, c.Init
	s.StopSignal = c.StopSignal
	s.StopGrace = time.Duration(c.StopGraceSeconds) * time.Second
	s.Tmpfs, s.ExtraHosts = c.Tmpfs, c.ExtraHosts
	s.ReadOnly = c.ReadOnly
	for _, name := range sortedKeys(c.Env) {
		if pipeline.RefersToOutputs(c.Env[name]) {
			s.Late = append(s.Late, name)
		}
	}
	return s
}

func pluginSpec(g *wire.Goal, key pipeline.StepKey, action string) PluginSpec {
	step, _ := g.Pipeline.Step(key)
	p := PluginSpec{Deployment: g.Deployment, Run: g.Run, Step: key, Action: action,
		Timeout: defaultTimeout, StdoutLimit: stdio.MaxResponse,
		Traceparent: tracing.OfStep(g.Trace, g.Run, string(key))}
	if step.Plugin == nil {
		return p
	}
	if step.Plugin.Image != nil {
		p.Image = *step.Plugin.Image
	}
	if c := step.Plugin.Component; c != nil {
		p.Resources, p.Network = step.Plugin.Limits(), step.Plugin.Networked()
		p.SharesNetwork = p.Network && action != "check" && sharesNetwork(g.Pipeline.Steps)
		p.Timeout = pluginTimeout(step.Plugin.TimeoutSeconds, c.TimeoutSeconds, action)
	}
	return p
}

// sharesNetwork reports whether so many plugins join the network that it is cheaper to share a
// place in it: the container that holds it has to be started too.
func sharesNetwork(steps []pipeline.Step) bool {
	joined := 0
	for _, s := range steps {
		if s.Plugin != nil && s.Plugin.Component != nil && s.Plugin.Networked() {
			joined++
		}
	}
	return joined > 2
}

// pluginTimeout returns the step's timeout if it has one, else the component's. For delete
// it is at least the component's: a short timeout, chosen so that a run fails early, must
// not cut off the clean-up.
func pluginTimeout(step, component int, action string) time.Duration {
	declared := cmp.Or(time.Duration(component)*time.Second, defaultTimeout)
	own := cmp.Or(time.Duration(step)*time.Second, declared)
	if action == "delete" {
		return max(own, declared)
	}
	return own
}

// pluginInput is the JSON a plugin reads. It holds secrets.
func pluginInput(
	g *wire.Goal, b *bundle, key pipeline.StepKey, action string, attempt int,
) ([]byte, error) {
	step, _ := g.Pipeline.Step(key)
	if step.Plugin == nil {
		return nil, errors.New("the step is no plugin")
	}
	r := stdio.Request{Action: stdio.Action(action), Secrets: map[string]string{},
		Services: servicesBefore(g, key), Outputs: b.outputs[key].Values,
		Deployment: stdio.Deployment{ID: g.Context.ID, Name: g.Context.Name,
			Environment: g.Context.Environment, Project: g.Context.Project,
			Domain: g.Context.Domain},
		Run: stdio.Run{ID: g.Run, Step: string(key), Attempt: attempt},
	}
	values := newScope(g, b)
	parameters, err := pipeline.EvalTree(step.Plugin.Parameters, values)
	if err != nil {
		return nil, fmt.Errorf("parameters.%w", err)
	}
	r.Parameters, _ = parameters.Data.(map[string]any)
	for _, name := range sortedKeys(step.Plugin.Secrets) {
		text, _, err := pipeline.EvalText(step.Plugin.Secrets[name], values)
		if err != nil {
			return nil, fmt.Errorf("secrets.%s: %w", name, err)
		}
		r.Secrets[name] = text
	}
	var out bytes.Buffer
	err = stdio.WriteRequest(&out, r)
	return out.Bytes(), err
}

// servicesBefore lists those started before a step.
func servicesBefore(g *wire.Goal, before pipeline.StepKey) map[string]stdio.Service {
	all := map[string]stdio.Service{}
	for _, key := range g.Pipeline.Order {
		if key == before {
			break
		}
		s, _ := g.Pipeline.Step(key)
		if s.Service == nil {
			continue
		}
		at := stdio.Service{Host: string(key)}
		if len(s.Service.Ports) > 0 {
			at.Port = s.Service.Ports[0].Port
		}
		all[string(key)] = at
	}
	return all
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
