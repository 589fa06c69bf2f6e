package api

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/starter"
	"github.com/nullops/nullops/pipeline"
)

func (s *server) GetServiceImage(
	ctx context.Context, r GetServiceImageRequestObject,
) (GetServiceImageResponseObject, error) {
	found, err := s.Catalog.DescribeServiceImage(ctx, actorOf(ctx), r.Name, valueOr(r.Params.Tag, ""))
	if err != nil {
		return nil, err
	}
	requires, err := requiredVariables(found.Service, found.Requires)
	if err != nil {
		return nil, err
	}
	out := GetServiceImage200JSONResponse{Tag: found.Tag, Digest: found.Digest,
		User: ptrOrNil(found.User), Volumes: orEmpty(found.Volumes), Requires: requires}
	if len(found.Health) > 0 {
		out.Health = &found.Health
	}
	out.Ports = make([]struct {
		Port     int    `json:"port"`
		Protocol string `json:"protocol"`
	}, len(found.Ports))
	for i, p := range found.Ports {
		out.Ports[i].Port, out.Ports[i].Protocol = p.Port, p.Protocol
	}
	out.Env = make([]struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}, len(found.Env))
	for i, v := range found.Env {
		out.Env[i].Name, out.Env[i].Value = v.Name, v.Value
	}
	return out, nil
}

// requiredVariables are the variables without which a service's image does not start:
// those that its label names, and those to which the service's own step or an entry of
// the starter catalogue with the same image gives a secret.
func requiredVariables(s controlplane.Service, labelled []string) ([]RequiredVariable, error) {
	proposed := map[string]string{}
	for _, name := range labelled {
		proposed[name] = ""
	}
	all, err := starter.List()
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		for _, d := range e.Documents {
			if d.Kind != starter.KindService || d.Definition["image"] != s.Image {
				continue
			}
			step, err := starterStep(d)
			if err != nil {
				return nil, err
			}
			maps.Copy(proposed, secretVariables(step.Env))
		}
	}
	if s.Step != nil {
		maps.Copy(proposed, secretVariables(s.Step.Env))
	}
	out := []RequiredVariable{}
	for _, name := range slices.Sorted(maps.Keys(proposed)) {
		out = append(out, RequiredVariable{Name: name, Value: ptrOrNil(proposed[name])})
	}
	return out, nil
}

// secretVariables are the variables that hold a secret.
func secretVariables(env map[string]string) map[string]string {
	out := maps.Clone(env)
	maps.DeleteFunc(out, func(_, value string) bool { return !strings.Contains(value, "secrets.") })
	return out
}

// starterStep is the step that a service of the starter catalogue proposes.
func starterStep(d starter.Document) (step pipeline.ServiceStep, err error) {
	text, err := json.Marshal(d.Definition["step"])
	if err == nil {
		err = json.Unmarshal(text, &step)
	}
	return step, err
}
