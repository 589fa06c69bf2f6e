// Package gittest serves git repositories over HTTP for tests, with git's own server.
package gittest

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Repository is a repository with a server of its own.
type Repository struct {
	t *testing.T
	// URL is what a client is given.
	URL string
	// Token, if not empty, must be the password of every request.
	Token string
	// Status, if not zero, is what every request is answered.
	Status int
	// Requests counts those that git answered.
	Requests int

	work, bare string
}

// New makes an empty repository with the branch main.
func New(t *testing.T) *Repository {
	t.Helper()
	root := t.TempDir()
	r := &Repository{t: t, work: filepath.Join(root, "work"), bare: filepath.Join(root, "shop.git")}
	r.run(root, "init", "--quiet", "--bare", "--initial-branch=main", r.bare)
	r.run(root, "init", "--quiet", "--initial-branch=main", r.work)
	r.run(r.work, "remote", "add", "origin", r.bare)
	r.Configure("uploadpack.allowFilter", "true")
	program := strings.TrimSpace(r.run(root, "--exec-path"))
	git := &cgi.Handler{Path: filepath.Join(program, "git-http-backend"), Dir: root,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_NOSYSTEM=1", "HOME=" + root},
		Stderr: io.Discard, Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, password, _ := req.BasicAuth()
		switch {
		case r.Status != 0:
			w.Header().Set("Location", "https://elsewhere.test/shop.git/info/refs?x=y")
			w.WriteHeader(r.Status)
		case r.Token != "" && password != r.Token:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			r.Requests++
			git.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(served.Close)
	r.URL = served.URL + "/shop.git"
	return r
}

// Configure sets a setting of the server's repository.
func (r *Repository) Configure(name, value string) { r.run(r.bare, "config", name, value) }

// Write changes files without committing; an empty text deletes one.
func (r *Repository) Write(files map[string]string) {
	r.t.Helper()
	for name, text := range files {
		path := filepath.Join(r.work, name)
		if text == "" {
			if err := os.Remove(path); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

// Link commits nothing yet: it makes a symbolic link.
func (r *Repository) Link(name, target string) {
	r.t.Helper()
	if err := os.Symlink(target, filepath.Join(r.work, name)); err != nil {
		r.t.Fatal(err)
	}
}

// Commit writes files, commits everything, pushes it with force, and returns the commit.
func (r *Repository) Commit(files map[string]string) string {
	r.t.Helper()
	r.Write(files)
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--allow-empty", "--message", "Change definitions")
	return r.Push()
}

// Push pushes what is committed as the branch main, with force.
func (r *Repository) Push() string {
	r.t.Helper()
	r.Git("push", "--quiet", "--force", "origin", "HEAD:main")
	return strings.TrimSpace(r.Git("rev-parse", "HEAD"))
}

// Git runs git where the files are.
func (r *Repository) Git(arguments ...string) string {
	r.t.Helper()
	return r.run(r.work, arguments...)
}

func (r *Repository) run(dir string, arguments ...string) string {
	r.t.Helper()
	c := exec.CommandContext(r.t.Context(), "git", arguments...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.org")
	out, err := c.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}
