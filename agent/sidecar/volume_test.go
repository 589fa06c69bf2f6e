package sidecar_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/sidecar"
)

// runHelper runs the helper in a role, as a pod does.
func runHelper(t *testing.T, stdin io.Reader, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env, c.Stdin = append(os.Environ(), asSidecar+"=1"), stdin
	var said bytes.Buffer
	c.Stderr = &said
	output, err := c.Output()
	return string(output) + said.String(), err
}

// makeFolder makes files of the kinds that a copy must keep.
func makeFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "image")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(folder, "sub"), 0o755),
		os.WriteFile(filepath.Join(folder, "sub", "file"), []byte("content"), 0o600),
		os.Link(filepath.Join(folder, "sub", "file"), filepath.Join(folder, "again")),
		os.Symlink("sub/file", filepath.Join(folder, "link")),
		os.Chmod(filepath.Join(folder, "sub"), os.ModeSetgid|0o750),
		os.Chmod(folder, 0o751),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// A new volume begins with what the image has, as on Docker; one with something in it is left as
// it is.
func TestPod_FillsNewVolumes(t *testing.T) {
	t.Parallel()
	image, volume := makeFolder(t), t.TempDir()
	request, err := json.Marshal([]sidecar.Population{{From: image, To: volume},
		{From: filepath.Join(image, "nothing"), To: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if said, err := runHelper(t, nil, "populate", string(request)); err != nil {
			t.Fatal(said, err)
		}
		content, err := os.ReadFile(filepath.Join(volume, "link"))
		if err != nil || string(content) != "content" {
			t.Fatalf("it has %q: %v", content, err)
		}
		// The second time, this stays away.
		if err := os.Remove(filepath.Join(volume, "again")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(volume, "again")); err == nil {
		t.Error("a volume that is in use was filled again")
	}
	info, err := os.Stat(volume)
	if err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("the volume is %v: %v", info.Mode(), err)
	}
	sub, err := os.Stat(filepath.Join(volume, "sub"))
	if err != nil || sub.Mode() != os.ModeDir|os.ModeSetgid|0o750 {
		t.Errorf("its folder is %v: %v", sub.Mode(), err)
	}
}

// A volume that is packed and unpacked is the same, hard links included, and what was in it before
// is gone. Nothing is written beside it.
func TestPod_PacksAndUnpacksVolumes(t *testing.T) {
	t.Parallel()
	image, volume := makeFolder(t), t.TempDir()
	packed, err := runHelper(t, nil, "pack", image)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(volume, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := runHelper(t, strings.NewReader(packed), "unpack", volume); err != nil {
		t.Fatal(said, err)
	}
	first, err := os.Stat(filepath.Join(volume, "again"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.Stat(filepath.Join(volume, "sub", "file"))
	if err != nil || !os.SameFile(first, second) {
		t.Errorf("two names of one file are two files: %v", err)
	}
	if _, err := os.Stat(filepath.Join(volume, "old")); err == nil {
		t.Error("what was in the volume before is still there")
	}
	again, err := runHelper(t, nil, "pack", volume)
	if err != nil || len(again) != len(packed) {
		t.Errorf("packed again, it has %d bytes and not %d: %v", len(again), len(packed), err)
	}
	for name, h := range map[string]*tar.Header{
		"above": {Name: "volume/../../x", Typeflag: tar.TypeReg, Mode: 0o600},
		"link":  {Name: "volume/away/x", Typeflag: tar.TypeReg, Mode: 0o600},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		_ = w.WriteHeader(&tar.Header{Name: "volume/away", Typeflag: tar.TypeSymlink,
			Linkname: filepath.Dir(volume), Uid: os.Getuid(), Gid: os.Getgid()})
		_ = w.WriteHeader(h)
		_ = w.Close()
		if _, err := runHelper(t, &b, "unpack", volume); err == nil {
			t.Errorf("%s: an entry outside the volume was taken", name)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(volume), "x")); err == nil {
			t.Errorf("%s: it wrote beside the volume", name)
		}
	}
}
