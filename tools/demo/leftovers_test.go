package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The engine holds objects of the demo, of a check that was killed, of another
// installation and of nobody; only the first two may go.
func TestCleanUp_RemovesTheDemosObjectsOnly(t *testing.T) {
	e := realEngine(t)
	root := t.TempDir()
	check := filepath.Join(root, "check-1")
	mine, killed, other := t.Name()+"-mine", t.Name()+"-killed", t.Name()+"-other"
	makeDemo(t, root, e, mine)
	makeDemo(t, check, e, killed)
	gone := slices.Concat(makeObjects(t, e, "nullops.install="+mine),
		makeObjects(t, e, "nullops.probe="+mine), makeObjects(t, e, "nullops.install="+killed))
	stay := slices.Concat(makeObjects(t, e, "nullops.install="+other),
		makeObjects(t, e, "nullops.install="+mine+"-too"), makeObjects(t, e, "other=label"))

	left, err := describeLeft(t.Context(), e, root, mine)
	if want := "2 containers, 2 networks and 2 volumes"; err != nil || left != want {
		t.Errorf("left is %q, %v; want %q", left, err, want)
	}
	if err := cleanUp(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	present := listAll(t, e)
	for _, id := range gone {
		if slices.Contains(present, id) {
			t.Errorf("%s is of the demo and still there", id)
		}
	}
	for _, id := range stay {
		if !slices.Contains(present, id) {
			t.Errorf("%s is not of the demo and was removed", id)
		}
	}
	if left, err := describeLeft(t.Context(), e, root, mine); err != nil || left != "" {
		t.Errorf("after it, left is %q, %v", left, err)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("the data is still there: %v", err)
	}
	if err := cleanUp(t.Context(), root); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// A running agent recreates what is removed, so that nothing is removed.
func TestCleanUp_RefusesWhileTheAgentRuns(t *testing.T) {
	e, root := realEngine(t), t.TempDir()
	install := t.Name()
	makeDemo(t, root, e, install)
	objects := makeObjects(t, e, "nullops.install="+install)
	lock, err := os.Create(filepath.Join(root, "agent", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	err = cleanUp(t.Context(), root)
	if err == nil || !strings.Contains(err.Error(), "still running") {
		t.Errorf("it says %v", err)
	}
	present := listAll(t, e)
	for _, id := range objects {
		if !slices.Contains(present, id) {
			t.Errorf("%s was removed", id)
		}
	}
}

// Without an id there is nothing to select by, and an empty one selects nothing.
func TestListObjects_SelectsNothingWithoutAnID(t *testing.T) {
	e := realEngine(t)
	makeObjects(t, e, "nullops.install=")
	if left, err := describeLeft(t.Context(), e, t.TempDir(), ""); err != nil || left != "" {
		t.Errorf("left is %q, %v", left, err)
	}
	if err := cleanUp(t.Context(), t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestRemoveTmpfs_TouchesOnlyFoldersOfDemos(t *testing.T) {
	other := filepath.Join(t.TempDir(), tmpfsPrefix+"1")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	made, err := makeTmpfs()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{other, made, ""} {
		if err := removeTmpfs(dir); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("a folder elsewhere was removed")
	}
	if _, err := os.Stat(made); !os.IsNotExist(err) {
		t.Errorf("the folder of a demo: %v", err)
	}
}

func realEngine(t *testing.T) engine {
	t.Helper()
	host := os.Getenv("NULLOPS_TEST_DOCKER")
	if host == "" {
		t.Skip("NULLOPS_TEST_DOCKER is not set: run it with `tools/run services`")
	}
	return engine{Docker: host}
}

func makeDemo(t *testing.T, dir string, e engine, install string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "agent"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeEngine(dir, e); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "agent", "install")
	if err := os.WriteFile(file, []byte(install+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// makeObjects makes a container on a network with a volume, none of which needs
// anything in its image: the container is never started.
func makeObjects(t *testing.T, e engine, label string) []string {
	t.Helper()
	image := "nullops-demo-test:empty"
	load := exec.Command("docker", "--host", e.Docker, "import", "-", image)
	load.Stdin = strings.NewReader(strings.Repeat("\x00", 1024)) // an empty archive
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("import: %v: %s", err, out)
	}
	name := strings.NewReplacer("=", "-", "/", "-").Replace(label) + "-" + t.Name()
	network := makeObject(t, e, "network", "create", "--label", label, name)
	volume := makeObject(t, e, "volume", "create", "--label", label, name)
	container := makeObject(t, e, "create", "--label", label, "--network", name,
		"--volume", name+":/data", image, "/nothing")
	t.Cleanup(func() {
		for _, args := range [][]string{{"rm", "--force", container},
			{"network", "rm", network}, {"volume", "rm", volume}} {
			_ = exec.Command("docker", append([]string{"--host", e.Docker}, args...)...).Run()
		}
	})
	return []string{container, network, volume}
}

func makeObject(t *testing.T, e engine, args ...string) string {
	t.Helper()
	out, err := e.run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func listAll(t *testing.T, e engine) (all []string) {
	t.Helper()
	for _, args := range [][]string{{"ps", "--all", "--no-trunc"}, {"network", "ls", "--no-trunc"},
		{"volume", "ls"}} {
		out, err := e.run(t.Context(), append(args, "--quiet")...)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Fields(out)...)
	}
	return all
}

// A second demo of a checkout ends before it touches what the first wrote down.
func TestNewProduct_RefusesASecondDemo(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("NULLOPS_TEST_REGISTRY", "localhost:1")
	t.Setenv("NULLOPS_TEST_DOCKER", "unix:///first.sock")
	first, err := newProduct(false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(first.shm) })
	t.Setenv("NULLOPS_TEST_DOCKER", "unix:///second.sock")
	if _, err := newProduct(false); err == nil || !strings.Contains(err.Error(), "running already") {
		t.Errorf("a second demo: %v", err)
	}
	if e, err := readEngine(first.dir); err != nil || e.Docker != "unix:///first.sock" {
		t.Errorf("the engine of the first is %+v, %v", e, err)
	}
	if err := first.lock.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := newProduct(false)
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	_ = os.RemoveAll(second.shm)
}

// Without a demo there is nothing that stays, and no engine is needed to say so.
func TestCleanUp_WithoutADemo(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere.sock")
	root := filepath.Join(t.TempDir(), ".nullops")
	if err := cleanUp(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("it made %s: %v", root, err)
	}
}
