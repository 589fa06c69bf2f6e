package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func verdictCommand() *cobra.Command {
	c := &cobra.Command{Use: "verdict", Short: "Say or read QA's verdict on deployments"}
	c.AddCommand(verdictListCommand(), verdictGiveCommand(), verdictStatementCommand(),
		verdictKeyCommand(), verdictRotateKeyCommand())
	return c
}

func verdictListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list DEPLOYMENT", Args: exit.ExactArgs(1),
		Short: "List what QA said about a deployment"}
	asJSON := output.JSONFlag[*apiclient.VerdictList](c)
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, _ []string,
	) error {
		all, err := api.verdictsOf(c.Context(), d)
		if err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), all)
		}
		return printVerdicts(c.OutOrStdout(), all)
	})
}

func (c *client) verdictsOf(
	ctx context.Context, d apiclient.Deployment,
) (*apiclient.VerdictList, error) {
	r, err := c.ListVerdictsWithResponse(ctx, d.Id)
	if err := checkAnswer(r, err); err != nil {
		return nil, err
	}
	return r.JSON200, nil
}

func printVerdicts(w io.Writer, all *apiclient.VerdictList) error {
	fmt.Fprintf(w, "it runs the images %s\n", all.DigestSet)
	if len(all.Items) == 0 {
		fmt.Fprintln(w, "no verdict yet")
	}
	for _, v := range all.Items {
		fmt.Fprintf(w, "%s  %s by %s, of the images %.12s\n", v.At.Local().Format(time.DateTime),
			outcomeText(v.Outcome), output.SanitizeText(v.Author), v.DigestSet)
		if v.VoidedAt != nil {
			fmt.Fprintf(w, "  void: %s\n", output.SanitizeText(valueOrZero(v.VoidedReason)))
		}
		for line := range strings.SplitSeq(valueOrZero(v.Remarks), "\n") {
			if line != "" {
				fmt.Fprintf(w, "  %s\n", output.SanitizeText(line))
			}
		}
		for _, i := range valueOrZero(v.Images) {
			fmt.Fprintf(w, "  %s@%s: %s\n", i.Image, i.Digest, attachmentText(i))
		}
	}
	return nil
}

func outcomeText(o apiclient.VerdictOutcome) string {
	if o == apiclient.VerdictOutcomeRemarks {
		return "passed with remarks"
	}
	return string(o)
}

func attachmentText(i apiclient.VerdictImage) string {
	switch {
	case i.AttachedAt != nil:
		return "attached"
	case i.Problem != nil:
		return "not attached: " + output.SanitizeText(*i.Problem)
	}
	return "is being attached"
}

func verdictGiveCommand() *cobra.Command {
	var remarks, images string
	outcomes := []string{"passed", "failed", "remarks"}
	c := &cobra.Command{Use: "give DEPLOYMENT passed|failed|remarks", Args: exit.ExactArgs(2),
		Short: "Say QA's verdict on the images that a deployment runs",
		Long: "Say QA's verdict on the images that a deployment runs.\n" +
			"--images is the set of images that you tested, as 'nullops verdict list' shows it: if\n" +
			"the deployment runs others by now, the verdict is refused."}
	c.Flags().StringVarP(&remarks, "message", "m", "", "what people should know")
	c.Flags().StringVar(&images, "images", "", "the set of images that you tested")
	asJSON := output.JSONFlag[*apiclient.Verdict](c)
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, words []string,
	) error {
		if !slices.Contains(outcomes, words[0]) {
			return exit.AsUsageError(fmt.Errorf("%q is not passed, failed or remarks", words[0]))
		}
		if images == "" {
			now, err := api.verdictsOf(c.Context(), d)
			if err != nil {
				return err
			}
			images = now.DigestSet
		}
		r, err := api.GiveVerdictWithResponse(c.Context(), d.Id, nil, apiclient.VerdictCreate{
			Outcome: apiclient.VerdictOutcome(words[0]), Remarks: nilIfZero(remarks),
			DigestSet: images})
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON201)
		}
		fmt.Fprintf(c.OutOrStdout(), "%s: %s, of the images %.12s\n", d.Name,
			outcomeText(r.JSON201.Outcome), r.JSON201.DigestSet)
		return nil
	})
}

func verdictStatementCommand() *cobra.Command {
	c := &cobra.Command{Use: "statement DEPLOYMENT", Args: exit.ExactArgs(1),
		Short: "Print the signed statement of a deployment's last verdict, a Sigstore bundle"}
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, _ []string,
	) error {
		if d.Verdict == nil {
			return fmt.Errorf("nobody said a verdict on %s", d.Name)
		}
		r, err := api.GetVerdictStatementWithResponse(c.Context(), d.Id, d.Verdict.Id)
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		return json.NewEncoder(c.OutOrStdout()).Encode(r.JSON200)
	})
}

func verdictKeyCommand() *cobra.Command {
	var hint string
	c := &cobra.Command{Use: "key", Args: exit.ExactArgs(0),
		Short: "Print the public key that verifies verdicts",
		Long: "Print the public key that verifies verdicts: the one that signs now, or with --hint\n" +
			"the one that a statement names in .verificationMaterial.publicKey.hint, which may have\n" +
			"signed before the key was rotated. --json lists all of them, with their times."}
	c.Flags().StringVar(&hint, "hint", "", "which key, as a statement names it")
	asJSON := output.JSONFlag[*apiclient.VerdictKey](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.GetVerdictKeyWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200)
		}
		key, ok := findVerdictKey(*r.JSON200, hint)
		if !ok {
			return fmt.Errorf("no key of this server has the hint %q: the statement is of another one", hint)
		}
		fmt.Fprint(c.OutOrStdout(), key)
		return nil
	}
	return c
}

// findVerdictKey returns the public key with a hint, which may be one that signed before; without a
// hint the one that signs now.
func findVerdictKey(now apiclient.VerdictKey, hint string) (key string, ok bool) {
	if hint == "" || hint == valueOrZero(now.Hint) {
		return now.PublicKey, true
	}
	for _, k := range valueOrZero(now.Former) {
		if k.Hint == hint {
			return k.PublicKey, true
		}
	}
	return "", false
}

func verdictRotateKeyCommand() *cobra.Command {
	c := &cobra.Command{Use: "rotate-key", Args: exit.ExactArgs(0),
		Short: "Make another key that signs verdicts",
		Long: "Make another key that signs verdicts, and print its public key, which verifiers need\n" +
			"from now on. The private key that signed before is deleted; its public key stays\n" +
			"listed, so that what it signed stays verifiable."}
	asJSON := output.JSONFlag[*apiclient.VerdictKey](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		api, err := newClient()
		if err != nil {
			return err
		}
		r, err := api.RotateVerdictKeyWithResponse(c.Context())
		if err := checkAnswer(r, err); err != nil {
			return err
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), r.JSON200)
		}
		fmt.Fprint(c.OutOrStdout(), r.JSON200.PublicKey)
		return nil
	}
	return c
}

// verdictText is QA's verdict in few words; empty if there is none.
func verdictText(v *apiclient.Verdict) string {
	switch {
	case v == nil:
		return ""
	case v.VoidedAt != nil:
		return "QA: verdict void"
	}
	return "QA: " + outcomeText(v.Outcome)
}
