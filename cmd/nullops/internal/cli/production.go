package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// examineProduction lists what works without, and should not be missing once others rely on it.
func (c *client) examineProduction(ctx context.Context) (all []output.Check) {
	if c.login.Fingerprint != "" {
		all = append(all, newCheck("certificate", output.SeverityWarning,
			"the control plane's certificate is of its own making: browsers warn of it",
			"Set http.certificate and http.key, or put a proxy that has a certificate in front."))
	}
	all = append(all, c.examineMail(ctx), c.examineBackups(ctx))
	all = append(all, c.examineEnvironments(ctx)...)
	return append(all, c.examineGuards(ctx)...)
}

func (c *client) examineMail(ctx context.Context) output.Check {
	r, err := c.GetNotificationsWithResponse(ctx)
	if err := checkAnswer(r, err); err != nil {
		return newCheck("mail", output.SeverityWarning, err.Error(), "")
	}
	if !r.JSON200.Available {
		return newCheck("mail", output.SeverityWarning, "nobody gets mail about failures and expiry",
			"Set mail.server and mail.from; see 'nullops settings'.")
	}
	return newCheck("mail", output.SeverityOK, "is set up", "")
}

// examineBackups wants them at regular times, and the last one proven.
func (c *client) examineBackups(ctx context.Context) output.Check {
	r, err := c.ListBackupsWithResponse(ctx)
	if err := checkAnswer(r, err); err != nil {
		return newCheck("backups", output.SeverityWarning, err.Error(), "")
	}
	switch all := r.JSON200; {
	case all.Schedule == nil:
		return newCheck("backups", output.SeverityWarning, "no backups are made at regular times",
			"Set backup.to to a folder or a bucket, and keep the master key elsewhere.")
	case len(all.Items) == 0:
		return newCheck("backups", output.SeverityWarning, "there is none yet",
			"Run nullops backups start, then nullops backups.")
	case all.Items[0].Error != nil:
		return newCheck("backups", output.SeverityWarning, "the last one failed: "+*all.Items[0].Error,
			"Remove the cause, then run nullops backups start.")
	}
	return newCheck("backups", output.SeverityOK, "every "+
		fmt.Sprint(r.JSON200.Schedule.EveryHours)+" hours to "+r.JSON200.Schedule.Target, "")
}

// examineEnvironments finds environments whose visitors send everything in the clear, and those
// whose hosts do not resolve.
func (c *client) examineEnvironments(ctx context.Context) (all []output.Check) {
	environments, err := everyPage(func(cursor *string) (*string, []apiclient.Environment, error) {
		r, err := c.ListEnvironmentsWithResponse(ctx, &apiclient.ListEnvironmentsParams{Cursor: cursor})
		if err := checkAnswer(r, err); err != nil {
			return nil, nil, err
		}
		return r.JSON200.NextCursor, r.JSON200.Items, nil
	})
	if err != nil {
		return []output.Check{newCheck("https", output.SeverityWarning, err.Error(), "")}
	}
	for _, e := range environments {
		if e.Scheme == "http" && e.Domain != "localhost" {
			all = append(all, newCheck("https "+e.Name, output.SeverityWarning,
				fmt.Sprintf("deployments below %s answer over plain HTTP", e.Domain),
				"Set ingress.secure, and order or upload a certificate: nullops certificate orders "+e.Name))
		}
	}
	if len(all) == 0 {
		all = append(all, newCheck("https", output.SeverityOK, "every environment has it", ""))
	}
	return append(all, examineNames(ctx, environments)...)
}

// resolveWithin bounds the look-up of one name.
const resolveWithin = 3 * time.Second

// examineNames looks up a host of each environment, as a browser on this machine would.
func examineNames(ctx context.Context, environments []apiclient.Environment) (all []output.Check) {
	for _, e := range environments {
		if e.Domain == "localhost" || strings.HasSuffix(e.Domain, ".localhost") {
			continue // browsers resolve these by themselves
		}
		below := e.Name + "." + e.Domain
		within, cancel := context.WithTimeout(ctx, resolveWithin)
		found, err := net.DefaultResolver.LookupHost(within, "nullops-doctor."+below)
		cancel()
		id := "dns " + e.Name
		var unknown *net.DNSError
		switch {
		case err == nil:
			all = append(all, newCheck(id, output.SeverityOK,
				"names below "+below+" lead to "+strings.Join(found, ", "), ""))
		case errors.As(err, &unknown) && unknown.IsNotFound:
			all = append(all, newCheck(id, output.SeverityWarning,
				"no name below "+below+" resolves on this machine",
				"Create a DNS record *."+below+" that leads to the ingress."))
		default:
			all = append(all, newCheck(id, output.SeverityWarning,
				"names below "+below+" could not be looked up: "+err.Error(),
				"Check this machine's name server, then run 'nullops doctor' again."))
		}
	}
	return all
}

// examineGuards repeats what connected nodes themselves find critical, such as a missing guard
// around the addresses of the machine.
func (c *client) examineGuards(ctx context.Context) (all []output.Check) {
	nodes, err := c.allNodes(ctx)
	if err != nil {
		return nil // examineNodes has said so
	}
	for _, n := range nodes {
		if n.Inventory == nil {
			continue
		}
		for _, k := range valueOrZero(n.Inventory.Checks) {
			if k.Severity == apiclient.CheckSeverityCritical || k.Id == "guard" &&
				k.Severity != apiclient.CheckSeverityOk {
				all = append(all, newCheck("node "+n.Name, output.SeverityWarning, k.Id+": "+k.Detail,
					valueOrZero(k.Remedy)))
			}
		}
	}
	return all
}
