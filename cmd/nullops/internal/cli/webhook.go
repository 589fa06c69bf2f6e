package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// readSecretValue reads a value that belongs neither into the shell's history nor into
// the list of processes: from a file, or from standard input for "-".
func readSecretValue(c *cobra.Command, path string) (*string, error) {
	if path == "" {
		return nil, nil
	}
	read := func() ([]byte, error) { return os.ReadFile(path) }
	if path == "-" {
		read = func() ([]byte, error) { return io.ReadAll(c.InOrStdin()) }
	}
	b, err := read()
	if err != nil {
		return nil, err
	}
	value := strings.TrimSpace(string(b))
	return &value, nil
}

func webhookCommand() *cobra.Command {
	c := &cobra.Command{Use: "webhook",
		Short: "Manage webhooks, which notify other programs and chats"}
	c.AddCommand(webhookList(), webhookSet(), webhookTest(), webhookDeliveries(),
		webhookRedeliver(), webhookDelete())
	return c
}

func webhookList() *cobra.Command {
	c := &cobra.Command{Use: "list", Args: exit.ExactArgs(0), Short: "List webhooks"}
	asJSON := output.JSONFlag[[]apiclient.Webhook](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListWebhooksWithResponse(c.Context(), nil)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"NAME", "KIND", "LEADS TO", "PROJECT", "ENVIRONMENT", "EVENTS", "ACTIVE"}}
		for _, w := range r.JSON200.Items {
			rows = append(rows, []string{w.Name, string(w.Kind), w.Host, valueOrZero(w.Project),
				valueOrZero(w.Environment), joinWords(w.Events), fmt.Sprint(w.Active)})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func joinWords[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, v := range all {
		words[i] = string(v)
	}
	return strings.Join(words, ",")
}

func webhookSet() *cobra.Command {
	var kind, urlFile, secretFile, project, env, template string
	var events []string
	var off bool
	c := &cobra.Command{
		Use: "set NAME --event EVENT… --url-file FILE", Args: exit.ExactArgs(1),
		Short: "Create or change a webhook",
		Long: "Create or change a webhook. Its address may contain a password, so it is read\n" +
			"from a file, or from standard input for '-'. A signing key is made and shown once.",
	}
	f := c.Flags()
	f.StringVar(&kind, "kind", "json", "json, slack, mattermost or teams")
	f.StringVar(&urlFile, "url-file", "", "file with the address; - is standard input")
	f.StringVar(&secretFile, "secret-file", "", "file with the signing key, instead of a new one")
	f.StringVar(&project, "project", "", "only of this project")
	f.StringVar(&env, "env", "", "only of this environment")
	f.StringSliceVar(&events, "event", nil, "what to tell of, such as deployment.ready")
	f.StringVar(&template, "template", "", "a chat's sentence, with {deployment}, {event}, {url}")
	f.BoolVar(&off, "off", false, "keep it, and tell it nothing")
	c.RunE = func(c *cobra.Command, args []string) error {
		address, err := readSecretValue(c, urlFile)
		if err != nil {
			return err
		}
		secret, err := readSecretValue(c, secretFile)
		if err != nil {
			return err
		}
		active := !off
		body := apiclient.WebhookPut{Kind: apiclient.WebhookKind(kind), Url: address, Secret: secret,
			Project: nilIfZero(project), Environment: nilIfZero(env), Template: nilIfZero(template),
			Active: &active, Events: []apiclient.NoticeEvent{}}
		for _, e := range events {
			body.Events = append(body.Events, apiclient.NoticeEvent(e))
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.PutWebhookWithResponse(c.Context(), args[0], body)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return toldSecret(c.OutOrStdout(), "webhook "+args[0], r.JSON200.Secret)
	}
	return c
}

// toldSecret shows a secret that was made, the only time it is shown.
func toldSecret(out io.Writer, what string, made *string) error {
	_, err := fmt.Fprintln(out, what+" saved")
	if err == nil && made != nil {
		_, err = fmt.Fprintf(out, "secret %s\nIt is shown only now.\n", *made)
	}
	return err
}

func webhookTest() *cobra.Command {
	c := &cobra.Command{Use: "test NAME", Args: exit.ExactArgs(1), Short: "Send a test message now"}
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.TestWebhookWithResponse(c.Context(), args[0])
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return reportDelivery(c.OutOrStdout(), *r.JSON200)
	}
	return c
}

func reportDelivery(out io.Writer, d apiclient.Delivery) error {
	if d.Status != "sent" {
		return errors.New("it was not taken: " + output.SanitizeText(valueOrZero(d.Error)))
	}
	_, err := fmt.Fprintf(out, "sent, answered %d\n", valueOrZero(d.Answer))
	return err
}

func webhookDeliveries() *cobra.Command {
	c := &cobra.Command{Use: "deliveries NAME", Args: exit.ExactArgs(1),
		Short: "List what was sent to a webhook, newest first"}
	asJSON := output.JSONFlag[[]apiclient.Delivery](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListDeliveriesWithResponse(c.Context(), args[0], nil)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"ID", "EVENT", "STATUS", "TRIES", "ANSWER", "AGE", "ERROR"}}
		for _, d := range r.JSON200.Items {
			rows = append(rows, []string{d.Id, d.Event, string(d.Status), fmt.Sprint(d.Attempts),
				fmt.Sprint(valueOrZero(d.Answer)), output.FormatAge(d.CreatedAt), valueOrZero(d.Error)})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func webhookRedeliver() *cobra.Command {
	c := &cobra.Command{Use: "redeliver NAME DELIVERY", Args: exit.ExactArgs(2),
		Short: "Send an earlier message again"}
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := uuid.Parse(args[1]); err != nil {
			return exit.AsUsageError(fmt.Errorf("%q is not a delivery's id", args[1]))
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.RedeliverWithResponse(c.Context(), args[0], args[1])
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return reportDelivery(c.OutOrStdout(), *r.JSON200)
	}
	return c
}

func webhookDelete() *cobra.Command {
	c := &cobra.Command{Use: "delete NAME", Args: exit.ExactArgs(1),
		Short: "Delete a webhook and its log"}
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.DeleteWebhookWithResponse(c.Context(), args[0])
		return checkAnswer(r, err)
	}
	return c
}

func ruleCommand() *cobra.Command {
	c := &cobra.Command{Use: "rule", Short: "Manage rules, which turn pull requests into deployments"}
	c.AddCommand(ruleList(), ruleSet(), ruleShow(), ruleApprove(), ruleDelete())
	return c
}

func ruleList() *cobra.Command {
	c := &cobra.Command{Use: "list", Args: exit.ExactArgs(0), Short: "List rules"}
	asJSON := output.JSONFlag[[]apiclient.Rule](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListRulesWithResponse(c.Context(), nil)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"NAME", "SOURCE", "REPOSITORY", "BRANCH", "TAG", "PROJECT",
			"ENVIRONMENT", "ACTIVE", "REFUSED"}}
		for _, x := range r.JSON200.Items {
			rows = append(rows, []string{x.Name, string(x.Source), valueOrZero(x.Repository),
				valueOrZero(x.Branch), x.Tag, x.Project, x.Environment, fmt.Sprint(x.Active),
				valueOrZero(x.Refusal)})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

func ruleSet() *cobra.Command {
	var body apiclient.RulePut
	var source, repository, branch, apiURL, secretFile, tokenFile string
	var wait time.Duration
	var off, aliases, forks bool
	var input []string
	var filter ruleFilter
	var schedule ruleSchedule
	var updates, data string
	c := &cobra.Command{
		Use:   "set NAME --source SOURCE --project PROJECT --env ENV --tag TAG",
		Args:  exit.ExactArgs(1),
		Short: "Create or change a rule",
		Long: "Create or change a rule. The source posts its events to /hooks/NAME of the control\n" +
			"plane, signed with the secret that is made and shown once.",
	}
	f := c.Flags()
	f.StringVar(&source, "source", "",
		"github, gitlab, gitea, bitbucket, generic, registry, or schedule")
	f.StringVar(&repository, "repository", "", "only of this repository")
	f.StringVar(&body.Project, "project", "", "which project is deployed")
	f.StringVar(&body.Environment, "env", "", "where it is deployed")
	f.StringVar(&branch, "branch", "", "only branches of this pattern, such as feature/*")
	filter.addFlags(c)
	schedule.addFlags(c)
	f.StringVar(&body.Tag, "tag", "", "how a branch's image is tagged, such as pr-{number}")
	f.StringArrayVar(&input, "input", nil, inputUsage)
	f.DurationVar(&wait, "wait", 30*time.Minute, "how long the registry may take to have the tag")
	f.StringVar(&updates, "update", "aside",
		"how a newer build gets to the addresses: aside, beside what runs until it is ready, or replace")
	f.StringVar(&data, "data", "fresh",
		"what its volumes begin with: fresh, or keep, a copy of what those of the one that runs hold")
	f.BoolVar(&aliases, "aliases", false,
		"addresses follow the rule: latest--NAME, and branch--BRANCH for each branch")
	f.BoolVar(&forks, "forks", false,
		"take pull requests from forks too, once somebody has approved their commit")
	f.StringVar(&apiURL, "api", "", "address of the code host's API, for comments")
	f.StringVar(&secretFile, "secret-file", "", "file with the secret, instead of a new one")
	f.StringVar(&tokenFile, "token-file", "", "file with the code host's token; - is standard input")
	f.BoolVar(&off, "off", false, "keep it, and take no events")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if body.Secret, err = readSecretValue(c, secretFile); err != nil {
			return err
		}
		if body.Token, err = readSecretValue(c, tokenFile); err != nil {
			return err
		}
		body.Filter = filter.body()
		if body.Schedule, err = schedule.toBody(); err != nil {
			return err
		}
		if source == "schedule" && body.Tag == "" {
			body.Tag = "{branch}"
		}
		active, minutes := !off, int(wait/time.Minute)
		body.Source, body.Active, body.WaitMinutes = apiclient.RuleSource(source), &active, &minutes
		body.Repository, body.Branch, body.ApiUrl = nilIfZero(repository), nilIfZero(branch),
			nilIfZero(apiURL)
		body.Aliases, body.Forks = nilIfZero(aliases), nilIfZero(forks)
		body.Updates = nilIfZero(apiclient.RuleUpdates(updates))
		body.Data = nilIfZero(apiclient.RuleData(data))
		api, err := newClient()
		if err != nil {
			return err
		}
		if body.Input, err = api.readInput(c.Context(), body.Project, input, nil); err != nil {
			return err
		}
		r, err := api.PutRuleWithResponse(c.Context(), args[0], body)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return toldSecret(c.OutOrStdout(), "rule "+args[0], r.JSON200.Secret)
	}
	return c
}

// ruleSchedule holds the flags that say when a branch is deployed.
type ruleSchedule struct {
	at, timeZone, until string
	lifetime            time.Duration
}

func (r *ruleSchedule) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.at, "at", "",
		"with --source schedule: 02:30, 'mon-fri 02:30', or the five fields of cron")
	f.StringVar(&r.timeZone, "time-zone", "UTC", "the time zone of --at, such as Europe/Berlin")
	f.DurationVar(&r.lifetime, "lifetime", 0,
		"how long a deployment of the schedule lives without activity, such as 12h")
	f.StringVar(&r.until, "until", "", "when the schedule ends: a time (RFC 3339)")
}

