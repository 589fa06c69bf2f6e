package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// commentCommand writes what is after the deployment's name, or lists what people said.
func commentCommand() *cobra.Command {
	c := &cobra.Command{Use: "comment DEPLOYMENT [TEXT]", Args: cobra.MinimumNArgs(1),
		Short: "Comment on a deployment, or list what people said about it",
		Long: "Comment on a deployment, or, without a text, list what people said about it.\n" +
			"@name mentions a person: they get a notice if they may see the deployment."}
	asJSON := output.JSONFlag[*apiclient.DeploymentCommentList](c)
	madeAsJSON := output.JSONWith[*apiclient.DeploymentComment](c, "with TEXT")
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, words []string,
	) error {
		if len(words) == 0 {
			return api.listComments(c.Context(), c.OutOrStdout(), d.Id, asJSON)
		}
		return api.comment(c.Context(), c.OutOrStdout(), d, strings.Join(words, " "), madeAsJSON)
	})
}

func (c *client) comment(ctx context.Context, out io.Writer, d apiclient.Deployment,
	text string, asJSON output.JSON[*apiclient.DeploymentComment]) error {
	r, err := c.CreateCommentWithResponse(ctx, d.Id, nil, apiclient.CommentCreate{Body: text})
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	if asJSON.Wanted() {
		return asJSON.Print(out, r.JSON201)
	}
	told := "nobody was mentioned"
	if len(r.JSON201.Mentions) > 0 {
		told = "told " + strings.Join(r.JSON201.Mentions, ", ")
	}
	fmt.Fprintf(out, "commented on %s; %s\n", d.Name, told)
	return nil
}

func (c *client) listComments(ctx context.Context, out io.Writer, id string,
	asJSON output.JSON[*apiclient.DeploymentCommentList]) error {
	r, err := c.ListCommentsWithResponse(ctx, id)
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	if asJSON.Wanted() {
		return asJSON.Print(out, r.JSON200)
	}
	if len(r.JSON200.Items) == 0 {
		fmt.Fprintln(out, "no comments yet")
	}
	for _, one := range r.JSON200.Items {
		fmt.Fprintf(out, "%s  %s\n", one.At.Local().Format(time.DateTime), one.Author)
		for line := range strings.SplitSeq(one.Body, "\n") {
			fmt.Fprintf(out, "  %s\n", output.SanitizeText(line))
		}
	}
	return nil
}
