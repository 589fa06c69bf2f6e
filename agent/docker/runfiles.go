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
//	env/env.json   secret variables, mounted as a folder
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
	if len(s.SecretEnv) == 0 && len(s.Files) == 0 {
		return false, nil
	}
	if err := sf.ensureRunFolder(ctx); err != nil {
		return false, err
	}
	if err := os.MkdirAll(sf.envDir(s.Deployment, s.Step), 0o711); err != nil {
		return false, fmt.Errorf("make folder in tmpfs: %w", err)
	}
	if err := os.Chmod(sf.deploymentDir(s.Deployment), 0o700); err != nil {
		return false, fmt.Errorf("make folder in tmpfs: %w", err)
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
	if err := sf.storeRunFiles(wanted); err != nil || len(s.SecretEnv) == 0 {
		return changed, err
	}
	path := filepath.Join(sf.envDir(s.Deployment, s.Step), secretsFile)
	return changed, sf.chownToImageUser(ctx, path, user)
}

// runFiles maps each path to its content.
func (sf *serviceFiles) runFiles(s agent.ServiceSpec) (map[string][]byte, error) {
	wanted := map[string][]byte{}
	if len(s.SecretEnv) > 0 {
		data, err := json.Marshal(s.SecretEnv)
		if err != nil {
			return nil, errors.New("encode secret environment")
		}
		wanted[filepath.Join(sf.envDir(s.Deployment, s.Step), secretsFile)] = data
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

// chownToImageUser makes the secrets readable for the image's user alone where the
// image says its number. A user given by name, or user namespaces, leave the
// file readable for every user inside the container.
func (sf *serviceFiles) chownToImageUser(ctx context.Context, path, user string) error {
	uid, ok := userNumber(user)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	info, err := sf.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return fmt.Errorf("ask engine: %w", wrapUnavailable(err))
	}
	if slices.ContainsFunc(info.Info.SecurityOptions, func(o string) bool {
		return strings.HasPrefix(o, "name=userns") || strings.HasPrefix(o, "name=rootless")
	}) {
		return nil
	}
	if err := os.Chown(path, uid, -1); err != nil {
		return nil //nolint:nilerr // Not root: the folder above has to do.
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
	if err := os.Remove(sf.changedMarkPath(s)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("tidy folder in tmpfs: %w", err)
	}
	return nil
}
