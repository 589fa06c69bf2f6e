package lifecycle

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// buildPatience bounds how long registries may take to say what an image was built from: people
// wait for the rest.
const buildPatience = 3 * time.Second

// BuildFacts returns what a deployment runs, and why there is one. Branch, commit and age are left
// out of what no registry says in time, and without a catalogue.
func (l *Lifecycle) BuildFacts(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (f controlplane.BuildFacts, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return f, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		if f, err = tx.Deployments().GetBuildFacts(ctx, id); err != nil {
			return err
		}
		visitors, err := tx.Presence().ListOf(ctx, id)
		f.Visitors = visitors[id]
		return err
	})
	if err != nil || l.catalog == nil {
		return f, err
	}
	ctx, cancel := context.WithTimeout(ctx, buildPatience)
	defer cancel()
	var asked sync.WaitGroup
	for i := range f.Services {
		asked.Go(func() { l.addBuild(ctx, actor, &f.Services[i]) })
	}
	asked.Wait()
	return f, nil
}

func (l *Lifecycle) addBuild(
	ctx context.Context, actor access.Actor, s *controlplane.ServiceBuild,
) {
	facts, err := l.catalog.DescribeBuild(ctx, actor, s.ServiceVersion)
	if err != nil {
		l.log.DebugContext(ctx, "a build is not known", "image", s.Image, "error", err)
		return
	}
	s.Branch, s.Commit, s.BuiltAt, s.Newer = facts.Branch, facts.Commit, facts.BuiltAt, facts.Newer
	if s.Newer == s.Tag || s.TagMode != pipeline.Selectable {
		s.Newer = ""
	}
}

// BuildHeaders spells what each deployment runs in one line: "web=1.4.2@51d0e7b", service by
// service, with the first seven characters of the image's digest.
func (l *Lifecycle) BuildHeaders(
	ctx context.Context, actor access.Actor,
) (map[controlplane.DeploymentID]string, error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	out := map[controlplane.DeploymentID]string{}
	err := l.store.Read(ctx, func(tx *postgres.Tx) error {
		all, err := tx.Deployments().ListVersions(ctx)
		for id, versions := range all {
			out[id] = spellBuild(versions)
		}
		return err
	})
	return out, err
}

func spellBuild(versions []controlplane.ServiceVersion) string {
	const shown = 7
	var words []string
	for _, v := range versions {
		if v.Job {
			continue
		}
		word := string(v.Step) + "=" + v.Tag
		if digest := strings.TrimPrefix(v.Digest, "sha256:"); digest != "" {
			word += "@" + digest[:min(shown, len(digest))]
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
