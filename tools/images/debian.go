package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nullops/nullops/plugins/packaging"
)

// postgresRoots are the packages the PostgreSQL image is for.
func postgresRoots() []string {
	return []string{"postgresql-15", "postgresql-client-15", "dash", "libc-bin", "tzdata"}
}

// isUnwanted are dependencies the server does without: set-up scripts that the
// entrypoint replaces, and the just-in-time compiler, which is 100 MB.
func isUnwanted(name string) bool {
	switch name {
	case "postgresql-common", "postgresql-client-common", "ssl-cert", "locales", "locales-all",
		"libllvm14", "libz3-4", "debconf", "debconf-2.0", "cdebconf", "adduser", "perl",
		"perl-base", "dpkg", "openssl", "libelogind0", "debianutils", "libpam-modules",
		"sensible-utils", "libpam-modules-bin", "libpam-runtime", "coreutils", "libxslt1.1",
		"ucf", "php-common", "psmisc":
		return true
	}
	return strings.HasPrefix(name, "<")
}

// pythonRoots are the packages of the image for plugins in Python: the language
// and the client library of PostgreSQL. libc-bin is for programs that ask for the
// machine's settings.
func pythonRoots() []string { return []string{"python3", "python3-psycopg2", "libc-bin", "dash"} }

// shellRoots is one static program that is every tool a script needs.
func shellRoots() []string { return []string{"busybox-static"} }

// scriptRoots can also read and write JSON, as a plugin that is a script must.
func scriptRoots() []string { return append(shellRoots(), "jq") }

// debianBase is a file tree of Debian packages and all they need, for nobody.
func (b builder) debianBase(ctx context.Context, name string, set packageSet) (
	[]packaging.File, error,
) {
	debs, err := b.packagesOf(ctx, name, set)
	if err != nil {
		return nil, fmt.Errorf("get Debian's packages for %s: %w", name, err)
	}
	tree := filepath.Join(b.cache, "tree-"+keyOf(debs))
	if err := unpackPackages(ctx, tree, debs); err != nil {
		return nil, err
	}
	files, err := treeFiles(tree)
	if err != nil {
		return nil, err
	}
	static, err := packaging.StaticBase()
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{"bin", "lib", "lib64", "sbin"} {
		files = append(files, packaging.File{Path: dir, Link: "usr/" + dir})
	}
	shell := "dash"
	if name == "shell" || name == "script" {
		shell = "busybox"
		for _, tool := range busyboxTools() {
			files = append(files, packaging.File{Path: "usr/bin/" + tool, Link: "busybox"})
		}
	}
	files = append(files, packaging.File{Path: "usr/bin/sh", Link: shell})
	return append(files, static...), nil
}

// busyboxTools are those that scripts of pipelines use; any other is there as
// "busybox NAME".
func busyboxTools() []string {
	return []string{
		"awk", "base64", "basename", "cat", "chmod", "cp", "cut", "date", "dirname", "echo", "env",
		"expr", "false", "find", "grep", "gunzip", "gzip", "head", "hostname", "id", "ls", "mkdir",
		"mktemp", "mv", "nc", "nslookup", "od", "printf", "pwd", "rm", "sed", "seq", "sha256sum",
		"sleep", "sort", "tail", "tar", "tee", "test", "touch", "tr", "true", "uname", "uniq", "wc",
		"wget", "xargs",
	}
}

// postgresBase is a file tree with a PostgreSQL server and what it links to,
// unpacked from Debian packages.
func (b builder) postgresBase(ctx context.Context) ([]packaging.File, error) {
	debs, err := b.packagesOf(ctx, "", packageSet{roots: postgresRoots()})
	if err != nil {
		return nil, fmt.Errorf("get Debian's PostgreSQL: %w", err)
	}
	tree := filepath.Join(b.cache, "tree-"+keyOf(debs))
	if err := unpackPackages(ctx, tree, debs); err != nil {
		return nil, err
	}
	files, err := treeFiles(tree)
	if err != nil {
		return nil, err
	}
	return append(files,
		packaging.File{Path: "tmp", Dir: true, Mode: 0o1777},
		packaging.File{Path: "run", Dir: true},
		packaging.File{Path: "bin", Link: "usr/bin"},
		packaging.File{Path: "lib", Link: "usr/lib"},
		packaging.File{Path: "lib64", Link: "usr/lib64"},
		packaging.File{Path: "sbin", Link: "usr/sbin"},
		packaging.File{Path: "usr/bin/sh", Link: "dash"},
		packaging.File{Path: "var/lib/postgresql", Dir: true, Mode: 0o755, UID: 999, GID: 999},
		packaging.File{Path: "var/lib/postgresql/data", Dir: true, Mode: 0o700, UID: 999, GID: 999},
		packaging.File{Path: "etc/passwd", Data: []byte("root:x:0:0:root:/:/bin/sh\n" +
			"postgres:x:999:999:PostgreSQL:/var/lib/postgresql:/bin/sh\n")},
		packaging.File{Path: "etc/group", Data: []byte("root:x:0:\npostgres:x:999:\n")},
	), nil
}

