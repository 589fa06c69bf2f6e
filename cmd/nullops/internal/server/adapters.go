package server

import (
	"context"
	"io"
	"strings"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/fleet"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/pipeline"
)

// Packages on one level do not import each other. These adapters connect them.

// secrets lets fleet have what the catalogue opens, for the time of one run.
type secrets struct{ catalog *catalog.Catalog }

var _ fleet.Secrets = secrets{}

func asFleet() access.Actor { return access.System("fleet") }

// Open implements fleet.Secrets.
func (s secrets) Open(ctx context.Context, deployment controlplane.DeploymentID,
	run controlplane.Run) (key []byte, values map[string]string, err error) {
	opened, err := s.catalog.OpenRun(ctx, asFleet(), deployment, run)
	if err != nil {
		return nil, nil, err
	}
	values = make(map[string]string, len(opened.Values))
	for name, v := range opened.Values {
		values[name] = v.Reveal()
	}
	return opened.Key, values, nil
}

// PullCredentials implements fleet.Secrets.
func (s secrets) PullCredentials(
	ctx context.Context, hosts []string,
) (map[string]wire.RegistryAuth, error) {
	opened, err := s.catalog.PullCredentials(ctx, asFleet(), hosts)
	if err != nil {
		return nil, err
	}
	all := make(map[string]wire.RegistryAuth, len(opened))
	for host, c := range opened {
		all[host] = wire.RegistryAuth{Username: c.Username, Password: c.Password.Reveal()}
	}
	return all, nil
}

// serviceLogs lets the API ask nodes for services' logs.
type serviceLogs struct{ dialer *fleet.Dialer }

var _ logbook.NodeLogs = serviceLogs{}

// Follow implements logbook.NodeLogs.
func (s serviceLogs) Follow(ctx context.Context, node controlplane.NodeID,
	deployment controlplane.DeploymentID, step pipeline.StepKey,
	o logbook.NodeLogOptions) (io.ReadCloser, error) {
	return s.dialer.Logs(ctx, node, deployment, step,
		fleet.LogOptions{Follow: o.Follow, Tail: o.Tail, Since: o.Since})
}

// upgradeAgent has a node's agent replaced. An image of a registry that we can sign
// in to is pulled with that sign-in.
func (b *serverBase) upgradeAgent(
	ctx context.Context,
	node controlplane.NodeID,
	image string,
) error {
	var auth *wire.RegistryAuth
	if host := registryHost(image); host != "" {
		known, err := secrets{b.catalog}.PullCredentials(ctx, []string{host})
		if err != nil {
			return err
		}
		if one, ok := known[host]; ok {
			auth = &one
		}
	}
	return b.dialer.Upgrade(ctx, node, image, auth)
}

// registryHost is the registry that an image's name begins with, if it does.
func registryHost(image string) string {
	first, rest, _ := strings.Cut(image, "/")
	if rest == "" || !strings.ContainsAny(first, ".:") && first != "localhost" {
		return ""
	}
	return first
}
