//go:build chaos

package main_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// reportedLines bounds what a report shows of the log of one step.
const reportedLines = 10

// reportUnsettled says how far those deployments are that have not settled, or are stuck.
func (c *chaos) reportUnsettled() {
	all, missing := c.deployments()
	if missing != "" {
		c.say("deployments cannot be read: %s", missing)
	}
	for _, d := range all {
		c.say("%s (%s) is %s on node %s: %s", d.Name, d.Id, d.Status, textOf(d.Node),
			textOf(d.Detail))
		if !isSettled(d.Status) || d.Status == apiclient.DeploymentStatusStuck {
			c.reportRun(d)
		}
	}
}

// reportRun says how each step of a deployment's latest run ended, and the last lines of those
// that did not end well: after the test, there is nothing left to ask.
func (c *chaos) reportRun(d apiclient.Deployment) {
	var run apiclient.Run
	path := fmt.Sprintf("/deployments/%s/runs/%d", d.Id, d.Run)
	if missing := c.read(path, &run); missing != "" {
		c.say("  %s: %s", d.Name, missing)
		return
	}
	if run.Failure != nil {
		c.say("  run %d of %s failed at step %s: %s", run.Number, d.Name, textOf(run.Failure.Step),
			run.Failure.Message)
	}
	for _, s := range run.Steps {
		c.say("  step %s is %s: %s", s.Key, s.Status, textOf(s.Message))
		var log apiclient.LogLineList
		if c.read(path+"/steps/"+s.Key+"/log", &log) != "" {
			continue
		}
		for _, line := range log.Items[max(0, len(log.Items)-reportedLines):] {
			c.say("    %s %s: %s", line.At.Format("15:04:05.000"), line.Step, line.Text)
		}
	}
}

// summarize counts what people did and what broke.
func (c *chaos) summarize() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, what := range slices.Sorted(maps.Keys(c.done)) {
		all = append(all, fmt.Sprintf("%s %d", what, c.done[what]))
	}
	return "accepted requests and faults: " + strings.Join(all, ", ")
}
