package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

func showCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "show DEPLOYMENT", Args: exit.ExactArgs(1),
		Short: "Show a deployment, its services and URLs, and the latest run",
	}
	asJSON, every := output.JSONFlag[shownDeployment](c), watchFlag(c)
	c.Flags().StringVar(&env, "env", "", "environment, if the name exists in several")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		return repeatEvery(c.Context(), c.OutOrStdout(), *every, func(w io.Writer) error {
			return api.showDeployment(c.Context(), w, args[0], env, asJSON)
		})
	}
	return c
}

func (c *client) showDeployment(
	ctx context.Context,
	w io.Writer,
	name, env string,
	asJSON output.JSON[shownDeployment],
) error {
	d, err := c.findDeployment(ctx, name, env)
	if err != nil {
		return err
	}
	r, err := c.GetRunWithResponse(ctx, d.Id, d.Run)
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	if asJSON.Wanted() {
		return asJSON.Print(w, shownDeployment{d, r.JSON200.Steps})
	}
	return printDeployment(w, d, *r.JSON200)
}

// describeVisitor says who is at a deployment's URLs, or how many are.
func describeVisitor(v apiclient.Visitor) string {
	name := output.SanitizeText(valueOrZero(v.Name))
	switch {
	case valueOrZero(v.You):
		return name + " (you)"
	case v.Kind == apiclient.VisitorKindGuest:
		return strings.TrimSpace("a guest " + name)
	case v.Kind == apiclient.VisitorKindRobot:
		return strings.TrimSpace("a robot " + name)
	case v.Kind == apiclient.VisitorKindCount:
		return quantity.FormatCount(v.Visitors, "visitor", "visitors")
	}
	return name
}

// shownDeployment is a deployment with the steps of its latest run, as JSON.
type shownDeployment struct {
	apiclient.Deployment
	Steps []apiclient.Step `json:"steps"`
}

func printDeployment(w io.Writer, d apiclient.Deployment, run apiclient.Run) error {
	fmt.Fprintf(w, "%s  %s  %s\n", output.SanitizeText(d.Name), stateOf(d),
		output.SanitizeText(detailOf(d)))
	fmt.Fprintf(w, "project %s, pipeline v%d, environment %s, node %s, made by %s %s ago\n",
		d.Project, d.PipelineVersion, d.Environment, valueOrZero(d.Node),
		output.SanitizeText(d.CreatedBy),
		output.FormatAge(d.CreatedAt))
	if d.NodeOfflineSince != nil {
		fmt.Fprintf(w, "node %s is offline for %s: this is the last that was heard\n",
			valueOrZero(d.Node), output.FormatAge(*d.NodeOfflineSince))
	}
	if d.ExpiresAt != nil {
		fmt.Fprintf(w, "removed for lack of activity %s\n", formatExpiry(d))
	}
	if d.PullRequest != nil && d.PullRequest.Remark != nil {
		fmt.Fprintln(w, output.SanitizeText(*d.PullRequest.Remark))
	}
	for _, v := range valueOrZero(d.Visitors) {
		fmt.Fprintf(w, "here: %s, last request %s ago\n", describeVisitor(v),
			output.FormatAge(v.LastSeen))
	}
	printInput(w, d.Input)
	if line := queueLine(d); line != "" {
		fmt.Fprintln(w, output.SanitizeText(line))
	}
	if d.Failure != nil {
		fmt.Fprintln(w, failureText(*d.Failure))
		printCauseLine(w, d, run)
	}
	for _, left := range valueOrZero(d.Left) {
		fmt.Fprintf(w, "left behind: %s\n", output.SanitizeText(left))
	}
	printQuestion(w, d)
	fmt.Fprintln(w)
	if err := printServices(w, d); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nRun %d\n", run.Number)
	if line := runLine(run.Queue); line != "" {
		fmt.Fprintln(w, line)
	}
	printOffers(w, valueOrZero(run.Offers))
	rows := [][]string{{"", "STEP", "STATE", "WHAT", "MESSAGE"}}
	for _, s := range run.Steps {
		rows = append(rows, []string{fmt.Sprint(s.Position), s.Key, stepState(s), s.Title,
			valueOrZero(s.Message)})
	}
	if err := output.PrintTable(w, rows); err != nil {
		return err
	}
	for _, s := range run.Steps {
		if s.Tests != nil {
			printTests(w, s.Key, *s.Tests)
		}
	}
	return nil
}

// printCauseLine prints where in which log the cause is to be read.
func printCauseLine(w io.Writer, d apiclient.Deployment, run apiclient.Run) {
	if run.Failure == nil || run.Failure.Line == nil {
		return
	}
	step := valueOrZero(run.Failure.Step)
	fmt.Fprintf(w, "its log says so in %s: nullops logs %s %s --env %s\n",
		pipeline.PlaceOfLine(*run.Failure.Line), d.Name, step, d.Environment)
}

