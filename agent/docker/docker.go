package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent"
)

// Config is what New needs. Host, Install, DataDir and RunDir are required.
type Config struct {
	// Host is the engine's address, such as unix:///var/run/docker.sock.
	Host string
	// Install distinguishes this installation's objects from those of others.
	Install string
	// DataDir keeps the sidecar and the relays' sockets.
	DataDir string
	// RunDir must be on tmpfs: services' secrets and files are in it. Where the agent's own
	// container lacks it, the agent uses a folder in the machine's memory instead.
	RunDir string
	// HostDataDir and HostRunDir are the same folders as the engine sees them.
	// Empty means: the same, or, when the agent itself runs in a container,
	// what inspecting that container says.
	HostDataDir string
	HostRunDir  string
	// SubnetRange is cut into one subnet per deployment; default 10.213.0.0/16.
	SubnetRange netip.Prefix
	// SubnetBits is a subnet's prefix length; default 26: room for 60
	// containers, and for 1,024 deployments in the default range.
	SubnetBits int
	// PullPatience is how long a registry may send nothing; default 2 minutes.
	PullPatience time.Duration
	// Guard keeps containers from link-local addresses and the agent's port,
	// where we may set the host's rules. Nil is off.
	Guard *Guard
	// ProbeName tells the isolation probes of one process from those of another
	// on the same data. Empty is the agent's.
	ProbeName string
	// StopGrace is how long a service may take to end after SIGTERM before it is killed;
	// default 10 seconds, negative means not at all. The engine counts whole seconds.
	StopGrace time.Duration
	// RenameAfter is how old an agent must be before it renames the running
	// containers of an earlier release; default half a minute.
	RenameAfter time.Duration
	// EngineMayBeDown has New succeed although the engine does not answer. Every
	// method then fails with agent.ErrUnavailable until the engine answers, except
	// Dial, which needs no engine.
	EngineMayBeDown bool
	// LostAfter is how long something must be out of the engine's sight before it
	// counts as lost; default 10 seconds.
	LostAfter time.Duration
	// Sidecar replaces the embedded binary, for tests.
	Sidecar []byte
	// Log receives what is not returned to a caller, such as a failed removal in the
	// background. Nil means slog's default.
	Log *slog.Logger
}

// Docker is a Runtime on one Docker Engine.
type Docker struct {
	api *client.Client
	// following is the client for logs that are followed; see coalescingConn.
	following *client.Client
	config    Config
	names     nameScheme
	sidecar   sidecarBinary
	// host is nil until the engine has answered for the first time, see learnHost.
	host     atomic.Pointer[hostPaths]
	learning chan struct{} // holds a value while somebody asks
	// memory is the folder that takes RunDir's place if that is missing.
	memory borrowedFolder
	log    *slog.Logger
	opened time.Time

	// networks keeps two calls from picking the same subnet.
	networks sync.Mutex
	// mountPoints keeps two services that share a volume from preparing it at once.
	mountPoints sync.Mutex
	// sweeps are containers of ended plugins that are being removed in the background.
	sweeps pendingRemovals
	ahead  precreatedPlugins
	usage  lastReadings
	// refusals keeps visitors of a service that refuses them off the engine.
	refusals loopbackRefusals
	// book has the ids of our containers; suspects may be processes of lost ones.
	book     *containerBook
	lost     sync.Mutex
	suspects lostSuspects
	// lives counts connections to the engine's events.
	lives atomic.Int64
	// turns counts isolation probes, which look at other deployments each time.
	turns atomic.Int64
}

var (
	_ agent.Runtime = (*Docker)(nil)
	_ agent.Prober  = (*Docker)(nil)
)

// New connects to the engine and checks the folders. An engine that does not
// answer is an error that wraps agent.ErrUnavailable, unless EngineMayBeDown is
// set; any other error is a setting to correct, and names it.
func New(ctx context.Context, c Config) (*Docker, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	binary, err := embeddedSidecar(c.Sidecar)
	if err != nil {
		return nil, err
	}
	d := &Docker{
		config: c, names: newNames(c.Install), learning: make(chan struct{}, 1),
		sidecar: binary, log: c.Log, opened: time.Now(),
		sweeps:   pendingRemovals{pending: map[string]chan struct{}{}},
		ahead:    precreatedPlugins{ids: map[agent.PluginSpec]string{}},
		refusals: loopbackRefusals{known: map[refusalKey]refusal{}},
		memory:   borrowedFolder{parents: memoryParents()},
	}
	if err := d.makeClients(); err != nil {
		return nil, err
	}
	err = d.prepareFolders()
	if err == nil {
		d.book, err = openBook(c.DataDir)
	}
	if err == nil {
		err = d.contactEngine(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, d.api.Close(), d.following.Close())
	}
	return d, nil
}

