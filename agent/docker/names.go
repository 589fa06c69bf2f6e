package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// The labels of every object we make.
const (
	labelInstall    = "nullops.install"
	labelDeployment = "nullops.deployment"
	labelRun        = "nullops.run"
	labelStep       = "nullops.step"
	labelKind       = "nullops.kind"
	labelSpec       = "nullops.spec"
	// labelProbe marks what an isolation probe made, in place of labelInstall:
	// it belongs to no deployment, and lists of those must not see it.
	labelProbe = "nullops.probe"
)

// names makes every name that is not a label. The installation is in each as a
// short hash, so that two installations on one engine cannot collide.
type names struct {
	install string
	short   string
}

func newNames(install string) names {
	sum := sha256.Sum256([]byte(install))
	return names{install: install, short: hex.EncodeToString(sum[:4])}
}

func (n names) object(deployment string, parts ...string) string {
	all := append([]string{"nullops", n.short, deployment}, parts...)
	return strings.Join(all, "-")
}

func (n names) network(deployment string) string { return n.object(deployment, "net") }
func (n names) gate(deployment string) string    { return n.object(deployment, "gate") }

func (n names) service(deployment string, step pipeline.StepKey) string {
	return n.object(deployment, "service", string(step))
}

func (n names) plugin(p agent.PluginSpec) string {
	return n.object(p.Deployment, "plugin", p.Action, string(p.Step))
}

func (n names) volume(deployment string, step pipeline.StepKey, volume string) string {
	return n.object(deployment, "volume", string(step), volume)
}

// labels returns the labels of an object; run, step and spec may be empty.
func (n names) labels(
	kind agent.ObjectKind, deployment, run string, step pipeline.StepKey, spec string,
) map[string]string {
	l := map[string]string{
		labelInstall: n.install, labelDeployment: deployment, labelKind: string(kind),
	}
	for key, value := range map[string]string{
		labelRun: run, labelStep: string(step), labelSpec: spec,
	} {
		if value != "" {
			l[key] = value
		}
	}
	return l
}

// ours filters a list by installation and, unless empty, deployment.
func (n names) ours(deployment string) client.Filters {
	f := make(client.Filters).Add("label", labelInstall+"="+n.install)
	if deployment != "" {
		f = f.Add("label", labelDeployment+"="+deployment)
	}
	return f
}

// object reads the labels back.
func object(labels map[string]string) agent.Object {
	return agent.Object{
		Kind:       agent.ObjectKind(labels[labelKind]),
		Deployment: labels[labelDeployment],
		Run:        labels[labelRun],
		Step:       pipeline.StepKey(labels[labelStep]),
		Spec:       labels[labelSpec],
	}
}

// digest names what a container is made from. Secrets never enter it: a short
// one could be guessed from its hash, and labels are on disk.
func digest(parts ...any) string {
	data, err := json.Marshal(parts)
	if err != nil {
		// Only plain structs, strings and numbers come here.
		data = fmt.Append(nil, parts...)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// safeName is what may become part of a path or an object's name.
var safeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func checkNames(deployment string, others ...string) error {
	if !safeName.MatchString(deployment) {
		return fmt.Errorf("deployment id %q is neither a UUID nor a DNS label", deployment)
	}
	for _, name := range others {
		if !safeName.MatchString(name) {
			return fmt.Errorf("name %q is not a DNS label", name)
		}
	}
	return nil
}
