package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// secretsWait is how long the init waits for its file. After a reboot the tmpfs is empty
	// until the agent has requested the secrets again; the agent then restarts the container,
	// so this only covers a race.
	secretsWait = 30 * time.Second
	secretsPoll = 50 * time.Millisecond
	// maxSecrets bounds the file. Linux itself takes about 2 MiB of arguments
	// and environment.
	maxSecrets = 2 << 20
)

// execCommand replaces this process by the command, with the file's variables in its
// environment. It returns only if that failed.
func execCommand(file string, command []string) error {
	if err := awaitTurn(file, command); err != nil {
		return err
	}
	secrets, err := awaitSecrets(file, secretsWait)
	if err != nil {
		return &exitError{code: exitSecrets, err: err}
	}
	env := Environment(os.Environ(), secrets)
	path, err := LookPath(command[0], env)
	if err != nil {
		return &exitError{code: exitNotFound, err: err}
	}
	err = syscall.Exec(path, command, env)
	return &exitError{code: exitNotExecutable, err: fmt.Errorf("start %s: %w", path, err)}
}

// awaitSecrets reads the file and waits for it to appear, unless wait is 0. No error repeats
// what the file holds.
func awaitSecrets(file string, wait time.Duration) (map[string]string, error) {
	for deadline := time.Now().Add(wait); ; time.Sleep(secretsPoll) {
		data, err := readLimited(file)
		switch {
		case err == nil:
			var secrets map[string]string
			if json.Unmarshal(data, &secrets) != nil {
				return nil, errors.New("the service's secrets are not readable as JSON")
			}
			return secrets, nil
		case !errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("read the service's secrets: %w", err)
		case wait == 0:
			return nil, errors.New("the service's secrets are not here yet; " +
				"the agent brings them once it reaches the control plane")
		case time.Now().After(deadline):
			return nil, fmt.Errorf("the service's secrets did not arrive within %s; "+
				"the agent brings them once it reaches the control plane", wait)
		}
	}
}

func readLimited(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSecrets {
		return nil, fmt.Errorf("%d bytes are more than the limit of %d", info.Size(), maxSecrets)
	}
	return os.ReadFile(file)
}

// Environment returns base with the secrets put over it.
func Environment(base []string, secrets map[string]string) []string {
	env := make([]string, 0, len(base)+len(secrets))
	for _, entry := range base {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := secrets[name]; !replaced {
			env = append(env, entry)
		}
	}
	for name, value := range secrets {
		env = append(env, name+"="+value)
	}
	return env
}

// defaultPath is what the engine uses for an image that sets no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// LookPath finds a command as the engine would: a name with a slash is a path
// already, everything else is searched in the environment's PATH.
func LookPath(command string, env []string) (string, error) {
	if strings.Contains(command, "/") {
		return command, nil
	}
	path := defaultPath
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		candidate := filepath.Join(dir, command)
		info, err := os.Stat(candidate)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("the image has no executable %q in its PATH (%s)", command, path)
}
