package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
)

// An agent in a container that was started without a folder in memory makes one on the
// machine. Its own container cannot be given another mount, so a helper container opens the
// folder and hands it over: the agent uses it through the open file, and the engine by its
// path on the machine.

const (
	// memoryFolder is the folder's name; installations have folders of their own below it.
	memoryFolder = "nullops"
	// borrowAgain is how long a failure to get the folder stands.
	borrowAgain = time.Minute
	// runFolderRemedy is the install line that the control plane prints.
	runFolderRemedy = "Start the agent's container with the line that adding a node prints: " +
		"it has -v /run/nullops:/run/nullops, which must be on a tmpfs of the machine."
)

// memoryParents are folders on nearly every machine's tmpfs.
func memoryParents() []string { return []string{"/run", "/dev/shm"} }

// runFolder is the folder in memory for secrets and rendered files.
type runFolder struct {
	*containers
	helper *helperImage
	// memory is the folder that takes RunDir's place if that is missing.
	memory borrowedFolder
}

// borrowedFolder is the open folder, or why there is none.
type borrowedFolder struct {
	parents []string
	mu      sync.Mutex
	folder  *os.File
	problem error
	tried   time.Time
}

func (b *borrowedFolder) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.folder == nil {
		return nil
	}
	return b.folder.Close()
}

// ensureRunFolder makes sure that there is a folder in memory that we and the engine see.
func (rf *runFolder) ensureRunFolder(ctx context.Context) error {
	if err := rf.learnHost(ctx); err != nil {
		return err
	}
	if !rf.hostPaths().runMissing {
		return nil
	}
	b := &rf.memory
	b.mu.Lock()
	defer b.mu.Unlock()
	if !rf.hostPaths().runMissing {
		return nil
	}
	if b.problem != nil && time.Since(b.tried) < borrowAgain {
		return b.problem
	}
	host, err := rf.borrowRunFolder(ctx)
	if errors.Is(err, agent.ErrUnavailable) {
		return err
	}
	if b.problem, b.tried = err, time.Now(); err == nil {
		rf.host.Store(&host)
		rf.log.InfoContext(ctx, "secrets are kept in a folder in the machine's memory",
			"folder", host.hostRun)
	}
	return err
}

// borrowRunFolder tries one parent after the other.
func (rf *runFolder) borrowRunFolder(ctx context.Context) (hostPaths, error) {
	host := rf.hostPaths()
	var reasons []string
	for _, parent := range rf.memory.parents {
		f, err := rf.borrowFrom(ctx, parent)
		if errors.Is(err, agent.ErrUnavailable) {
			return host, err
		}
		if err != nil {
			reasons = append(reasons, parent+": "+err.Error())
			continue
		}
		rf.memory.folder = f
		host.run = filepath.Join("/proc/self/fd", strconv.Itoa(int(f.Fd())))
		host.hostRun, host.runMissing = filepath.Join(parent, memoryFolder), false
		return host, nil
	}
	return host, fmt.Errorf("the agent's container has no folder in memory for secrets, such as "+
		"-v %s:%[1]s, and none could be made on the machine (%s)", rf.config.RunDir,
		strings.Join(reasons, "; "))
}

// borrowFrom has a helper container open the folder below this folder of the machine.
func (rf *runFolder) borrowFrom(ctx context.Context, parent string) (_ *os.File, err error) {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	if err := rf.helper.ensureRelayImage(ctx); err != nil {
		return nil, err
	}
	// Earlier agents that were killed may have left theirs.
	name := rf.names.objectName("memory") + rf.config.ProbeName
	dir := filepath.Join(rf.config.DataDir, "memory"+rf.config.ProbeName)
	if err = errors.Join(rf.removeContainer(ctx, name), os.RemoveAll(dir)); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, rf.removeContainer(context.WithoutCancel(ctx), name), os.RemoveAll(dir))
	}()
	l, err := listenIn(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	if err := rf.runLender(ctx, name, dir, parent); err != nil {
		return nil, err
	}
	// What the helper sent waits here, although the helper has ended.
	if err := l.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return nil, err
	}
	conn, err := l.AcceptUnix()
	if err != nil {
		return nil, fmt.Errorf("the helper container did not answer: %w", err)
	}
	defer func() { _ = conn.Close() }()
	return sidecar.BorrowFolder(conn)
}

// lenderSocket is the socket's name in its folder.
const lenderSocket = "lend.sock"

// listenIn goes through the folder's descriptor: the address of a unix socket is short.
func listenIn(dir string) (*net.UnixListener, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix",
		Name: filepath.Join("/proc/self/fd", strconv.Itoa(int(f.Fd())), lenderSocket)})
	if err == nil {
		l.SetUnlinkOnClose(false)
	}
	return l, err
}

// runLender runs the helper to its end. It is the same user as the agent, which owns the
// folder then.
func (rf *runFolder) runLender(ctx context.Context, name, dir, parent string) error {
	made, err := rf.api.ContainerCreate(ctx, client.ContainerCreateOptions{Name: name,
		Config: &container.Config{Image: rf.helper.relayImage(),
			User: fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid()),
			Cmd:  []string{"lend", "/lend/" + lenderSocket, "/parent", memoryFolder}},
		HostConfig: lenderHost(rf.hostPaths().toHost(dir), parent)})
	if err != nil {
		return fmt.Errorf("create the helper container: %w", wrapMutationErr(err))
	}
	end := rf.api.ContainerWait(ctx, made.ID,
		client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := rf.api.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start the helper container: %w", wrapMutationErr(err))
	}
	select {
	case <-end.Result:
		return nil
	case err := <-end.Error:
		return fmt.Errorf("wait for the helper container: %w", wrapMutationErr(err))
	}
}

// lenderHost restricts the helper as much as a relay.
func lenderHost(dir, parent string) *container.HostConfig {
	pids := int64(relayPids)
	return &container.HostConfig{NetworkMode: "none", LogConfig: serviceLogs(),
		ReadonlyRootfs: true, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		Resources: container.Resources{Memory: relayMemory, MemorySwap: relayMemory, PidsLimit: &pids,
			NanoCPUs: 1e9, Ulimits: noCoreDumps()},
		Mounts: []mount.Mount{
			{Type: mount.TypeBind, Source: dir, Target: "/lend"},
			{Type: mount.TypeBind, Source: parent, Target: "/parent"}}}
}
