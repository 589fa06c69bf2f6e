package docker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Mounts belong to a container by the id in their path, or by what the engine's folder says of a
// layer. Those outside the engine's folders are nobody's.
func TestLostMounts_OfContainers(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "data root")
	id, layer := strings.Repeat("a", 64), strings.Repeat("b", 64)
	dir := filepath.Join(root, "image", "overlay2", "layerdb", "mounts", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mount-id"), []byte(layer), 0o600); err != nil {
		t.Fatal(err)
	}
	escaped := strings.ReplaceAll(root, " ", `\040`)
	text := "1 2 0:1 / / rw - ext4 x rw\n" +
		"2 1 0:2 / " + escaped + "/overlay2/" + layer + "/merged rw - overlay overlay rw\n" +
		"3 1 0:3 / " + escaped + "/containers/" + id + "/mounts/shm rw - tmpfs shm rw\n" +
		"4 1 0:4 / /run/containerd/moby/" + id + "/rootfs rw - overlay overlay rw\n" +
		"5 1 0:5 / /backup/" + id + " rw - ext4 y rw\n" +
		"6 1 0:6 / " + escaped + "-other/" + id + " rw - ext4 y rw\nshort\n"
	layers := readLayers(root)
	found := engineMounts(text, root+"/")
	for _, path := range found {
		of := containerIn(path)
		if of != id && layers[of] != id {
			t.Errorf("%s belongs to %q", path, of)
		}
	}
	if len(found) != 3 || slices.ContainsFunc(found, func(p string) bool {
		return strings.HasPrefix(p, "/backup") || strings.Contains(p, "-other")
	}) {
		t.Errorf("found %q", found)
	}
}
