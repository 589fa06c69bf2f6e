package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

const (
	// initWithin is how long a container that was started may take until its init waits.
	initWithin = 20 * time.Second
	// initPause is the first and initPauseMax the longest pause between two looks at it.
	initPause    = 2 * time.Millisecond
	initPauseMax = 50 * time.Millisecond
	// exitNotExecutable and exitNotFound are the helper's when it could not start the command.
	exitNotExecutable = 126
	exitNotFound      = 127
)

var _ agent.ServicePreparer = (*Docker)(nil)

// errExists refuses a sandbox for a service whose container is there, whatever it is.
var errExists = errors.New("its container exists already")

// serviceSandbox is the container of a service or a job, started and waiting for its turn: its
// first process is the init, which has opened the pipe that we write to.
type serviceSandbox struct {
	id string
	// spec is what it was made from, without the values that come at the turn.
	spec agent.ServiceSpec
	pipe *os.File
	// owner is the user that reads the environment at the turn, or -1.
	owner int
}

// hangUp ends the wait without a turn: the init ends by itself.
func (b *serviceSandbox) hangUp() { _ = b.pipe.Close() }

// preparedForm is the specification of a container that is started before its turn. Its init puts
// the variables whose values come late into the environment.
func preparedForm(s agent.ServiceSpec) agent.ServiceSpec {
	s.Prepared, s.Env, s.SecretEnv = true, maps.Clone(s.Env), maps.Clone(s.SecretEnv)
	if s.SecretEnv == nil {
		s.SecretEnv = map[string]string{}
	}
	for _, name := range s.Late {
		if value, public := s.Env[name]; public {
			s.SecretEnv[name] = value
			delete(s.Env, name)
		}
	}
	return s
}

// withoutValues is what is known of a prepared form before its turn.
func withoutValues(s agent.ServiceSpec) agent.ServiceSpec {
	s.SecretEnv, s.Files = maps.Clone(s.SecretEnv), slices.Clone(s.Files)
	for name := range s.SecretEnv {
		s.SecretEnv[name] = ""
	}
	for i := range s.Files {
		s.Files[i].Content = ""
	}
	return s
}

// CreateService prepares the container of a service or a job before StartService gives it the go
// signal.
func (sv *services) CreateService(ctx context.Context, s agent.ServiceSpec) error {
	b, err := sv.openServiceSandbox(ctx, withoutValues(preparedForm(s)))
	if err == nil && !sv.sandboxes.putService(b) {
		err = errors.Join(errNoRoom, sv.discardSandbox(ctx, b))
	}
	if err != nil {
		return fmt.Errorf("prepare service %s of deployment %s: %w", s.Step, s.Deployment, err)
	}
	return nil
}

func (sv *services) openServiceSandbox(
	ctx context.Context, s agent.ServiceSpec,
) (*serviceSandbox, error) {
	if err := checkService(s); err != nil {
		return nil, err
	}
	if b := sv.sandboxes.takeService(s.Deployment, s.Step); b != nil {
		b.hangUp()
	}
	if !sv.sandboxes.hasRoom() {
		return nil, errNoRoom
	}
	if err := sv.discardUnbegun(ctx, s.Deployment, s.Step); err != nil {
		return nil, err
	}
	_, err := sv.findService(ctx, s.Deployment, s.Step)
	if err == nil {
		return nil, errExists
	}
	if !isNotFound(err) {
		return nil, err
	}
	b := &serviceSandbox{spec: s}
	spec, err := sv.sandboxContainer(ctx, b)
	if err != nil {
		return nil, err
	}
	sv.sweeps.waitFor(ctx, spec.name)
	if b.id, err = sv.createContainer(ctx, spec); err != nil {
		return nil, err
	}
	if err := sv.startSandbox(ctx, b); err != nil {
		return nil, errors.Join(err, sv.discardSandbox(ctx, b))
	}
	return b, nil
}

// sandboxContainer prepares what the container is made from.
func (sv *services) sandboxContainer(
	ctx context.Context, b *serviceSandbox,
) (containerSpec, error) {
	image, err := sv.images.imageConfig(ctx, b.spec.Image)
	if err != nil {
		return containerSpec{}, err
	}
	volumes, err := sv.volumes.ensureVolumes(ctx, b.spec)
	if err != nil {
		return containerSpec{}, err
	}
	b.owner, err = sv.files.secretsOwner(ctx, cmp.Or(b.spec.User, image.User))
	if err == nil {
		err = sv.files.makePlaces(ctx, b.spec)
	}
	if err != nil {
		return containerSpec{}, err
	}
	return sv.serviceContainer(b.spec, image, volumes)
}

// startSandbox starts the container, and returns when its init waits.
func (sv *services) startSandbox(ctx context.Context, b *serviceSandbox) error {
	if err := sv.config.Failpoint.Hit("sandbox.service_created"); err != nil {
		return err
	}
	path := sv.files.turnPath(b.spec.Deployment, b.spec.Step)
	// The container's user, whoever that is, reads it.
	if err := errors.Join(unix.Mkfifo(path, 0o600), os.Chmod(path, 0o644)); err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	if err := sv.volumes.makeMountPoints(ctx, b.spec); err != nil {
		return err
	}
	if err := sv.startContainer(ctx, b.id); err != nil {
		return err
	}
	if err := sv.awaitInit(ctx, b, path); err != nil {
		return err
	}
	return sv.config.Failpoint.Hit("sandbox.service_waits")
}

