package main

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

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/apiclient"
)

const (
	// healthWithin bounds the whole examination.
	healthWithin = time.Minute
	// clockApart is how far two clocks may be apart before times confuse people.
	clockApart = 30 * time.Second
)

func healthCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Args: exactArgs(0),
		Short: "Check the control plane you are signed in to, and what it says of its nodes",
		Long: "Asks the control plane whether it can do its job, and says what to do if it cannot.\n" +
			"An admin also hears of nodes, and whether the audit still holds. What a machine needs to\n" +
			"be a node, 'nullops agent doctor' says on that machine. The exit code is 1 when something\n" +
			"critical is found.",
	}
	asJSON := jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(c.Context(), healthWithin)
		defer cancel()
		api, err := newClient()
		if err != nil {
			return err
		}
		all := api.runChecks(ctx)
		sick := slices.ContainsFunc(all, func(k wire.Check) bool {
			return k.Severity == wire.SeverityCritical
		})
		if *asJSON {
			err = printJSON(c.OutOrStdout(), map[string]any{"healthy": !sick, "checks": all})
		} else {
			err = printChecks(c.OutOrStdout(), all)
		}
		if err == nil && sick {
			return codedError{errSilent, exitFailed}
		}
		return err
	}
	return c
}

func newCheck(id string, severity wire.Severity, detail, remedy string) wire.Check {
	return wire.Check{ID: id, Severity: severity, Detail: detail, Remedy: remedy}
}

// runChecks runs one check after the other, and stops at a failure on which the rest
// depend.
func (c *client) runChecks(ctx context.Context) []wire.Check {
	all, up := c.examineServer(ctx)
	if !up {
		return all
	}
	me, err := c.GetMeWithResponse(ctx)
	if err := checkAnswer(me, err); err != nil {
		return append(all, newCheck("sign-in", wire.SeverityCritical, err.Error(),
			"Sign in again: nullops login "+c.login.URL))
	}
	all = append(all, newCheck("sign-in", wire.SeverityOK,
		fmt.Sprintf("%s, %s", me.JSON200.Name, me.JSON200.Role), ""))
	all = append(all, c.examineBuild(ctx))
	if string(me.JSON200.Role) == string(controlplane.RoleAdmin) {
		all = append(all, c.examineNodes(ctx)...)
		all = append(all, c.examineAudit(ctx))
	}
	return all
}

// examineServer checks what needs no sign-in.
func (c *client) examineServer(ctx context.Context) ([]wire.Check, bool) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		strings.TrimRight(c.login.URL, "/")+"/readyz", nil)
	if err != nil {
		return []wire.Check{newCheck("reach", wire.SeverityCritical, err.Error(),
			"Sign in with the right URL: nullops login URL")}, false
	}
	before := time.Now()
	answer, err := c.http.Do(r)
	if err != nil {
		return []wire.Check{newCheck("reach", wire.SeverityCritical, err.Error(),
			"Check the URL, the network, and that 'nullops controlplane' runs.")}, false
	}
	defer answer.Body.Close()
	took := time.Since(before)
	all := []wire.Check{newCheck("reach", wire.SeverityOK,
		fmt.Sprintf("%s answers within %s", c.login.URL, took.Round(time.Millisecond)), "")}
	all = append(all, readyOf(answer), clockOf(answer, before.Add(took/2)))
	return all, answer.StatusCode < http.StatusInternalServerError
}

func readyOf(answer *http.Response) wire.Check {
	var said struct {
		State   string `json:"state"`
		Waiting []struct {
			For    string `json:"for"`
			Reason string `json:"reason"`
		} `json:"waiting"`
	}
	err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&said)
	if err != nil || said.State == "" {
		return newCheck("ready", wire.SeverityCritical,
			"something else answers there: "+answer.Status, "Check the URL, and proxies on the way.")
	}
	if len(said.Waiting) == 0 {
		return newCheck("ready", wire.SeverityOK, said.State, "")
	}
	var reasons []string
	for _, w := range said.Waiting {
		reasons = append(reasons, w.For+": "+w.Reason)
	}
	return newCheck("ready", wire.SeverityCritical, "waits for "+strings.Join(reasons, "; "),
		"Look at the control plane's log.")
}

func clockOf(answer *http.Response, now time.Time) wire.Check {
	there, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return newCheck("clock", wire.SeverityWarning, "it does not say what time it is", "")
	}
	if apart := there.Sub(now).Abs(); apart > clockApart {
		return newCheck("clock", wire.SeverityWarning,
			fmt.Sprintf("its clock and this machine's are %s apart", apart.Round(time.Second)),
			"Set both by NTP: times in logs would mislead.")
	}
	return newCheck("clock", wire.SeverityOK, "agrees with this machine's", "")
}

func (c *client) examineBuild(ctx context.Context) wire.Check {
	r, err := c.GetVersionWithResponse(ctx)
	if err := checkAnswer(r, err); err != nil {
		return newCheck("release", wire.SeverityWarning, err.Error(), "")
	}
	if r.JSON200.Build != build {
		return newCheck("release", wire.SeverityWarning,
			fmt.Sprintf("it is %s, this command line %s", r.JSON200.Build, build),
			"Use the command line of the same release.")
	}
	return newCheck("release", wire.SeverityOK, build, "")
}

func (c *client) examineNodes(ctx context.Context) (all []wire.Check) {
	params, online := &apiclient.ListNodesParams{}, 0
	for {
		r, err := c.ListNodesWithResponse(ctx, params)
		if err := checkAnswer(r, err); err != nil {
			return append(all, newCheck("nodes", wire.SeverityWarning, err.Error(), ""))
		}
		for _, n := range r.JSON200.Items {
			if n.Status == apiclient.NodeStatusOnline {
				online++
				continue
			}
			all = append(all, newCheck(
				"node "+n.Name,
				wire.SeverityWarning,
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
		return append(all, newCheck("nodes", wire.SeverityCritical, "no node is online",
			"Add one: nullops node add NAME --env ENV --ssh root@HOST"))
	}
	return append(all, newCheck("nodes", wire.SeverityOK, fmt.Sprintf("%d online", online), ""))
}

func (c *client) examineAudit(ctx context.Context) wire.Check {
	r, err := c.VerifyAuditWithResponse(ctx)
	if err := checkAnswer(r, err); err != nil {
		return newCheck("audit", wire.SeverityWarning, err.Error(), "")
	}
	if n := len(r.JSON200.Findings); n > 0 {
		return newCheck("audit", wire.SeverityCritical,
			fmt.Sprintf("%d places where entries were changed, moved or deleted", n),
			"nullops audit verify")
	}
	return newCheck("audit", wire.SeverityOK, "no entry was changed, moved or deleted", "")
}
