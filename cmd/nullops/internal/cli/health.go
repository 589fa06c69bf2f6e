package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
)

const (
	// healthWithin bounds the whole examination.
	healthWithin = time.Minute
	// clockApart is how far two clocks may be apart before times confuse people.
	clockApart = 30 * time.Second
)

// health is what the doctor found, as JSON.
type health struct {
	// Healthy is false if a check found something critical.
	Healthy bool `json:"healthy"`
	// Checks are all checks, also those that found nothing.
	Checks []output.Check `json:"checks"`
}

func healthCommand(build string) *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Args: exit.ExactArgs(0),
		Short: "Check the control plane you are signed in to, and its nodes",
		Long: "Asks the control plane whether it can do its job, and says what to do if it cannot.\n" +
			"For admins, it also checks the nodes and the audit chain, and says what production\n" +
			"still needs: a certificate, HTTPS and DNS for visitors, mail, backups. What a machine\n" +
			"needs to be a node, 'nullops agent doctor' says on that machine. The exit code is 1 when\n" +
			"something critical is found.",
	}
	asJSON := output.JSONFlag[health](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(c.Context(), healthWithin)
		defer cancel()
		api, err := newClient()
		if err != nil {
			return err
		}
		all := api.runChecks(ctx, build)
		sick := slices.ContainsFunc(all, func(k output.Check) bool {
			return k.Severity == output.SeverityCritical
		})
		if asJSON.Wanted() {
			err = asJSON.Print(c.OutOrStdout(), health{Healthy: !sick, Checks: all})
		} else {
			err = output.PrintChecks(c.OutOrStdout(), all)
		}
		if err == nil && sick {
			return exit.WithCode(exit.ErrSilent, exit.Failed)
		}
		return err
	}
	return c
}

func newCheck(id string, level output.Severity, detail, remedy string) output.Check {
	return output.Check{ID: id, Severity: level, Detail: detail, Remedy: remedy}
}

// runChecks runs one check after the other, and stops at a failure on which the rest
// depend.
func (c *client) runChecks(ctx context.Context, build string) []output.Check {
	all, up := c.examineServer(ctx)
	if !up {
		return all
	}
	me, err := c.GetMeWithResponse(ctx)
	if err := checkAnswer(me, err); err != nil {
		return append(all, newCheck("sign-in", output.SeverityCritical, err.Error(),
			"Sign in again: nullops login "+c.login.URL))
	}
	all = append(all, newCheck("sign-in", output.SeverityOK,
		fmt.Sprintf("%s, %s", me.JSON200.Name, me.JSON200.Role), ""))
	all = append(all, c.examineBuild(ctx, build))
	if me.JSON200.Role == apiclient.RoleAdmin {
		all = append(all, c.examineNodes(ctx)...)
		all = append(all, c.examineAudit(ctx))
		all = append(all, c.examineProduction(ctx)...)
	}
	return all
}

// examineServer checks what needs no sign-in.
func (c *client) examineServer(ctx context.Context) ([]output.Check, bool) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		strings.TrimRight(c.login.URL, "/")+"/readyz", nil)
	if err != nil {
		return []output.Check{newCheck("reach", output.SeverityCritical, err.Error(),
			"Sign in with the right URL: nullops login URL")}, false
	}
	before := time.Now()
	answer, err := c.http.Do(r)
	if err != nil {
		return []output.Check{newCheck("reach", output.SeverityCritical, err.Error(),
			"Check the URL, the network, and that 'nullops controlplane' runs.")}, false
	}
	defer answer.Body.Close()
	took := time.Since(before)
	all := []output.Check{newCheck("reach", output.SeverityOK,
		fmt.Sprintf("%s answers within %s", c.login.URL, quantity.FormatElapsed(took)), "")}
	all = append(all, readyOf(answer), clockOf(answer, before.Add(took/2)))
	return all, answer.StatusCode < http.StatusInternalServerError
}

func readyOf(answer *http.Response) output.Check {
	var said struct {
		State   string `json:"state"`
		Waiting []struct {
			For    string `json:"for"`
			Reason string `json:"reason"`
		} `json:"waiting"`
	}
	err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&said)
	if err != nil || said.State == "" {
		return newCheck("ready", output.SeverityCritical,
			"something else answers there: "+answer.Status, "Check the URL, and proxies on the way.")
	}
	if len(said.Waiting) == 0 {
		return newCheck("ready", output.SeverityOK, said.State, "")
	}
	var reasons []string
	for _, w := range said.Waiting {
		reasons = append(reasons, w.For+": "+w.Reason)
	}
	return newCheck("ready", output.SeverityCritical, "waits for "+strings.Join(reasons, "; "),
		"Check the control plane's log.")
}

func clockOf(answer *http.Response, now time.Time) output.Check {
	there, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return newCheck("clock", output.SeverityWarning, "it does not say what time it is", "")
	}
	if apart := there.Sub(now).Abs(); apart > clockApart {
		return newCheck("clock", output.SeverityWarning,
			fmt.Sprintf("its clock and this machine's are %s apart",
				quantity.FormatDuration(apart.Round(time.Second))),
			"Set both by NTP: times in logs would mislead.")
	}
	return newCheck("clock", output.SeverityOK, "agrees with this machine's", "")
}

func (c *client) examineBuild(ctx context.Context, build string) output.Check {
	r, err := c.GetVersionWithResponse(ctx)
	if err := checkAnswer(r, err); err != nil {
		return newCheck("release", output.SeverityWarning, err.Error(), "")
	}
	if r.JSON200.Build != build {
		return newCheck("release", output.SeverityWarning,
			fmt.Sprintf("it is %s, this command line %s", r.JSON200.Build, build),
			"Use the command line of the same release.")
	}
	return newCheck("release", output.SeverityOK, build, "")
}

func (c *client) examineNodes(ctx context.Context) (all []output.Check) {
	params, online := &apiclient.ListNodesParams{}, 0
	for {
		r, err := c.ListNodesWithResponse(ctx, params)
		if err := checkAnswer(r, err); err != nil {
			return append(all, newCheck("nodes", output.SeverityWarning, err.Error(), ""))
		}
		for _, n := range r.JSON200.Items {
			if n.Status == apiclient.NodeStatusOnline {
				online++
				continue
			}
			all = append(all, newCheck(
				"node "+n.Name,
				output.SeverityWarning,
				strings.TrimSpace(
					string(n.Status)+" "+valueOrZero(n.StatusDetail),
				),
				"nullops node show "+n.Name,
			))
		}
		if params.Cursor = r.JSON200.NextCursor; valueOrZero(params.Cursor) == "" {
			break
		}
	}
	if online == 0 {
		return append(all, newCheck("nodes", output.SeverityCritical, "no node is online",
			"Add one: nullops node add NAME --env ENV --ssh root@HOST"))
	}
	return append(all, newCheck("nodes", output.SeverityOK, fmt.Sprintf("%d online", online), ""))
}

func (c *client) examineAudit(ctx context.Context) output.Check {
	r, err := c.VerifyAuditWithResponse(ctx)
	if err := checkAnswer(r, err); err != nil {
		return newCheck("audit", output.SeverityWarning, err.Error(), "")
	}
	if n := len(r.JSON200.Findings); n > 0 {
		return newCheck("audit", output.SeverityCritical,
			fmt.Sprintf("%d places where entries were changed, moved or deleted", n),
			"nullops audit verify")
	}
	return newCheck("audit", output.SeverityOK, "no entry was changed, moved or deleted", "")
}
