package dummy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Runtime is the engine. Make it with New.
type Runtime struct {
	mu      sync.Mutex
	objects map[string]*object
	images  map[string]bool
	mails   map[string]chan net.Conn
	ledger  []string
	knobs   Hooks
	watch   []chan struct{}
	nextID  int
}

var (
	_ agent.Runtime         = (*Runtime)(nil)
	_ agent.ServicePreparer = (*Runtime)(nil)
	_ agent.MailCatcher     = (*Runtime)(nil)
)

// object is one thing, by its deterministic name.
type object struct {
	agent.Object
	service *agent.ServiceSpec
	lines   []string
	exit    int
}

// Hooks bend the engine. Every nil one is the honest behaviour. They are
// called without any lock, perhaps concurrently.
type Hooks struct {
	// Fail may make a call fail before it does anything. Op is the method's
	// name; subject the deployment, step or image.
	Fail func(op, subject string) error
	// Lose may make a call fail after it did everything: a lost answer.
	Lose func(op, subject string) error
	// Plugin is what plugins do; by default they succeed without outputs.
	Plugin func(ctx context.Context, p agent.PluginSpec, stdin []byte,
		line func(string)) agent.PluginResult
	// Health is the result of probes; by default a running service is healthy. Without
	// StartedAt it has been up for years, so that no start-up observation is needed.
	Health func(s agent.ServiceSpec) agent.ProbeResult
	// Serve answers a connection to a service; by default it echoes.
	Serve func(deployment string, service pipeline.StepKey, port int, conn net.Conn)
	// Files are those of an ended container; by default there are none.
	Files func(deployment string, step pipeline.StepKey, pattern string) []agent.ContainerFile
	// Left are objects that RemoveDeployment cannot remove.
	Left func(deployment string) []agent.Object
}

// New makes an empty engine.
func New(k Hooks) *Runtime {
	return &Runtime{objects: map[string]*object{}, images: map[string]bool{},
		mails: map[string]chan net.Conn{}, knobs: k}
}

// SetHooks replaces the knobs.
func (r *Runtime) SetHooks(k Hooks) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.knobs = k
}

func (r *Runtime) currentKnobs() Hooks {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.knobs
}

// callWithKnobs wraps what a method does with the knobs that fail it.
func (r *Runtime) callWithKnobs(ctx context.Context, op, subject string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", op, subject, err)
	}
	k := r.currentKnobs()
	if k.Fail != nil {
		if err := k.Fail(op, subject); err != nil {
			return fmt.Errorf("%s %s: %w", op, subject, err)
		}
	}
	if err := do(); err != nil {
		return fmt.Errorf("%s %s: %w", op, subject, err)
	}
	if k.Lose != nil {
		if err := k.Lose(op, subject); err != nil {
			return fmt.Errorf("%s %s: %w", op, subject, err)
		}
	}
	return nil
}

// OperationLog lists what ran, in order: "start web", "create db", "delete db".
func (r *Runtime) OperationLog() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ledger)
}

// CrashService stops a service's container, as a crash of its process does.
func (r *Runtime) CrashService(deployment string, service pipeline.StepKey, exit int) {
	r.mu.Lock()
	if o := r.objects[serviceName(deployment, service)]; o != nil {
		o.Running, o.exit = false, exit
	}
	r.mu.Unlock()
	r.notifyWatchers()
}

// RemoveAllObjects removes every object of a deployment, as a stranger with a shell does.
func (r *Runtime) RemoveAllObjects(deployment string) {
	r.mu.Lock()
	for name, o := range r.objects {
		if o.Deployment == deployment {
			delete(r.objects, name)
		}
	}
	r.mu.Unlock()
	r.notifyWatchers()
}

// AppendLog adds a line to a service's log.
func (r *Runtime) AppendLog(deployment string, service pipeline.StepKey, line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.objects[serviceName(deployment, service)]; o != nil {
		o.lines = append(o.lines, time.Now().UTC().Format(time.RFC3339Nano)+" "+line)
	}
}

// Service returns what a service's container was made from.
func (r *Runtime) Service(deployment string, key pipeline.StepKey) (agent.ServiceSpec, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.objects[serviceName(deployment, key)]
	if o == nil || o.service == nil {
		return agent.ServiceSpec{}, false
	}
	return *o.service, true
}

