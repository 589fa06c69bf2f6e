package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/durable"
)

const stateName = "state.json"

// state is what the agent knows about its control plane. It is small, rarely
// changes, and each change is on disk before it counts.
type state struct {
	// disk is held while the file is being changed, for as long as the disk takes.
	disk   sync.Mutex
	folder durable.FS
	path   string
	// mu guards what readers need, and is never held while the disk works.
	mu   sync.Mutex
	file stateFile
	// token is the one from the settings; without one the stored key serves.
	token *wire.Token
}

var _ wire.Verifier = (*state)(nil)

// stateFile is readable by the agent's user only. Key is as powerful as the token for this
// node, and useless for any other.
type stateFile struct {
	Kid     string   `json:"kid"`
	Key     []byte   `json:"key"`
	SPKI    []byte   `json:"spki,omitempty"`
	Node    string   `json:"node,omitempty"`
	Epoch   uint64   `json:"epoch,omitempty"`
	Refused []string `json:"refused,omitempty"`
	// Tunnels is how the ingress proves itself; empty without an ingress of its own key.
	Tunnels wire.TunnelAccess `json:"tunnels,omitzero"`
	// Plugins is the catalogue's list of plugin images.
	Plugins []wire.PluginImage `json:"plugins,omitempty"`
	// Audit is what it remembers of the control plane's audit, oldest first.
	Audit []wire.AuditHead `json:"audit,omitempty"`
	// Seq is higher than every event number used so far. It is stored outside the journal, so
	// that it survives the loss of the journal.
	Seq int64 `json:"seq,omitempty"`
}

// openState reads the state, or begins one with the token. A new token starts
// over: node and epoch belonged to the old one. A damaged state is put aside, which damage says.
func openState(disk durable.FS, dir string, token *wire.Token) (s *state, damage, err error) {
	s = &state{folder: disk, path: filepath.Join(dir, stateName), token: token}
	data, err := readIfThere(s.path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the agent's state: %w", err)
	}
	if data != nil {
		if damage = durable.UnmarshalChecked(data, &s.file); damage != nil {
			// Nothing in it decides about containers; the token brings it back.
			s.file = stateFile{}
			if damage, err = putFileAside(disk, s.path, damage); err != nil {
				return nil, nil, err
			}
		}
	}
	if token == nil && s.file.Kid == "" {
		return nil, damage, errNoToken
	}
	if token != nil && token.Kid != s.file.Kid {
		f := s.file
		f.Kid, f.Key, f.SPKI, f.Node, f.Epoch = token.Kid, token.Key().Bytes(), nil, "", 0
		f.Tunnels = wire.TunnelAccess{}
		if err := s.storeFile(f); err != nil {
			return nil, damage, err
		}
	}
	return s, damage, nil
}

// errNoToken is also the end of an agent whose state was damaged: it has no other copy of its key.
var errNoToken = errors.New("the agent has no token: add the node in the UI, or rotate the token " +
	"of the node that it was, and start the agent with the line that is shown")

// putFileAside puts a damaged file aside and adds its new name to what is wrong with it.
func putFileAside(disk durable.FS, path string, why error) (damage, err error) {
	aside, err := durable.PutAside(disk, path)
	if err != nil {
		return nil, err
	}
	return fmt.Errorf("%s: %w; put aside as %s", path, why, aside), nil
}

// storeFile stores the new state, then takes it over.
func (s *state) storeFile(f stateFile) error {
	data, err := durable.MarshalChecked(f)
	if err != nil {
		return fmt.Errorf("encode the agent's state: %w", err)
	}
	if err := durable.WriteFile(s.folder, s.path, data, 0o600); err != nil {
		return fmt.Errorf("store the agent's state: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file = f
	return nil
}

func (s *state) currentFile() stateFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file
}

// updateFile edits a copy and stores it, if edit changed anything.
func (s *state) updateFile(edit func(*stateFile) bool) error {
	s.disk.Lock()
	defer s.disk.Unlock()
	f := s.currentFile()
	if !edit(&f) {
		return nil
	}
	return s.storeFile(f)
}

// Trusts implements wire.Verifier.
func (s *state) Trusts(key wire.SPKI) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isControlPlane(key) || s.file.isIngress(key)
}

// isControlPlane compares with the token's pin first, then with the control plane that it
// turned out to be. The caller holds mu.
func (s *state) isControlPlane(key wire.SPKI) bool {
	if s.token != nil {
		return s.token.MadeBy(key)
	}
	return len(s.file.SPKI) > 0 && slices.Equal(s.file.SPKI, key[:])
}

