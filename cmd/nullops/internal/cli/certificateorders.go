package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// letsEncrypt is the default authority.
const letsEncrypt = "https://acme-v02.api.letsencrypt.org/directory"

// orderFlags are the flags for certificate orders.
type orderFlags struct {
	challenge, directory, email, roots string
	dns, server, user, secret          string
	keyID, key                         string
	retry, end                         bool
}

func certificateOrdersCommand() *cobra.Command {
	var f orderFlags
	c := &cobra.Command{
		Use: "orders ENVIRONMENT [--challenge http-01|dns-01 …]", Args: exit.ExactArgs(1),
		Short: "Order certificates from an authority (ACME), and show the state of the orders",
		Long: "Without a flag it shows what was ordered, when it is tried next and what the\n" +
			"authority said. --challenge turns orders on, and agrees to the authority's terms.\n" +
			"To try first: --directory https://acme-staging-v02.api.letsencrypt.org/directory",
	}
	f.add(c)
	asJSON := output.JSONFlag[apiclient.CertificateOrders](c)
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		if err := f.applyChange(c, api, args[0]); err != nil || f.end {
			return err
		}
		r, err := api.GetCertificateOrdersWithResponse(c.Context(), args[0])
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), *r.JSON200)
		}
		return printOrders(c.OutOrStdout(), *r.JSON200, time.Now())
	}
	return c
}

func (f *orderFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.challenge, "challenge", "",
		"http-01 for each deployment's hosts, dns-01 for wildcards")
	c.Flags().StringVar(&f.directory, "directory", letsEncrypt, "the authority's address")
	c.Flags().StringVar(&f.email, "email", "", "address that the authority may write to")
	c.Flags().StringVar(&f.roots, "roots", "",
		"PEM file: the root of a directory that systems do not trust")
	c.Flags().StringVar(&f.dns, "dns", "", "for dns-01: rfc2136 or webhook")
	c.Flags().StringVar(&f.server, "dns-server", "", "host:port for rfc2136, a URL for webhook")
	c.Flags().StringVar(&f.user, "dns-user", "", "name of the TSIG key, or the webhook's user")
	c.Flags().StringVar(&f.secret, "dns-secret", "",
		"file with the TSIG key in base64, or with the webhook's password")
	c.Flags().StringVar(&f.keyID, "eab-key-id", "",
		"for an authority that asks for external account binding: the id of the key it gave")
	c.Flags().StringVar(&f.key, "eab-key", "", "file with that key (MAC, HMAC) in base64")
	c.Flags().BoolVar(&f.retry, "retry", false, "try failed orders again now")
	c.Flags().BoolVar(&f.end, "end", false,
		"order no more; existing certificates are used until they expire")
	c.MarkFlagsMutuallyExclusive("challenge", "retry", "end")
}

func (f *orderFlags) applyChange(c *cobra.Command, api *client, environment string) error {
	if f.challenge == "" {
		if err := refuseOrderFlags(c); err != nil {
			return err
		}
	}
	switch {
	case f.end:
		r, err := api.DeleteCertificateOrdersWithResponse(c.Context(), environment)
		return checkAnswer(r, err)
	case f.retry:
		r, err := api.RetryCertificateOrdersWithResponse(c.Context(), environment)
		return checkAnswer(r, err)
	case f.challenge == "":
		return nil
	}
	body := apiclient.CertificateOrdersPut{
		Challenge: apiclient.CertificateOrdersPutChallenge(f.challenge), Directory: f.directory,
		Email: nilIfZero(f.email), DnsServer: nilIfZero(f.server), DnsUser: nilIfZero(f.user),
		EabKeyId: nilIfZero(f.keyID)}
	if f.dns != "" {
		dns := apiclient.CertificateOrdersPutDns(f.dns)
		body.Dns = &dns
	}
	for flag, into := range map[string]**string{"roots": &body.Roots,
		"dns-secret": &body.DnsSecret, "eab-key": &body.EabKey} {
		if file := c.Flags().Lookup(flag).Value.String(); file != "" {
			text, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("--%s: %w", flag, err)
			}
			*into = nilIfZero(strings.TrimSpace(string(text)))
		}
	}
	r, err := api.PutCertificateOrdersWithResponse(c.Context(), environment, body)
	return checkAnswer(r, err)
}

// refuseOrderFlags refuses what belongs to an order without one: it would be ignored.
func refuseOrderFlags(c *cobra.Command) error {
	for _, flag := range []string{"directory", "email", "roots", "dns", "dns-server", "dns-user",
		"dns-secret", "eab-key-id", "eab-key"} {
		if c.Flags().Changed(flag) {
			return exit.AsUsageError(fmt.Errorf("--%s: give --challenge too, and all else that the "+
				"order has", flag))
		}
	}
	return nil
}

func printOrders(w io.Writer, o apiclient.CertificateOrders, now time.Time) error {
	if o.Challenge == "" {
		fmt.Fprintln(w, "nothing is ordered any more")
	} else {
		fmt.Fprintf(w, "%s from %s\n", output.SanitizeText(o.Challenge), output.SanitizeText(o.Directory))
	}
	rows := [][]string{{"NAMES", "STATE", "EXPIRES", "NEXT TRY", "SAID"}}
	for _, one := range o.Certificates {
		ends, next, said := "", "", ""
		if one.NotAfter != nil {
			ends = endsAt(*one.NotAfter, now)
		}
		if one.Wanted {
			next = one.NextTry.UTC().Format(time.DateTime)
		}
		if one.Error != nil {
			said = *one.Error
		}
		rows = append(rows, []string{strings.Join(one.Names, " "), one.State, ends, next, said})
	}
	return output.PrintTable(w, rows)
}
