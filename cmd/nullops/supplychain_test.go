package main_test

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the product is built from is pinned: each module of Go and each package of the UI by
// a version and a hash, and an image that a build begins with by a version. A new direct
// library needs a reason in docs/dependencies.md.
//
// threat: T52
func TestDependencies_ArePinnedAndExplained(t *testing.T) {
	root := openRepository(t)
	explained := readText(t, root, "docs/dependencies.md")
	for _, module := range append(modules(t, root), "tools") {
		sums := readText(t, root, path.Join(module, "go.sum"))
		for _, r := range readRequirements(readText(t, root, path.Join(module, "go.mod"))) {
			if strings.HasPrefix(r.name, ownModule) {
				continue
			}
			if !strings.Contains(sums, r.name+" "+r.version+" h1:") && r.direct {
				t.Errorf("%s: go.sum has no hash of %s %s", module, r.name, r.version)
			}
			if module == "." && r.direct && !isExplained(explained, r.name) {
				t.Errorf("docs/dependencies.md does not say why the product needs %s", r.name)
			}
		}
	}
	checkPackageLock(t, root, "ui/package-lock.json")
	checkPackageLock(t, root, "tools/lighthouse/package-lock.json")
	checkPackageLock(t, root, "tools/docs/package-lock.json")
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(
		readText(t, root, "deploy/Dockerfile"), -1) {
		if _, tag, ok := strings.Cut(from[1], ":"); from[1] != "scratch" && (!ok || tag == "latest") {
			t.Errorf("deploy/Dockerfile begins with %s, which has no version", from[1])
		}
	}
}

// requirement is one line of a go.mod.
type requirement struct {
	name, version string
	direct        bool
}

func readRequirements(text string) (all []requirement) {
	line := regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+|\S+\.\S+) (v\S+)( // indirect)?$`)
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		all = append(all, requirement{name: m[1], version: m[2], direct: m[3] == ""})
	}
	return all
}

// isExplained looks for a module as the page writes it: without its host or its version, or
// as a package below it.
func isExplained(page, module string) bool {
	short := strings.TrimPrefix(module, "github.com/")
	return strings.Contains(page, short) ||
		strings.Contains(page, regexp.MustCompile(`/v\d+$`).ReplaceAllString(short, ""))
}

// checkPackageLock wants a hash of each package that npm fetches.
func checkPackageLock(t *testing.T, root fs.FS, name string) {
	t.Helper()
	var lock struct {
		Packages map[string]struct {
			Version, Resolved, Integrity string
			Link                         bool
		}
	}
	if err := json.Unmarshal([]byte(readText(t, root, name)), &lock); err != nil {
		t.Fatal(err)
	}
	count := 0
	for folder, p := range lock.Packages {
		if folder == "" || p.Link {
			continue
		}
		count++
		if p.Version == "" || !strings.HasPrefix(p.Integrity, "sha512-") {
			t.Errorf("%s: %s has version %q and hash %q", name, folder, p.Version, p.Integrity)
		}
	}
	if count == 0 {
		t.Errorf("%s lists no packages: this test looks in the wrong place", name)
	}
}

// An archive of a tenant is unpacked in one place only, in a pod of its own deployment and below an
// os.Root, which no path with dots and no link leaves (TestPod_PacksAndUnpacksVolumes).
// Elsewhere, what packs images and what copies files into containers only writes archives, test
// reports, the users of an image and what a support archive says are read out of one in memory,
// and a backup only checks that one is whole. A package that is not on the list and reads archives
// needs an answer to paths with dots and links.
//
// threat: T45
func TestArchives_AreUnpackedInOnePlace(t *testing.T) {
	writers := []string{"agent/docker/helperimage.go", "agent/docker/mountpoints.go",
		"agent/sidecar/volumetar.go", "controlplane/diagnose/archive.go",
		"plugins/packaging/layer.go"}
	readers := []string{"cmd/nullops/internal/cli/supportreadme.go", "agent/docker/jobfiles.go",
		"agent/kubernetes/imageuser.go",
		"agent/kubernetes/jobfiles.go", "controlplane/backup/archive.go"}
	unpackers := []string{"agent/sidecar/volumeuntar.go"}
	seen := 0
	for _, file := range goFiles(t) {
		inTools := strings.HasPrefix(file.dir, "tools") || strings.HasSuffix(file.dir, "test")
		if file.test || inTools || file.generated {
			continue
		}
		for _, spec := range file.syntax.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			if imported != "archive/tar" && imported != "archive/zip" {
				continue
			}
			seen++
			text := strings.Join(file.lines, "\n")
			reads := readsArchive.MatchString(text)
			switch {
			case slices.Contains(readers, file.name):
				if writesFile.MatchString(text) {
					t.Errorf("%s reads archives and writes files", file.name)
				}
			case slices.Contains(unpackers, file.name):
				if !strings.Contains(text, "os.OpenRoot(") || writesFile.MatchString(text) {
					t.Errorf("%s writes files of an archive outside an os.Root", file.name)
				}
			case !slices.Contains(writers, file.name) || reads:
				t.Errorf("%s unpacks archives", file.name)
			}
		}
	}
	if want := len(writers) + len(readers) + len(unpackers); seen != want {
		t.Errorf("%d files use archives, the lists name %d", seen, want)
	}
}

// readsArchive matches what opens an archive, writesFile what makes a file or a link of a name.
var (
	readsArchive = regexp.MustCompile(`\b(tar\.NewReader|zip\.(New|Open)Reader)`)
	writesFile   = regexp.MustCompile(`os\.(Create|OpenFile|WriteFile|Mkdir|Symlink|Link|Rename)`)
)
