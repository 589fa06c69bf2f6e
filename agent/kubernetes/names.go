package kubernetes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// The labels of every object we make, spelled as on Docker.
const (
	labelInstall    = agent.LabelInstall
	labelDeployment = agent.LabelDeployment
	labelRun        = agent.LabelRun
	labelStep       = agent.LabelStep
	labelKind       = agent.LabelKind
	labelSpec       = agent.LabelSpec
	// labelMade tells the pods of one version of a service from those of another.
	labelMade  = "nullops.made"
	labelProbe = agent.LabelProbe
	// labelNetwork is "yes" for pods that may use the network: the policy selects them by it.
	labelNetwork = "nullops.network"
)

const (
	maxName    = 63
	hashLength = 16
)

// nameScheme makes every name that is not a label. A short hash of the installation is in each
// namespace's name, so that two installations in one cluster cannot collide.
type nameScheme struct {
	install string
	prefix  string
}

func newNames(prefix, install string) nameScheme {
	sum := sha256.Sum256([]byte(install))
	return nameScheme{install: install, prefix: prefix + "-" + hex.EncodeToString(sum[:4])}
}

func (n nameScheme) namespaceName(deployment string) string { return n.prefix + "-" + deployment }

// pluginName is unique although its parts may contain dashes.
func (n nameScheme) pluginName(p agent.PluginSpec) string {
	return withHash("plugin-"+string(p.Step)+"-"+p.Action, string(p.Step), p.Action)
}

// withHash cuts what is shown, and ends it with a hash of the parts.
func withHash(shown string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	shown = strings.TrimRight(shown[:min(len(shown), maxName-hashLength-1)], "-")
	return shown + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// objectLabels returns the labels of an object; run, step and spec may be empty.
func (n nameScheme) objectLabels(
	kind agent.ObjectKind, deployment, run string, step pipeline.StepKey, spec string,
) map[string]string {
	return agent.ObjectLabels(n.install, agent.Object{Kind: kind, Deployment: deployment, Run: run,
		Step: step, Spec: spec})
}

// ownSelector selects the objects of the installation.
func (n nameScheme) ownSelector() string { return labelInstall + "=" + n.install }

// stepSelector selects the pods of a service or job.
func (n nameScheme) stepSelector(step pipeline.StepKey) string {
	return n.ownSelector() + "," + labelKind + "=" + string(agent.KindService) + "," +
		labelStep + "=" + string(step)
}

// hashParts identifies what a pod is made from. Secrets must not be included: a short one could
// be guessed from the hash.
func hashParts(parts ...any) (string, error) {
	data, err := json.Marshal(parts)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}

// safeName is what may become part of an object's name.
var safeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (n nameScheme) checkNames(deployment string, others ...string) error {
	if !safeName.MatchString(deployment) {
		return fmt.Errorf("deployment id %q is neither a UUID nor a DNS label", deployment)
	}
	if name := n.namespaceName(deployment); len(name) > maxName {
		return fmt.Errorf("the namespace %s would have %d characters, and Kubernetes takes %d: "+
			"set a shorter agent.kubernetes.prefix", name, len(name), maxName)
	}
	for _, name := range others {
		if !safeName.MatchString(name) {
			return fmt.Errorf("name %q is not a DNS label", name)
		}
	}
	return nil
}