// packagesOf returns the .deb files, downloaded once. The list is kept, so that later builds give
// the same image until the cache is removed. No name is PostgreSQL's.
func (b builder) packagesOf(ctx context.Context, name string, set packageSet) ([]string, error) {
	dir, list := filepath.Join(b.cache, "debs"), filepath.Join(b.cache, "debs.json")
	if name != "" {
		dir, list = dir+"-"+name, filepath.Join(b.cache, "debs-"+name+".json")
	}
	if b.packages != "" {
		dir = b.packages
	}
	if data, err := os.ReadFile(list); err == nil && b.packages == "" {
		var debs []string
		if json.Unmarshal(data, &debs) == nil && allThere(debs) {
			return debs, nil
		}
	}
	if b.packages == "" {
		if err := downloadPackages(ctx, dir, set); err != nil {
			return nil, err
		}
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no .deb files in %s", dir))
	}
	data, err := json.Marshal(debs)
	if err != nil {
		return nil, err
	}
	return debs, packaging.ReplaceFile(list, data)
}

func allThere(paths []string) bool {
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			return false
		}
	}
	return len(paths) > 0
}

// downloadPackages fetches the packages and all they need. apt checks signatures.
func downloadPackages(ctx context.Context, dir string, set packageSet) error {
	names, err := resolveClosure(ctx, set.roots)
	if err != nil {
		return err
	}
	names = append(names, set.alone...)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	// As root, apt downloads as another user, who may not write here.
	args := append([]string{"-o", "APT::Sandbox::User=root", "download"}, names...)
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get download: %w\n%s\n(try: apt-get update)", err, out)
	}
	return nil
}

// resolveClosure follows dependencies, level by level. Of alternatives it takes all:
// some are already there, and superfluous files only cost space.
func resolveClosure(ctx context.Context, roots []string) ([]string, error) {
	found, level := map[string]bool{}, roots
	for len(level) > 0 && len(found) < 200 {
		args := append([]string{
			"depends", "--no-recommends", "--no-suggests", "--no-conflicts",
			"--no-breaks", "--no-replaces", "--no-enhances",
		}, level...)
		out, err := exec.CommandContext(ctx, "apt-cache", args...).Output()
		if err != nil {
			return nil, fmt.Errorf("apt-cache depends: %w (try: apt-get update)", err)
		}
		for _, name := range level {
			found[name] = true
		}
		level = nil
		for line := range strings.Lines(string(out)) {
			_, name, isDependency := strings.Cut(line, "epends: ") // Depends and PreDepends
			name = strings.TrimSpace(name)
			if isDependency && !found[name] && !isUnwanted(name) && !slices.Contains(level, name) {
				level = append(level, name)
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// keyOf names a set of packages by their file names, which hold the versions.
func keyOf(debs []string) string {
	h := sha256.New()
	for _, deb := range debs {
		_, _ = h.Write([]byte(filepath.Base(deb) + "\n")) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// unpackPackages extracts all packages over each other, once.
func unpackPackages(ctx context.Context, tree string, debs []string) error {
	if _, err := os.Stat(tree); err == nil {
		return nil
	}
	unfinished := tree + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	// Debian's own layout: /bin and /lib are links into /usr. Packages that
	// still say /lib then land in one place.
	for _, dir := range []string{"bin", "lib", "lib64", "sbin"} {
		if err := os.MkdirAll(filepath.Join(unfinished, "usr", dir), 0o755); err != nil {
			return err
		}
		if err := os.Symlink("usr/"+dir, filepath.Join(unfinished, dir)); err != nil {
			return err
		}
	}
	for _, deb := range debs {
		// Through tar, which can follow those links; dpkg-deb -x replaces them.
		cmd := exec.CommandContext(ctx, "sh", "-c",
			`dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"`,
			"sh", deb, unfinished)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("unpack %s: %w\n%s", filepath.Base(deb), err, out)
		}
	}
	return os.Rename(unfinished, tree)
}

// treeFiles lists a tree as entries of a layer, without what no server reads.
func treeFiles(tree string) ([]packaging.File, error) {
	var files []packaging.File
	err := filepath.WalkDir(tree, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(tree, name)
		if err != nil || rel == "." {
			return err
		}
		if isSuperfluous(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch mode := info.Mode(); {
		case d.IsDir():
			files = append(files, packaging.File{Path: rel, Dir: true})
		case mode&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			files = append(files, packaging.File{Path: rel, Link: target})
		case mode.IsRegular():
			// Never set-uid: nobody in the image may become root.
			files = append(files, packaging.File{Path: rel, From: name, Mode: int64(mode.Perm())})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", tree, err)
	}
	return files, nil
}

func isSuperfluous(rel string) bool {
	for _, prefix := range []string{
		"usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/lintian",
		"usr/share/postgresql-common", "usr/share/bug", "usr/share/info", "usr/share/perl5",
		"usr/lib/postgresql/15/lib/bitcode", "usr/lib/systemd", "usr/share/zoneinfo/right",
		"usr/share/zoneinfo/posix", "var", "run", "etc/pam.d", "etc/init.d", "etc/cron.d",
	} {
		if rel == prefix || strings.HasPrefix(rel, prefix+"/") {
			return true
		}
	}
	name := path.Base(rel)
	return name == "llvmjit.so" || name == "pgxml.so"
}
