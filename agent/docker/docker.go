package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/failpoint"
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
	// ProbeName distinguishes the isolation probes of one process from those of another
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
	// SandboxMemory is what sandboxes that wait for their turn may take of the node's
	// memory, in bytes; default 256 MiB, negative means that none are prepared.
	SandboxMemory int64
	// StartCPU is how many processors a service may use that is slow to start, until it is ready,
	// if its limit is lower. Zero means no more than its limit.
	StartCPU float64
	// Runtime is the OCI runtime that containers of deployments are created with, by the name that
	// the engine knows it by. Empty is the engine's default.
	Runtime string
	// Failpoint is for tests only.
	Failpoint failpoint.Hook
	// Sidecar replaces the embedded binary, for tests.
	Sidecar []byte
	// Log receives what is not returned to a caller, such as a failed removal in the
	// background. Nil means slog's default.
	Log *slog.Logger
}

// Docker is a Runtime on one Docker Engine. Its methods are those of its parts, each of which
// holds what only it needs.
type Docker struct {
	*engine
	containers *containers
	helper     *helperImage
	*runFolder
	*images
	*relays
	*volumes
	*services
	*probes
	*plugins
	*objects
	*removal
	*logs
	*vitals
	*events
	*inventory
	*hostGuard
	*isolation
	*lostObjects
	*replacer
}

var (
	_ agent.Runtime     = (*Docker)(nil)
	_ agent.Prober      = (*Docker)(nil)
	_ agent.MailCatcher = (*Docker)(nil)
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
	d := assembleParts(&engine{config: c, names: newNames(c.Install), learning: make(chan struct{}, 1),
		log: c.Log}, binary)
	if err := d.makeClients(); err != nil {
		return nil, err
	}
	err = d.prepareFolders()
	if err == nil {
		d.book, err = openBook(c.DataDir, c.Log)
	}
	if err == nil {
		err = d.contactEngine(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, d.api.Close(), d.following.Close())
	}
	return d, nil
}

// assembleParts makes the parts and connects each to the parts that it needs.
func assembleParts(e *engine, binary sidecarBinary) *Docker {
	c := &containers{engine: e, opened: time.Now(),
		sweeps: pendingRemovals{pending: map[string]chan struct{}{}}}
	d := &Docker{engine: e, containers: c, helper: &helperImage{engine: e, sidecar: binary},
		images: &images{e}, logs: &logs{c}, vitals: &vitals{containers: c}, events: &events{engine: e},
		hostGuard: &hostGuard{e}}
	n := &networks{engine: e}
	d.runFolder = &runFolder{containers: c, helper: d.helper,
		memory: borrowedFolder{parents: memoryParents()}}
	files := &serviceFiles{d.runFolder}
	d.relays = &relays{containers: c, networks: n, helper: d.helper, loopbacks: &loopbacks{
		containers: c, refusals: loopbackRefusals{known: map[refusalKey]refusal{}}},
		inside: &netnsDialer{containers: c, processes: cgroupReader{proc: "/proc"},
			known: map[netnsKey]*netnsEntry{}}}
	d.volumes = &volumes{containers: c, helper: d.helper}
	waiting := newSandboxes(e.config.SandboxMemory)
	d.services = &services{containers: c, images: d.images, volumes: d.volumes, files: files,
		helper: d.helper, sandboxes: waiting}
	d.probes = &probes{containers: c, relays: d.relays, files: files}
	d.plugins = &plugins{containers: c, images: d.images, helper: d.helper, sandboxes: waiting,
		holders: &holders{containers: c, helper: d.helper, all: map[string]*holder{}}}
	d.objects = &objects{containers: c, networks: n, files: files, sandboxes: waiting,
		holders: d.plugins.holders}
	d.removal = &removal{containers: c, objects: d.objects, networks: n, volumes: d.volumes,
		files: files, relays: d.relays, plugins: d.plugins}
	d.lostObjects = &lostObjects{engine: e, networks: n}
	d.inventory = &inventory{engine: e, networks: n, lost: d.lostObjects, guard: d.hostGuard,
		folder: d.runFolder}
	d.isolation = &isolation{containers: c, networks: n, helper: d.helper}
	d.replacer = &replacer{containers: c, images: d.images}
	return d
}

// Close removes sandboxes that wait, waits for removals in the background, then drops idle
// connections.
func (d *Docker) Close() error {
	for id, name := range d.plugins.sandboxes.hangUp("", d.names) {
		d.containers.removeInBackground(name, id)
	}
	d.containers.sweeps.waitFor(context.Background())
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
	if c.SandboxMemory == 0 {
		c.SandboxMemory = defaultSandboxMemory
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
	for _, dir := range []string{d.relaysDir(), filepath.Dir(d.helper.initPath()), d.runDir()} {
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
	helper, err := d.helper.sidecar.readBinary()
	if err != nil {
		return err
	}
	return errors.Join(writeFile(d.helper.initPath(), helper, 0o555),
		writeFile(d.helper.hostsPath(), []byte(loopbackHosts), 0o444))
}

// loopbackHosts is /etc/hosts of a container without a network.
const loopbackHosts = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"

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
