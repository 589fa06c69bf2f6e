package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/internal/failpoint"
)

// Config is what New needs. Install and Helper are required.
type Config struct {
	// Kubeconfig is a file; empty means the credentials of the agent's own pod.
	Kubeconfig string
	// Install distinguishes this installation's objects from those of others.
	Install string
	// Prefix begins the name of every namespace; default nullops.
	Prefix string
	// Helper is an image with the helper at /app/sidecar, such as the agent's own.
	Helper string
	// PullSecrets is a folder with credentials of the helper's registry, in files as a Secret of
	// Kubernetes has them; empty means that machines may pull it without.
	PullSecrets string
	// MachineSelector limits pods to machines with these labels.
	MachineSelector map[string]string
	// StorageClass is that of volumes; empty means the cluster's default.
	StorageClass string
	// VolumeSize is what a volume asks for, since steps name no size; default 10Gi.
	VolumeSize string
	// GPUResource is what the cluster calls one GPU; default nvidia.com/gpu.
	GPUResource string
	// AgentNamespace is that of the agent's pod, whose pods the network policies admit.
	AgentNamespace string
	// Holder names this agent in its Lease: the name of its pod. Default: the host's name.
	Holder string
	// Lost is called when another agent of this installation has taken over: this process must end.
	// Nil means that the agent holds no Lease, as outside a cluster.
	Lost func(error)
	// Admit are addresses that the agent dials from when it runs outside the cluster.
	Admit []netip.Prefix
	// LostAfter is how long the pods of a machine that does not answer are waited for before the
	// cluster makes new ones elsewhere; default one minute.
	LostAfter time.Duration
	// StopGrace is how long a service may take to end after SIGTERM before it is killed;
	// default 10 seconds, negative means not at all. Kubernetes counts whole seconds.
	StopGrace time.Duration
	// Failpoint is for tests only.
	Failpoint failpoint.Hook
	// CheckCluster is asked, before anything is created, whether the cluster with this id is the one
	// that this installation has worked with so far. Nil means that any cluster will do.
	CheckCluster func(id string) error
	// Log receives what is not returned to a caller. Nil means slog's default.
	Log *slog.Logger
}

// Kubernetes is a Runtime on one cluster. Its methods are those of its parts.
type Kubernetes struct {
	*base
	*rights
	*namespaces
	*mailPorts
	*images
	*services
	*volumes
	*probes
	*plugins
	*objects
	*inventory
	*isolation
	*vitals
	*changes
	lease *lease
}

// base is what all parts use.
type base struct {
	*cluster
	config Config
	names  nameScheme
	log    *slog.Logger
	// sweeps are removals in the background.
	sweeps       *sweeps
	pluginLeases *pluginLeases
}

var (
	_ agent.Runtime         = (*Kubernetes)(nil)
	_ agent.MachineReleaser = (*Kubernetes)(nil)
)

// New connects to the cluster. A right that is missing is an error, and so is a setting to
// correct; an API server that does not answer is none, since services can be reached without it.
func New(ctx context.Context, c Config) (*Kubernetes, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	quietClient(c.Log)
	config, err := loadClusterConfig(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	api, err := newCluster(config)
	if err != nil {
		return nil, err
	}
	k := assembleParts(&base{cluster: api, config: c, names: newNames(c.Prefix, c.Install),
		log:    c.Log,
		sweeps: newSweeps(), pluginLeases: newPluginLeases()})
	err = k.ensureRights(ctx)
	if errors.Is(err, agent.ErrUnavailable) {
		c.Log.WarnContext(ctx, "the cluster does not answer; the agent keeps trying", "error", err)
		err = nil
	}
	if err == nil && c.AgentNamespace != "" && c.Lost != nil {
		k.lease, err = k.holdLease(ctx, c.Holder, c.Lost)
	}
	if err != nil {
		return nil, err
	}
	k.sweeps.begin(func() { k.services.pulls.removeLeftovers(context.WithoutCancel(ctx)) })
	return k, nil
}

// assembleParts makes the parts and connects each to the parts that it needs.
func assembleParts(b *base) *Kubernetes {
	pulls := newPullSecrets(b)
	k := &Kubernetes{base: b, rights: &rights{base: b}, images: newImages(b, pulls)}
	k.namespaces = &namespaces{base: b, rights: k.rights}
	k.volumes = &volumes{base: b, namespaces: k.namespaces}
	k.services = &services{base: b, images: k.images, volumes: k.volumes, pulls: pulls,
		delivered: map[string]delivered{}, results: map[string]keptResults{},
		moved: map[string]movedPod{}}
	k.mailPorts = &mailPorts{base: b, namespaces: k.namespaces, services: k.services,
		known: map[string]sidecar.MailPod{}}
	k.changes = &changes{base: b, services: k.services}
	k.probes = &probes{services: k.services}
	k.plugins = &plugins{base: b, images: k.images, pulls: pulls,
		waiting: map[string]bool{}}
	k.objects = &objects{base: b, services: k.services, plugins: k.plugins}
	k.inventory = &inventory{base: b, rights: k.rights}
	k.vitals = &vitals{base: b}
	k.isolation = &isolation{base: b, namespaces: k.namespaces}
	return k
}

// Close waits for removals in the background, and gives the agent's Lease back.
func (k *Kubernetes) Close() error {
	k.sweeps.waitFor(context.Background())
	if k.lease == nil {
		return nil
	}
	return k.lease.releaseLease(context.Background())
}

func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = "nullops"
	}
	if c.VolumeSize == "" {
		c.VolumeSize = "10Gi"
	}
	if c.GPUResource == "" {
		c.GPUResource = "nvidia.com/gpu"
	}
	if c.LostAfter == 0 {
		c.LostAfter = time.Minute
	}
	if c.StopGrace == 0 {
		c.StopGrace = defaultGrace
	}
	if c.Holder == "" {
		c.Holder, _ = os.Hostname()
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// prefixForm leaves room for the installation and a deployment's id in a DNS label.
var prefixForm = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,15}[a-z0-9])?$`)

func (c Config) validate() error {
	size, err := resource.ParseQuantity(c.VolumeSize)
	switch {
	case err != nil || size.Sign() <= 0:
		return fmt.Errorf("setting agent.kubernetes.volumesize: %q is no size; write one like "+
			"10Gi", c.VolumeSize)
	case c.Install == "":
		return errors.New("install id is empty: it tells our namespaces from others")
	case c.Helper == "":
		return errors.New("setting agent.kubernetes.helper is empty: name the image of this " +
			"agent, such as registry.example.com/nullops/agent:1.0; its helper starts in each " +
			"pod")
	case !prefixForm.MatchString(c.Prefix):
		return fmt.Errorf("setting agent.kubernetes.prefix: %q cannot begin the name of a "+
			"namespace; use at most 17 lower-case letters, digits and dashes, such as "+
			"nullops", c.Prefix)
	}
	return nil
}
