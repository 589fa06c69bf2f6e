package agent

import "github.com/nullops/nullops/pipeline"

// The labels of every object that a Runtime makes. They are spelled the same on every engine, and
// never change: what an earlier release has made is found by them.
const (
	LabelInstall    = "nullops.install"
	LabelDeployment = "nullops.deployment"
	LabelRun        = "nullops.run"
	LabelStep       = "nullops.step"
	LabelKind       = "nullops.kind"
	LabelSpec       = "nullops.spec"
	// LabelProbe marks what an isolation probe made, in place of LabelInstall: it belongs to no
	// deployment, and lists of those must not see it.
	LabelProbe = "nullops.probe"
)

// ObjectLabels returns the labels of an object; run, step and spec may be empty.
func ObjectLabels(install string, o Object) map[string]string {
	l := map[string]string{LabelInstall: install, LabelDeployment: o.Deployment,
		LabelKind: string(o.Kind)}
	for key, value := range map[string]string{LabelRun: o.Run, LabelStep: string(o.Step),
		LabelSpec: o.Spec} {
		if value != "" {
			l[key] = value
		}
	}
	return l
}

// ObjectFromLabels reads the labels back.
func ObjectFromLabels(labels map[string]string) Object {
	return Object{Kind: ObjectKind(labels[LabelKind]), Deployment: labels[LabelDeployment],
		Run: labels[LabelRun], Step: pipeline.StepKey(labels[LabelStep]), Spec: labels[LabelSpec]}
}
