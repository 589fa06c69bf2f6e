package gitfetch_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/internal/gitfetch"
	"github.com/nullops/nullops/internal/gitfetch/gittest"
)

func isYAML(name string) bool { return strings.HasSuffix(name, ".yaml") }

func at(r *gittest.Repository) gitfetch.Repository {
	return gitfetch.Repository{URL: r.URL, Branch: "main", Username: "x", Password: r.Token,
		Limits: gitfetch.DefaultLimits(), Client: &http.Client{Timeout: 20 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// many makes files that git stores as changes of each other.
func many(folder string) map[string]string {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("%s/service-%02d.yaml", folder, i)] = strings.Repeat(
			"# the same in all of them, and long enough to be worth a delta\n", 40) + fmt.Sprint(i)
	}
	return files
}

// Files come as they were committed, whether the host can filter or not, and only those of the
// folder: a large file elsewhere is not transferred where it can.
func TestFetch_ReadsTheFolder(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{"true", "false"} {
		t.Run("filter "+filter, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Token = "s3cret"
			r.Configure("uploadpack.allowFilter", filter)
			want := many("infra/nullops")
			want["infra/nullops/deep/er/x.yaml"] = "kind: x\n"
			files := maps.Clone(want)
			files["infra/nullops/.hidden/no.yaml"], files["infra/nullops/README.md"] = "no", "no"
			files["other/no.yaml"] = "no"
			large := make([]byte, 5<<20)
			_, _ = rand.Read(large)
			files["other/large.bin"] = string(large)
			r.Commit(files)
			r.Commit(map[string]string{"infra/nullops/service-07.yaml": "changed"})
			want["infra/nullops/service-07.yaml"] = "changed"
			hash := r.Push()
			got, err := at(r).Fetch(t.Context(), "infra/nullops", isYAML)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]string{}
			for _, f := range got.Files {
				found[f.Path] = string(f.Text)
			}
			if !maps.Equal(found, want) {
				t.Errorf("read %v", slices.Sorted(maps.Keys(found)))
			}
			if got.Commit != hash || got.Author != "Ada" || got.Subject != "Change definitions" ||
				time.Since(got.At) > time.Minute {
				t.Errorf("commit %+v", got)
			}
			if tip, err := at(r).Tip(t.Context()); tip != hash || err != nil {
				t.Errorf("the tip is %s, %v", tip, err)
			}
		})
	}
}

// What cannot be read is refused with a word for programs and a remedy for people.
func TestFetch_Refuses(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Commit(map[string]string{"a/a.yaml": "a", "a/big.yaml": strings.Repeat("x", 1<<20+1), "f": "x",
		"b/b.yaml": strings.Repeat("y", 600<<10), "b/c.yaml": strings.Repeat("z", 600<<10)})
	r.Link("link.yaml", "/etc/passwd")
	r.Link("folder", "a")
	r.Commit(nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>"))
	}))
	defer web.Close()
	for name, c := range map[string]struct {
		code, folder string
		change       func(*gitfetch.Repository)
	}{
		"another repository": {"repository_missing", "a", func(g *gitfetch.Repository) {
			g.URL += "x"
		}},
		"a web page": {"repository_missing", "a", func(g *gitfetch.Repository) {
			g.URL = web.URL
		}},
		"nobody there": {"host_unreachable", "a", func(g *gitfetch.Repository) {
			g.URL = "http://127.0.0.1:1/x"
		}},
		"no such branch": {"branch_missing", "a", func(g *gitfetch.Repository) {
			g.Branch = "mai"
		}},
		"no such folder":     {"folder_missing", "none", nil},
		"a file":             {"folder_missing", "f", nil},
		"upwards":            {"folder_missing", "../a", nil},
		"a link as a folder": {"folder_missing", "folder", nil},
		"a link as a file":   {"symbolic_link", "", nil},
		"a large file":       {"repository_large", "a", nil},
		"a large answer": {"repository_large", "a", func(g *gitfetch.Repository) {
			g.Limits.Pack = 100
		}},
		"many files": {"repository_large", "b", func(g *gitfetch.Repository) {
			g.Limits.Files = 1
		}},
		"much text": {"repository_large", "b", func(g *gitfetch.Repository) {
			g.Limits.Text = 1 << 20
		}},
		"more than is kept": {"repository_large", "b", func(g *gitfetch.Repository) {
			g.Limits.Objects = 50
		}},
		"no time": {"host_slow", "b", func(g *gitfetch.Repository) {
			g.Client.Timeout = time.Nanosecond
		}},
	} {
		g := at(r)
		if c.change != nil {
			c.change(&g)
		}
		_, err := g.Fetch(t.Context(), c.folder, isYAML)
		why, ok := errors.AsType[*gitfetch.Error](err)
		if !ok || why.Code != c.code || why.Remedy == "" {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	for status, code := range map[int]string{401: "token_missing", 403: "token_missing",
		404: "repository_missing", 302: "redirected", 500: "host_failing", 429: "host_failing"} {
		r.Status = status
		_, err := at(r).Tip(t.Context())
		if why, ok := errors.AsType[*gitfetch.Error](err); !ok || why.Code != code {
			t.Errorf("%d: %v, want %s", status, err, code)
		}
	}
	r.Status, r.Token = 0, "right"
	g := at(r)
	g.Password = "wrong"
	_, err := g.Tip(t.Context())
	if why, ok := errors.AsType[*gitfetch.Error](err); !ok || why.Code != "token_refused" ||
		strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong token: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := at(r).Tip(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

// Names that mislead are refused, although nothing is written to a disk.
func TestFetch_RefusesHostilePaths(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	blob := strings.TrimSpace(r.Git("rev-parse", "HEAD:a.yaml"))
	for _, name := range []string{"..", ".git", "a\\b.yaml", "line\nbreak.yaml", "\xff.yaml"} {
		var tree bytes.Buffer
		fmt.Fprintf(&tree, "100644 blob %s\t%s\x00", blob, name)
		r.Write(map[string]string{"tree.txt": tree.String()})
		made := strings.TrimSpace(r.Git("-c", "core.protectNTFS=false", "-c",
			"alias.made=!git mktree -z --missing < tree.txt", "made"))
		commit := strings.TrimSpace(r.Git("commit-tree", "-m", "hostile", made))
		r.Git("push", "--quiet", "--force", "origin", commit+":refs/heads/main")
		_, err := at(r).Fetch(t.Context(), "", isYAML)
		if why, ok := errors.AsType[*gitfetch.Error](err); !ok || why.Code != "path_hostile" {
			t.Errorf("%q: %v", name, err)
		}
	}
}
