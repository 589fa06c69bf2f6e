package cli

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
)

// queueOptions say how a new deployment waits.
type queueOptions struct {
	wait     bool
	priority int
	deadline time.Duration
}

func (o *queueOptions) registerFlags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&o.wait, "queue", false, "wait for room instead of being refused without it")
	f.IntVar(&o.priority, "priority", 128, "in the queue: 0 to 255, lower ones come first")
	deadlineFlag(c, &o.deadline)
}

// deadlineFlag is by when a run has to be ready.
func deadlineFlag(c *cobra.Command, d *time.Duration) {
	c.Flags().DurationVar(d, "deadline", 0,
		"fail, and undo what was done, unless ready after so long, as in 30m")
}

// deadlineSeconds reads it for a request.
func deadlineSeconds(d time.Duration) (int, error) {
	if d < 0 || d > 0 && d < time.Second {
		return 0, exit.AsUsageError(fmt.Errorf("--deadline %s: give a second or more", d))
	}
	return int(math.Ceil(d.Seconds())), nil
}

// fillRequest writes them into a request.
func (o queueOptions) fillRequest(body *apiclient.DeploymentCreate) error {
	seconds, err := deadlineSeconds(o.deadline)
	if err != nil {
		return err
	}
	body.Wait, body.Priority = nilIfZero(o.wait), &o.priority
	body.DeadlineSeconds = nilIfZero(seconds)
	return nil
}

func queueCommand() *cobra.Command {
	var p apiclient.ListQueueParams
	var env, node string
	var history bool
	c := &cobra.Command{
		Use: "queue [--env ENV] [--node NODE] [--history]", Args: exit.ExactArgs(0),
		Short: "List deployments that wait for room or for their turn",
		Long: "List deployments that wait for room or for their turn, in the order of turns.\n" +
			"With --history, list the newest 100 runs: when they were queued, started and ended.",
	}
	asJSON := output.JSONFlag[[]apiclient.QueueItem](c)
	c.Flags().StringVar(&env, "env", "", "only this environment")
	c.Flags().StringVar(&node, "node", "", "only this node")
	c.Flags().BoolVar(&history, "history", false, "also list finished runs")
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		p.Environment, p.Node, p.History = nilIfZero(env), nilIfZero(node), nilIfZero(history)
		r, err := api.ListQueueWithResponse(c.Context(), &p)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"PLACE", "DEPLOYMENT", "RUN", "PROJECT", "ENVIRONMENT", "NODE",
			"PRIORITY", "QUEUED", "WAITED", "RAN", "ATTEMPTS", "STATE", "WAITS FOR"}}
		for _, q := range r.JSON200.Items {
			rows = append(rows, queueRow(q))
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func queueRow(q apiclient.QueueItem) []string {
	place, ran := "-", "-"
	if q.Position != nil {
		place = fmt.Sprint(*q.Position)
	}
	left := time.Now()
	if q.LeftAt != nil {
		left = *q.LeftAt
	}
	switch {
	case q.StartedAt == nil:
	case q.EndedAt == nil:
		ran = output.FormatAge(*q.StartedAt) + ", goes on"
	default:
		ran = quantity.FormatSpan(q.EndedAt.Sub(*q.StartedAt))
	}
	return []string{place, q.Deployment, fmt.Sprint(q.Run), q.Project, q.Environment,
		valueOrZero(q.Node), fmt.Sprint(q.Priority), output.FormatAge(q.QueuedAt) + " ago",
		quantity.FormatSpan(left.Sub(q.QueuedAt)), ran, fmt.Sprint(q.Attempts), string(q.Status),
		valueOrZero(q.Reason)}
}

// queueLine is where a deployment stands, in one line; empty for most.
func queueLine(d apiclient.Deployment) string {
	if d.Queue == nil || d.Queue.Position == nil {
		return ""
	}
	line := fmt.Sprintf("waits %s, number %d in the queue: %s", output.FormatAge(d.Queue.QueuedAt),
		*d.Queue.Position, valueOrZero(d.Queue.Reason))
	if d.Queue.Deadline != nil {
		line += fmt.Sprintf(" Fails %s.", d.Queue.Deadline.Local().Format(time.DateTime))
	}
	return line
}

// runLine is a run's way through the queue, for 'show'.
func runLine(q *apiclient.QueueEntry) string {
	if q == nil || q.StartedAt == nil {
		return ""
	}
	line := fmt.Sprintf("queued %s ago, started after %s", output.FormatAge(q.QueuedAt),
		quantity.FormatSpan(q.StartedAt.Sub(q.QueuedAt)))
	switch {
	case q.EndedAt != nil:
		line += ", ended after " + quantity.FormatSpan(q.EndedAt.Sub(*q.StartedAt))
	case q.Deadline != nil:
		line += ", fails " + q.Deadline.Local().Format(time.DateTime) + " unless it is ready"
	}
	if q.Attempts > 1 {
		line += fmt.Sprintf(", %d attempts", q.Attempts)
	}
	return line
}
