package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// noteIncompatible stores that an agent is of another release, what it reports about
// itself, and how to upgrade it.
func (f *Fleet) noteIncompatible(ctx context.Context, link NodeLink, epoch int64,
	why *wire.IncompatibleError) error {
	detail := fmt.Sprintf("it runs %s, the control plane %s: run the same release on both",
		why.Theirs, why.Ours)
	said, err := f.Dial.fetchIntroduction(ctx, link, epoch)
	switch {
	case err != nil:
		detail += "; this agent is too different to be asked to upgrade itself: start it anew, with " +
			"the image nullops/agent of the control plane's release"
	case !said.Replaceable:
		detail += "; " + said.Remedy
	default:
		detail += ", with 'nullops node upgrade " + link.Node.Name + "'"
	}
	if err == nil {
		err = f.Nodes.RecordIntroduction(ctx, link.Node.ID, said.Build, newInventory(said.Inventory,
			time.Time{}, time.Now()))
	}
	return errors.Join(why, f.mayFail(ctx, "inventory of another release", err),
		f.Nodes.MarkIncompatible(ctx, link.Node.ID, string(why.Theirs), detail))
}

func (f *Fleet) mayFail(ctx context.Context, what string, err error) error {
	if err != nil {
		f.Log.DebugContext(ctx, what+" was not stored", "error", err)
	}
	return nil
}

// RecordIntroduction implements Nodes.
func (t NodeTable) RecordIntroduction(ctx context.Context, id controlplane.NodeID, build string,
	i controlplane.Inventory) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		if holds, err := tx.Leases().Lock(ctx, id, t.Holder); err != nil || !holds {
			return errors.Join(err, errElsewhere)
		}
		return tx.Nodes().SetInventory(ctx, id, build, i)
	})
}

// fetchIntroduction asks an agent, of whatever release, what it is.
func (d DialSettings) fetchIntroduction(
	ctx context.Context, link NodeLink, epoch int64,
) (i wire.InventoryResponse, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := d.requestMaintenance(ctx, link, epoch, http.MethodGet, wire.PathInventory, nil)
	if err != nil {
		return i, err
	}
	defer func() { _ = r.Body.Close() }()
	return wire.DecodeInventoryResponse(r.Body)
}

// requestMaintenance makes one request on a connection that an agent of another release
// accepts too.
func (d DialSettings) requestMaintenance(
	ctx context.Context,
	link NodeLink,
	epoch int64,
	method, path string,
	body io.Reader,
) (*http.Response, error) {
	config, err := d.dialConfig(link, epoch)
	if err != nil {
		return nil, err
	}
	config.Maintain = true
	request, err := http.NewRequestWithContext(ctx, method, "http://agent"+path, body)
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	client := newOneShotClient(func(ctx context.Context) (net.Conn, error) {
		return wire.Dial(ctx, config)
	})
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	why, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	return nil, &controlplane.Error{Kind: controlplane.Conflict, Code: "upgrade_refused",
		Message: "the agent says: " + strings.TrimSpace(string(why))}
}

// Upgrade has a node's agent replaced by one from the image. It returns once
// that is about to happen; the node is away for some seconds then, and what it
// runs is not.
//
// The credentials are for this one pull; nil asks the registry anonymously.
func (d *Dialer) Upgrade(ctx context.Context, id controlplane.NodeID, image string,
	auth *wire.RegistryAuth) error {
	link, err := d.nodes.GetLink(ctx, id)
	if err != nil {
		return err
	}
	n := link.Node
	switch {
	case n.Status == controlplane.NodeOnline && n.Build == string(d.how.Build):
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "up_to_date",
			Message: "node " + n.Name + " runs " + n.Build + " already"}
	case n.Status != controlplane.NodeOnline && n.Status != controlplane.NodeIncompatible:
		return &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_offline",
			Message: "node " + n.Name + " is " + string(n.Status) + ": its agent cannot be asked",
			Remedy:  "See 'nullops node show " + n.Name + "' for why."}
	}
	epoch, err := d.nodes.Epoch(ctx, id)
	if err != nil {
		return err
	}
	body, err := json.Marshal(wire.Upgrade{Image: image, Auth: auth})
	if err != nil {
		return fmt.Errorf("ask the agent: %w", err)
	}
	r, err := d.how.requestMaintenance(ctx, link, epoch, http.MethodPost, wire.PathUpgrade,
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	return r.Body.Close()
}
