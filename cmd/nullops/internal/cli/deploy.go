package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
)

type deployOptions struct {
	project, env, name string
	template, branch   string
	versions           []string
	noWait             bool
	dryRun             bool
	pipelineVersion    int
	labels, input      []string
	// prefilled is the template's input.
	prefilled *apiclient.Input
	queue     queueOptions
	json      output.JSON[apiclient.Deployment]
	checks    output.JSON[apiclient.Preflight]
}

func deployCommand() *cobra.Command {
	var o deployOptions
	c := &cobra.Command{
		Use:   "deploy PROJECT --env ENV --name NAME [--set STEP=TAG]… [--input NAME=VALUE]…",
		Args:  exit.ExactArgs(1),
		Short: "Create a deployment and watch it until it is ready",
		RunE: func(c *cobra.Command, args []string) error {
			o.project = args[0]
			return runDeploy(c.Context(), c.OutOrStdout(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.env, "env", "", "environment")
	f.StringVar(&o.name, "name", "", "name of the deployment, part of its URLs")
	f.StringArrayVar(&o.versions, "set", nil, "version of a selectable service: STEP=TAG")
	f.StringArrayVar(&o.input, "input", nil, inputUsage)
	f.StringVar(&o.template, "template", "", "begin with a template of the project")
	f.StringVar(&o.branch, "branch", "", "take each service's tag of this branch, where it has one")
	f.StringArrayVar(&o.labels, "require-label", nil,
		"label that its node must have: KEY or KEY=VALUE; may be repeated")
	f.IntVar(&o.pipelineVersion, "pipeline-version", 0,
		"published version of the pipeline, for admins; the latest without it")
	o.queue.registerFlags(c)
	f.BoolVar(&o.noWait, "no-wait", false, "return as soon as it is created")
	f.BoolVar(&o.dryRun, "dry-run", false, "only check what creating it would meet")
	o.json = output.JSONFlag[apiclient.Deployment](c)
	o.checks = output.JSONWith[apiclient.Preflight](c, "--dry-run")
	return c
}

func runDeploy(ctx context.Context, out io.Writer, o deployOptions) error {
	versions, err := parseVersions(o.versions)
	if err != nil {
		return err
	}
	api, err := newClient()
	if err != nil {
		return err
	}
	progress := out
	if o.json.Wanted() {
		progress = io.Discard
	}
	if err := api.prefillOptions(ctx, progress, &o, versions); err != nil {
		return err
	}
	if o.env == "" || o.name == "" {
		return exit.AsUsageError(errors.New("give --env and --name, or a --template that has them"))
	}
	body := apiclient.DeploymentCreate{Name: o.name, Project: o.project, Environment: o.env,
		Versions: &versions}
	if err := o.queue.fillRequest(&body); err != nil {
		return err
	}
	if body.Input, err = api.readInput(ctx, o.project, o.input, o.prefilled); err != nil {
		return err
	}
	if len(o.labels) > 0 {
		body.RequiredLabels = &o.labels
	}
	if o.pipelineVersion != 0 {
		body.PipelineVersion = &o.pipelineVersion
	}
	if o.dryRun {
		return api.runPreflight(ctx, out, body, o.checks)
	}
	r, err := api.CreateDeploymentWithResponse(ctx, &apiclient.CreateDeploymentParams{}, body)
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	return api.watchUnlessNoWait(ctx, out, *r.JSON201, o.noWait, o.json)
}

// watchUnlessNoWait follows the run, then prints the URLs or the failure.
func (c *client) watchUnlessNoWait(ctx context.Context, out io.Writer, d apiclient.Deployment,
	noWait bool, asJSON output.JSON[apiclient.Deployment]) error {
	if !noWait {
		steps := out
		if asJSON.Wanted() {
			steps = io.Discard
		}
		var err error
		if d, err = c.watchDeployment(ctx, steps, d); err != nil {
			return err
		}
	}
	if asJSON.Wanted() {
		if err := asJSON.Print(out, d); err != nil {
			return err
		}
	} else {
		printOutcome(out, d)
	}
	if !noWait && d.Status != apiclient.DeploymentStatusReady {
		return exit.WithCode(exit.ErrSilent, exit.NotReady)
	}
	return nil
}

func parseVersions(pairs []string) (map[string]string, error) {
	versions := map[string]string{}
	for _, p := range pairs {
		step, tag, ok := strings.Cut(p, "=")
		if !ok || step == "" || tag == "" {
			return nil, exit.AsUsageError(fmt.Errorf("--set %q: write STEP=TAG, as in --set api=v1.2.0", p))
		}
		versions[step] = tag
	}
	return versions, nil
}

// watchDeployment prints each step as it moves and returns the settled deployment. What
// was before d, such as the steps of a run that is now undone, is left out.
func (c *client) watchDeployment(ctx context.Context, out io.Writer,
	d apiclient.Deployment) (apiclient.Deployment, error) {
	if line := queueLine(d); line != "" {
		fmt.Fprintf(out, "%s: %s\n", d.Name, output.SanitizeText(line))
	} else {
		fmt.Fprintf(out, "%s: %s, pipeline v%d on node %s\n", d.Name, stateOf(d), d.PipelineVersion,
			valueOrZero(d.Node))
	}
	w := &watcher{out: out, run: d.Run, settled: d, since: d.ChangedAt,
		undo: d.Status == apiclient.DeploymentStatusRemoving ||
			d.Status == apiclient.DeploymentStatusUndoing}
	if d.Queue != nil {
		w.position = valueOrZero(d.Queue.Position)
	}
	err := c.followEvents(ctx, "/api/v1/deployments/"+d.Id+"/events", nil, w.printEvent)
	if errors.Is(err, context.Canceled) {
		return w.settled, exit.WithCode(errors.New("stopped watching; the deployment goes on"),
			exit.Failed)
	}
	return w.settled, err
}

// watcher prints what is new and notices the end.
type watcher struct {
	out     io.Writer
	run     int
	seen    map[string]apiclient.StepStatus
	settled apiclient.Deployment
	// position is the queue position that was printed last.
	position int
	// undo is set while a run is undone: its earlier steps are not printed.
	undo  bool
	since time.Time
	// shownPulls is what was printed last of each step's pull, and when.
	shownPulls map[string]pullLine
}

// pullLine is a pull as it was last shown.
type pullLine struct {
	text string
	at   time.Time
}

// pullEvery bounds how often the progress of a slow pull is printed.
const pullEvery = 2 * time.Second

func (w *watcher) printEvent(e sse) (done bool, err error) {
	switch e.Event {
	case "step":
		var s apiclient.Step
		if err := json.Unmarshal([]byte(e.Data), &s); err != nil {
			return false, fmt.Errorf("read step event: %w", err)
		}
		w.printStep(s)
	case "line":
		var l apiclient.LogLine
		if err := json.Unmarshal([]byte(e.Data), &l); err != nil {
			return false, fmt.Errorf("read line event: %w", err)
		}
		if l.Run == w.run && (!w.undo || l.At.After(w.since)) {
			if n := valueOrZero(l.Dropped); n > 0 {
				fmt.Fprintf(w.out, "  %s | … %d lines left out\n", l.Step, n)
			}
			fmt.Fprintf(w.out, "  %s | %s\n", l.Step, output.SanitizeText(l.Text))
		}
	case "progress":
		var p apiclient.Progress
		if err := json.Unmarshal([]byte(e.Data), &p); err != nil {
			return false, fmt.Errorf("read progress event: %w", err)
		}
		w.printPull(p)
	case "deployment":
		w.settled = apiclient.Deployment{}
		if err := json.Unmarshal([]byte(e.Data), &w.settled); err != nil {
			return false, fmt.Errorf("read deployment event: %w", err)
		}
		w.printQueuePosition()
		return w.settled.Run >= w.run && isSettled(w.settled.Status), nil
	}
	return false, nil
}

// printQueuePosition prints the position in the queue if it changed.
func (w *watcher) printQueuePosition() {
	line, place := queueLine(w.settled), 0
	if line != "" {
		place = *w.settled.Queue.Position
	} else {
		line = "starts on node " + valueOrZero(w.settled.Node)
	}
	if place != w.position && !isSettled(w.settled.Status) {
		fmt.Fprintf(w.out, "  %s\n", output.SanitizeText(line))
	}
	w.position = place
}

func (w *watcher) printStep(s apiclient.Step) {
	undoing := s.Status == apiclient.StepStatusUndoing || s.Status == apiclient.StepStatusUndone
	if s.Run != w.run || w.seen[s.Key] == s.Status || s.Status == apiclient.StepStatusPending ||
		w.undo && !undoing {
		return
	}
	if w.seen == nil {
		w.seen = map[string]apiclient.StepStatus{}
	}
	w.seen[s.Key] = s.Status
	text := s.Title
	if s.Status != apiclient.StepStatusUndoing {
		text += "  " + valueOrZero(s.Message)
	}
	fmt.Fprintf(w.out, "%2d %-16s %-8s %s\n", s.Position, s.Key, s.Status,
		output.SanitizeText(strings.TrimSpace(text)))
	if s.Status == apiclient.StepStatusWaiting {
		fmt.Fprintf(w.out, "   answer it: nullops answer %s %s --approve|--reject\n",
			w.settled.Name, s.Key)
	}
}

// printPull shows how far a pull is: now and then, and when it is complete.
func (w *watcher) printPull(p apiclient.Progress) {
	text := pullProgress(p)
	last := w.shownPulls[p.Step]
	complete := valueOrZero(p.PulledLayers) == valueOrZero(p.TotalLayers)
	if p.Run != w.run || text == "" || text == last.text ||
		!complete && time.Since(last.at) < pullEvery {
		return
	}
	if w.shownPulls == nil {
		w.shownPulls = map[string]pullLine{}
	}
	w.shownPulls[p.Step] = pullLine{text, time.Now()}
	fmt.Fprintf(w.out, "   %-16s %-8s %s\n", p.Step, "pulling", text)
}

// pullProgress formats how much of an image is pulled, "" if there is nothing to pull.
func pullProgress(p apiclient.Progress) string {
	if valueOrZero(p.TotalBytes) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s, %d of %d layers", quantity.FormatBytes(valueOrZero(p.PulledBytes)),
		quantity.FormatBytes(valueOrZero(p.TotalBytes)), valueOrZero(p.PulledLayers),
		valueOrZero(p.TotalLayers))
}

func isSettled(s apiclient.DeploymentStatus) bool {
	switch s {
	case apiclient.DeploymentStatusReady, apiclient.DeploymentStatusFailed,
		apiclient.DeploymentStatusCanceled, apiclient.DeploymentStatusRemoved,
		apiclient.DeploymentStatusStuck, apiclient.DeploymentStatusForgotten:
		return true
	}
	return false
}

func printOutcome(out io.Writer, d apiclient.Deployment) {
	fmt.Fprintf(out, "%s: %s\n", d.Name, d.Status)
	if d.Failure != nil {
		fmt.Fprintf(out, "  %s\n", failureText(*d.Failure))
	}
	for _, left := range valueOrZero(d.Left) {
		fmt.Fprintf(out, "  left behind: %s\n", output.SanitizeText(left))
	}
	if d.Status != apiclient.DeploymentStatusReady {
		return
	}
	for _, s := range d.Services {
		if url := valueOrZero(s.Url); url != "" {
			fmt.Fprintf(out, "  %s  %s\n", s.Step, url)
		}
		for _, p := range furtherPorts(valueOrZero(s.Url), s.Ports) {
			fmt.Fprintf(out, "  %s  %s\n", servicePortName(s, p), valueOrZero(p.Url))
		}
	}
}
