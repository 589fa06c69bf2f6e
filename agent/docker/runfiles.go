package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// A service's folder in tmpfs is RunDir/<installation>/<deployment>/<step>:
//
//	env/env.json   secret and late variables, mounted as a folder
//	env/turn       exists while the container waits for its turn
//	files/0, 1, …  rendered files, each mounted on its own path
//	changed        exists while the container may have been created from other files
//
// Only the agent can enter the folders above (0700), so that other users of the node cannot
// reach the files, although users inside containers must be able to read them.

// serviceFiles writes what services read from the folder in memory.
type serviceFiles struct{ *runFolder }

func (sf *serviceFiles) deploymentDir(deployment string) string {
	return filepath.Join(sf.runDir(), deployment)
}

func (sf *serviceFiles) stepDir(deployment string, step pipeline.StepKey) string {
	return filepath.Join(sf.deploymentDir(deployment), string(step))
}

func (sf *serviceFiles) envDir(deployment string, step pipeline.StepKey) string {
	return filepath.Join(sf.stepDir(deployment, step), "env")
}

func (sf *serviceFiles) renderedFile(deployment string, step pipeline.StepKey, i int) string {
	return filepath.Join(sf.stepDir(deployment, step), "files", strconv.Itoa(i))
}

func (sf *serviceFiles) changedMarkPath(s agent.ServiceSpec) string {
	return filepath.Join(sf.stepDir(s.Deployment, s.Step), "changed")
}

// writeRunFiles writes what the service reads from tmpfs. It reports whether
// a container that runs already was started with something else. After a
// reboot nothing is here, and no container runs either: that is no change.
func (sf *serviceFiles) writeRunFiles(
	ctx context.Context, s agent.ServiceSpec, user string,
) (changed bool, err error) {
	if !readsEnvironment(s) && len(s.Files) == 0 {
		return false, nil
	}
	if err := sf.makeFolders(ctx, s); err != nil {
		return false, err
	}
	wanted, err := sf.runFiles(s)
	if err != nil {
		return false, err
	}
	_, err = os.Stat(sf.changedMarkPath(s))
	if changed = err == nil || filesDiffer(wanted); changed {
		// A crash before the container is replaced must not hide the change.
		if err := writeFile(sf.changedMarkPath(s), nil, 0o400); err != nil {
			return false, err
		}
	}
	if err := sf.storeRunFiles(wanted); err != nil || !readsEnvironment(s) {
		return changed, err
	}
	owner, err := sf.secretsOwner(ctx, user)
	if err != nil {
		return changed, err
	}
	return changed, chownTo(sf.envPath(s.Deployment, s.Step), owner)
}

// readsEnvironment reports whether a service's first process is the init, which reads variables
// from a file.
func readsEnvironment(s agent.ServiceSpec) bool { return len(s.SecretEnv) > 0 || s.Prepared }

// makeFolders makes the service's folders in tmpfs.
func (sf *serviceFiles) makeFolders(ctx context.Context, s agent.ServiceSpec) error {
	if err := sf.ensureRunFolder(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(sf.envDir(s.Deployment, s.Step), 0o711); err != nil {
		return fmt.Errorf("make folder in tmpfs: %w", err)
	}
	if err := os.Chmod(sf.deploymentDir(s.Deployment), 0o700); err != nil {
		return fmt.Errorf("make folder in tmpfs: %w", err)
	}
	return nil
}

// encodeEnvironment is the file that the init reads. In it are also the variables that come late:
// where the engine has them too, they are the same.
func encodeEnvironment(s agent.ServiceSpec) ([]byte, error) {
	data, err := json.Marshal(preparedForm(s).SecretEnv)
	if err != nil {
		return nil, errors.New("encode secret environment")
	}
	return data, nil
}

// writeEnvironment writes the file that the init reads, readable for its owner if that is known.
func (sf *serviceFiles) writeEnvironment(s agent.ServiceSpec, owner int) error {
	data, err := encodeEnvironment(s)
	if err != nil {
		return err
	}
	path := sf.envPath(s.Deployment, s.Step)
	if err := writeFile(path, data, 0o444); err != nil {
		return err
	}
	return chownTo(path, owner)
}

// keepEnvironment writes the file for a container that was started before its turn and is started
// again: after a restart of the machine it is gone. It fails if the container has read another one.
func (sf *serviceFiles) keepEnvironment(
	ctx context.Context, s agent.ServiceSpec, user string,
) error {
	data, err := encodeEnvironment(s)
	if err != nil {
		return err
	}
	have, err := os.ReadFile(sf.envPath(s.Deployment, s.Step))
	switch {
	case err == nil && string(have) == string(data):
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return errors.New("it was started with another environment")
	}
	if err := sf.makeFolders(ctx, s); err != nil {
		return err
	}
	owner, err := sf.secretsOwner(ctx, user)
	if err != nil {
		return err
	}
	return sf.writeEnvironment(s, owner)
}

// runFiles maps each path to its content.
func (sf *serviceFiles) runFiles(s agent.ServiceSpec) (map[string][]byte, error) {
	wanted := map[string][]byte{}
	if readsEnvironment(s) {
		data, err := encodeEnvironment(s)
		if err != nil {
			return nil, err
		}
		wanted[sf.envPath(s.Deployment, s.Step)] = data
	}
	for i, f := range s.Files {
		wanted[sf.renderedFile(s.Deployment, s.Step, i)] = []byte(f.Content)
	}
	return wanted, nil
}

// filesDiffer reports whether files are there, but not exactly these.
func filesDiffer(wanted map[string][]byte) bool {
	some, same := false, true
	for path, data := range wanted {
		have, err := os.ReadFile(path)
		some = some || err == nil
		same = same && err == nil && string(have) == string(data)
	}
	return some && !same
}

// storeRunFiles replaces files by renaming. A running container keeps the old
// content of single files, which is why a change makes a new container.
func (sf *serviceFiles) storeRunFiles(wanted map[string][]byte) error {
	for path, data := range wanted {
		if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
			return fmt.Errorf("make folder in tmpfs: %w", err)
		}
		if err := writeFile(path, data, 0o444); err != nil {
			return err
		}
	}
	return nil
}

// secretsOwner is the user for whom alone the secrets are made readable, where the image says its
// number; otherwise -1. A user given by name, or user namespaces, leave the file readable for every
// user inside the container.
func (sf *serviceFiles) secretsOwner(ctx context.Context, user string) (int, error) {
	uid, ok := userNumber(user)
	if !ok {
		return -1, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	info, err := sf.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return -1, fmt.Errorf("ask engine: %w", wrapUnavailable(err))
	}
	if slices.ContainsFunc(info.Info.SecurityOptions, func(o string) bool {
		return strings.HasPrefix(o, "name=userns") || strings.HasPrefix(o, "name=rootless")
	}) {
		return -1, nil
	}
	return uid, nil
}

// chownTo makes a file readable for its owner alone. An agent that is not root may not: then the
// folder above has to do.
func chownTo(path string, owner int) error {
	if owner < 0 || os.Chown(path, owner, -1) != nil {
		return nil
	}
	return os.Chmod(path, 0o400)
}

func userNumber(user string) (int, bool) {
	name, _, _ := strings.Cut(user, ":")
	if name == "" || name == "root" {
		return 0, true
	}
	uid, err := strconv.Atoi(name)
	return uid, err == nil
}

// confirmRunFiles remembers that the container was made from these files.
func (sf *serviceFiles) confirmRunFiles(s agent.ServiceSpec) error {
	return removeFile(sf.changedMarkPath(s))
}
