package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
)

// damagedAgent is an agent that ends, and starts again on what was done to its folder.
type damagedAgent struct {
	rig    *rig
	dir    string
	engine *dummy.Runtime
	// removals are what the engine was asked to stop or remove, lists how often it was asked for all
	// that there is.
	mu       sync.Mutex
	removals []string
	lists    atomic.Int64
	pipes    *wiretest.PipeListener
	stop     func()
}

func (r *rig) newDamagedAgent() *damagedAgent {
	a := &damagedAgent{rig: r, dir: r.t.TempDir()}
	a.engine = dummy.New(dummy.Hooks{Fail: func(op, subject string) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		switch op {
		case "list":
			a.lists.Add(1)
		case "remove", "remove_deployment", "stop":
			a.removals = append(a.removals, op+" "+subject)
		}
		return nil
	}})
	r.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		a.mu.Lock()
		pipes := a.pipes
		a.mu.Unlock()
		return pipes.Dial(ctx, network, address)
	}
	r.secrets, r.usage, r.journal = noSecrets{}, noUsage{}, noJournal{}
	a.start(a.engine, r.agent.Token)
	return a
}

// start runs the agent until stop is called or the test ends.
func (a *damagedAgent) start(engine agent.Runtime, token wire.Token) {
	a.rig.t.Helper()
	pipes := wiretest.NewPipeListener()
	one, err := agent.New(agent.Config{Data: a.dir, Token: &token, Build: "dev", Listener: pipes,
		Log: slog.New(slog.DiscardHandler), ListEvery: 100 * time.Millisecond,
		InventoryEvery: 100 * time.Millisecond}, engine)
	if err != nil {
		a.rig.t.Fatal(err)
	}
	a.mu.Lock()
	a.pipes = pipes
	a.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- one.Run(ctx) }()
	a.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			a.rig.t.Errorf("the agent ended with: %v", err)
		}
	})
	a.rig.t.Cleanup(a.stop)
}

// damage is done to a folder while its agent is stopped. Another is the folder of the agent of
// another installation.
type damage struct {
	do func(t *testing.T, dir, another string)
	// check: the node's check of the data folder tells of it.
	check bool
	// unknown: people have to decide about what the database does not know.
	unknown bool
}

func damages() map[string]damage {
	change := func(name string, change func([]byte) []byte) func(*testing.T, string, string) {
		return func(t *testing.T, dir, _ string) {
			rewriteFile(t, filepath.Join(dir, name), change)
		}
	}
	flip := func(data []byte) []byte { data[len(data)/2] ^= 4; return data }
	empty := func([]byte) []byte { return nil }
	from := func(names ...string) func(*testing.T, string, string) {
		return func(t *testing.T, dir, another string) {
			for _, name := range names {
				text, err := os.ReadFile(filepath.Join(another, name))
				if err != nil {
					t.Fatal(err)
				}
				rewriteFile(t, filepath.Join(dir, name), func([]byte) []byte { return text })
			}
		}
	}
	return map[string]damage{
		"a bit of the journal":         {do: change("journal", flip), check: true},
		"an empty journal":             {do: change("journal", empty), check: true},
		"a bit of the state":           {do: change("state.json", flip), check: true},
		"an empty state":               {do: change("state.json", empty), check: true},
		"the state of another agent":   {do: from("state.json")},
		"a bit of the list of images":  {do: change("images.json", flip), check: true},
		"the journal of another agent": {do: from("journal"), unknown: true},
		"all but the identity of another": {do: from("journal", "journal.mark", "state.json"),
			unknown: true},
		"nothing but the identity": {do: func(t *testing.T, dir, _ string) {
			for _, name := range []string{"journal", "journal.mark", "state.json", "images.json"} {
				err := os.Remove(filepath.Join(dir, name))
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
		}},
	}
}

func rewriteFile(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(bytes.Clone(data)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The files of an agent are damaged, emptied, or those of another installation. Whatever it then
// reports, nothing is removed, from the engine or from the database, and its node says what is
// wrong and what to do.
//
// fault: F22
func TestLink_DamagedAgentRemovesNothing(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	another := makeFolder(t)
	for name, d := range damages() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			a := r.newDamagedAgent()
			r.start("a")
			r.waitUntilOnline()
			created := r.createDeployment("d")
			r.waitUntil(30*time.Second, "it is ready", r.isReady(created))
			before := a.objects()
			a.stop()
			r.waitUntil(30*time.Second, "the node is offline", r.isNode("offline"))
			d.do(t, a.dir, another)
			a.start(a.engine, r.agent.Token)
			a.settle(d)
			a.checkKept(created, before)
		})
	}
}

// makeFolder returns the folder of an agent of another installation, which has a deployment.
func makeFolder(t *testing.T) string {
	t.Helper()
	kept := t.TempDir()
	t.Run("another installation", func(t *testing.T) {
		r := newRigOn(t, pgtest.URL(t, os.DirFS("../../migrations")))
		a := r.newDamagedAgent()
		r.start("a")
		r.waitUntilOnline()
		created := r.createDeployment("another")
		r.waitUntil(30*time.Second, "it is ready", r.isReady(created))
		a.stop()
		if err := os.CopyFS(kept, os.DirFS(a.dir)); err != nil {
			t.Fatal(err)
		}
	})
	return kept
}

