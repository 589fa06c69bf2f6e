package sidecar

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// On Kubernetes nothing can be mounted from the agent's machine, so a pod's first container is
// the helper: it places itself in a volume that it shares with the service's container, and waits
// there until the agent delivers the service's secrets and files over an exec stream, into a
// volume in memory. The volume outlives restarts of the service's container, and ends with the
// pod.

const (
	// PlacedName is the helper's name in the folder where it is placed.
	PlacedName = "init"
	// deliveredName exists once everything is delivered.
	deliveredName = "delivered"
	// deliveryWait bounds the wait: then the pod's failure says what it waited for.
	deliveryWait = 2 * time.Minute
	// maxDelivery bounds what is delivered.
	maxDelivery = 8 << 20
	// ExitDiffers says that something else was delivered before.
	ExitDiffers = 115
)

// Delivery is what a service reads from its volume in memory.
type Delivery struct {
	Env   map[string]string `json:"env,omitempty"`
	Files []string          `json:"files,omitempty"`
}

// placeHelper copies this program into a folder, and waits for the delivery in another unless that
// is empty.
func placeHelper(ctx context.Context, folder, run string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(folder, PlacedName), program, 0o555); err != nil {
		return err
	}
	if run == "" {
		return nil
	}
	for deadline := time.Now().Add(deliveryWait); ; time.Sleep(secretsPoll) {
		if _, err := os.Stat(filepath.Join(run, deliveredName)); err == nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return &exitError{code: exitSecrets, err: err}
		}
		if time.Now().After(deadline) {
			return &exitError{code: exitSecrets, err: fmt.Errorf("the service's secrets did not "+
				"arrive within %s; the agent brings them once it reaches the control "+
				"plane", deliveryWait)}
		}
	}
}

// acceptDelivery writes what the agent delivers on stdin. What was delivered before is only
// compared: a service that runs reads it already. No error repeats what is delivered.
func acceptDelivery(folder string, stdin io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(stdin, maxDelivery+1))
	if err != nil {
		return err
	}
	var d Delivery
	if len(data) > maxDelivery || json.Unmarshal(data, &d) != nil {
		return errors.New("the delivery is not readable")
	}
	files, err := d.files()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, deliveredName)); err == nil {
		return compareDelivery(folder, files)
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := replaceFile(path, content, 0o444); err != nil {
			return err
		}
	}
	return replaceFile(filepath.Join(folder, deliveredName), nil, 0o444)
}

// files are named as on Docker: env/env.json, files/0, files/1 and so on.
func (d Delivery) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	if len(d.Env) > 0 {
		env, err := json.Marshal(d.Env)
		if err != nil {
			return nil, errors.New("the delivered variables cannot be encoded")
		}
		files["env/env.json"] = env
	}
	for i, content := range d.Files {
		files["files/"+strconv.Itoa(i)] = []byte(content)
	}
	return files, nil
}

func compareDelivery(folder string, files map[string][]byte) error {
	for name, content := range files {
		have, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.Equal(have, content) {
			return &exitError{code: ExitDiffers}
		}
	}
	return nil
}

// replaceFile shows nobody half of a file.
func replaceFile(path string, data []byte, mode os.FileMode) error {
	temp := path + ".new"
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return err
	}
	if err := os.Chmod(temp, mode); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