func (r *Runtime) notifyWatchers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.watch {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// Inventory implements agent.Runtime.
func (r *Runtime) Inventory(ctx context.Context) (inv wire.Inventory, err error) {
	err = r.callWithKnobs(ctx, "inventory", "node", func() error {
		inv = wire.Inventory{Hostname: "dummy", OS: "none", Arch: "none", EngineVersion: "dummy",
			APIVersion: "1", CPU: 8, Memory: 16 << 30, Disk: 100 << 30, Subnets: 200}
		return nil
	})
	return inv, err
}

// List implements agent.Runtime.
func (r *Runtime) List(ctx context.Context) (all []agent.Object, err error) {
	err = r.callWithKnobs(ctx, "list", "objects", func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, name := range slices.Sorted(maps.Keys(r.objects)) {
			all = append(all, r.objects[name].Object)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Prepare implements agent.Runtime.
func (r *Runtime) Prepare(ctx context.Context, deployment string) error {
	return r.callWithKnobs(ctx, "prepare", deployment, func() error {
		r.putObject(agent.Object{Kind: agent.KindNetwork, Deployment: deployment})
		r.putObject(agent.Object{Kind: agent.KindRelay, Deployment: deployment, Running: true})
		return nil
	})
}

// putObject adds an object, or returns the one that is there.
func (r *Runtime) putObject(o agent.Object) *object {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Name = nameOf(o)
	if there := r.objects[o.Name]; there != nil {
		there.Running = there.Running || o.Running
		return there
	}
	r.nextID++
	o.ID = fmt.Sprintf("id-%d", r.nextID)
	made := &object{Object: o}
	r.objects[o.Name] = made
	return made
}

func nameOf(o agent.Object) string {
	name := o.Deployment + "-" + string(o.Kind)
	if o.Step != "" {
		name += "-" + string(o.Step)
	}
	if o.Spec != "" && o.Kind != agent.KindService {
		name += "-" + o.Spec
	}
	return name
}

func serviceName(deployment string, key pipeline.StepKey) string {
	return nameOf(agent.Object{Kind: agent.KindService, Deployment: deployment, Step: key})
}

// Pull implements agent.Runtime.
func (r *Runtime) Pull(ctx context.Context, image pipeline.Image, _ *wire.RegistryAuth,
	progress func(agent.PullProgress),
) error {
	name := image.Repository + "@" + image.Digest
	return r.callWithKnobs(ctx, "pull", image.Repository, func() error {
		if progress != nil {
			progress(agent.PullProgress{Done: 1, Total: 1, LayersDone: 1, Layers: 1})
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.images[name] = true
		return nil
	})
}

// HasImage implements agent.Runtime.
func (r *Runtime) HasImage(ctx context.Context, image pipeline.Image) (bool, error) {
	here := false
	err := r.callWithKnobs(ctx, "present", image.Repository, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		here = r.images[image.Repository+"@"+image.Digest]
		return nil
	})
	return here, err
}

// StartService implements agent.Runtime.
func (r *Runtime) StartService(ctx context.Context, s agent.ServiceSpec) error {
	return r.callWithKnobs(ctx, "start", string(s.Step), func() error {
		if r.findNetwork(s.Deployment) == nil {
			return errors.New("the deployment's network does not exist")
		}
		for _, v := range s.Volumes {
			name := agent.NameVolume(s.Deployment, s.Step, v)
			r.putObject(agent.Object{Kind: agent.KindVolume, Deployment: s.Deployment, Step: name.Service,
				Spec: name.Name})
		}
		if there, ok := r.Service(s.Deployment, s.Step); ok && s.Once && there.Run == s.Run {
			return nil
		}
		o := r.putObject(agent.Object{Kind: agent.KindService, Deployment: s.Deployment, Run: s.Run,
			Step: s.Step, Running: true})
		r.mu.Lock()
		defer r.mu.Unlock()
		o.service, o.exit, o.Waiting = &s, 0, false
		o.lines = append(o.lines, time.Now().UTC().Format(time.RFC3339Nano)+" started")
		r.ledger = append(r.ledger, "start "+string(s.Step))
		return nil
	})
}

func (r *Runtime) findNetwork(deployment string) *object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[nameOf(agent.Object{Kind: agent.KindNetwork, Deployment: deployment})]
}

// StopService implements agent.Runtime.
func (r *Runtime) StopService(
	ctx context.Context, deployment string, service pipeline.StepKey,
) (ran bool, err error) {
	err = r.callWithKnobs(ctx, "stop", string(service), func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if o := r.objects[serviceName(deployment, service)]; o != nil && o.Running {
			o.Running, ran = false, true
			r.ledger = append(r.ledger, "stop "+string(service))
		}
		return nil
	})
	r.notifyWatchers()
	return ran, err
}

// Probe implements agent.Runtime.
func (r *Runtime) Probe(ctx context.Context, s agent.ServiceSpec) (p agent.ProbeResult, err error) {
	err = r.callWithKnobs(ctx, "probe", string(s.Step), func() error {
		r.mu.Lock()
		o := r.objects[serviceName(s.Deployment, s.Step)]
		ended := o == nil || !o.Running
		code := 0
		if o != nil {
			code = o.exit
		}
		r.mu.Unlock()
		if o == nil && s.Once {
			return agent.ErrNotFound
		}
		switch k := r.currentKnobs(); {
		case ended:
			p = agent.ProbeResult{Health: wire.HealthStopped, Ended: true, ExitCode: code}
		case k.Health != nil:
			p = k.Health(s)
		default:
			p = agent.ProbeResult{Health: wire.HealthHealthy}
		}
		if !p.Ended && p.StartedAt.IsZero() {
			p.StartedAt = time.Unix(0, 0)
		}
		return nil
	})
	return p, err
}

// Remove implements agent.Runtime.
func (r *Runtime) Remove(ctx context.Context, o agent.Object) error {
	return r.callWithKnobs(ctx, "remove", o.Name, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.objects, o.Name)
		return nil
	})
}

