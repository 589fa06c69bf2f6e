package lifecycle_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

var system = access.System("test")

// stubCatalog is the real catalogue; only the registry behind it is made up.
type stubCatalog struct {
	*catalog.Catalog
	asked *atomic.Int64
}

func digestOf(repository, tag string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(repository+":"+tag)))
}

// ResolveTag knows every tag but "missing", and builds "arm" for another processor. The tag
// "moving" means something else each time.
func (s stubCatalog) ResolveTag(_ context.Context, _ access.Actor, image pipeline.Image,
	tag string) (controlplane.ImageFacts, error) {
	asked := s.asked.Add(1)
	facts := controlplane.ImageFacts{Digest: digestOf(image.Repository, tag)}
	switch tag {
	case "moving":
		facts.Digest = digestOf(image.Repository, fmt.Sprint(tag, asked))
	case "missing":
		return facts, &controlplane.Error{Kind: controlplane.Invalid, Code: "tag_unknown",
			Message: "there is no tag " + tag}
	case "arm":
		facts.Arches = []string{"arm64"}
	}
	return facts, nil
}

// InspectPinned finds every image.
func (stubCatalog) InspectPinned(_ context.Context, _ access.Actor,
	image pipeline.Image) (controlplane.ImageFacts, error) {
	return controlplane.ImageFacts{Digest: image.Digest}, nil
}

// rig is a lifecycle on a database of its own, with project shop, environment qa and
// one node that is online.
type rig struct {
	*lifecycle.Lifecycle
	t       *testing.T
	url     string
	store   *postgres.Store
	catalog *catalog.Catalog
	nodes   *nodes.Nodes
	node    controlplane.NodeID
	// asked counts the questions to registries.
	asked atomic.Int64

	mu sync.Mutex
	// seq is the number of the last report, ended the steps that StepEnded was told of.
	seq   int64
	ended []pipeline.StepKey
	// failAt fails the next visit of a place.
	failAt string
}

var errInjected = errors.New("the test wants this to fail")

func newRig(t *testing.T) *rig {
	t.Helper()
	t.Parallel()
	r := &rig{t: t, url: pgtest.URL(t, os.DirFS("../../migrations"))}
	r.store = pgtest.Open(t, r.url)
	keys := keyringtest.New(t, r.store)
	log := slog.New(slog.DiscardHandler)
	r.catalog = catalog.New(catalog.Config{Store: r.store, Keys: keys, Log: log})
	r.nodes = nodes.New(nodes.Config{Store: r.store, Keys: keys, AllowLoopback: true,
		IssueToken: func() (nodes.IssuedToken, error) {
			kid := string(controlplane.NewID[controlplane.NodeID]())[26:]
			return nodes.IssuedToken{Token: controlplane.NewPlain("nopa1_" + kid), Kid: kid,
				Key: bytes.Repeat([]byte{7}, 32)}, nil
		}})
	r.Lifecycle = lifecycle.New(lifecycle.Config{Store: r.store,
		Catalog:    stubCatalog{r.catalog, &r.asked},
		Keys:       keys,
		IngressURL: &url.URL{Scheme: "http", Host: "localhost:8000"}, Log: log,
		KeepRemoved: 24 * time.Hour, Failpoint: r.fail,
		StepEnded: func(s controlplane.StepRow) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ended = append(r.ended, s.Key)
		}})
	ctx := t.Context()
	r.failOnError(r.catalog.PutRegistry(ctx, system, catalog.RegistryPut{Name: "local",
		Host: "localhost:5000", Insecure: true}))
	r.failOnError(r.catalog.PutService(ctx, system, catalog.ServicePut{Name: "api", Registry: "local",
		Image: "shop/api", TagMode: pipeline.Selectable}))
	r.failOnError(r.catalog.PutEnvironment(ctx, system, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost", CleanupAfterHours: 48}))
	r.failOnError(r.catalog.PutProject(ctx, system, catalogProject("shop")))
	r.failOnError(r.catalog.SavePipeline(ctx, system, "shop", shopPipeline(), "first"))
	r.node = r.addNode("node-1", controlplane.NodeSettings{})
	return r
}

func catalogProject(name string) catalog.ProjectPut {
	return catalog.ProjectPut{Name: name, Resources: pipeline.Resources{CPU: 4, MemoryMiB: 4096}}
}

func shopPipeline() pipeline.Pipeline {
	service := func() *pipeline.ServiceStep {
		return &pipeline.ServiceStep{Name: "api",
			Ports:     []pipeline.Port{{Name: "http", Port: 8080, Expose: true}},
			Resources: pipeline.Resources{CPU: 0.1, MemoryMiB: 64},
			Ready:     &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 8080}}}
	}
	return pipeline.Pipeline{Format: 1, Steps: []pipeline.Step{
		{Key: "api", Service: service()},
		{Key: "ask", Needs: []pipeline.StepKey{"api"},
			Approval: &pipeline.ApprovalStep{Prompt: "Go on?"}},
	}}
}

func (r *rig) failOnError(_ any, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) fail(place string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if place != r.failAt {
		return nil
	}
	r.failAt = ""
	return errInjected
}