// toBody returns nil if there is no schedule.
func (r *ruleSchedule) toBody() (*apiclient.RuleSchedule, error) {
	if r.at == "" && r.until == "" && r.lifetime == 0 {
		return nil, nil
	}
	s := apiclient.RuleSchedule{At: r.at, TimeZone: r.timeZone,
		LifetimeHours: nilIfZero(int(r.lifetime / time.Hour))}
	if r.until != "" {
		until, err := time.Parse(time.RFC3339, r.until)
		if err != nil {
			return nil, exit.AsUsageError(fmt.Errorf(
				"--until %q is not a time: write it as 2027-01-31T00:00:00Z", r.until))
		}
		s.Until = &until
	}
	return &s, nil
}

// ruleFilter holds the flags that narrow a rule to some pull requests.
type ruleFilter struct {
	target                 string
	labels, authors, paths []string
	skipDrafts             bool
}

func (r *ruleFilter) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.target, "target", "", "only what goes into branches of this pattern")
	f.StringArrayVar(&r.labels, "label", nil,
		"only with one of these labels; '!wip' leaves out what has that one (repeatable)")
	f.StringArrayVar(&r.authors, "author", nil,
		"only of these authors; '!renovate' leaves out that one (repeatable)")
	f.StringArrayVar(&r.paths, "path", nil,
		"only what changes one of these files, such as 'web/**'; needs a token (repeatable)")
	f.BoolVar(&r.skipDrafts, "skip-drafts", false, "leave out drafts until they are ready for review")
}