// Key implements wire.Verifier.
func (s *state) Key(kid string, client wire.SPKI) (key wire.Key, tunnelsOnly bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case slices.Contains(s.file.Refused, kid):
		return key, false, fmt.Errorf("%w: it was revoked", wire.ErrUnknownKid)
	case kid != s.file.Kid:
		// The far end is our control plane, or TLS would not have let it in.
		return key, false, fmt.Errorf("%w: this agent was started with token %s: was it meant "+
			"for another machine, or rotated since?", wire.ErrUnknownKid, s.file.Kid)
	}
	switch {
	case s.isControlPlane(client):
		key, err = wire.KeyFromBytes(s.file.Key)
		return key, false, err
	case s.file.isIngress(client):
		key, err = wire.KeyFromBytes(s.file.Tunnels.Key)
		return key, true, err
	}
	// It was trusted in the handshake, and was replaced since.
	return key, false, fmt.Errorf("%w: the client's access was withdrawn", wire.ErrUnknownKid)
}

// credential is the token that the agent proves when it dials.
func (s *state) credential() (kid string, key wire.Key, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.file.Refused, s.file.Kid) {
		return "", key, fmt.Errorf("%w: start the agent with the node's new token", wire.ErrUnknownKid)
	}
	key, err = wire.KeyFromBytes(s.file.Key)
	return s.file.Kid, key, err
}

// Admit implements wire.Verifier.
func (s *state) Admit(_ context.Context, p wire.Peer) error {
	if p.TunnelsOnly {
		return s.currentFile().checkIngress(p)
	}
	if known, err := s.currentFile().checkPeer(p); known || err != nil {
		return err
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	f := s.currentFile()
	if known, err := f.checkPeer(p); known || err != nil {
		return err
	}
	f.Node, f.Epoch, f.SPKI = p.NodeID, p.Epoch, slices.Clone(p.SPKI[:])
	return s.storeFile(f)
}

// checkPeer decides whether a peer may connect. known is false if the peer differs from
// what is stored, which must then be stored first.
func (f stateFile) checkPeer(p wire.Peer) (known bool, err error) {
	switch {
	case p.Kid != f.Kid || slices.Contains(f.Refused, p.Kid):
		return false, wire.ErrUnknownKid
	case f.Node != "" && f.Node != p.NodeID:
		return false, fmt.Errorf("bound to node %s, asked as %s: %w", f.Node, p.NodeID,
			wire.ErrOtherNode)
	case p.Epoch < f.Epoch:
		return false, fmt.Errorf("seen epoch %d, got %d: %w", f.Epoch, p.Epoch, wire.ErrStaleEpoch)
	}
	return f.Node == p.NodeID && f.Epoch == p.Epoch && slices.Equal(f.SPKI, p.SPKI[:]), nil
}

// isIngress reports whether the control plane named this client as the ingress.
func (f stateFile) isIngress(client wire.SPKI) bool {
	return !f.Tunnels.IsEmpty() && slices.Equal(f.Tunnels.Client, client[:])
}

// checkIngress decides whether the ingress may connect. It is admitted only where the control
// plane was before, and nothing of it is stored: whoever holds its key can neither bind this
// agent nor lock the control plane out with a high epoch.
func (f stateFile) checkIngress(p wire.Peer) error {
	known, err := f.checkPeer(p)
	switch {
	case !f.isIngress(p.SPKI):
		return fmt.Errorf("%w: the ingress's access was withdrawn", wire.ErrUnknownKid)
	case known, err != nil:
		return err
	case f.Node == "":
		return fmt.Errorf("no control plane has been here yet: %w", wire.ErrOtherNode)
	}
	return nil
}

// setTunnels stores how the ingress proves itself from now on.
func (s *state) setTunnels(a wire.TunnelAccess) (changed bool, err error) {
	err = s.updateFile(func(f *stateFile) bool {
		changed = !slices.Equal(f.Tunnels.Client, a.Client) || !slices.Equal(f.Tunnels.Key, a.Key)
		f.Tunnels = a
		return changed
	})
	return changed, err
}

// highestEpoch is the highest that was ever admitted.
func (s *state) highestEpoch() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Epoch
}

// tokenStatus returns the ID of the token in use and whether it was revoked. If so, no
// control plane can connect until the agent is started with a new token.
func (s *state) tokenStatus() (kid string, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Kid, slices.Contains(s.file.Refused, s.file.Kid)
}

// refuseToken revokes a token permanently.
func (s *state) refuseToken(kid string) error {
	return s.updateFile(func(f *stateFile) bool {
		if slices.Contains(f.Refused, kid) {
			return false
		}
		f.Refused = append(slices.Clone(f.Refused), kid)
		return true
	})
}

func (s *state) setPlugins(images []wire.PluginImage) error {
	return s.updateFile(func(f *stateFile) bool {
		if slices.Equal(f.Plugins, images) {
			return false
		}
		f.Plugins = images
		return true
	})
}

// pluginImages returns the catalogue's plugin images, as the control plane last sent them.
func (s *state) pluginImages() []wire.PluginImage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.file.Plugins)
}

// seqBlock is how many events are made between two writes of Seq.
const seqBlock = 10000

// reserveSeqs makes sure that Seq stays ahead of every event's number.
func (s *state) reserveSeqs(last int64) error {
	return s.updateFile(func(f *stateFile) bool {
		if f.Seq > last {
			return false
		}
		f.Seq = last + seqBlock
		return true
	})
}

func (s *state) reservedSeq() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Seq
}
