package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Two things an agent does for a control plane of another release, as long as
// they agree on the protocol: it says what it is, and lets itself be replaced.
const (
	PathInventory = "/v1/inventory"
	PathUpgrade   = "/v1/upgrade"
)

// InventoryResponse answers PathInventory.
type InventoryResponse struct {
	Build     string    `json:"build"`
	Inventory Inventory `json:"inventory"`
	// Replaceable says that the agent can put another release in its place. How
	// to upgrade one that cannot is in Remedy.
	Replaceable bool   `json:"replaceable"`
	Remedy      string `json:"remedy,omitempty"`
}

// Upgrade is posted to PathUpgrade. The agent answers before it is replaced.
type Upgrade struct {
	Image string        `json:"image"`
	Auth  *RegistryAuth `json:"auth,omitempty"`
}

// DecodeInventoryResponse reads one answer.
func DecodeInventoryResponse(r io.Reader) (i InventoryResponse, err error) {
	if err := json.NewDecoder(io.LimitReader(r, MaxMessage)).Decode(&i); err != nil {
		return i, fmt.Errorf("read what the agent is: %w", err)
	}
	return i, nil
}

// DecodeUpgrade reads one request.
func DecodeUpgrade(r io.Reader) (u Upgrade, err error) {
	d := json.NewDecoder(io.LimitReader(r, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(&u); err != nil {
		return u, fmt.Errorf("read the upgrade: %w", err)
	}
	if u.Image == "" || len(u.Image) > 512 {
		return u, errors.New("image is missing or too long: name the agent's new one")
	}
	return u, nil
}

// isMaintenancePeer reports whether a proven peer of another release may stay connected,
// for PathInventory and PathUpgrade only. The ingress may not: it maintains nothing.
func isMaintenancePeer(err error, p Peer) bool {
	return errors.Is(err, ErrIncompatible) && p.NodeID != "" && p.Protocol == Protocol &&
		!p.TunnelsOnly
}
