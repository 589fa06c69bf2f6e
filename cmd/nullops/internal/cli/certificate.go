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
	"github.com/nullops/nullops/internal/quantity"
)

func certificateCommand() *cobra.Command {
	c := &cobra.Command{Use: "certificate", Short: "Certificates the ingress serves over HTTPS"}
	c.AddCommand(certificateListCommand(), certificatePutCommand(), certificateDeleteCommand(),
		certificateOrdersCommand(),
		authorityCommand())
	return c
}

func certificateListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List certificates and when they expire",
		Args: exit.ExactArgs(0)}
	asJSON := output.JSONFlag[[]apiclient.Certificate](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.ListCertificatesWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200.Items)
		}
		rows := [][]string{{"NAME", "HOSTS", "EXPIRES", "ISSUER"}}
		for _, one := range r.JSON200.Items {
			rows = append(rows, []string{one.Name, strings.Join(one.Hosts, " "),
				endsAt(one.NotAfter, time.Now()), one.Issuer})
		}
		return output.PrintTable(c.OutOrStdout(), rows)
	}
	return c
}

// endsAt prints when a certificate expires, and how urgent that is.
func endsAt(at, now time.Time) string {
	day := at.UTC().Format(time.DateOnly)
	if left := at.Sub(now); left > 0 {
		return fmt.Sprintf("%s, in %s", day, quantity.FormatSpan(left))
	}
	return day + ", EXPIRED"
}

func certificatePutCommand() *cobra.Command {
	var chain, key string
	c := &cobra.Command{
		Use:   "put NAME --chain FILE --key FILE",
		Short: "Upload or replace a certificate; ingresses serve it within seconds",
		Args:  exit.ExactArgs(1),
	}
	c.Flags().StringVar(&chain, "chain", "", "PEM file, the host's own certificate first")
	c.Flags().StringVar(&key, "key", "", "PEM file of its private key")
	c.RunE = func(c *cobra.Command, args []string) error {
		if chain == "" || key == "" {
			return exit.AsUsageError(fmt.Errorf("give both --chain and --key"))
		}
		chainText, err := os.ReadFile(chain)
		if err != nil {
			return fmt.Errorf("--chain: %w", err)
		}
		keyText, err := os.ReadFile(key)
		if err != nil {
			return fmt.Errorf("--key: %w", err)
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.PutCertificateWithResponse(c.Context(), args[0],
			apiclient.CertificatePut{Chain: string(chainText), Key: nilIfZero(string(keyText))})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		fmt.Fprintf(c.OutOrStdout(), "%s: %s until %s\n", output.SanitizeText(r.JSON200.Name),
			output.SanitizeText(strings.Join(r.JSON200.Hosts, " ")),
			r.JSON200.NotAfter.Format(time.DateOnly))
		return nil
	}
	return c
}

func certificateDeleteCommand() *cobra.Command {
	return &cobra.Command{Use: "delete NAME", Short: "Delete a certificate", Args: exit.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.DeleteCertificateWithResponse(c.Context(), args[0])
			return checkAnswer(r, err)
		}}
}

func authorityCommand() *cobra.Command {
	c := &cobra.Command{Use: "authority",
		Short: "The internal certificate authority, for networks that no public authority reaches"}
	pem := false
	show := &cobra.Command{Use: "show", Short: "Show the authority; --pem prints its certificate",
		Args: exit.ExactArgs(0), RunE: func(c *cobra.Command, _ []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.GetCertificateAuthorityWithResponse(c.Context())
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			return printAuthority(c.OutOrStdout(), *r.JSON200, pem)
		}}
	show.Flags().BoolVar(&pem, "pem", false, "print the certificate alone, to install it")
	c.AddCommand(show, authorityMakeCommand(), authorityDeleteCommand())
	return c
}

func authorityMakeCommand() *cobra.Command {
	return &cobra.Command{Use: "make", Short: "Create the authority", Args: exit.ExactArgs(0),
		Long: "Create the authority. It signs for every host below an environment that no uploaded\n" +
			"certificate names. The page /trust of the control plane tells people how to trust it.",
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.CreateCertificateAuthorityWithResponse(c.Context(), nil)
			if err := checkAnswer(r, err); err != nil {
				return err
			}
			return printAuthority(c.OutOrStdout(), *r.JSON201, false)
		}}
}

func authorityDeleteCommand() *cobra.Command {
	return &cobra.Command{Use: "delete", Short: "Delete the authority and its key",
		Args: exit.ExactArgs(0), RunE: func(c *cobra.Command, _ []string) error {
			api, err := newClient()
			if err != nil {
				return err
			}
			r, err := api.DeleteCertificateAuthorityWithResponse(c.Context())
			return checkAnswer(r, err)
		}}
}

func printAuthority(w io.Writer, a apiclient.CertificateAuthority, pem bool) error {
	if pem {
		_, err := fmt.Fprint(w, a.Certificate)
		return err
	}
	_, err := fmt.Fprintf(w, "%s\nSHA-256 %s\nvalid until %s, made by %s\n",
		output.SanitizeText(a.Subject),
		a.Fingerprint, a.NotAfter.Format(time.DateOnly), output.SanitizeText(a.CreatedBy))
	return err
}
