package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nullops/nullops/plugins/packaging"
)

// recipe is one image before it is built.
type recipe struct {
	repository, tag string
	// program is the binary by name; it becomes /app/NAME. source is its
	// package, empty for one that is built elsewhere.
	program, source string
	// more are the packages of further programs, which become /app/NAME too.
	more []string
	// files are small extra files.
	files []packaging.File
	// base names a base layer, such as "static" or "postgres".
	base       string
	entrypoint []string
	command    []string
	user       string
	env        []string
	stopSignal string
	ports      []string
	volumes    []string
	revision   string
	branch     string
	created    time.Time
	title      string
	labels     map[string]string
}

func (r recipe) ref() string { return r.repository + ":" + r.tag }

// nobody is the user our static images run as.
const nobody = packaging.Nobody

// allRecipes lists all images of the repository but nullops/agent, which needs
// a program built elsewhere.
func allRecipes(root string) ([]recipe, error) {
	recipes := append(shopRecipes(), postgresRecipes()...)
	plugins, err := pluginRecipes(root)
	recipes = append(append(recipes, plugins...), pythonExample(root))
	return append(recipes, scriptBases()...), err
}

// shopRelease is one build of the example application, made up so that tag
// patterns have something to match.
type shopRelease struct {
	tag, revision, branch string
	day                   int // of September 2026
	features              []string
}

func shopReleases() []shopRelease {
	return []shopRelease{
		{"v1.0.0", "a1f0c37", "main", 1, nil},
		{"v1.0.1", "b7d2e90", "main", 4, nil},
		{"v1.1.0", "c93a5d1", "main", 9, nil},
		{"v1.2.0-rc.1", "d04b6e2", "main", 15, nil},
		{"main-3f2a1bc", "3f2a1bc", "main", 18, nil},
		{"feat-cart-redesign-9ae41c2", "9ae41c2", "feat/cart-redesign", 16, []string{"cart-redesign"}},
		{"feat-cart-redesign-51d0e7b", "51d0e7b", "feat/cart-redesign", 20, []string{"cart-redesign"}},
		// A build that cannot work, to show what a failed deployment looks like.
		{"fix-checkout-0badf00", "0badf00", "fix/checkout", 21, []string{"crash-on-start"}},
	}
}

func shopRecipes() []recipe {
	var recipes []recipe
	for _, service := range []string{"api", "web"} {
		for _, r := range shopReleases() {
			recipes = append(recipes, recipe{
				repository: "shop/" + service, tag: r.tag, base: "static",
				program: service, source: "./deploy/examples/shop/" + service,
				files:    []packaging.File{{Path: "etc/shop/release.json", Data: releaseFile(r)}},
				user:     nobody,
				ports:    []string{"8080/tcp"},
				revision: r.revision, branch: r.branch,
				created: time.Date(2026, 9, r.day, 9, 30, 0, 0, time.UTC),
				title:   "Corner Shop " + service,
			})
		}
	}
	return recipes
}

// releaseFile is what package release of the shop reads.
func releaseFile(r shopRelease) []byte {
	data, _ := json.Marshal(map[string]any{ // strings always marshal
		"version": r.tag, "revision": r.revision, "branch": r.branch, "features": r.features,
	})
	return data
}

func postgresRecipes() []recipe {
	var recipes []recipe
	for _, tag := range []string{"15", "15-debian"} {
		recipes = append(recipes, recipe{
			repository: "shop/postgres", tag: tag, base: "postgres",
			program: "postgres-entrypoint", source: "./deploy/examples/shop/postgres-entrypoint",
			command: []string{"postgres"}, user: "999:999", stopSignal: "SIGINT",
			env: []string{
				"PGDATA=/var/lib/postgresql/data", "LANG=C.UTF-8",
				"PATH=/usr/lib/postgresql/15/bin:/usr/bin:/bin",
			},
			ports: []string{"5432/tcp"}, created: packaging.Epoch(), title: "PostgreSQL 15 from Debian",
		})
	}
	return recipes
}

// pluginTags are given to every plugin, so that versions can be distinguished.
func pluginTags() []string { return []string{"1.0.0", "1.1.0"} }

// pluginRecipes finds every plugin by its component.json.
func pluginRecipes(root string) ([]recipe, error) {
	found, err := filepath.Glob(filepath.Join(root, "plugins", "*", "component.json"))
	if err != nil {
		return nil, fmt.Errorf("find plugins: %w", err)
	}
	var recipes []recipe
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("find plugins: %w", err)
		}
		name := filepath.Base(filepath.Dir(path))
		repository := "plugins/" + name
		if name == "testplugin" { // for tests only, so it looks like no real one
			repository = "test/hostile"
		}
		base := "static"
		if name == "shell" {
			base = "shell"
		}
		for i, tag := range pluginTags() {
			recipes = append(recipes, recipe{
				repository: repository, tag: tag, base: base, user: nobody,
				program: name, source: "./plugins/" + name,
				files: []packaging.File{{Path: "component.json", Data: data}},
				// The tag is in the environment, so the tags' digests differ.
				env:     []string{"PLUGIN_VERSION=" + tag},
				created: packaging.Epoch().AddDate(0, i, 0), title: "NullOps plugin " + name,
				labels: map[string]string{"io.nullops.component": packaging.Compact(data)},
			})
		}
	}
	return recipes, nil
}

// pythonExample is a plugin that is a script: nothing of ours is in its image.
func pythonExample(root string) recipe {
	dir := filepath.Join(root, "deploy", "examples", "plugins", "postgres-python")
	return recipe{
		repository: "examples/postgres-python", tag: "1.0.0", base: "python", user: nobody,
		files: []packaging.File{
			{Path: "app/run", From: filepath.Join(dir, "run"), Mode: 0o755},
			{Path: "component.json", From: filepath.Join(dir, "component.json")},
		},
		entrypoint: []string{"/app/run"}, created: packaging.Epoch(),
		env: []string{"PYTHONDONTWRITEBYTECODE=1", "LANG=C.UTF-8"}, title: "Plugin in Python",
	}
}

// scriptBases are images with an interpreter, for 'nullops plugin build --from':
// a plugin that is a script goes on one of them.
func scriptBases() []recipe {
	return []recipe{
		{repository: "bases/python", tag: "3", base: "python", user: nobody,
			entrypoint: []string{"/usr/bin/python3"}, created: packaging.Epoch(),
			env:   []string{"PYTHONDONTWRITEBYTECODE=1", "LANG=C.UTF-8"},
			title: "Python 3 with psycopg2, from Debian"},
		{repository: "bases/shell", tag: "1", base: "script", user: nobody,
			entrypoint: []string{"/bin/sh"}, created: packaging.Epoch(),
			env: []string{"LANG=C.UTF-8"}, title: "Busybox and jq, from Debian"},
	}
}

// agentRecipe is the image an installation runs on its nodes. It runs as root: it
// talks to the engine's socket, which is root in all but name. On Kubernetes, the first container
// of each pod takes the helper from it, as deploy/Dockerfile says.
func agentRecipe() recipe {
	return recipe{
		repository: "nullops/agent", tag: "latest", program: "nullops", base: "static",
		entrypoint: []string{"/app/nullops", "agent"}, user: "0:0", ports: []string{"5000/tcp"},
		created: packaging.Epoch(), title: "NullOps agent", more: []string{"./cmd/sidecar"},
	}
}
