package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// removeWithin bounds all calls of the docker command for one demo.
const removeWithin = 3 * time.Minute

// stopWithin is how long the processes of a killed demo may take to end by themselves.
const stopWithin = 15 * time.Second

// objectKind is one kind of what an agent makes on an engine.
type objectKind struct {
	name         string
	list, remove []string
}

// objectKinds are in the order in which they can be removed: a network and a
// volume are in use as long as their containers exist.
var objectKinds = []objectKind{
	{"container", []string{"ps", "--all"}, []string{"rm", "--force", "--volumes"}},
	{"network", []string{"network", "ls"}, []string{"network", "rm"}},
	{"volume", []string{"volume", "ls"}, []string{"volume", "rm", "--force"}},
}

// engine is where a demo's agent made its objects. It is written down, because
// a demo that was killed cannot say it any more.
type engine struct {
	Docker string `json:"docker"`
	// Private is an engine that `tools/run services` started and stops again.
	Private bool `json:"private"`
	// Tmpfs is the folder with the secrets of services.
	Tmpfs string `json:"tmpfs"`
	// Registries are those of all demos so far, each of which had one of its own: images of no
	// other registry are the demo's.
	Registries []string `json:"registries,omitempty"`
	// Helpers are images of agents' helpers that were there before the demo.
	Helpers []string `json:"helpers,omitempty"`
}

// helperRepository is what agents name the image of their helper, with its hash as the tag.
const helperRepository = "nullops-sidecar"

func engineFile(dir string) string { return filepath.Join(dir, "engine.json") }

func writeEngine(dir string, e engine) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	earlier, err := readEngine(dir)
	if err != nil {
		return err
	}
	if earlier.Docker == e.Docker {
		e.Registries = append(earlier.Registries, e.Registries...)
		e.Helpers = earlier.Helpers
	}
	return saveEngine(dir, e)
}

func saveEngine(dir string, e engine) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return os.WriteFile(engineFile(dir), text, 0o600)
}

// readEngine returns the default engine for a demo that wrote nothing down.
func readEngine(dir string) (engine, error) {
	text, err := os.ReadFile(engineFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		host := os.Getenv("DOCKER_HOST")
		if host == "" {
			host = "unix:///var/run/docker.sock"
		}
		return engine{Docker: host}, nil
	}
	if err != nil {
		return engine{}, err
	}
	var e engine
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("read %s: %w", engineFile(dir), err)
	}
	return e, nil
}

// rememberHelpers writes down which helpers the engine has already: 'make demo-clean' leaves them
// there. A later demo finds those of an earlier one, so that only the first one counts.
func rememberHelpers(ctx context.Context, dir string) error {
	if install, err := readInstall(dir); err != nil || install != "" {
		return err
	}
	e, err := readEngine(dir)
	if err != nil || e.Private {
		return err
	}
	out, err := e.run(ctx, "image", "ls", "--format", "{{.Tag}}", helperRepository)
	if err != nil {
		return err
	}
	e.Helpers = strings.Fields(out)
	return saveEngine(dir, e)
}

// readInstall returns the id that the agent of a demo writes on everything it makes. Empty means
// that no agent ever started, so that nothing was made.
func readInstall(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "agent", "install"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// The labels that hold the installation's id: of deployments' objects, and of the agent's
// isolation probes, which come and go by themselves while the agent runs.
const (
	deploymentLabel = "nullops.install"
	probeLabel      = "nullops.probe"
)

// listObjects returns the ids of the objects that carry the installation's id in one of the
// labels. It never selects by a name.
func listObjects(
	ctx context.Context, e engine, kind objectKind, install string, labels ...string,
) ([]string, error) {
	var all []string
	if install == "" {
		return nil, nil // An empty value would select the objects of everybody.
	}
	for _, label := range labels {
		args := append([]string{}, kind.list...)
		out, err := e.run(ctx, append(args, "--quiet", "--filter", "label="+label+"="+install)...)
		if err != nil {
			return nil, err
		}
		all = append(all, strings.Fields(out)...)
	}
	return all, nil
}

// listImages returns the images that are a demo's only: those of the demos' registries, and the
// agent's helper, unless it was there before.
func listImages(ctx context.Context, e engine, dir string) (all []string, err error) {
	out, err := e.run(ctx, "image", "ls", "--digests", "--format",
		"{{.Repository}} {{.Tag}} {{.Digest}}")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		repository, tag, digest := fields[0], fields[1], fields[2]
		registry, _, _ := strings.Cut(repository, "/")
		_, err := os.Stat(filepath.Join(dir, "agent", "bin", "sidecar-"+tag))
		switch {
		case repository == helperRepository && err == nil && !slices.Contains(e.Helpers, tag):
			all = append(all, repository+":"+tag)
		case slices.Contains(e.Registries, registry) && digest != "<none>":
			all = append(all, repository+"@"+digest)
		}
	}
	return all, nil
}

// describeLeft counts what exists, such as "2 containers and 1 network".
func describeLeft(ctx context.Context, e engine, dir, install string) (string, error) {
	var parts []string
	count := func(n int, name string) {
		switch n {
		case 0:
		case 1:
			parts = append(parts, "1 "+name)
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", n, name))
		}
	}
	for _, kind := range objectKinds {
		ids, err := listObjects(ctx, e, kind, install, deploymentLabel, probeLabel)
		if err != nil {
			return "", err
		}
		count(len(ids), kind.name)
	}
	images, err := listImages(ctx, e, dir)
	if err != nil {
		return "", err
	}
	count(len(images), "image")
	if len(parts) < 2 {
		return strings.Join(parts, ""), nil
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last], nil
}