// awaitInit opens the pipe as soon as the init has: before that, opening it fails.
func (sv *services) awaitInit(ctx context.Context, b *serviceSandbox, path string) error {
	ctx, cancel := context.WithTimeout(ctx, initWithin)
	defer cancel()
	for pause, tries := initPause, 1; ; tries++ {
		pipe, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			b.pipe = pipe
			_, err = pipe.Write([]byte{sidecar.TurnHello})
			return err
		}
		if !errors.Is(err, syscall.ENXIO) {
			return fmt.Errorf("open pipe: %w", err)
		}
		if err := wait.Sleep(ctx, pause); err != nil {
			return fmt.Errorf("wait for its init: %w", err)
		}
		if pause = min(2*pause, initPauseMax); tries%10 != 0 {
			continue
		}
		c, err := sv.inspectContainer(ctx, b.id)
		if err != nil {
			return err
		}
		if c.State != nil && !c.State.Running {
			return errNeverBegan
		}
	}
}

// discardSandbox removes one that never began.
func (sv *services) discardSandbox(ctx context.Context, b *serviceSandbox) error {
	if b.pipe != nil {
		b.hangUp()
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	if err := sv.removeContainer(clean, b.id); err != nil {
		return fmt.Errorf("it may still wait: %w", err)
	}
	return removeFile(sv.files.turnPath(b.spec.Deployment, b.spec.Step))
}

// discardUnbegun removes a container that was started before its turn and never got the go signal:
// the agent that made it has died, or the container did. After a restart of the machine nothing
// says so, and what has a container counts as begun.
func (sv *services) discardUnbegun(
	ctx context.Context, deployment string, step pipeline.StepKey,
) error {
	if !sv.files.isUnbegun(deployment, step) {
		return nil
	}
	c, err := sv.findService(ctx, deployment, step)
	if err == nil && c.Config.Labels[labelInstall] == sv.names.install {
		err = sv.removeContainer(ctx, c.ID)
	}
	if err != nil && !isNotFound(err) {
		return err
	}
	return removeFile(sv.files.turnPath(deployment, step))
}

// beginPrepared gives the container that waits for this turn the go signal, and reports whether it
// did. One that cannot be used is removed; then the service is started like any other.
func (sv *services) beginPrepared(ctx context.Context, s agent.ServiceSpec) (bool, error) {
	b := sv.sandboxes.takeService(s.Deployment, s.Step)
	if b != nil {
		defer b.hangUp()
		form := preparedForm(s)
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if reflect.DeepEqual(b.spec, withoutValues(form)) {
			err := sv.giveTurn(b, form)
			if err == nil {
				return true, nil
			}
			sv.log.InfoContext(ctx, "a container made ahead cannot be used", "deployment_id", s.Deployment,
				"step", s.Step, "error", err)
		}
	}
	return false, sv.discardUnbegun(ctx, s.Deployment, s.Step)
}

// giveTurn brings what the service reads, the environment last: it is the go signal. If the init
// has ended, which the pipe says, the signal is taken back: nothing has run.
func (sv *services) giveTurn(b *serviceSandbox, s agent.ServiceSpec) error {
	sv.config.Failpoint.Pass("sandbox.service_go")
	for i, f := range s.Files {
		if err := fillPlace(sv.files.renderedFile(s.Deployment, s.Step, i), f.Content); err != nil {
			return err
		}
	}
	if err := sv.files.writeEnvironment(s, b.owner); err != nil {
		return err
	}
	sv.config.Failpoint.Pass("sandbox.service_told")
	if _, err := b.pipe.Write([]byte{sidecar.TurnGo}); err != nil {
		return errors.Join(errNeverBegan, removeFile(sv.files.envPath(s.Deployment, s.Step)))
	}
	if err := removeFile(sv.files.turnPath(s.Deployment, s.Step)); err != nil {
		sv.log.Warn("a service's pipe stays", "deployment_id", s.Deployment, "step", s.Step,
			"error", err)
	}
	return nil
}

// fillPlace writes into a file that is mounted already, so it may not be replaced.
func fillPlace(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("write file in tmpfs: %w", err)
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Chmod(0o444), f.Close()); err != nil {
		return fmt.Errorf("write file in tmpfs: %w", err)
	}
	return nil
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("tidy folder in tmpfs: %w", err)
	}
	return nil
}

// turnPath is where the init of a container that is started before its turn finds its pipe.
func (sf *serviceFiles) turnPath(deployment string, step pipeline.StepKey) string {
	return filepath.Join(sf.envDir(deployment, step), sidecar.TurnFile)
}

func (sf *serviceFiles) envPath(deployment string, step pipeline.StepKey) string {
	return filepath.Join(sf.envDir(deployment, step), secretsFile)
}

// isUnbegun reports whether it is certain that a container was started before its turn, and that
// its turn has not come.
func (sf *serviceFiles) isUnbegun(deployment string, step pipeline.StepKey) bool {
	if _, err := os.Stat(sf.turnPath(deployment, step)); err != nil {
		return false
	}
	_, err := os.Stat(sf.envPath(deployment, step))
	return errors.Is(err, os.ErrNotExist)
}

// begunAt is when a service got its go signal, or zero.
func (sf *serviceFiles) begunAt(deployment string, step pipeline.StepKey) time.Time {
	info, err := os.Stat(sf.envPath(deployment, step))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// makePlaces makes the folder and the empty files that are mounted. What an earlier container read
// there is removed: the environment would be the go signal.
func (sf *serviceFiles) makePlaces(ctx context.Context, s agent.ServiceSpec) error {
	if err := sf.makeFolders(ctx, s); err != nil {
		return err
	}
	err := errors.Join(removeFile(sf.envPath(s.Deployment, s.Step)),
		removeFile(sf.turnPath(s.Deployment, s.Step)), removeFile(sf.changedMarkPath(s)))
	for i := range s.Files {
		path := sf.renderedFile(s.Deployment, s.Step, i)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o711), removeFile(path),
			writeFile(path, nil, 0o644))
	}
	return err
}
