package server

import (
	"context"
	"fmt"
	"os"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/provision"
)

// newProvisioner sets machines up with this very program: control plane and agent
// are one release by definition.
func (b *serverBase) newProvisioner() (*provision.Provisioner, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return provision.New(provision.Config{Store: b.store, Nodes: b.nodes,
		Listener: b.listener, Connect: b.connectNode, Program: program, Build: release,
		Holder: b.nodeTable.Holder, Log: b.logOf("provision"),
		Ended: b.metrics.sshAttempt}), nil
}

// hostKey asks a machine for its SSH host key.
func (b *serverBase) hostKey(
	ctx context.Context, actor access.Actor, host string, port int,
) (kind, fingerprint string, err error) {
	p, err := b.newProvisioner()
	if err != nil {
		return "", "", err
	}
	key, err := p.HostKey(ctx, actor, host, port)
	return key.Kind, key.Fingerprint, err
}
