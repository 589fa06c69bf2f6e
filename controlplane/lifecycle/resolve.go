package lifecycle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// askAtOnce bounds the questions to registries that one person causes.
const askAtOnce = 8

// imageQuestion is one image to ask a registry for.
type imageQuestion struct {
	step  pipeline.StepKey
	image pipeline.Image
	// tag is empty for an image that goes by its digest.
	tag    string
	plugin bool
	facts  controlplane.ImageFacts
	err    error
}

// resolvedImages is what the registries answered.
type resolvedImages struct {
	versions map[pipeline.StepKey]pipeline.Version
	asked    []*imageQuestion
}

// commonArches are the architectures that every image runs on; nil when no image
// declares any.
func (r resolvedImages) commonArches() (all []string) {
	for _, q := range r.asked {
		switch {
		case len(q.facts.Arches) == 0:
		case all == nil:
			all = slices.Clone(q.facts.Arches)
		default:
			all = slices.DeleteFunc(all,
				func(a string) bool { return !slices.Contains(q.facts.Arches, a) })
		}
	}
	return all
}

// resolveVersions resolves each service's tag to a digest, and checks that the
// plugins' images exist, asking all registries at once. The service's tag rule is
// checked first. A nil result means that a check failed.
func (l *Lifecycle) resolveVersions(ctx context.Context, actor access.Actor, p pipeline.Pipeline,
	r Request, c *checks) (*resolvedImages, error) {
	out := &resolvedImages{versions: wantedVersions(p, r)}
	if _, problems := pipeline.WithVersions(p, out.versions); len(problems) > 0 {
		for _, one := range problems {
			err := c.record("version", string(one.Step), "", versionProblems([]pipeline.Problem{one}))
			if c.stop {
				err = versionProblems(problems)
			}
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	out.asked = toAsk(p, out.versions, r)
	l.askAll(ctx, actor, out.asked)
	if err := recordAnswers(out, c); err != nil || c.hasFailed("tag", "registry", "plugin") {
		return nil, err
	}
	return out, nil
}

// wantedVersions is the chosen tag of each service and job, or else the pipeline's; digests
// are filled in later.
func wantedVersions(p pipeline.Pipeline, r Request) map[pipeline.StepKey]pipeline.Version {
	all := map[pipeline.StepKey]pipeline.Version{}
	for key, tag := range r.Versions {
		all[key] = pipeline.Version{Tag: tag, Digest: unresolved}
	}
	for _, s := range p.Steps {
		c := s.Container()
		if _, ok := all[s.Key]; !ok && c != nil && c.Image.Tag != "" {
			all[s.Key] = pipeline.Version{Tag: c.Image.Tag, Digest: unresolved}
		}
	}
	return all
}

// toAsk lists what the registries are asked, each plugin's image once.
func toAsk(p pipeline.Pipeline, versions map[pipeline.StepKey]pipeline.Version,
	r Request) (all []*imageQuestion) {
	for _, key := range slices.Sorted(maps.Keys(versions)) {
		s, _ := p.Step(key)
		q := &imageQuestion{step: key, image: *s.Container().Image, tag: versions[key].Tag}
		if digest := r.Digests[key]; digest != "" {
			q.image.Digest, q.tag = digest, ""
		}
		all = append(all, q)
	}
	seen := map[string]bool{}
	for _, s := range p.Steps {
		if s.Plugin == nil || s.Plugin.Image == nil || s.Plugin.Image.Digest == "" {
			continue
		}
		i := *s.Plugin.Image
		if id := i.Registry + "/" + i.Repository + "@" + i.Digest; !seen[id] {
			seen[id] = true
			all = append(all, &imageQuestion{step: s.Key, image: i, plugin: true})
		}
	}
	return all
}

func (l *Lifecycle) askAll(ctx context.Context, actor access.Actor, all []*imageQuestion) {
	var asking sync.WaitGroup
	free := make(chan struct{}, askAtOnce)
	for _, q := range all {
		free <- struct{}{}
		asking.Go(func() {
			defer func() { <-free }()
			if q.tag == "" {
				q.facts, q.err = l.catalog.InspectPinned(ctx, actor, q.image)
			} else {
				q.facts, q.err = l.catalog.ResolveTag(ctx, actor, q.image, q.tag)
			}
		})
	}
	asking.Wait()
}

// recordAnswers records the registries' answers as checks, and fills in the digests.
func recordAnswers(r *resolvedImages, c *checks) error {
	silent := map[string]bool{}
	for _, q := range r.asked {
		id, field := "tag", "versions."+string(q.step)
		said := fmt.Sprintf("%s:%s is %s.", q.image.Repository, q.tag, q.facts.Digest)
		if q.plugin {
			id, field = "plugin", "pipeline."+string(q.step)
			said = fmt.Sprintf("The registry has %s:%s.", q.image.Repository, q.image.Tag)
		}
		if err := c.record(problemCheck(q.err, id), string(q.step), said,
			inField(field, q.err)); err != nil {
			return err
		}
		silent[q.image.Registry] = silent[q.image.Registry] || problemCheck(q.err, id) == "registry"
		if !q.plugin {
			tag := r.versions[q.step].Tag
			r.versions[q.step] = pipeline.Version{Tag: tag, Digest: q.facts.Digest}
		}
	}
	for _, host := range slices.Sorted(maps.Keys(silent)) {
		if !silent[host] {
			if err := c.record("registry", host, host+" lets us read its images.", nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPlatforms checks that a node of the environment can run each image.
func (l *Lifecycle) checkPlatforms(ctx context.Context, p plan, r resolvedImages, c *checks) error {
	if p.ask.Arches == nil {
		for _, q := range r.asked {
			c.recordUnknown("platform", string(q.step), "The image does not say what it is built for.")
		}
		return nil
	}
	nodes, err := l.enabledNodes(ctx, p.env.ID)
	if err != nil {
		return err
	}
	for _, q := range r.asked {
		if len(q.facts.Arches) == 0 {
			c.recordUnknown("platform", string(q.step), "The image does not say what it is built for.")
			continue
		}
		said := "A node can run " + strings.Join(q.facts.Arches, ", ") + "."
		if err := c.record("platform", string(q.step), said, platformError(q, nodes)); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lifecycle) enabledNodes(
	ctx context.Context, env controlplane.EnvironmentID,
) (all []Candidate, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		nodes, err := tx.Placement().ListNodes(ctx, env)
		all = slices.DeleteFunc(newCandidates(nodes), func(n Candidate) bool { return !n.Enabled })
		return err
	})
	return all, err
}

// platformError refuses an image that no node can run.
func platformError(q *imageQuestion, nodes []Candidate) error {
	var have []string
	for _, n := range nodes {
		if runsOn(n, q.facts.Arches) {
			return nil
		}
		have = append(have, n.Arch)
	}
	if len(nodes) == 0 {
		return nil
	}
	slices.Sort(have)
	field := "versions." + string(q.step)
	if q.plugin {
		field = "pipeline." + string(q.step)
	}
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "platform_missing", Field: field,
		Message: fmt.Sprintf("the image of step %s is built for %s, and the environment's nodes "+
			"are %s", q.step, strings.Join(q.facts.Arches, ", "),
			strings.Join(slices.Compact(have), ", ")),
		Remedy: "Choose another version, or build it for that processor too."}
}
