package dockertest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"pgregory.net/rapid"

	"github.com/nullops/nullops/agent/docker/dockertest"
)

const secret = `positive "control" §/+?% 4711`

// Every spelling is found in a folder, at every offset, also where it crosses
// the border between two reads.
func TestFindSecret_FindsEveryForm(t *testing.T) {
	quoted, _ := json.Marshal(map[string]string{"password": secret})
	for name, planted := range map[string]string{
		"raw":       secret,
		"base64 0":  base64.StdEncoding.EncodeToString([]byte(secret + " and more")),
		"base64 1":  base64.StdEncoding.EncodeToString([]byte("a" + secret + "tail")),
		"base64 2":  base64.StdEncoding.EncodeToString([]byte("ab" + secret)),
		"base64url": base64.RawURLEncoding.EncodeToString([]byte("user:" + secret)),
		"hex":       hex.EncodeToString([]byte("x" + secret)),
		"HEX":       strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"url query": "https://host/?q=" + url.QueryEscape(secret),
		"url path":  "https://host/" + url.PathEscape(secret),
		"json":      string(quoted),
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range []int{0, 1, 256<<10 - 7, 256<<10 + 1, 600 << 10} {
				dir := t.TempDir()
				data := append(bytes.Repeat([]byte("."), before), planted...)
				path := filepath.Join(dir, "deep", "file")
				if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, append(data, "...."...), 0o600); err != nil {
					t.Fatal(err)
				}
				hits, err := dockertest.FindSecret(t.Context(), secret,
					dockertest.SecretPlaces{Folders: []string{dir}})
				if err != nil || len(hits) == 0 {
					t.Errorf("after %d bytes: found %v, error %v", before, hits, err)
				}
			}
		})
	}
}

// The three base64 forms hold for every secret and every neighbour.
func TestForms_Base64HoldsForAllNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SliceOfN(rapid.Byte(), 8, 40).Draw(t, "secret")
		text := append(rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "before"), s...)
		text = append(text, rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "after")...)
		encoded := []byte(base64.StdEncoding.EncodeToString(text))
		for name, form := range dockertest.SecretForms(string(s)) {
			if strings.HasPrefix(name, "base64 at") && bytes.Contains(encoded, form) {
				return
			}
		}
		t.Fatalf("no form of %x is in the encoding of %x", s, text)
	})
}

// A text that only looks alike is no hit.
func TestFindSecret_FindsNothingElse(t *testing.T) {
	hits, err := dockertest.FindSecret(t.Context(), secret, dockertest.SecretPlaces{
		Texts: map[string][]byte{"dump": []byte(strings.ToUpper(secret))},
	})
	if err != nil || len(hits) != 0 {
		t.Errorf("found %v, error %v", hits, err)
	}
}

// The scan sees what the engine keeps of a careless container: its variables,
// labels, command line, logs, a file in it, and a name. The scan for leaks
// sees the container, its volume and its network.
func TestScans_SeeACarelessContainer(t *testing.T) {
	host := dockertest.Host(t)
	api := dockertest.Client(t, host)
	image := dockertest.ImportActor(t, host)
	install := "control-" + filepath.Base(t.TempDir())
	run := dockertest.RunDir(t)
	before, err := dockertest.ScanForLeaks(t.Context(), host, install, run)
	if err != nil || len(before) != 0 {
		t.Fatalf("before: %v, error %v", before, err)
	}
	labels := map[string]string{"nullops.install": install}
	network, err := api.NetworkCreate(t.Context(), install, client.NetworkCreateOptions{
		Labels: labels, Internal: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = api.NetworkRemove(t.Context(), network.ID, client.NetworkRemoveOptions{})
	}()
	volume, err := api.VolumeCreate(t.Context(),
		client.VolumeCreateOptions{Name: install, Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = api.VolumeRemove(t.Context(), volume.Volume.Name, client.VolumeRemoveOptions{})
	}()
	c, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Image: image.Repository + ":" + image.Tag, Name: install,
		Config: &container.Config{
			Labels: labels, Env: []string{"TOKEN=" + secret}, Cmd: []string{"exit", secret},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = api.ContainerRemove(t.Context(), c.ID,
			client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	}()
	if err := os.Mkdir(filepath.Join(run, "left"), 0o700); err != nil {
		t.Fatal(err)
	}
	after, err := dockertest.ScanForLeaks(t.Context(), host, install, run)
	if leaks := after.AddedSince(before); err != nil || len(leaks) != 4 {
		t.Errorf("leaks: %q, error %v", leaks, err)
	}
	info, err := api.Info(t.Context(), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hits, err := dockertest.FindSecret(t.Context(), secret, dockertest.SecretPlaces{
		Host: host, Folders: []string{filepath.Join(info.Info.DockerRootDir, "containers")},
	})
	if err != nil {
		t.Fatal(err)
	}
	found := strings.Join(hits, "\n")
	for _, place := range []string{"inspect container", "list of containers", "config.v2.json"} {
		if !strings.Contains(found, place) {
			t.Errorf("not found in %s, only in\n%s", place, found)
		}
	}
}