// addNode adds a node with 8 CPUs and 16 GiB, as if its agent had just connected.
func (r *rig) addNode(name string, settings controlplane.NodeSettings) controlplane.NodeID {
	r.t.Helper()
	ctx := r.t.Context()
	e, err := r.nodes.AddNode(ctx, system, nodes.Put{Name: name, Environment: "qa",
		Address: name + ".example.org:5000", Settings: settings})
	r.failOnError(e, err)
	r.failOnError(nil, r.store.InTx(ctx, func(tx *postgres.Tx) error {
		err := tx.Nodes().SetInventory(ctx, e.Node.ID, "test",
			controlplane.Inventory{Hostname: name,
				Arch: "amd64", CPU: 8, Memory: 16 << 30, Disk: 1 << 40})
		if err != nil {
			return err
		}
		print := controlplane.Thumbprint(fmt.Sprintf("%064x", []byte(name)))
		if _, err := tx.NodeTrust().Trust(ctx, e.Node.ID, print); err != nil {
			return err
		}
		_, err = tx.Nodes().Move(ctx, e.Node.ID, controlplane.NodeOnline, "")
		return err
	}))
	return e.Node.ID
}

func (r *rig) nodeGoesOffline() {
	r.t.Helper()
	r.failOnError(nil, r.store.InTx(r.t.Context(), func(tx *postgres.Tx) error {
		_, err := tx.Nodes().Move(r.t.Context(), r.node, controlplane.NodeOffline, "gone")
		return err
	}))
}

func newRequest(name string) lifecycle.Request {
	return lifecycle.Request{Name: name, Project: "shop", Environment: "qa",
		Priority: controlplane.DefaultPriority,
		Versions: map[pipeline.StepKey]string{"api": "1.0"}}
}

func (r *rig) createDeployment(name string) controlplane.Deployment {
	r.t.Helper()
	d, err := r.Create(r.t.Context(), system, newRequest(name))
	r.failOnError(nil, err)
	return d
}

func (r *rig) get(id controlplane.DeploymentID) controlplane.Deployment {
	r.t.Helper()
	d, err := r.Get(r.t.Context(), system, id)
	r.failOnError(nil, err)
	return d
}

// newReport returns the node's next report, for the deployment's current run and generation.
func (r *rig) newReport(id controlplane.DeploymentID, s controlplane.DeploymentStatus,
) lifecycle.Report {
	r.t.Helper()
	d := r.get(id)
	r.seq++
	return lifecycle.Report{Node: r.node, Seq: r.seq, Deployment: id, Generation: d.Generation,
		Run: d.RunID, At: time.Now(), Status: s}
}

func (r *rig) stepReport(id controlplane.DeploymentID, key pipeline.StepKey,
	s pipeline.StepStatus) lifecycle.Report {
	r.t.Helper()
	one := r.newReport(id, "")
	one.Step = &controlplane.StepRow{Key: key, Status: s}
	return one
}

func (r *rig) apply(all ...lifecycle.Report) {
	r.t.Helper()
	r.failOnError(nil, r.Apply(r.t.Context(), system, all...))
}

// applyStatuses has the node report one status after the other.
func (r *rig) applyStatuses(id controlplane.DeploymentID, all ...controlplane.DeploymentStatus,
) controlplane.Deployment {
	r.t.Helper()
	for _, s := range all {
		r.apply(r.newReport(id, s))
	}
	return r.get(id)
}

func (r *rig) removeDeployment(id controlplane.DeploymentID) controlplane.Deployment {
	r.t.Helper()
	d, err := r.Remove(r.t.Context(), system, id)
	r.failOnError(nil, err)
	return d
}

func (r *rig) stepStatuses(id controlplane.DeploymentID) map[pipeline.StepKey]pipeline.StepStatus {
	r.t.Helper()
	of := map[pipeline.StepKey]pipeline.StepStatus{}
	r.failOnError(nil, r.store.Read(r.t.Context(), func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Get(r.t.Context(), id)
		if err != nil {
			return err
		}
		all, err := tx.Steps().ListOf(r.t.Context(), d.RunID)
		for _, s := range all {
			of[s.Key] = s.Status
		}
		return err
	}))
	return of
}

// newProjectUser returns a user with a grant on the project; LevelNone means without one.
func (r *rig) newProjectUser(name string, level controlplane.Level) access.Actor {
	r.t.Helper()
	id := pgtest.QueryValue[string](r.t, r.url, "SELECT id::text FROM projects WHERE name = 'shop'")
	var grants []controlplane.Grant
	if level != controlplane.LevelNone {
		grants = []controlplane.Grant{{Project: controlplane.ProjectID(id), Level: level}}
	}
	return access.User(controlplane.User{ID: controlplane.NewID[controlplane.UserID](), Name: name,
		Role: controlplane.RoleUser, Active: true}, grants)
}

func (r *rig) queryCount(sql string, args ...any) int64 {
	r.t.Helper()
	return pgtest.QueryValue[int64](r.t, r.url, sql, args...)
}