// body returns nil if nothing is narrowed.
func (r *ruleFilter) body() *apiclient.RuleFilter {
	if r.target == "" && !r.skipDrafts && len(r.labels)+len(r.authors)+len(r.paths) == 0 {
		return nil
	}
	list := func(entries []string) *[]string {
		if len(entries) == 0 {
			return nil
		}
		return &entries
	}
	return &apiclient.RuleFilter{Target: nilIfZero(r.target), SkipDrafts: nilIfZero(r.skipDrafts),
		Labels: list(r.labels), Authors: list(r.authors), Paths: list(r.paths)}
}

func ruleShow() *cobra.Command {
	c := &cobra.Command{Use: "show NAME", Args: exit.ExactArgs(1),
		Short: "Show the results of a rule's pull requests"}
	asJSON := output.JSONFlag[apiclient.RuleView](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.GetRuleWithResponse(c.Context(), args[0])
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), *r.JSON200)
		}
		return printRule(c.OutOrStdout(), *r.JSON200)
	}
	return c
}

// printRule prints what the code host refuses of a rule, and the results of its pull requests.
func printRule(w io.Writer, v apiclient.RuleView) error {
	if refusal := valueOrZero(v.Rule.Refusal); refusal != "" {
		_, err := fmt.Fprintf(w, "The code host refuses this rule: %s.\nGive it a token that is valid, "+
			"may read pull requests and may write comments and statuses:\n"+
			"nullops rule set %s --token-file FILE …\n\n",
			output.SanitizeText(refusal), v.Rule.Name)
		if err != nil {
			return err
		}
	}
	rows := [][]string{{"REVIEW", "BRANCH", "TAG", "DEPLOYMENT", "STATE", "CHANGED", "DETAIL"}}
	for _, x := range v.Reviews {
		rows = append(rows, []string{x.Key, x.Branch, x.Tag, x.Deployment, string(x.State),
			output.FormatAge(x.ChangedAt) + " ago",
			strings.TrimSpace(valueOrZero(x.Detail) + " " + valueOrZero(x.Remark))})
	}
	return output.PrintTable(w, rows)
}

func ruleApprove() *cobra.Command {
	c := &cobra.Command{Use: "approve NAME REVIEW COMMIT", Args: exit.ExactArgs(3),
		Short: "Let a fork's commit be deployed",
		Long: "Let the newest commit of a pull request from a fork be deployed, as\n" +
			"'/nullops approve COMMIT' below it does. What it deploys gets the project's secrets, so\n" +
			"look at the commit first. REVIEW is as 'nullops rule show' prints it."}
	asJSON := output.JSONFlag[apiclient.Review](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ApproveCommitWithResponse(c.Context(), args[0],
			apiclient.CommitApproval{Key: args[1], Commit: args[2]})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), *r.JSON200)
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "Commit %s of %s may be deployed.\n",
			valueOrZero(r.JSON200.Commit), r.JSON200.Key)
		return err
	}
	return c
}

func ruleDelete() *cobra.Command {
	c := &cobra.Command{Use: "delete NAME", Args: exit.ExactArgs(1),
		Short: "Delete a rule; its deployments stay"}
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.DeleteRuleWithResponse(c.Context(), args[0])
		return checkAnswer(r, err)
	}
	return c
}
