package wiretest

import (
	"context"
	"fmt"
	"sync"

	"github.com/nullops/nullops/agent/wire"
)

// MemoryVerifier is a wire.Verifier that forgets everything with the process. It
// keeps the contract otherwise.
type MemoryVerifier struct {
	mu      sync.Mutex
	tokens  []wire.Token
	refused map[string]bool
	node    string
	epoch   uint64
}

var _ wire.Verifier = (*MemoryVerifier)(nil)

// NewMemoryVerifier knows the given tokens, and is bound to no node yet.
func NewMemoryVerifier(tokens ...wire.Token) *MemoryVerifier {
	return &MemoryVerifier{tokens: tokens, refused: map[string]bool{}}
}

// RevokeToken revokes a token. Cut its connections afterwards.
func (m *MemoryVerifier) RevokeToken(kid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused[kid] = true
}

// AddToken makes one more token known, as a reconfigured agent would.
func (m *MemoryVerifier) AddToken(t wire.Token) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens = append(m.tokens, t)
}

// BoundNode is the node id of the first admitted control plane, and the highest
// epoch seen.
func (m *MemoryVerifier) BoundNode() (node string, epoch uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node, m.epoch
}

// Trusts implements wire.Verifier.
func (m *MemoryVerifier) Trusts(key wire.SPKI) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tokens {
		if t.MadeBy(key) {
			return true
		}
	}
	return false
}

// Key implements wire.Verifier.
func (m *MemoryVerifier) Key(kid string, _ wire.SPKI) (key wire.Key, tunnelsOnly bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tokens {
		if t.Kid == kid && !m.refused[kid] {
			return t.Key(), false, nil
		}
	}
	return wire.Key{}, false, wire.ErrUnknownKid
}

// Admit implements wire.Verifier.
func (m *MemoryVerifier) Admit(_ context.Context, p wire.Peer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.refused[p.Kid]:
		return wire.ErrUnknownKid
	case m.node != "" && m.node != p.NodeID:
		return fmt.Errorf("bound to %s, asked as %s: %w", m.node, p.NodeID, wire.ErrOtherNode)
	case p.Epoch < m.epoch:
		return fmt.Errorf("seen %d, got %d: %w", m.epoch, p.Epoch, wire.ErrStaleEpoch)
	}
	m.node, m.epoch = p.NodeID, p.Epoch
	return nil
}