// objects are the names of all that is on the engine.
func (a *damagedAgent) objects() (names []string) {
	a.rig.t.Helper()
	all, err := a.engine.List(a.rig.t.Context())
	if err != nil {
		a.rig.t.Fatal(err)
	}
	for _, o := range all {
		names = append(names, o.Name)
	}
	return names
}

// settle waits until the agent is connected, has said what is wrong, and has compared the engine
// with what it knows several times.
func (a *damagedAgent) settle(d damage) {
	r := a.rig
	r.t.Helper()
	r.waitUntil(30*time.Second, "the node is online", r.isNode("online"))
	seen := a.lists.Load()
	r.waitUntil(30*time.Second, "the agent looks at its engine", func() bool {
		return a.lists.Load() > seen+10
	})
	if d.check {
		r.waitUntil(30*time.Second, "the node's check names the file and a remedy", func() bool {
			n := a.node()
			return n.Inventory != nil && slices.ContainsFunc(n.Inventory.Checks, a.names)
		})
	}
	if d.unknown {
		r.waitUntil(30*time.Second, "people are asked", func() bool { return len(a.unknown()) > 0 })
	}
}

// names reports whether a check names damaged files of the agent's folder, and what to do.
func (a *damagedAgent) names(c controlplane.Check) bool {
	return c.ID == "data-folder" && c.Severity == controlplane.SeverityWarning &&
		strings.Contains(c.Detail, a.dir) && strings.Contains(c.Remedy, "remove these files")
}

func (a *damagedAgent) node() controlplane.Node {
	a.rig.t.Helper()
	all, _, err := a.rig.nodes.ListNodes(a.rig.t.Context(), system, controlplane.Page{Limit: 10})
	if err != nil || len(all) != 1 {
		a.rig.t.Fatalf("%d nodes, %v", len(all), err)
	}
	return all[0]
}

func (a *damagedAgent) unknown() []controlplane.UnknownDeployment {
	a.rig.t.Helper()
	all, err := a.rig.lifecycle.ListUnknown(a.rig.t.Context(), system, "n")
	if err != nil {
		a.rig.t.Fatal(err)
	}
	return all
}

// checkKept looks for anything that was removed, or is called so.
func (a *damagedAgent) checkKept(d controlplane.Deployment, before []string) {
	r := a.rig
	r.t.Helper()
	if now := r.get(d.ID); now.Status != controlplane.Ready || now.RunID != d.RunID {
		r.t.Errorf("the deployment is %s in run %s: %s", now.Status, now.RunID, now.Detail)
	}
	a.checkRemovals()
	// What the agent of another installation remembers may be there too.
	mine := slices.DeleteFunc(a.objects(), func(name string) bool {
		return !strings.Contains(name, string(d.ID))
	})
	if !slices.Equal(mine, before) {
		r.t.Errorf("on the engine there were %q, and are %q", before, mine)
	}
	if ran := a.engine.OperationLog(); !slices.Equal(ran, []string{"start api"}) {
		r.t.Errorf("on the node ran %q", ran)
	}
}

// checkRemovals looks whether the engine was asked to stop or remove anything.
func (a *damagedAgent) checkRemovals() {
	a.rig.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.removals) > 0 {
		a.rig.t.Errorf("the engine was asked to %q", a.removals)
	}
}

// strangeEngine says that the machine has nothing.
type strangeEngine struct{ *dummy.Runtime }

func (strangeEngine) Inventory(context.Context) (wire.Inventory, error) {
	return wire.Inventory{Hostname: "?"}, nil
}

// An agent finds an engine without anything, on a machine without a processor or memory. Its
// deployment stays, and is started there again.
func TestLink_EmptyEngineRemovesNothing(t *testing.T) {
	r := newRig(t)
	a := r.newDamagedAgent()
	r.start("a")
	r.waitUntilOnline()
	d := r.createDeployment("d")
	r.waitUntil(30*time.Second, "it is ready", r.isReady(d))
	before := a.objects()
	a.stop()
	r.waitUntil(30*time.Second, "the node is offline", r.isNode("offline"))
	a.engine.RemoveAllObjects(string(d.ID))
	a.start(strangeEngine{a.engine}, r.agent.Token)
	r.waitUntil(30*time.Second, "its service is started again", func() bool {
		return slices.Equal(a.objects(), before)
	})
	a.settle(damage{})
	if now := r.get(d.ID); now.Status != controlplane.Ready || now.RunID != d.RunID {
		t.Errorf("the deployment is %s in run %s: %s", now.Status, now.RunID, now.Detail)
	}
	if n := a.node(); n.Deployments != 1 {
		t.Errorf("the node has %d deployments", n.Deployments)
	}
	a.checkRemovals()
}
