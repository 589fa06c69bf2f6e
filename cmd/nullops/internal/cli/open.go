package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func openCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "open DEPLOYMENT [SERVICE[/PORT]]", Args: cobra.RangeArgs(1, 2),
		Short: "Print a service's URL, and open it where there is a browser",
	}
	return onDeployment(c, func(
		c *cobra.Command, api *client, d apiclient.Deployment, service []string,
	) error {
		url, err := serviceURL(d, service)
		if err != nil {
			return err
		}
		fmt.Fprintln(c.OutOrStdout(), url)
		if output.IsTerminal(os.Stdout) {
			return openBrowser(c.Context(), url)
		}
		return nil
	})
}

// openBrowser opens an address in the person's browser, where there is one. No shell
// reads it.
func openBrowser(ctx context.Context, url string) error {
	browser, err := exec.LookPath("xdg-open")
	if err != nil || os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil
	}
	if err := exec.CommandContext(ctx, browser, url).Run(); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	return nil
}

// serviceURL takes the named service, or the last one with a URL: pipelines usually
// end with the user interface.
func serviceURL(d apiclient.Deployment, name []string) (string, error) {
	found := ""
	for _, s := range d.Services {
		if url := valueOrZero(s.Url); url != "" && (len(name) == 0 || s.Step == name[0]) {
			found = url
		}
		for _, p := range furtherPorts(valueOrZero(s.Url), s.Ports) {
			if len(name) > 0 && servicePortName(s, p) == name[0] {
				found = valueOrZero(p.Url)
			}
		}
	}
	if found == "" {
		return "", exit.WithCode(fmt.Errorf("%s has no such service with a URL; see 'nullops show %s'",
			d.Name, d.Name), exit.Refused)
	}
	return found, nil
}

// furtherPorts are the exposed ports of a service except the one of its own URL.
func furtherPorts(main string, ports []apiclient.ServicePort) (all []apiclient.ServicePort) {
	for _, p := range ports {
		if url := valueOrZero(p.Url); url != "" && url != main {
			all = append(all, p)
		}
	}
	return all
}

// servicePortName is how people name a further port of a service.
func servicePortName(s apiclient.ServiceHealth, p apiclient.ServicePort) string {
	return s.Step + "/" + p.Name
}