// removeObjects removes what listObjects and listImages select, and nothing else.
func removeObjects(ctx context.Context, e engine, dir, install string) error {
	for _, kind := range objectKinds {
		ids, err := listObjects(ctx, e, kind, install, deploymentLabel, probeLabel)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			continue
		}
		if _, err := e.run(ctx, append(append([]string{}, kind.remove...), ids...)...); err != nil {
			return err
		}
	}
	images, err := listImages(ctx, e, dir)
	if err != nil {
		return err
	}
	for _, image := range images {
		// Somebody else's container may use it meanwhile, such as another agent's helper.
		_, err := e.run(ctx, "image", "rm", image)
		if err != nil && !strings.Contains(err.Error(), "conflict:") {
			return err
		}
	}
	return nil
}

func (e engine) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	c := exec.CommandContext(ctx, "docker", append([]string{"--host", e.Docker}, args...)...)
	var problem strings.Builder
	c.Stderr = &problem
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err,
			strings.TrimSpace(problem.String()))
	}
	return string(out), nil
}

// tellLeft says at the end of a demo what of it keeps running, and what to do.
func tellLeft(ctx context.Context, dir string) error {
	e, err := readEngine(dir)
	if err != nil {
		return err
	}
	if e.Private {
		fmt.Println("\nThe demo's own Docker Engine ends now, with all containers on it.")
		return nil
	}
	install, err := readInstall(dir)
	if err != nil {
		return err
	}
	left, err := describeLeft(ctx, e, dir, install)
	if err != nil {
		return fmt.Errorf("cannot list what the demo left, remove it with `make demo-clean`: %w", err)
	}
	if left == "" {
		fmt.Println("\nNothing of the demo is left on the Docker Engine at", e.Docker)
		return nil
	}
	fmt.Printf("\nStill on the Docker Engine at %s: %s of the demo.\n"+
		"The next `make demo` replaces the deployment; `make demo-clean` removes all of it.\n",
		e.Docker, left)
	return nil
}

// cleanUp removes what the demos of this checkout left on engines and on the disk, also when they
// were killed.
func cleanUp(ctx context.Context, root string) error {
	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		fmt.Println("There was no demo of this checkout: nothing is to be removed.")
		return nil
	}
	checks, err := filepath.Glob(filepath.Join(root, "check-*"))
	if err != nil {
		return err
	}
	// The checks are in the demo's folder, which goes last.
	for _, dir := range append(checks, root) {
		if err := cleanDemo(ctx, dir); err != nil {
			return fmt.Errorf("clean the demo in %s: %w", dir, err)
		}
	}
	// The folder around it may hold the data of 'nullops dev', which is nobody's to remove.
	_ = os.Remove(filepath.Dir(root))
	fmt.Printf("Removed the data of the demo, %s. What was built stays: see `make clean`.\n", root)
	return nil
}

// cleanDemo removes one demo. Its data goes last: without it, what is left on an engine could no
// longer be found.
func cleanDemo(ctx context.Context, dir string) error {
	unlock, err := awaitLock(ctx, filepath.Join(dir, demoLock))
	if err != nil {
		return err
	}
	defer unlock()
	e, err := readEngine(dir)
	if err != nil {
		return err
	}
	if err := cleanEngine(ctx, dir, e); err != nil {
		return err
	}
	return errors.Join(removeTmpfs(e.Tmpfs), os.RemoveAll(dir))
}

func cleanEngine(ctx context.Context, dir string, e engine) error {
	install, err := readInstall(dir)
	if err != nil || install == "" {
		return err
	}
	unlock, err := awaitLock(ctx, filepath.Join(dir, "agent", "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := e.run(ctx, "version"); err != nil {
		if !e.Private {
			return fmt.Errorf("start the Docker Engine and try again: %w", err)
		}
		fmt.Printf("%s: its own Docker Engine has ended, with all containers on it.\n", dir)
		return nil
	}
	left, err := describeLeft(ctx, e, dir, install)
	if err != nil {
		return err
	}
	if left == "" {
		fmt.Printf("%s: nothing of it is left at %s.\n", dir, e.Docker)
		return nil
	}
	if err := removeObjects(ctx, e, dir, install); err != nil {
		return err
	}
	fmt.Printf("%s: removed %s at %s.\n", dir, left, e.Docker)
	return nil
}

// awaitLock waits until what holds the lock has ended, and keeps another one from starting: a
// running agent would recreate what is removed here, and a running database would write to it.
func awaitLock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, errors.New("it is still running: end the demo with Ctrl-C first")
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// removeTmpfs removes the folder of secrets which a killed demo could not. The
// path comes from a file, so that it must look like one which tmpfs made.
func removeTmpfs(dir string) error {
	for _, parent := range tmpfsParents {
		if filepath.Dir(dir) == parent && strings.HasPrefix(filepath.Base(dir), tmpfsPrefix) {
			return os.RemoveAll(dir)
		}
	}
	return nil
}
