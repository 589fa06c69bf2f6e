package server

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/ingress"
)

const (
	// aboutLife is how old what /.nullops/ says may be: a page that a test runner asks for with
	// each test must not ask the database each time.
	aboutLife = 5 * time.Second
	// mostAbout bounds the memory of what was asked for.
	mostAbout = 1000
)

// aboutSource says what deployments run, for the ingress's own pages.
type aboutSource struct {
	lifecycle *lifecycle.Lifecycle

	mu    sync.Mutex
	known map[string]knownAbout
}

type knownAbout struct {
	about ingress.About
	at    time.Time
}

func (s *aboutSource) read(ctx context.Context, r ingress.Route) (ingress.About, error) {
	s.mu.Lock()
	have, ok := s.known[r.DeploymentID]
	s.mu.Unlock()
	if ok && time.Since(have.at) < aboutLife {
		return have.copy(), nil
	}
	f, err := s.lifecycle.BuildFacts(ctx, ingressTask, controlplane.DeploymentID(r.DeploymentID))
	if err != nil {
		return ingress.About{}, err
	}
	have = knownAbout{about: toAbout(f), at: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) > mostAbout {
		s.known = map[string]knownAbout{}
	}
	s.known[r.DeploymentID] = have
	return have.copy(), nil
}

// copy returns what the ingress may change: it marks the service of the host.
func (k knownAbout) copy() ingress.About {
	out := k.about
	out.Services = append([]ingress.AboutService{}, k.about.Services...)
	if k.about.Why != nil {
		why := *k.about.Why
		out.Why = &why
	}
	return out
}

func toAbout(f controlplane.BuildFacts) ingress.About {
	out := ingress.About{Deployment: f.Name, Project: f.Project, Environment: f.Environment,
		CreatedBy: f.CreatedBy, CreatedAt: f.CreatedAt, ExpiresAt: f.ExpiresAt,
		PipelineVersion: f.PipelineVersion, Run: f.Run}
	if r := f.Review; r != nil {
		out.Why = &ingress.AboutReview{Title: r.Title, Number: r.Number, Link: r.Link,
			Branch: r.Branch, Commit: r.Commit}
	}
	if v := f.Verdict; v != nil {
		out.Verdict = &ingress.AboutVerdict{Outcome: string(v.Outcome), By: v.Author, At: v.At}
	}
	for _, s := range f.Services {
		out.Services = append(out.Services, ingress.AboutService{Service: string(s.Step),
			Image: s.Image, Tag: s.Tag, Digest: s.Digest, Branch: s.Branch, Commit: s.Commit,
			BuiltAt: s.BuiltAt, Newer: s.Newer})
	}
	for _, v := range f.Visitors {
		out.Visitors = append(out.Visitors, ingress.AboutVisitor{Kind: string(v.Kind), Name: v.Name,
			Visitors: v.Visitors, LastSeen: v.LastSeen})
	}
	return out
}

// unreserved reports for which services the ingress keeps nothing of /.nullops/ but what its gate
// needs: "service" in every project, "project/service" in one.
func (s IngressSettings) unreserved() func(ingress.Route) bool {
	named := map[string]bool{}
	for name := range strings.SplitSeq(s.Unreserved, ",") {
		if name = strings.TrimSpace(name); name != "" {
			named[name] = true
		}
	}
	if len(named) == 0 {
		return nil
	}
	return func(r ingress.Route) bool { return named[r.Service] || named[r.Project+"/"+r.Service] }
}