// RemoveDeployment implements agent.Runtime.
func (r *Runtime) RemoveDeployment(
	ctx context.Context, deployment string,
) (left []agent.Object, err error) {
	err = r.callWithKnobs(ctx, "remove_deployment", deployment, func() error {
		if k := r.currentKnobs(); k.Left != nil {
			left = k.Left(deployment)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for name, o := range r.objects {
			stays := slices.ContainsFunc(left, func(l agent.Object) bool { return l.Name == name })
			if o.Deployment == deployment && !stays {
				delete(r.objects, name)
			}
		}
		delete(r.mails, deployment)
		return nil
	})
	return left, err
}

// Logs implements agent.Runtime. Following ends with the context.
func (r *Runtime) Logs(ctx context.Context, deployment string, service pipeline.StepKey,
	o agent.LogOptions,
) (io.ReadCloser, error) {
	var lines []string
	err := r.callWithKnobs(ctx, "logs", string(service), func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		there := r.objects[serviceName(deployment, service)]
		if there == nil {
			return agent.ErrNotFound
		}
		lines = slices.Clone(there.lines)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if o.Tail > 0 && len(lines) > o.Tail {
		lines = lines[len(lines)-o.Tail:]
	}
	text := strings.Join(lines, "\n")
	if text != "" {
		text += "\n"
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

// ExecInService implements agent.Runtime: there is nothing to be inside of.
func (r *Runtime) ExecInService(ctx context.Context, _ string, service pipeline.StepKey,
) (io.ReadWriteCloser, error) {
	err := r.callWithKnobs(ctx, "inside", string(service), func() error { return nil })
	return nil, errors.Join(err, errors.New("this node has no containers"))
}

// Vitals implements agent.Runtime.
func (r *Runtime) Vitals(
	ctx context.Context, services []agent.ServiceSpec,
) (v wire.Vitals, err error) {
	err = r.callWithKnobs(ctx, "vitals", "node", func() error {
		v = wire.Vitals{At: time.Now(), CPU: 0.1, MemoryUsed: 1 << 30, DiskFree: 50 << 30}
		for _, s := range services {
			v.Services = append(v.Services, wire.ServiceVitals{Deployment: s.Deployment,
				Step: s.Step, Health: wire.HealthHealthy, Memory: 1 << 20})
		}
		return nil
	})
	return v, err
}

// WatchChanges implements agent.Runtime.
func (r *Runtime) WatchChanges(ctx context.Context) <-chan struct{} {
	hints := make(chan struct{}, 1)
	out := make(chan struct{}, 1)
	r.mu.Lock()
	r.watch = append(r.watch, hints)
	r.mu.Unlock()
	go func() {
		defer close(out)
		for {
			select {
			case <-hints:
			case <-ctx.Done():
				return
			}
			select {
			case out <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}
