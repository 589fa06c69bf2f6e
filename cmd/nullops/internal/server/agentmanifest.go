package server

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/deploy/manifests"
)

// agentManifest prints how the agent is installed in a cluster. It asks nobody: the token is in a
// Secret, which the line of 'node add --kubernetes' makes.
func agentManifest() *cobra.Command {
	var o manifests.AgentOptions
	c := &cobra.Command{
		Use: "manifest --name=NAME --image=IMAGE", Args: exit.ExactArgs(0),
		Short: "Print the manifest that installs the agent in a Kubernetes cluster",
		Long: "Prints the manifest that installs the agent in a Kubernetes cluster, for 'kubectl\n" +
			"apply -f -'. It is what the Helm chart deploy/helm/nullops-agent makes of the same\n" +
			"values. 'nullops node add --kubernetes' prints the whole line.",
	}
	f := c.Flags()
	f.StringVar(&o.Name, "name", "", "name of the objects and of their namespace")
	f.StringVar(&o.Image, "image", "", "the agent's image")
	f.StringVar(&o.Connect, "connect", "",
		"URL of the control plane, wss://…, if the agent opens the connections")
	f.StringVar(&o.Fingerprint, "fingerprint", "",
		"certificate of the control plane, sha256:…, if no authority vouches for it")
	f.StringVar(&o.Service, "service", "",
		"how the agent is reached: ClusterIP, NodePort or LoadBalancer (default ClusterIP)")
	f.IntVar(&o.Port, "port", 0, "port of the Service (default 5000)")
	f.IntVar(&o.NodePort, "node-port", 0, "port of each machine, with --service=NodePort")
	f.BoolVar(&o.Websocket, "websocket", false, "listen for a reverse proxy on port 5001 too")
	f.StringVar(&o.Authorities, "authorities", "",
		"ConfigMap with certificates of authorities to trust, of registries for example")
	f.StringVar(&o.PullSecret, "pull-secret", "",
		"Secret of the namespace with which the image is pulled")
	_ = c.MarkFlagRequired("name")
	_ = c.MarkFlagRequired("image")
	c.RunE = func(c *cobra.Command, _ []string) error {
		// Settings are checked as the agent does it, and not first in the cluster.
		if err := (AgentSettings{Connect: o.Connect}).checkConnect(); err != nil {
			return exit.AsUsageError(errors.New(strings.Replace(err.Error(),
				"setting agent.connect", "--connect", 1)))
		}
		var text strings.Builder
		if err := manifests.WriteAgent(&text, o); err != nil {
			return exit.AsUsageError(err)
		}
		_, err := c.OutOrStdout().Write([]byte(text.String()))
		return err
	}
	return c
}
