package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// nodeEdit is what 'node set' changes; what is not given stays.
type nodeEdit struct {
	labels, unlabel, taints, untaint     []string
	address, connect, template           string
	runLimit, diskFloorMiB, nodePriority int
	vramHint, reactive                   bool
}

func nodeSet() *cobra.Command {
	var e nodeEdit
	c := &cobra.Command{
		Use: "set NAME [--label KEY=VALUE]… [--taint KEY[=VALUE]:EFFECT]…", Args: exit.ExactArgs(1),
		Short: "Change a node's labels, taints, limits and address",
		Long: "Change a node's labels, taints, limits and address. What is not named stays as it is.\n" +
			"The effect of a taint is no_schedule or prefer_no_schedule. A limit of 0 is none.",
	}
	f := c.Flags()
	f.StringArrayVar(&e.labels, "label", nil, "add or change a label: KEY=VALUE, or KEY")
	f.StringArrayVar(&e.unlabel, "no-label", nil, "take a label away: KEY")
	f.StringArrayVar(&e.taints, "taint", nil, "add or change a taint: KEY[=VALUE]:EFFECT")
	f.StringArrayVar(&e.untaint, "no-taint", nil, "take a taint away: KEY")
	f.StringVar(&e.address, "address", "", "host:port where its agent listens, or a wss:// URL")
	f.StringVar(&e.connect, "connect", "",
		"which end opens the connections: control-plane, or agent")
	f.StringVar(&e.template, "template", "", "node template to follow; empty for none")
	f.IntVar(&e.runLimit, "run-limit", 0, "how many runs may be under way at once")
	f.IntVar(&e.diskFloorMiB, "disk-floor", 0, "free disk in MiB below which nothing new is placed")
	f.IntVar(&e.nodePriority, "priority", 0, "1 to 255; of nodes that fit, lower ones come first")
	f.BoolVar(&e.vramHint, "require-vram-hint", false,
		"refuse services that ask for GPUs without vram_mib; =false ends that")
	f.BoolVar(&e.reactive, "reactive", false,
		"ask the agent before each deployment; =false ends that")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		got, err := api.GetNodeWithResponse(c.Context(), args[0])
		if err := checkAnswer(got, err); err != nil {
			return err
		}
		body := nodeBody(*got.JSON200)
		if err := e.apply(&body, f.Changed); err != nil {
			return err
		}
		r, err := api.PutNodeWithResponse(c.Context(), args[0], body)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return printSaved(c.OutOrStdout(), "node "+args[0], r.Body)
	}
	return c
}

// nodeBody is a node as its document has it.
func nodeBody(n apiclient.Node) apiclient.NodePut {
	body := apiclient.NodePut{Environment: n.Environment, Address: n.Address,
		Settings: tidySettings(n.Settings), Template: n.Template}
	if valueOrZero(n.Connect) == apiclient.NodeConnectAgent {
		body.Connect = n.Connect
	}
	return body
}

func nodeObject(n apiclient.Node) object {
	return object{Kind: "node", Name: n.Name, Body: nodeBody(n)}
}

func nodeTemplateObject(t apiclient.NodeTemplate) object {
	return object{Kind: "node-template", Name: t.Name, Body: apiclient.NodeTemplatePut{
		Description: t.Description, Settings: tidySettings(t.Settings)}}
}

func (e nodeEdit) apply(body *apiclient.NodePut, changed func(flag string) bool) error {
	e.applyWay(body, changed)
	if changed("template") {
		body.Template = nilIfZero(e.template)
	}
	s := valueOrZero(body.Settings)
	for flag, field := range map[string]struct {
		at    **int
		value int
	}{"run-limit": {&s.RunLimit, e.runLimit}, "disk-floor": {&s.DiskFloorMib, e.diskFloorMiB},
		"priority": {&s.Priority, e.nodePriority}} {
		if changed(flag) {
			*field.at = &field.value
		}
	}
	if changed("require-vram-hint") {
		s.RequireVramHint = &e.vramHint
	}
	if changed("reactive") {
		s.Reactive = &e.reactive
	}
	labels := maps.Clone(valueOrZero(s.Labels))
	if labels == nil {
		labels = map[string]string{}
	}
	for _, key := range e.unlabel {
		delete(labels, key)
	}
	for _, l := range e.labels {
		key, value, _ := strings.Cut(l, "=")
		labels[key] = value
	}
	s.Labels = &labels
	taints := slices.Clone(valueOrZero(s.Taints))
	drop := func(key string) {
		taints = slices.DeleteFunc(taints, func(t apiclient.Taint) bool { return t.Key == key })
	}
	for _, key := range e.untaint {
		drop(key)
	}
	for _, text := range e.taints {
		t, err := parseTaint(text)
		if err != nil {
			return err
		}
		drop(t.Key)
		taints = append(taints, t)
	}
	s.Taints = &taints
	// What is empty is left out: a list that is null would be refused.
	body.Settings = tidySettings(&s)
	return nil
}

// applyWay changes how the node is reached. A node has an address or an agent that connects.
func (e nodeEdit) applyWay(body *apiclient.NodePut, changed func(flag string) bool) {
	if changed("address") {
		body.Address, body.Connect = e.address, nil
	}
	if changed("connect") {
		body.Connect = nilIfZero(apiclient.NodeConnect(e.connect))
		if e.connect == string(apiclient.NodeConnectAgent) && !changed("address") {
			body.Address = ""
		}
	}
}

func parseTaint(text string) (apiclient.Taint, error) {
	word, effect, ok := strings.Cut(text, ":")
	key, value, _ := strings.Cut(word, "=")
	if !ok || key == "" {
		return apiclient.Taint{}, exit.AsUsageError(fmt.Errorf(
			"--taint %q: write KEY[=VALUE]:EFFECT, as in --taint maintenance:no_schedule", text))
	}
	return apiclient.Taint{Key: key, Value: nilIfZero(value),
		Effect: apiclient.TaintEffect(effect)}, nil
}

// tidySettings leaves out empty settings, and sorts the rest.
func tidySettings(s *apiclient.NodeSettings) *apiclient.NodeSettings {
	if s == nil {
		return nil
	}
	out := apiclient.NodeSettings{RunLimit: nilIfZero(valueOrZero(s.RunLimit)),
		DiskFloorMib: nilIfZero(
			valueOrZero(s.DiskFloorMib),
		), Priority: nilIfZero(valueOrZero(s.Priority)),
		RequireVramHint: nilIfZero(valueOrZero(s.RequireVramHint)),
		Reactive:        nilIfZero(valueOrZero(s.Reactive))}
	if len(valueOrZero(s.Labels)) > 0 {
		out.Labels = s.Labels
	}
	if taints := slices.Clone(valueOrZero(s.Taints)); len(taints) > 0 {
		slices.SortFunc(taints, func(a, b apiclient.Taint) int {
			return strings.Compare(taintText(a), taintText(b))
		})
		out.Taints = &taints
	}
	return nilIfZero(out)
}

func taintText(t apiclient.Taint) string {
	text := t.Key
	if value := valueOrZero(t.Value); value != "" {
		text += "=" + value
	}
	return text + ":" + string(t.Effect)
}
