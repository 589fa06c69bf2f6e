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
	labelInstall    = agent.LabelInstall
	labelDeployment = agent.LabelDeployment
	labelRun        = agent.LabelRun
	labelStep       = agent.LabelStep
	labelKind       = agent.LabelKind
	labelSpec       = agent.LabelSpec
	labelProbe      = agent.LabelProbe
)

const (
	// maxName is the longest label of a DNS name. Docker's resolver answers a
	// reverse look-up with the container's name as one label, and with the
	// network's as the next; when one is longer, it never answers at all, and
	// servers that look up their clients hang.
	maxName = 63
	// hashLength is what the hash in a name takes, in hexadecimal digits.
	hashLength = 16
	// shownDeployment is how much of a deployment's id people see in a name.
	shownDeployment = 8
)

// nameScheme makes every name that is not a label. The installation is in each as a
// short hash, so that two installations on one engine cannot collide.
type nameScheme struct {
	install string
	short   string
}

func newNames(install string) nameScheme {
	sum := sha256.Sum256([]byte(install))
	return nameScheme{install: install, short: hex.EncodeToString(sum[:4])}
}

func (n nameScheme) objectName(deployment string, parts ...string) string {
	all := append([]string{"nullops", n.short, deployment}, parts...)
	return strings.Join(all, "-")
}

func (n nameScheme) networkName(deployment string) string { return n.fitName(deployment, "net") }
func (n nameScheme) relayName(deployment string) string   { return n.fitName(deployment, "relay") }
func (n nameScheme) holderName(deployment string) string  { return n.fitName(deployment, "holder") }

// fitName is objectName with at most maxName characters. Names that fit are unchanged from
// earlier releases: a renamed network would be a new one.
func (n nameScheme) fitName(deployment string, parts ...string) string {
	name := n.objectName(deployment, parts...)
	if len(name) <= maxName {
		return name
	}
	return withHash(name, name)
}

func (n nameScheme) serviceName(deployment string, step pipeline.StepKey) string {
	return n.containerName("service", deployment, string(step))
}

func (n nameScheme) pluginName(p agent.PluginSpec) string {
	return n.containerName("plugin", p.Deployment, string(p.Step), p.Action)
}

func (n nameScheme) copyName(v agent.VolumeName) string {
	return n.containerName("copy", v.Deployment, string(v.Service), v.Name)
}

// containerName ends with a hash of all parts, which makes it unique although parts may
// contain dashes. The readable beginning is for people only.
func (n nameScheme) containerName(kind, deployment string, parts ...string) string {
	all := append([]string{n.install, kind, deployment}, parts...)
	shown := deployment[:min(len(deployment), shownDeployment)]
	return withHash(n.objectName(shown, append([]string{kind}, parts...)...), all...)
}

// withHash cuts what is shown, and ends it with a hash of the parts.
func withHash(shown string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	shown = shown[:min(len(shown), maxName-hashLength-1)]
	return strings.TrimRight(shown, "-") + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// objectLabels returns the labels of an object; run, step and spec may be empty.
func (n nameScheme) objectLabels(
	kind agent.ObjectKind, deployment, run string, step pipeline.StepKey, spec string,
) map[string]string {
	return agent.ObjectLabels(n.install, agent.Object{Kind: kind, Deployment: deployment, Run: run,
		Step: step, Spec: spec})
}

// ownFilter filters a list by installation and, unless empty, deployment.
func (n nameScheme) ownFilter(deployment string) client.Filters {
	f := make(client.Filters).Add("label", labelInstall+"="+n.install)
	if deployment != "" {
		f = f.Add("label", labelDeployment+"="+deployment)
	}
	return f
}

// objectFromLabels reads the labels back.
func objectFromLabels(labels map[string]string) agent.Object {
	o := agent.ObjectFromLabels(labels)
	o.Kind = parseKind(string(o.Kind))
	return o
}

// hashParts identifies what a container is made from. Secrets must not be included: a short
// one could be guessed from the hash, and labels are stored on disk.
func hashParts(parts ...any) string {
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
