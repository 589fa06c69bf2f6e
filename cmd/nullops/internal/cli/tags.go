package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/quantity"
)

// tagsCommand lists what people may choose for a service.
func tagsCommand() *cobra.Command {
	var search string
	var byVersion bool
	var most int
	c := &cobra.Command{Use: "tags SERVICE", Args: exit.ExactArgs(1),
		Short: "List the tags that may be chosen for a service",
		Long: "List the tags that may be chosen for a service, the newest first, as far as the\n" +
			"registry says when they were made. The list says how old it is."}
	asJSON := output.JSONFlag[apiclient.TagList](c)
	c.Flags().StringVar(&search, "search", "", "only tags that contain this")
	c.Flags().BoolVar(&byVersion, "by-version", false, "the highest version first")
	c.Flags().IntVar(&most, "limit", 20, "maximum number of tags, up to 200")
	c.RunE = func(c *cobra.Command, args []string) error {
		params := &apiclient.ListServiceTagsParams{Search: nilIfZero(search), Limit: &most}
		if byVersion {
			params.Order = nilIfZero(apiclient.ListServiceTagsParamsOrderVersion)
		}
		return listTags(c.Context(), c.OutOrStdout(), args[0], params, asJSON)
	}
	return c
}

func listTags(ctx context.Context, out io.Writer, service string,
	params *apiclient.ListServiceTagsParams, asJSON output.JSON[apiclient.TagList]) error {
	api, err := newClient()
	if err != nil {
		return err
	}
	r, err := api.ListServiceTagsWithResponse(ctx, service, params)
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	if asJSON.Wanted() {
		return asJSON.Print(out, *r.JSON200)
	}
	return printTags(out, *r.JSON200)
}

func printTags(out io.Writer, list apiclient.TagList) error {
	rows := [][]string{{"TAG", "AGE", "SIZE", "BRANCH", "COMMIT", "BUILDER", "DIGEST"}}
	for _, tag := range list.Items {
		age, bytes := "", ""
		if tag.CreatedAt != nil {
			age = output.FormatAge(*tag.CreatedAt)
		}
		if tag.Size != nil {
			bytes = quantity.FormatBytes(*tag.Size)
		}
		rows = append(rows, []string{tag.Tag, age, bytes, valueOrZero(tag.Branch),
			fmt.Sprintf("%.12s", valueOrZero(tag.Commit)), valueOrZero(tag.Builder),
			fmt.Sprintf("%.12s", strings.TrimPrefix(valueOrZero(tag.Digest), "sha256:"))})
	}
	if err := output.PrintTable(out, rows); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d shown of %d that match, among %d; read %s ago\n", len(list.Items),
		list.Matching, list.Total, output.FormatAge(list.ReadAt))
	if list.Stale {
		fmt.Fprintf(out, "this is an older list: %s\n",
			output.SanitizeText(valueOrZero(list.StaleReason)))
	}
	return nil
}
