package ingress

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// PassScope is what a pass opens.
type PassScope struct {
	ID string
	// Deployment is the one that is opened; empty is every one of Environment.
	Deployment  string
	Environment string
	// Guest passes open nothing that is for members only.
	Guest bool
	// Full is set if the owner of the pass may change the deployment.
	Full  bool
	Until time.Time
}

// Gatekeeper knows the passes. Its methods are called from many goroutines.
type Gatekeeper interface {
	// Holding returns what each of the hashed secrets grants access to; invalid ones are left
	// out.
	PassScopes(ctx context.Context, hashes [][sha256.Size]byte) (
		map[[sha256.Size]byte]PassScope, error)
	// Enter exchanges a sign-in code or a guest token for the secret of a pass for this host.
	// ok is false for anything else.
	RedeemCode(ctx context.Context, host, brought string) (secret string, until time.Time, ok bool,
		err error)
	// Used is called at most once a minute for each pass. It must not block.
	RecordUse(id string)
}

const (
	// checksAtOnce bounds what made-up passes cost the database.
	checksAtOnce = 8
	checkTimeout = 5 * time.Second
	// passCookie carries a pass; with TLS no other host can set it.
	passCookie       = "nullops_pass"
	securePassCookie = "__Host-" + passCookie
	// ownCookies is in the names of all our cookies.
	ownCookies = "nullops_"
	// passHeader is the robots' way.
	passHeader = "Nullops-Pass"
)

var errPassWithdrawn = errors.New("the pass was withdrawn")

// passCache caches valid passes until RecheckPasses finds that one is no longer valid.
type passCache struct {
	keeper Gatekeeper
	now    func() time.Time
	slots  chan struct{}
	known  sync.Map // hash → *heldPass
	live   sync.Map // *trackedRequest → nothing
}

// heldPass is one valid pass that a request has shown.
type heldPass struct {
	PassScope
	hash [sha256.Size]byte
	gone atomic.Bool
	used atomic.Int64
}

// trackedRequest is a running request that ends when its pass becomes invalid.
type trackedRequest struct {
	host string
	pass *heldPass // nil where none was asked for
	end  context.CancelCauseFunc
}

func newPasses(keeper Gatekeeper, now func() time.Time) *passCache {
	return &passCache{keeper: keeper, now: now, slots: make(chan struct{}, checksAtOnce)}
}

// findPass returns the first pass of a request that grants access here.
func (p *passCache) findPass(
	r *http.Request, opens func(*heldPass) bool,
) (*heldPass, error) {
	for _, secret := range passSecrets(r) {
		h, err := p.checkSecret(r.Context(), secret)
		if err != nil {
			return nil, err
		}
		if h != nil && opens(h) {
			p.recordUse(h)
			return h, nil
		}
	}
	return nil, nil
}

func (h *heldPass) grantsAccess(gate Gate, deployment, environment string) bool {
	if h.gone.Load() || h.Guest && gate == GateMembers {
		return false
	}
	if h.Deployment == "" {
		return environment != "" && h.Environment == environment
	}
	return h.Deployment == deployment
}

// checkSecret asks the gatekeeper only about secrets that are not cached as valid.
func (p *passCache) checkSecret(ctx context.Context, secret string) (*heldPass, error) {
	if p.keeper == nil {
		return nil, nil
	}
	hash := sha256.Sum256([]byte(secret))
	if known, ok := p.known.Load(hash); ok {
		if h := known.(*heldPass); p.now().Before(h.Until) {
			return h, nil
		}
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("check pass: %w", ctx.Err())
	}
	found, err := p.keeper.PassScopes(ctx, [][sha256.Size]byte{hash})
	if err != nil {
		return nil, fmt.Errorf("check pass: %w", err)
	}
	passage, ok := found[hash]
	if !ok || !p.now().Before(passage.Until) {
		return nil, nil
	}
	known, _ := p.known.LoadOrStore(hash, &heldPass{PassScope: passage, hash: hash})
	return known.(*heldPass), nil
}

func (p *passCache) recordUse(h *heldPass) {
	now, last := p.now().UnixNano(), h.used.Load()
	if now-last >= int64(time.Minute) && h.used.CompareAndSwap(last, now) {
		p.keeper.RecordUse(h.ID)
	}
}

// recheckAll checks every cached pass again, and drops those that are no longer valid.
func (p *passCache) recheckAll(ctx context.Context) error {
	var hashes [][sha256.Size]byte
	p.known.Range(func(hash, _ any) bool {
		hashes = append(hashes, hash.([sha256.Size]byte))
		return true
	})
	if len(hashes) == 0 || p.keeper == nil {
		return nil
	}
	found, err := p.keeper.PassScopes(ctx, hashes)
	if err != nil {
		return fmt.Errorf("check passes again: %w", err)
	}
	for _, hash := range hashes {
		scope, ok := found[hash]
		h, known := p.known.Load(hash)
		if !known || ok && scope.Deployment == h.(*heldPass).Deployment {
			continue
		}
		// One that opens another deployment by now is read again when it is shown again.
		p.known.Delete(hash)
		if !ok {
			h.(*heldPass).gone.Store(true)
		}
	}
	return nil
}

// passSecrets returns the secrets in a request: programs send them in a header, browsers in
// a cookie. A sibling host may have set cookies of the same name, so all are tried.
func passSecrets(r *http.Request) []string {
	var all []string
	all = append(all, r.Header[passHeader]...)
	for _, name := range []string{securePassCookie, passCookie} {
		for _, c := range r.CookiesNamed(name) {
			all = append(all, c.Value)
		}
	}
	const most = 8
	return all[:min(len(all), most)]
}

// stripPass takes our own secrets out of a request: they are not the
// application's business, and it must not be able to use them elsewhere.
func stripPass(h http.Header) {
	delete(h, passHeader)
	lines := h["Cookie"]
	for i, line := range lines {
		if strings.Contains(line, ownCookies) {
			lines[i] = removeOwnCookies(line)
		}
	}
	if len(lines) == 1 && lines[0] == "" {
		delete(h, "Cookie")
	}
}

func removeOwnCookies(line string) string {
	kept := make([]string, 0, 8)
	for part := range strings.SplitSeq(line, ";") {
		name, _, _ := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		if name != passCookie && name != securePassCookie && name != stayCookie {
			kept = append(kept, strings.TrimSpace(part))
		}
	}
	return strings.Join(kept, "; ")
}