// stepState is what a step came to and, after it, what became of its effects.
func stepState(s apiclient.Step) string {
	if s.Result == nil || s.Cleanup == nil {
		return string(s.Status)
	}
	return fmt.Sprintf("%s, %s", *s.Result, *s.Cleanup)
}

// printOffers prints what the nodes answered that were asked before the run.
func printOffers(w io.Writer, all []apiclient.NodeOffer) {
	for _, o := range all {
		switch o.Status {
		case apiclient.NodeOfferStatusDeclined:
			fmt.Fprintf(w, "node %s declined it: %s\n", o.Node,
				output.SanitizeText(cmp.Or(valueOrZero(o.Reason), "no reason was given")))
		case apiclient.NodeOfferStatusOpen:
			fmt.Fprintf(w, "node %s is asked whether it takes it\n", o.Node)
		default:
			fmt.Fprintf(w, "node %s claimed it\n", o.Node)
		}
	}
}

// printTests prints the result of a step's test suite, and the first tests that failed.
func printTests(w io.Writer, step string, t apiclient.TestSummary) {
	fmt.Fprintf(w, "\nTests of %s: %s\n", step, testsText(t))
	names := valueOrZero(t.Names)
	for _, name := range names {
		fmt.Fprintf(w, "  failed: %s\n", output.SanitizeText(name))
	}
	if more := t.Failed - len(names); more > 0 && len(names) > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
	if problem := valueOrZero(t.Problem); problem != "" {
		fmt.Fprintf(w, "  %s\n", output.SanitizeText(problem))
	}
}

// testsText is a summary of test results on one line.
func testsText(t apiclient.TestSummary) string {
	if t.Tests == 0 && t.Problem != nil {
		return "no results"
	}
	text := fmt.Sprintf("%d of %d failed", t.Failed, t.Tests)
	if t.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	return text + ", in " + secondsText(t.Seconds)
}

// isMarked reports whether the test results of a deployment ask for a look although its run
// did not fail.
func isMarked(d apiclient.Deployment) bool {
	return d.Tests != nil && d.Failure == nil && (d.Tests.Failed > 0 || d.Tests.Problem != nil)
}

// failureText is why a run failed, and what can be tried.
func failureText(f apiclient.Failure) string {
	// A control plane of an earlier release has no sentence.
	text := cmp.Or(valueOrZero(f.Sentence), f.Message)
	return output.SanitizeText(strings.TrimSpace(text + " " + valueOrZero(f.Remedy)))
}

func printServices(w io.Writer, d apiclient.Deployment) error {
	rows := [][]string{{"SERVICE", "VERSION", "HEALTH", "URL"}}
	tags := map[string]string{}
	for _, v := range d.Versions {
		tags[v.Step] = v.Tag
	}
	for _, s := range d.Services {
		rows = append(rows, []string{s.Step, tags[s.Step], healthOf(s), valueOrZero(s.Url)})
		for _, p := range furtherPorts(valueOrZero(s.Url), s.Ports) {
			rows = append(rows, []string{servicePortName(s, p), "", "", valueOrZero(p.Url)})
		}
	}
	return output.PrintTable(w, rows)
}

// healthOf is a service's health for people. One that ended as it should is done, like its step.
func healthOf(s apiclient.ServiceHealth) string {
	if valueOrZero(s.Ended) {
		return "done"
	}
	return string(s.Health)
}

// stateWaiting is the state of a run that does nothing until a person answers. It is no status of
// the API: there the run is applying, and has a question.
const stateWaiting = "waiting"

// stateOf is what pages show and filters find it by: the condition, which may be offline or
// degraded, that its run waits for an answer, or else the status.
func stateOf(d apiclient.Deployment) string {
	switch {
	case d.Condition != nil:
		return string(*d.Condition)
	case d.Question != nil && d.Question.AnsweredBy == nil:
		return stateWaiting
	}
	return string(d.Status)
}

// detailOf is the one line beside the state. Of an offline deployment, it says the last
// known status too.
func detailOf(d apiclient.Deployment) string {
	reason, detail := valueOrZero(d.ConditionReason), valueOrZero(d.Detail)
	if isMarked(d) {
		detail = "tests: " + testsText(*d.Tests)
	}
	if qa := verdictText(d.Verdict); qa != "" {
		detail = strings.TrimPrefix(detail+", "+qa, ", ")
	}
	switch {
	case reason == "":
		return detail
	case stateOf(d) != string(apiclient.DeploymentConditionOffline):
		return reason
	case detail == "":
		return string(d.Status) + "; " + reason
	}
	return string(d.Status) + ", " + detail + "; " + reason
}

// formatExpiry is how long a deployment has until it is removed by itself.
func formatExpiry(d apiclient.Deployment) string {
	if d.ExpiresAt == nil {
		return "never"
	}
	return "in " + quantity.FormatSpan(max(time.Until(*d.ExpiresAt), 0))
}