// Close waits for removals in the background, then drops idle connections.
func (d *Docker) Close() error {
	d.sweeps.waitFor(context.Background())
	return errors.Join(d.api.Close(), d.following.Close(), d.memory.close())
}

func (c Config) withDefaults() Config {
	if !c.SubnetRange.IsValid() {
		c.SubnetRange = netip.MustParsePrefix("10.213.0.0/16")
	}
	if c.SubnetBits == 0 {
		c.SubnetBits = 26
	}
	if c.PullPatience <= 0 {
		c.PullPatience = defaultPullPatience
	}
	if c.StopGrace == 0 {
		c.StopGrace = defaultGrace
	}
	if c.LostAfter == 0 {
		c.LostAfter = lostAfter
	}
	if c.RenameAfter == 0 {
		c.RenameAfter = renameAfter
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Host == "":
		return fmt.Errorf("docker host is empty: give one, such as %s", client.DefaultDockerHost)
	case c.Install == "":
		return fmt.Errorf("install id is empty: it tells our containers from others")
	case !filepath.IsAbs(c.DataDir):
		return fmt.Errorf("data folder %q is not an absolute path", c.DataDir)
	case !filepath.IsAbs(c.RunDir):
		return fmt.Errorf("run folder %q is not an absolute path", c.RunDir)
	case !c.SubnetRange.Addr().Is4():
		return fmt.Errorf("subnet range %s is not IPv4", c.SubnetRange)
	case c.SubnetBits < c.SubnetRange.Bits() || c.SubnetBits > 29:
		return fmt.Errorf("subnet size /%d does not fit range %s: give a value from %d to 29",
			c.SubnetBits, c.SubnetRange, c.SubnetRange.Bits())
	}
	return nil
}

// prepareFolders makes the folders, checks the tmpfs, and puts the sidecar where
// the engine can mount it from.
func (d *Docker) prepareFolders() error {
	for _, dir := range []string{d.relaysDir(), filepath.Dir(d.initPath()), d.runDir()} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
	}
	inside, err := ownContainer("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	// In a container, the engine says first how the folder is mounted: see findHostPaths.
	if err := onTmpfs(d.config.RunDir); err != nil && inside == "" {
		return err
	}
	helper, err := d.sidecar.readBinary()
	if err != nil {
		return err
	}
	return writeFile(d.initPath(), helper, 0o555)
}

// onTmpfs refuses a run folder that would put secrets on disk.
func onTmpfs(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	if s.Type != unix.TMPFS_MAGIC && s.Type != unix.RAMFS_MAGIC {
		return fmt.Errorf("run folder %s is on a disk, but holds secrets: "+
			"mount a tmpfs there, or choose a folder below /dev/shm", dir)
	}
	return nil
}

// writeFile replaces a file as a whole, so that no reader sees half of it. A
// file that is already right stays: it may be an executable in use.
func writeFile(path string, data []byte, mode os.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) {
		return os.Chmod(path, mode)
	}
	temp := fmt.Sprintf("%s.%d.new", path, time.Now().UnixNano())
	err := os.WriteFile(temp, data, 0o600)
	if err == nil {
		err = os.Chmod(temp, mode)
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		// On a full disk each try would leave its half.
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.RemoveAll(temp)))
	}
	return nil
}

// initPath is the sidecar on disk, mounted into services that have secrets.
func (d *Docker) initPath() string {
	return filepath.Join(d.config.DataDir, "bin", "sidecar-"+d.sidecar.hash)
}

func (d *Docker) relaysDir() string { return filepath.Join(d.config.DataDir, "gates") }

// runDir is below RunDir, since several installations may share that one.
func (d *Docker) runDir() string {
	root := d.hostPaths().run
	if root == "" {
		root = d.config.RunDir
	}
	return filepath.Join(root, d.names.short)
}
