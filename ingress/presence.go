package ingress

import (
	"hash/maphash"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// presenceEvery is how often one visitor of a deployment is reported at most.
	presenceEvery = 10 * time.Second
	// presenceFor is how long after their last request a visitor without a pass is counted.
	presenceFor = 5 * time.Minute
	// mostPresent bounds the memory of one deployment's visitors. More are counted as that many.
	mostPresent = 1000
)

// Presence says that somebody made a request of a deployment just now. It never says which.
type Presence struct {
	DeploymentID string
	// PassID is whose pass it was. Where none is asked for it is empty, and Visitors says how many
	// made a request within the last five minutes.
	PassID   string
	Visitors int
}

// presenceReports remembers who is at each deployment, in memory only.
type presenceReports struct {
	tell func(Presence)
	seed maphash.Seed
	all  sync.Map // deployment id → *present
}

func newPresenceReports(tell func(Presence)) *presenceReports {
	if tell == nil {
		return nil
	}
	return &presenceReports{tell: tell, seed: maphash.MakeSeed()}
}

// present has the times at which one deployment's visitors were reported, or counted.
type present struct {
	mu     sync.Mutex
	passes map[string]time.Time
	// unknown are visitors without a pass, by a hash of address and program that only this
	// process can make.
	unknown map[uint64]time.Time
	counted time.Time
}

func (p *presenceReports) visitorsAt(deploymentID string) *present {
	if p == nil {
		return nil
	}
	known, _ := p.all.LoadOrStore(deploymentID,
		&present{passes: map[string]time.Time{}, unknown: map[uint64]time.Time{}})
	return known.(*present)
}

// recordVisitor reports a visitor unless they were reported a moment ago.
func (p *presenceReports) recordVisitor(
	deploymentID string, at *present, pass *heldPass, r *http.Request, now time.Time,
) {
	if p == nil {
		return
	}
	news, ok := Presence{}, false
	if pass != nil {
		news, ok = at.seePass(pass.ID, now)
	} else {
		news, ok = at.seeUnknown(p.hashVisitor(r), now)
	}
	if ok {
		news.DeploymentID = deploymentID
		p.tell(news)
	}
}

// hashVisitor tells visitors without a pass apart: by their address, and by what they visit with.
func (p *presenceReports) hashVisitor(r *http.Request) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	_, _ = h.WriteString(r.RemoteAddr[:max(strings.LastIndexByte(r.RemoteAddr, ':'), 0)])
	for _, program := range r.Header["User-Agent"] {
		_, _ = h.WriteString("\n" + program)
	}
	return h.Sum64()
}

func (a *present) seePass(id string, now time.Time) (news Presence, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.passes[id]) < presenceEvery {
		return news, false
	}
	makeRoom(a.passes, now)
	a.passes[id] = now
	return Presence{PassID: id}, true
}

func (a *present) seeUnknown(visitor uint64, now time.Time) (news Presence, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.unknown[visitor]; known || len(a.unknown) < mostPresent {
		a.unknown[visitor] = now
	}
	if now.Sub(a.counted) < presenceEvery {
		return news, false
	}
	makeRoom(a.unknown, now)
	a.counted = now
	return Presence{Visitors: len(a.unknown)}, true
}

// makeRoom forgets those who left, and everybody if those who are there are too many.
func makeRoom[K comparable](all map[K]time.Time, now time.Time) {
	for k, at := range all {
		if now.Sub(at) >= presenceFor {
			delete(all, k)
		}
	}
	if len(all) > mostPresent {
		clear(all)
	}
}

// forgetUnused drops deployments that no route uses now.
func (p *presenceReports) forgetUnused(used map[string]bool) {
	if p == nil {
		return
	}
	p.all.Range(func(id, _ any) bool {
		if !used[id.(string)] {
			p.all.Delete(id)
		}
		return true
	})
}
